"""Parameter Store's errors, and the tokens of its pages.

Source: https://docs.aws.amazon.com/systems-manager/latest/APIReference/API_PutParameter.html
"""

from __future__ import annotations

import base64

from redrive.core.errors import ServiceError


def invalid(message: str) -> ServiceError:
    """Build the error for a request that AWS refuses."""
    return ServiceError("ValidationException", message, http_status=400)


def not_found(message: str = "") -> ServiceError:
    """Build the error for a parameter that does not exist. AWS names it by the code alone."""
    return ServiceError("ParameterNotFound", message)


def no_such_version(name: str, selector: str) -> ServiceError:
    """Build the error for a version or a label that a parameter does not have."""
    what = "version" if selector.isdigit() else "label"
    message = f"Systems Manager could not find {what} {selector} of {name}. Verify the {what} and try again."
    return ServiceError("ParameterVersionNotFound", message)


def page_token(name: str) -> str:
    """Return the token for the page after a name."""
    return base64.urlsafe_b64encode(name.encode()).decode()


def read_page_token(token: str | None) -> str:
    """Return the name in a token of `page_token`; empty without one. Errors: InvalidNextToken."""
    try:
        return base64.urlsafe_b64decode((token or "").encode()).decode()
    except ValueError:
        raise ServiceError("InvalidNextToken", "The specified token isn't valid.") from None
