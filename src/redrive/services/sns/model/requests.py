"""Errors of requests, in the sentences of SNS, and the tokens of pages."""

from __future__ import annotations

import base64

from redrive.core.errors import ServiceError


def invalid(reason: str) -> ServiceError:
    """Build the error for a parameter: `Invalid parameter: Subject`."""
    return ServiceError("InvalidParameterException", f"Invalid parameter: {reason}")


def invalid_value(message: str) -> ServiceError:
    """Build the error for a message attribute."""
    return ServiceError("InvalidParameterValueException", message)


def no_such_topic() -> ServiceError:
    """Build the error for a topic that does not exist."""
    return ServiceError("NotFoundException", "Topic does not exist")


def no_such_subscription() -> ServiceError:
    """Build the error for a subscription that does not exist."""
    return ServiceError("NotFoundException", "Subscription does not exist")


def encode_token(name: str) -> str:
    """Return the NextToken of a page whose last result has this name."""
    return base64.urlsafe_b64encode(name.encode()).decode()


def decode_token(token: str | None) -> str:
    """Return the name after which the next page begins. Errors: InvalidParameterException."""
    try:
        return base64.b64decode(token or "", altchars=b"-_", validate=True).decode()
    except ValueError:
        raise invalid("NextToken") from None
