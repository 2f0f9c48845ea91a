"""Pages of lists: the tokens that say where the next page begins."""

from __future__ import annotations

from redrive.core import pages
from redrive.core.pages import encode_token
from redrive.services.events.model.requests import invalid

__all__ = ["decode_token", "encode_token"]


def decode_token(token: str | None, *asked: str | None) -> str:
    """Return the name after which the page begins. Errors: ValidationException."""
    try:
        return pages.decode_token(token, *asked)
    except pages.InvalidToken as error:
        raise invalid("Parameter NextToken is not valid.") from error
