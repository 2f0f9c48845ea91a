"""Tokens of pages: where the next page of a list begins. A token is valid for the same list with the same filters."""

from __future__ import annotations

import base64
import hashlib

_DIGEST_LENGTH = 16


class InvalidToken(ValueError):
    """A token that no page of the list has answered."""


def encode_token(name: str, *asked: str | None) -> str:
    """The token of a page that ends with this name; `asked` is the list's operation and its filters."""
    return base64.urlsafe_b64encode(f"{_digest(asked)}{name}".encode()).decode()


def decode_token(token: str | None, *asked: str | None) -> str:
    """The name after which the page begins; empty for the first page. Errors: InvalidToken."""
    if token is None:
        return ""
    try:
        text = base64.b64decode(token.encode(), altchars=b"-_", validate=True).decode()
    except ValueError as error:
        raise InvalidToken from error
    if text[:_DIGEST_LENGTH] != _digest(asked):
        raise InvalidToken
    return text[_DIGEST_LENGTH:]


def _digest(asked: tuple[str | None, ...]) -> str:
    return hashlib.sha256(repr(asked).encode()).hexdigest()[:_DIGEST_LENGTH]
