"""Expand the transforms of a template: built-in transforms run at once, macros wait for their functions.

Source: https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/template-macros-overview.html
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence

from redrive.core.documents import dump_json
from redrive.core.errors import ServiceError
from redrive.core.scope import Scope
from redrive.languages.template import (
    ParameterValue,
    PseudoParameters,
    TemplateError,
    load_declared,
    read_root,
    resolve_parameters,
)
from redrive.languages.template.extensions import extend
from redrive.languages.template.source import Node
from redrive.languages.template.transforms import Transform, fragment_of, has_transforms, next_transform, replaced
from redrive.services.cloudformation import limits
from redrive.services.cloudformation.model.stack import Blueprint, stack_arn
from redrive.services.cloudformation.templates import validation_error
from redrive.services.cloudformation.transforms import include, serverless
from redrive.services.cloudformation.transforms.failure import TransformFailure

Translate = Callable[[Mapping[str, Node], Mapping[str, ParameterValue], PseudoParameters], dict[str, Node]]
"""Translates a SAM template, as `serverless.translate` does."""

LANGUAGE_EXTENSIONS = "AWS::LanguageExtensions"
AUTO_EXPAND = "CAPABILITY_AUTO_EXPAND"

# https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/transform-reference.html
_NOT_HERE = {
    "AWS::CodeDeployBlueGreen": "there is no CodeDeploy here",
    "AWS::SecretsManager-2020-07-23": "there is no Secrets Manager here",
    "AWS::SecretsManager-2024-09-16": "there is no Secrets Manager here",
    "AWS::ServiceCatalog": "there is no Service Catalog here",
}


@dataclasses.dataclass(frozen=True, slots=True)
class Surroundings:
    """The input of transforms besides the template: its parameters' values, facts about the stack, objects of S3."""

    parameters: Mapping[str, ParameterValue]
    pseudo: PseudoParameters
    fetch: include.Fetch = include.nothing_to_fetch
    translate: Translate = serverless.translate


@dataclasses.dataclass(frozen=True, slots=True)
class Expansion:
    """The state of a template's expansion, and the macro that must answer before the expansion can continue."""

    root: dict[str, Node]
    macro: Transform | None = None


def expanded(
    blueprint: Blueprint, scope: Scope, stack_name: str, uid: str, *, is_reviewed: bool = False,
    fetch: include.Fetch = include.nothing_to_fetch, translate: Translate = serverless.translate,
) -> Blueprint:  # fmt: skip
    """Return a blueprint with its transforms carried out; a blueprint without transforms does not change.

    `is_reviewed`: the blueprint belongs to a change set, which shows the expanded template before a deployment. So
    nobody needs to consent to the transforms. `fetch` reads what AWS::Include includes; `translate` is SAM's
    translator. The blueprint stores the failure of a transform.

    Errors: ValidationError (template, parameters); InsufficientCapabilitiesException.
    """
    # Most templates lack this word, so they have no transforms and need not be parsed here.
    if "Transform" not in blueprint.template_body:
        return blueprint
    try:
        root = read_root(blueprint.template_body)
        if not has_transforms(root):
            return blueprint
        surroundings = dataclasses.replace(
            surroundings_of(blueprint, scope, stack_name, uid, fetch), translate=translate
        )
    except TemplateError as error:
        raise validation_error(error.message) from None
    if not is_reviewed:
        check_consent(blueprint.capabilities)
    return advanced(blueprint, root, surroundings)


def surroundings_of(
    blueprint: Blueprint, scope: Scope, stack_name: str, uid: str, fetch: include.Fetch = include.nothing_to_fetch
) -> Surroundings:
    """Return the input of a blueprint's transforms. Errors: TemplateError (parameters)."""
    stack_id = stack_arn(scope, stack_name, uid)
    pseudo = PseudoParameters(scope.account, scope.region, stack_name, stack_id, blueprint.notification_arns)
    declared = load_declared(blueprint.template_body)
    return Surroundings(resolve_parameters(declared, dict(blueprint.parameters)), pseudo, fetch)


def check_consent(capabilities: Sequence[str]) -> None:
    """Refuse to deploy an expanded template without review or consent. Errors: InsufficientCapabilitiesException."""
    if AUTO_EXPAND not in capabilities:
        raise ServiceError("InsufficientCapabilitiesException", f"Requires capabilities : [{AUTO_EXPAND}]")


def advanced(blueprint: Blueprint, root: dict[str, Node], surroundings: Surroundings) -> Blueprint:
    """Return a blueprint whose template is expanded as far as possible without a macro's function."""
    try:
        expansion = advance(root, surroundings)
    except (TransformFailure, TemplateError) as error:
        reason = error.reason if isinstance(error, TransformFailure) else error.message
        return dataclasses.replace(blueprint, transform_failure=reason, awaits_macros=False)
    body = dump_json(expansion.root)
    if len(body.encode()) > limits.PROCESSED_BYTES_MAX:
        reason = f"Template may not exceed {limits.PROCESSED_BYTES_MAX} bytes in size after its transforms."
        return dataclasses.replace(blueprint, transform_failure=reason, awaits_macros=False)
    return dataclasses.replace(blueprint, processed=body, awaits_macros=expansion.macro is not None)


def advance(root: dict[str, Node], surroundings: Surroundings) -> Expansion:
    """Carry out one transform after the other, up to the first macro. Errors: TransformFailure; TemplateError."""
    while (transform := next_transform(root)) is not None:
        if not transform.name.startswith("AWS::"):
            return Expansion(root, transform)
        root = _carried_out(root, transform, surroundings)
    return Expansion(root)


def _carried_out(root: dict[str, Node], transform: Transform, surroundings: Surroundings) -> dict[str, Node]:
    name = transform.name
    if name in _NOT_HERE:
        raise TransformFailure(name, f"the transform is not supported: {_NOT_HERE[name]}.")
    if name == include.NAME:
        return as_root(
            include.include(root, transform, surroundings.parameters, surroundings.pseudo, surroundings.fetch)
        )
    fragment = fragment_of(root, transform)
    if name not in (serverless.NAME, LANGUAGE_EXTENSIONS) or transform.is_embedded or not isinstance(fragment, dict):
        raise TemplateError(f"No transform named {name} found.")
    if name == serverless.NAME:
        result = surroundings.translate(fragment, surroundings.parameters, surroundings.pseudo)
    else:
        try:
            result = extend(fragment, surroundings.parameters, surroundings.pseudo)
        except TemplateError as error:
            raise TransformFailure(name, error.message) from None
    return as_root(replaced(root, transform, dict(result)))


def as_root(node: Node) -> dict[str, Node]:
    """Return the result of a transform, if it can be a template. Errors: TemplateError."""
    if not isinstance(node, dict):
        raise TemplateError("Template format error: unsupported structure.")
    return node
