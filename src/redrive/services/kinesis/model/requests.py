"""Errors in AWS's words, and the tokens of lists."""

from __future__ import annotations

import base64
from datetime import UTC, datetime

from redrive.core.clock import Instant
from redrive.core.errors import ServiceError
from redrive.core.scope import Scope
from redrive.services.kinesis import limits

_SEPARATOR = "\n"


def invalid_argument(message: str) -> ServiceError:
    """Build InvalidArgumentException."""
    return ServiceError("InvalidArgumentException", message)


def invalid_request(message: str) -> ServiceError:
    """Build ValidationException."""
    return ServiceError("ValidationException", message)


def null_member(path: str) -> ServiceError:
    """Build the error for a member that this request needs, in the words of AWS's validators."""
    constraint = "failed to satisfy constraint: Member must not be null"
    return invalid_request(f"1 validation error detected: Value null at '{path}' {constraint}")


def stream_not_found(scope: Scope, name: str) -> ServiceError:
    """Build the error for a stream that does not exist."""
    return ServiceError("ResourceNotFoundException", f"Stream {name} under account {scope.account} not found.")


def limit_exceeded(message: str) -> ServiceError:
    """Build LimitExceededException."""
    return ServiceError("LimitExceededException", message)


def in_use(message: str) -> ServiceError:
    """Build ResourceInUseException."""
    return ServiceError("ResourceInUseException", message)


def check_dry_run(dry_run: bool | None) -> None:
    """End a request that was only to be checked. Errors: DryRunOperationException."""
    if dry_run:
        raise ServiceError(
            "DryRunOperationException", "Request would have succeeded, but DryRun parameter was specified."
        )


def encode_token(kind: str, made_at: Instant, *fields: str) -> str:
    """Return a NextToken. `kind` names what is listed; the fields must not contain line breaks."""
    text = _SEPARATOR.join((kind, str(made_at), *fields))
    return base64.b64encode(text.encode()).decode()


def decode_token(kind: str, token: str, now: Instant) -> list[str]:
    """Return the fields of a NextToken. Errors: InvalidArgumentException; ExpiredNextTokenException."""
    try:
        found, made_at, *fields = base64.b64decode(token, validate=True).decode().split(_SEPARATOR)
        age_ms = now - int(made_at)
    except ValueError:
        raise invalid_token() from None
    if found != kind or not fields:
        raise invalid_token()
    if age_ms > limits.TOKEN_MS:
        raise ServiceError("ExpiredNextTokenException", "The NextToken has expired; list from the beginning.")
    return fields


def invalid_token() -> ServiceError:
    """Build the error for a NextToken that no list gave."""
    return invalid_argument("NextToken is invalid.")


def java_date(instant: Instant) -> str:
    """Format as Java prints a date: `Tue Aug 25 12:00:00 UTC 2026`."""
    moment = datetime.fromtimestamp(instant // 1000, UTC)
    return moment.strftime("%a %b %d %H:%M:%S UTC %Y")
