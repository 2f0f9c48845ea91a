"""The errors of DynamoDB's languages: one error code, AWS's own messages.

Every refusal of this room is a `ValidationException`, whatever the service operation.
"""

from __future__ import annotations

from redrive.core.errors import ServiceError


def invalid(message: str) -> ServiceError:
    """The `ValidationException` with this text."""
    return ServiceError("ValidationException", message)


def invalid_parameter(message: str) -> ServiceError:
    """The `ValidationException` that DynamoDB returns for the meaning of a parameter, not for its shape."""
    return invalid(f"One or more parameter values were invalid: {message}")
