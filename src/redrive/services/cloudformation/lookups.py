"""Looks up what templates name: values of SSM's parameters and of secrets.

A value of SSM replaces its reference before a resource is compared. The value of a secret replaces it only in the call
that makes or changes the resource: stacks, change sets and events show the reference.
Source: https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/dynamic-references.html
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from redrive.core.documents import Document, load_json
from redrive.core.errors import ServiceError
from redrive.core.leniency import OnUnknown
from redrive.core.scope import Caller, Scope
from redrive.languages.template import Template, TemplateError
from redrive.services.cloudformation.acting import PRINCIPAL
from redrive.services.cloudformation.types.schema import PropertyError
from redrive.store.api import Transaction

_SSM = re.compile(r"\{\{resolve:ssm:([^{}:]+)(?::([0-9]+))?\}\}")
_SECURE = re.compile(r"\{\{resolve:ssm-secure:[^{}]*\}\}")
_SECRET = re.compile(r"\{\{resolve:secretsmanager:([^{}]+)\}\}")
_SSM_LIKE = re.compile(r"\{\{resolve:ssm:[^{}]*\}\}")
_SECRET_ARN = re.compile(r"(arn:[^:]*:secretsmanager:[^:]*:[^:]*:secret:[^:]+)(?::(.*))?")
_SECURE_STRING = "SecureString"


def with_parameters(tx: Transaction, caller: Caller, value: object, where: str) -> object:
    """Return properties with the values of SSM's parameters in place of their references.

    Errors: TemplateError (no such parameter; a form or a place that AWS refuses).
    """

    def replaced(text: str) -> str:
        if _SECURE.search(text) is not None:
            raise TemplateError(f"SSM Secure reference is not supported in: [{where}]")
        found = _SSM.sub(lambda match: _parameter(tx, caller, match[1], match[2]), text)
        malformed = _SSM_LIKE.search(found)
        if malformed is not None:
            raise TemplateError(f"Incorrect format is used in the following SSM reference: [{malformed[0]}]")
        return found

    return _mapped(value, replaced)


def with_secrets(tx: Transaction, caller: Caller, properties: Document) -> Document:
    """Return properties with the values of secrets in place of their references. They must not be stored.

    Errors: ServiceError; PropertyError (no such member in the secret).
    """
    revealed = _mapped(properties, lambda text: _SECRET.sub(lambda match: _secret(tx, caller, match[1]), text))
    assert isinstance(revealed, dict), "a mapping stays a mapping"
    return revealed


def looked_up(
    tx: Transaction, scope: Scope, template: Template, given: Mapping[str, str]
) -> tuple[dict[str, str], list[str], list[str]]:
    """Return the values of the template's parameters that SSM holds, by the name of the template's parameter.

    After them, the names in SSM that nothing was found for, and those of secure strings, which AWS does not take.
    """
    caller = Caller(scope, "", invoked_by=PRINCIPAL)
    values: dict[str, str] = {}
    missing: list[str] = []
    secure: list[str] = []
    for name, declared in template.parameters.items():
        asked = given.get(name, declared.default)
        if not declared.is_ssm or asked is None:
            continue
        try:
            answer = tx.services.call(tx, caller, "ssm", "GetParameter", {"Name": asked})["Parameter"]
        except ServiceError:
            missing.append(asked)
            continue
        if answer["Type"] == _SECURE_STRING:
            secure.append(asked)
        else:
            values[name] = answer["Value"]
    return values, missing, secure


def check_looked_up(missing: list[str], secure: list[str], leniency: OnUnknown) -> None:
    """Refuse parameters that SSM does not have, unless the stack is lenient. Errors: ValidationError."""
    if leniency is not OnUnknown.REFUSE:
        return
    if missing:
        raise ServiceError(
            "ValidationError",
            f"Unable to fetch parameters [{','.join(missing)}] from parameter store for this account.",
        )
    if secure:
        raise ServiceError(
            "ValidationError",
            f"Parameters [{','.join(secure)}] referenced by template have types not supported by CloudFormation.",
        )


def _parameter(tx: Transaction, caller: Caller, name: str, version: str | None) -> str:
    selected = name if version is None else f"{name}:{version}"
    try:
        answer = tx.services.call(tx, caller, "ssm", "GetParameter", {"Name": selected})["Parameter"]
    except ServiceError as error:
        if error.code == "AccessDeniedException":
            raise TemplateError(error.message) from None
        raise TemplateError(f"Parameters: [ssm:{name}:{version or ''}:] cannot be found.") from None
    if answer["Type"] == _SECURE_STRING:
        raise TemplateError(f"Parameters: [ssm:{name}:{version or ''}:] is a SecureString: only ssm-secure names it.")
    return str(answer["Value"])


def _secret(tx: Transaction, caller: Caller, reference: str) -> str:
    """Return what `ID:SecretString:MEMBER:STAGE:VERSION` means; everything but the id may be left out."""
    arn = _SECRET_ARN.fullmatch(reference)
    secret_id, _, rest = (arn[1], "", arn[2] or "") if arn is not None else reference.partition(":")
    kind, member, stage, version = (*rest.split(":"), "", "", "", "")[:4]
    if kind not in ("", "SecretString") or (stage and version):
        raise PropertyError(f"Incorrect format is used in the following secret reference: [{reference}]")
    params = {"SecretId": secret_id}
    params |= {"VersionStage": stage} if stage else {}
    params |= {"VersionId": version} if version else {}
    text = tx.services.call(tx, caller, "secretsmanager", "GetSecretValue", params).get("SecretString")
    if text is None:
        raise PropertyError(f"The secret {secret_id} has no SecretString.")
    if not member:
        return str(text)
    try:
        value = load_json(text)[member]
    except (ValueError, KeyError, TypeError):
        raise PropertyError(f"Could not find a value associated with JSONKey in SecretString: {member}") from None
    return value if isinstance(value, str) else str(value)


def _mapped(value: object, change: Callable[[str], str]) -> object:
    """Return a value with each of its texts changed."""
    match value:
        case str():
            return change(value) if "{{resolve:" in value else value
        case dict():
            return {key: _mapped(part, change) for key, part in value.items()}
        case list():
            return [_mapped(part, change) for part in value]
        case _:
            return value
