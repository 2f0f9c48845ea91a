"""What all operations check of their parameters, and the errors that they share."""

from __future__ import annotations

import re

from redrive.core import pages
from redrive.core.documents import load_json
from redrive.core.errors import ServiceError
from redrive.services.stepfunctions.limits import NAME_CHARACTERS_MAX, PAYLOAD_BYTES_MAX

# Source: https://docs.aws.amazon.com/step-functions/latest/apireference/API_StartExecution.html
_FORBIDDEN = re.compile(r'[\s<>{}\[\]?*"#%\\^|~`$&,;:/\x00-\x1f\x7f-\x9f]')
_BAREWORD = re.compile(r"[^\s,\[\]{}:\"']+")


def check_name(name: str) -> None:
    """Errors: InvalidName."""
    if not 0 < len(name) <= NAME_CHARACTERS_MAX or _FORBIDDEN.search(name):
        raise ServiceError("InvalidName", f"Invalid Name: '{name}'")


def read_input(text: str | None) -> object:
    """The value of an execution's input; `{}` if none is given. Errors: InvalidExecutionInput."""
    if text is None:
        return {}
    try:
        return read_json(text)
    except ValueError as error:
        raise ServiceError(
            "InvalidExecutionInput", f"Invalid State Machine Execution Input: '{error}'"
        ) from error  # fmt: skip


def read_output(text: str) -> object:
    """The value of a task's output. Errors: InvalidOutput."""
    try:
        return read_json(text)
    except ValueError as error:
        raise ServiceError("InvalidOutput", f"Invalid Output: '{error}'") from error


def read_json(text: str) -> object:
    """Parse JSON that a user has sent. Errors: ValueError with AWS's sentence, where it is known."""
    if len(text.encode()) > PAYLOAD_BYTES_MAX:
        raise ValueError("The input is longer than the maximum number of bytes.")
    stripped = text.lstrip()
    if not stripped:
        raise ValueError("Invalid execution input.")
    try:
        return load_json(text)
    except ValueError as error:
        raise ValueError(_refusal(stripped, error)) from error


def _refusal(text: str, error: ValueError) -> str:
    inner = text.lstrip("{[ \t\r\n")
    if inner.startswith("'"):
        where = "was expecting double-quote to start field name" if text[0] == "{" else "expected a valid value"
        return f"Unexpected character (''' (code 39)): {where}"
    if text[0] not in '{["-0123456789':
        found = _BAREWORD.match(text)
        word = found[0] if found else text[0]
        expected = "(JSON String, Number, Array, Object or token 'null', 'true' or 'false')"
        return f"Unrecognized token '{word}': was expecting {expected}"
    return str(error)


def invalid(message: str, reason: str = "") -> ServiceError:
    """A ValidationException, with AWS's reason where it has one."""
    return ServiceError("ValidationException", message, members={"reason": reason} if reason else None)


def bad_token() -> ServiceError:
    """The error for a token of a page that no page has answered, or a task token that is none."""
    return ServiceError("InvalidToken", "Invalid Token: 'Invalid token'")


def read_page(token: str | None, *asked: str | None) -> str:
    """Where a page begins; empty for the first one. Errors: InvalidToken."""
    try:
        return pages.decode_token(token, *asked)
    except pages.InvalidToken as error:
        raise bad_token() from error


def no_machine(arn: str) -> ServiceError:
    """The error for a machine that does not exist."""
    return ServiceError("StateMachineDoesNotExist", f"State Machine Does Not Exist: '{arn}'")


def no_execution(arn: str) -> ServiceError:
    """The error for an execution that does not exist."""
    return ServiceError("ExecutionDoesNotExist", f"Execution Does Not Exist: '{arn}'")


def no_resource(arn: str) -> ServiceError:
    """The error for a resource that does not exist, where AWS names it."""
    return ServiceError("ResourceNotFound", f"Resource not found: '{arn}'", members={"resourceName": arn})


def unsupported_type() -> ServiceError:
    """The error for an operation that this type of machine does not have."""
    return ServiceError(
        "StateMachineTypeNotSupported", "This operation is not supported by this type of state machine"
    )  # fmt: skip
