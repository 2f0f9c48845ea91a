"""From a request to a deployable template: which template is meant, what it needs, and the order of its resources."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from redrive.core.documents import Document
from redrive.core.errors import ServiceError
from redrive.core.leniency import OnUnknown
from redrive.core.scope import Caller, Scope
from redrive.languages.template import (
    ActiveTemplate,
    Node,
    ParameterValue,
    PseudoParameters,
    Template,
    TemplateError,
    activate,
    dependencies,
    dependency_order,
    load_declared,
    load_template,
    read_root,
    resolve_parameters,
)
from redrive.languages.template.references import AttributeOf, Reference, output_references, resource_references
from redrive.languages.template.transforms import has_transforms
from redrive.services.cloudformation import limits
from redrive.services.cloudformation.locations import BadLocation, template_text
from redrive.services.cloudformation.model.leniency import STUB_HINT, check_known
from redrive.services.cloudformation.model.stack import Blueprint, stack_arn
from redrive.services.cloudformation.types import CUSTOM_NAMES, IAM_PREFIX, is_served, resource_type
from redrive.store.api import Transaction

NO_ECHO = "****"
"""What answers show in place of a NoEcho parameter's value."""


@dataclass(frozen=True, slots=True)
class Plan:
    """A template with its parameters: the resources, the order of their creation, and the dependencies of each."""

    template: Template
    parameters: Mapping[str, ParameterValue]
    pseudo: PseudoParameters
    active: ActiveTemplate
    order: tuple[str, ...]
    depends_on: Mapping[str, frozenset[str]]


class PlanScope:
    """Resolves what a plan itself says of names: its parameters, mappings and conditions. See ResolutionScope."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan

    @property
    def pseudo(self) -> PseudoParameters:
        return self._plan.pseudo

    @property
    def mappings(self) -> Mapping[str, Mapping[str, Mapping[str, Node]]]:
        return self._plan.template.mappings

    @property
    def conditions(self) -> Mapping[str, bool]:
        return self._plan.active.conditions

    def parameter(self, name: str) -> Node:
        """The value of a parameter; None if no parameter has this name."""
        value = self._plan.parameters.get(name)
        return value if value is None or isinstance(value, str) else list(value)


def validation_error(message: str) -> ServiceError:
    """Build a ValidationError, CloudFormation's code for most refused requests."""
    return ServiceError("ValidationError", message)


@functools.lru_cache(maxsize=limits.TEMPLATES_READ_KEPT)
def _read(body: str) -> Template:
    return load_template(body)


@functools.lru_cache(maxsize=limits.TEMPLATES_READ_KEPT)
def _read_declared(body: str) -> Template:
    return load_declared(body)


@functools.lru_cache(maxsize=limits.TEMPLATES_READ_KEPT)
def _plan(body: str, parameters: tuple[tuple[str, str], ...], pseudo: PseudoParameters) -> Plan:
    template = _read(body)
    values = resolve_parameters(template, dict(parameters))
    active = activate(template, values, pseudo)
    order = tuple(dependency_order(template, active))
    return Plan(template, values, pseudo, active, order, dependencies(template, active))


def read_template(body: str) -> Template:
    """Parse a template; if it has transforms, the template before them.

    Errors: ValidationError, also for a template of more than a megabyte.
    """
    if len(body.encode()) > limits.UPLOADED_BYTES_MAX:
        raise validation_error(f"Template may not exceed {limits.UPLOADED_BYTES_MAX} bytes in size.")
    try:
        # Without the word, a template has no transforms, and need not be parsed twice.
        return _read_declared(body) if "Transform" in body and has_transforms(read_root(body)) else _read(body)
    except TemplateError as error:
        raise validation_error(error.message) from None


def template_of_blueprint(blueprint: Blueprint) -> Template:
    """Return the template that a blueprint deploys; before its transforms have ended, the template without them."""
    try:
        return _read(blueprint.body) if blueprint.is_whole else _read_declared(blueprint.template_body)
    except TemplateError as error:
        raise validation_error(error.message) from None


NOTHING_LOOKED_UP: Mapping[str, str] = {}


def make_plan(
    blueprint: Blueprint, scope: Scope, stack_name: str, uid: str, values: Mapping[str, str] = NOTHING_LOOKED_UP
) -> Plan:
    """Return the plan of a blueprint: its resources and their order. `values` are those that SSM has for parameters.

    Errors: ValidationError.
    """
    stack_id = stack_arn(scope, stack_name, uid)
    pseudo = PseudoParameters(scope.account, scope.region, stack_name, stack_id, blueprint.notification_arns)
    if blueprint.processed is None:
        read_template(blueprint.template_body)
    try:
        return _plan(blueprint.body, tuple(sorted({**blueprint.parameters, **values}.items())), pseudo)
    except TemplateError as error:
        raise validation_error(error.message) from None


def check_types(plan: Plan, leniency: OnUnknown) -> None:
    """Refuse unsupported types, and unsupported features of supported types. Errors: ValidationError."""
    template = plan.template
    check_known(unknown_types(template), leniency)
    for resource in template.resources.values():
        policies = plan.active.policies.get(resource.logical_id)
        if policies is not None and "Snapshot" in (policies.deletion, policies.replacement):
            raise validation_error(
                f"Template error: resource type {resource.type} does not support deletion policy Snapshot"
            )
        _check_attributes(template, resource_references(resource), leniency)
    for output in template.outputs.values():
        _check_attributes(template, output_references(output), leniency)


def ssm_warning(template: Template, values: Mapping[str, str]) -> str:
    """Return a warning about parameters that SSM has no values for, with which a lenient stack goes on; or nothing."""
    names = [name for name, declared in template.parameters.items() if declared.is_ssm and name not in values]
    if not names:
        return ""
    return (
        f"SSM has no such parameters: the values given for the parameters [{', '.join(names)}], or their defaults, are "
        "taken themselves, and not as names of SSM parameters."
    )


def _check_attributes(template: Template, found: Iterable[Reference], leniency: OnUnknown) -> None:
    """Refuse attributes that their type does not have. Names computed by a function are checked when resolved."""
    for reference in found:
        if not isinstance(reference, AttributeOf) or reference.attribute.startswith("{"):
            continue
        type_name = template.resources[reference.name].type
        known = resource_type(type_name)
        if not is_served(type_name) and leniency is not OnUnknown.STUB:
            raise validation_error(
                f"redrive does not serve {type_name}, so {reference.name} has no attribute {reference.attribute} here. "
                f"{STUB_HINT}"
            )
        if not known.has_any_attribute and reference.attribute not in known.attributes:
            raise validation_error(
                f"Template error: resource {reference.name} does not support attribute type "
                f"{reference.attribute} in Fn::GetAtt"
            )


def unknown_types(template: Template) -> list[str]:
    """Return the types of a template that redrive does not support, sorted by name."""
    return sorted(name for name in {resource.type for resource in template.resources.values()} if not is_served(name))


def needed_capabilities(template: Template) -> list[str]:
    """Return the capabilities that a deployment must acknowledge: for IAM resources, or for IAM resources with names.

    Source: https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/control-access-with-iam.html
    """
    if template.transforms:
        makes_roles = any(resource.type in _MAKES_ROLES for resource in template.resources.values())
        return [*(["CAPABILITY_IAM"] if makes_roles else []), "CAPABILITY_AUTO_EXPAND"]
    identities = [resource for resource in template.resources.values() if resource.type.startswith(IAM_PREFIX)]
    if any(CUSTOM_NAMES.get(resource.type) in resource.properties for resource in identities):
        return ["CAPABILITY_NAMED_IAM"]
    return ["CAPABILITY_IAM"] if identities else []


# SAM creates roles or policies for these types, unless the template names a role.
_MAKES_ROLES = frozenset(
    {
        "AWS::Serverless::Connector",
        "AWS::Serverless::Function",
        "AWS::Serverless::StateMachine",
    }
)


def capabilities_reason(template: Template) -> str:
    """Return a sentence that says which types make the template need capabilities."""
    types = sorted({
        part.type for part in template.resources.values() if part.type.startswith(IAM_PREFIX)
        or (template.transforms and part.type in _MAKES_ROLES)
    } | set(template.transforms))  # fmt: skip
    return f"The following resource(s) require capabilities: [{', '.join(types)}]"


def check_capabilities(template: Template, given: Sequence[str]) -> None:
    """Refuse a template if a needed capability is not acknowledged. Errors: InsufficientCapabilitiesException."""
    needed = needed_capabilities(template)
    enough = set(given) & ({"CAPABILITY_NAMED_IAM"} if "CAPABILITY_NAMED_IAM" in needed else _IAM_CAPABILITIES)
    if needed and not enough:
        raise ServiceError("InsufficientCapabilitiesException", f"Requires capabilities : [{', '.join(needed)}]")


_IAM_CAPABILITIES = frozenset({"CAPABILITY_IAM", "CAPABILITY_NAMED_IAM"})


def asked_policy(tx: Transaction, caller: Caller, body: str | None, url: str | None) -> str | None:
    """Return the stack policy that a request brings, or that lies at its URL; None if it has neither.

    Errors: ValidationError.
    Source: https://docs.aws.amazon.com/AWSCloudFormation/latest/APIReference/API_SetStackPolicy.html
    """
    if url is None:
        return body
    if body is not None:
        raise validation_error("You must specify only one of StackPolicyBody and StackPolicyURL.")
    try:
        text = template_text(tx, caller, url)
    except BadLocation as error:
        raise validation_error(error.message.replace("Template", "StackPolicy")) from None
    if len(text.encode()) > limits.POLICY_BYTES_MAX:
        raise validation_error(f"StackPolicyURL may not exceed {limits.POLICY_BYTES_MAX} bytes in size.")
    return text


def asked_template(tx: Transaction, caller: Caller, body: str | None, url: str | None) -> str | None:
    """Return the template that a request brings, or that lies at its URL; None if it has neither.

    The caller has to be allowed to read the object at the URL.

    Errors: ValidationError.
    Source: https://docs.aws.amazon.com/AWSCloudFormation/latest/APIReference/API_CreateStack.html
    """
    if body is not None and len(body.encode()) > limits.TEMPLATE_BYTES_MAX:
        raise validation_error(
            "1 validation error detected: Value at 'templateBody' failed to satisfy constraint: "
            f"Member must have length less than or equal to {limits.TEMPLATE_BYTES_MAX}"
        )
    if url is None:
        return body
    if body is not None:
        raise validation_error("You must specify only one of TemplateBody and TemplateURL.")
    try:
        return template_text(tx, caller, url)
    except BadLocation as error:
        raise validation_error(error.message) from None


def template_of(body: str | None, *, use_previous: bool = False, previous: str | None = None) -> str:
    """Return the text of the template that a request means. Errors: ValidationError."""
    if use_previous:
        if body is not None:
            raise validation_error("You cannot specify both usePreviousTemplate and Template Body.")
        if previous is None:
            raise validation_error("UsePreviousTemplate needs a stack that has a template.")
        return previous
    if body is None:
        raise validation_error("Either Template URL or Template Body must be specified.")
    return body


def given_parameters(given: Sequence[Document] | None, previous: Mapping[str, str]) -> dict[str, str]:
    """Return the parameters of a request by name, with the previous value where requested. Errors: ValidationError."""
    values: dict[str, str] = {}
    for parameter in given or ():
        key = parameter.get("ParameterKey")
        if key is None:
            raise validation_error("Parameters must have a ParameterKey.")
        if not parameter.get("UsePreviousValue"):
            values[key] = parameter.get("ParameterValue", "")
        elif parameter.get("ParameterValue"):
            raise validation_error(
                f"Invalid input for parameter key {key}. Cannot specify usePreviousValue as true and non empty value "
                "for a parameter"
            )
        elif key in previous:
            values[key] = previous[key]
    return values


def shown_parameters(
    template: Template, given: Mapping[str, str], values: Mapping[str, str] = NOTHING_LOOKED_UP
) -> list[Document]:
    """Return the parameters of a stack as answers list them, with NoEcho values masked."""
    return [
        {
            "ParameterKey": name,
            "ParameterValue": NO_ECHO if declared.no_echo else given.get(name, declared.default or ""),
        }
        | (
            {"ResolvedValue": values.get(name, given.get(name, declared.default or ""))}
            if declared.is_ssm and not declared.no_echo
            else {}
        )
        for name, declared in template.parameters.items()
    ]
