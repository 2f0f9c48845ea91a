"""Lists of resources by name, in pages: archives, replays, connections and API destinations are listed alike."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from redrive.core.scope import Scope
from redrive.services.events import limits
from redrive.services.events.model.pages import decode_token, encode_token
from redrive.services.events.model.requests import invalid
from redrive.store.api import Transaction
from redrive.store.tables.resources import Resource

R = TypeVar("R", bound=Resource)


@dataclass(frozen=True, slots=True)
class Asked:
    """What a request for a list says: `filters` are its values beside the prefix, in the operation's order."""

    operation: str
    name_prefix: str | None
    filters: tuple[str | None, ...]
    next_token: str | None
    limit: int | None

    def check_one_filter(self) -> None:
        """Refuse several filters. Errors: ValidationException."""
        if sum(value is not None for value in (self.name_prefix, *self.filters)) > 1:
            told = "Use either : State, EventSourceArn, or NamePrefix."
            raise invalid(f"At most one filter is allowed for {self.operation}. {told}")


def listed(
    tx: Transaction, cls: type[R], scope: Scope, asked: Asked, wanted: Callable[[R], bool]
) -> tuple[Sequence[R], str | None]:
    """The page of the resources of a kind that are wanted, and the token of the next page.

    Errors: ValidationException (the token).
    """
    key = (asked.operation, asked.name_prefix, *asked.filters)
    after = decode_token(asked.next_token, *key)
    size = asked.limit or limits.PAGE_MAX
    found = [one for one in tx.resources.list(cls, scope, prefix=asked.name_prefix or "", after=after) if wanted(one)]
    page = found[:size]
    return page, encode_token(page[-1].name, *key) if len(found) > size else None
