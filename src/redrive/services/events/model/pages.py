"""Pages of lists: the tokens that say where the next page begins. A token is valid for the same list only."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from typing import Protocol, TypeVar

from redrive.services.events.model.requests import invalid

_DIGEST_LENGTH = 16


def encode_token(name: str, *asked: str | None) -> str:
    """Return the NextToken of a page that ends with this name; `asked` is the list's operation and its filters."""
    return base64.urlsafe_b64encode(f"{_digest(asked)}{name}".encode()).decode()


def decode_token(token: str | None, *asked: str | None) -> str:
    """Return the name after which the page begins. Errors: ValidationException."""
    if token is None:
        return ""
    try:
        text = base64.b64decode(token.encode(), altchars=b"-_", validate=True).decode()
    except ValueError as error:
        raise invalid("Parameter NextToken is not valid.") from error
    if text[:_DIGEST_LENGTH] != _digest(asked):
        raise invalid("Parameter NextToken is not valid.")
    return text[_DIGEST_LENGTH:]


def _digest(asked: tuple[str | None, ...]) -> str:
    return hashlib.sha256(repr(asked).encode()).hexdigest()[:_DIGEST_LENGTH]


class _Named(Protocol):
    @property
    def name(self) -> str: ...


N = TypeVar("N", bound=_Named)


def page_of(
    found: Sequence[N], size: int, token: str | None, *asked: str | None
) -> tuple[Sequence[N], str | None]:  # fmt: skip
    """The page after a token of a list sorted by name, and the token of the next page. Errors: ValidationException."""
    after = decode_token(token, *asked)
    left = [one for one in found if one.name > after]
    page = left[:size]
    return page, encode_token(page[-1].name, *asked) if len(left) > size else None
