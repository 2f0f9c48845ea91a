"""Pages of lists: where the next one begins.

Source: https://docs.aws.amazon.com/scheduler/latest/APIReference/API_ListSchedules.html
"""

from __future__ import annotations

import base64

from redrive.services.scheduler.model_requests import invalid


def encode_token(name: str) -> str:
    """The NextToken of a page that ends with this name."""
    return base64.urlsafe_b64encode(name.encode()).decode()


def decode_token(token: str | None) -> str:
    """The name after which a page begins. Errors: ValidationException."""
    try:
        return base64.urlsafe_b64decode((token or "").encode()).decode()
    except ValueError as error:
        raise invalid("Invalid NextToken.") from error
