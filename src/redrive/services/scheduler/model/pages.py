"""Pages of lists: the tokens that say where the next page begins.

Source: https://docs.aws.amazon.com/scheduler/latest/APIReference/API_ListSchedules.html
"""

from __future__ import annotations

from redrive.core import pages
from redrive.core.pages import encode_token
from redrive.services.scheduler.model.requests import invalid

__all__ = ["decode_token", "encode_token"]


def decode_token(token: str | None, *asked: str | None) -> str:
    """Return the name after which the page begins. Errors: ValidationException."""
    try:
        return pages.decode_token(token, *asked)
    except pages.InvalidToken as error:
        raise invalid("Invalid NextToken.") from error
