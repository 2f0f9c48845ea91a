"""The names of parameters: hierarchies, ARNs, versions and labels behind a colon.

Source: https://docs.aws.amazon.com/systems-manager/latest/userguide/sysman-paramstore-su-create.html
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from redrive.core.arn import Arn
from redrive.core.errors import ServiceError
from redrive.core.scope import Scope
from redrive.services.ssm import limits
from redrive.services.ssm.model.requests import invalid

AWS_PATH = "/aws/"
SECRETS_PATH = "/aws/reference/secretsmanager/"

_NAME = re.compile(r"[A-Za-z0-9_.-]+|(?:/[A-Za-z0-9_.-]+)+")
_RESERVED = re.compile(r"/?(?:aws|ssm)", re.IGNORECASE)
_LABEL = re.compile(r"[A-Za-z0-9_.-]{1,100}")
_RESERVED_LABEL = re.compile(r"[0-9]|aws|ssm", re.IGNORECASE)

_RULE = (
    "If formed as a path, it can consist of sub-paths divided by slash symbol; each sub-path can be formed as a mix of "
    "letters, numbers and the following 3 symbols .-_"
)


@dataclass(frozen=True, slots=True)
class Asked:
    """A parameter as a request names it. `selector` is a version or a label, empty for the newest version."""

    text: str
    key: str
    selector: str
    by_arn: bool


def key_of(name: str) -> str:
    """Return the name under which a parameter is stored: `x` and `/x` are the same parameter."""
    return name if name.startswith("/") else f"/{name}"


def parameter_arn(scope: Scope, key: str) -> str:
    """Return the ARN of a parameter, by its stored name."""
    return str(Arn("ssm", scope.region, scope.account, f"parameter{key}"))


def asked(scope: Scope, text: str) -> Asked:
    """Return what a request names: a name or an ARN, and perhaps a version or a label.

    Errors: ValidationException.
    """
    prefix = parameter_arn(scope, "/")
    by_arn = text.startswith("arn:")
    if by_arn and not text.startswith(prefix):
        raise invalid(f"Parameters of another account or region are not shared with {scope.account}: {text}")
    name, _, selector = text.removeprefix(prefix).partition(":")
    if by_arn:
        name = f"/{name}"
    if not name.startswith(AWS_PATH):
        _check_form(name)
    return Asked(text, key_of(name), selector, by_arn)


def check_new(scope: Scope, name: str) -> None:
    """Refuse the name of a new parameter.

    Errors: ValidationException; AccessDeniedException; HierarchyLevelLimitExceededException.
    """
    if name.lower().startswith(AWS_PATH):
        raise ServiceError("AccessDeniedException", f"No access to reserved parameter name: {name}.", http_status=400)
    if _RESERVED.match(name):
        raise invalid(f'Parameter name: can\'t be prefixed with "aws" or "ssm" (case-insensitive). {_RULE}')
    _check_form(name)
    if key_of(name).count("/") > limits.LEVELS_MAX:
        raise ServiceError(
            "HierarchyLevelLimitExceededException",
            f"The parameter name can have at most {limits.LEVELS_MAX} levels: {name}",
        )
    if len(parameter_arn(scope, key_of(name))) > limits.NAME_LENGTH_MAX:
        raise invalid(f"The parameter name must be shorter: its ARN can have {limits.NAME_LENGTH_MAX} characters.")


def check_path(path: str) -> str:
    """Return the prefix of the names below a path. Errors: ValidationException."""
    if not re.fullmatch(r"/|(?:/[A-Za-z0-9_.-]+)+/?", path):
        raise invalid(
            "The parameter doesn't meet the parameter name requirements. The parameter name must begin with a forward "
            f'slash "/". It can\'t be prefixed with "aws" or "ssm" (case-insensitive). {_RULE}'
        )
    return path.rstrip("/") + "/"


def is_label(label: str) -> bool:
    """Whether a text can be the label of a version."""
    return _LABEL.fullmatch(label) is not None and _RESERVED_LABEL.match(label) is None


def _check_form(name: str) -> None:
    if _NAME.fullmatch(name) is None:
        raise invalid(f"Parameter name: can't be formed as {name}. {_RULE}")
