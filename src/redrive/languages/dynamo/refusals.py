"""How the languages of DynamoDB say no: one error code, AWS's own sentences.

Every refusal of this room is a `ValidationException`; which service operation asked is none of its business.
"""

from __future__ import annotations

from redrive.core.errors import ServiceError


def invalid(message: str) -> ServiceError:
    """The `ValidationException` with this text."""
    return ServiceError("ValidationException", message)


def invalid_parameter(message: str) -> ServiceError:
    """The `ValidationException` that DynamoDB gives for the meaning of a parameter, not for its shape."""
    return invalid(f"One or more parameter values were invalid: {message}")
