"""Tokens that say where the next page begins. They are opaque to callers."""

from __future__ import annotations

import base64
import re
from dataclasses import dataclass

from redrive.core.documents import dump_json, load_json
from redrive.services.logs.model.group import invalid_parameter
from redrive.store.tables.log_events import Place

_POSITION = re.compile(r"([fb])/(\d{20})(\d{36})(/s)?")
_LONG_MAX = 2**63 - 1  # No time and no number of an event is larger: this is the maximum of AWS's Long.


@dataclass(frozen=True, slots=True)
class Position:
    """A place among events, and the direction of reading."""

    place: Place
    is_forward: bool

    def __str__(self) -> str:
        return f"{'f' if self.is_forward else 'b'}/{event_id(self.place)}/s"


def event_id(place: Place) -> str:
    """Return the 56 digits of AWS's event id: the time of the event, and its number in the store."""
    return f"{place.at:020d}{place.seq:036d}"


def read_position(token: str) -> Position:
    """Return the position in a token. Errors: InvalidParameterException."""
    found = _POSITION.fullmatch(token)
    if found is None or max(int(found[2]), int(found[3])) > _LONG_MAX:
        raise invalid_parameter("The specified nextToken is invalid.")
    return Position(Place(int(found[2]), int(found[3])), found[1] == "f")


def list_token(*key: str | int) -> str:
    """Return a token for the page after the item with this key."""
    return base64.urlsafe_b64encode(dump_json(key).encode()).decode()


def read_list_token(token: str) -> list[str | int]:
    """Return the key in a token of `list_token`. Errors: InvalidParameterException."""
    try:
        key = load_json(base64.urlsafe_b64decode(token.encode()))
    except ValueError as error:
        raise invalid_parameter("The specified nextToken is invalid.") from error
    if not isinstance(key, list) or not all(isinstance(part, str | int) for part in key) or not key:
        raise invalid_parameter("The specified nextToken is invalid.")
    return key
