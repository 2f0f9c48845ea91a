"""The errors of Secrets Manager, and the tokens of its pages.

Source: https://docs.aws.amazon.com/secretsmanager/latest/apireference/API_GetSecretValue.html
"""

from __future__ import annotations

import base64

from redrive.core.errors import ServiceError


def invalid_parameter(message: str) -> ServiceError:
    """Build the error for a parameter that AWS refuses."""
    return ServiceError("InvalidParameterException", message)


def invalid_request(message: str) -> ServiceError:
    """Build the error for what the state of a secret does not allow."""
    return ServiceError("InvalidRequestException", message)


def not_found(what: str = "the specified secret.") -> ServiceError:
    """Build the error for a secret or a value that does not exist."""
    return ServiceError("ResourceNotFoundException", f"Secrets Manager can't find {what}")


def page_token(name: str) -> str:
    """Return the token for the page after a name."""
    return base64.urlsafe_b64encode(name.encode()).decode()


def read_page_token(token: str | None) -> str:
    """Return the name in a token of `page_token`; empty without one. Errors: InvalidNextTokenException."""
    try:
        return base64.urlsafe_b64decode((token or "").encode()).decode()
    except ValueError:
        raise ServiceError("InvalidNextTokenException", "Invalid next token") from None
