"""Rows that a query works on: a log event with the fields found in it, or a line of an aggregation."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from redrive.languages.insights.json_text import read_json, read_json_at
from redrive.languages.insights.lambda_lines import FIELDS as LAMBDA_FIELDS
from redrive.languages.insights.values import Value

DISCOVERED_MAX = 200
"""How many fields of a JSON event are discovered."""

_NOTHING: Mapping[str, object] = {}
_MARKS_MAX = 2 * DISCOVERED_MAX


@dataclass(frozen=True, slots=True)
class LogOrigin:
    """Where events come from: the account and the group, as in `@log`, and the Region.

    `is_earlier`: they are of the time that `diff` compares with.
    """

    log: str = ""
    region: str = ""
    is_earlier: bool = False


NO_ORIGIN = LogOrigin()


class SearchedEvent(NamedTuple):
    """A log event to search: instants in milliseconds; `seq` is its number in the store.

    `transformed` is what a transformer has made of the message: fields are found there, if it is there.
    """

    at: int
    message: str
    stream: str = ""
    ingested_at: int = 0
    seq: int = 0
    origin: LogOrigin = NO_ORIGIN
    transformed: str | None = None

    @property
    def pointer(self) -> str:
        """What identifies the event, as in `@ptr`."""
        return base64.urlsafe_b64encode(f"{self.at}/{self.seq}/{self.origin.log}".encode()).decode()


class Pointed(NamedTuple):
    """What a pointer says of its event; `log` is the account and the group."""

    at: int
    seq: int
    log: str


def read_pointer(pointer: str) -> Pointed | None:
    """The event that a pointer identifies; None for what is no pointer."""
    try:
        at, seq, log = base64.urlsafe_b64decode(pointer.encode()).decode().split("/", 2)
        return Pointed(int(at), int(seq), log)
    except ValueError:
        return None


class Row:
    """An event, or none after an aggregation, with the fields that commands have made."""

    __slots__ = ("_found", "event", "made")

    def __init__(self, event: SearchedEvent, made: dict[str, Value] | None = None) -> None:
        self.event = event
        self.made: dict[str, Value] = {} if made is None else made
        self._found: Mapping[str, object] | None = None

    @property
    def found(self) -> Mapping[str, object]:
        """The fields of the event's JSON, by the names of its highest level."""
        if self._found is None:
            event = self.event
            self._found = _json_of(event.message if event.transformed is None else event.transformed)
        return self._found

    def discovered(self, name: str) -> Value:
        """The value of a field that was found in the event's JSON; None if there is none."""
        found = self.found
        if name in found:
            value = found[name]
            kind = type(value)
            if kind is str or kind is int or kind is float:
                return value  # type: ignore[return-value]  # mypy does not follow `type`.
            return _leaf(value)
        return _deep(found, name) if found and "." in name else None

    def copied(self) -> Row:
        """A row of its own with the same fields."""
        row = Row(self.event, dict(self.made))
        row._found = self._found
        return row


NO_EVENT = SearchedEvent(0, "")
Getter = Callable[[Row], Value]

_SYSTEM: Mapping[str, Getter] = {
    "@timestamp": lambda row: row.event.at,
    "@message": lambda row: row.event.message,
    "@logStream": lambda row: row.event.stream,
    "@ingestionTime": lambda row: row.event.ingested_at,
    "@log": lambda row: row.event.origin.log,
    "@ptr": lambda row: row.event.pointer,
    "@aws.account": lambda row: row.event.origin.log.partition(":")[0],
    "@aws.region": lambda row: row.event.origin.region,
    "@entity.KeyAttributes.Name": lambda _: None,  # Entities are not stored.
}
TIMES = frozenset(("@timestamp", "@ingestionTime"))
"""The fields that are instants."""


def getter_of_event(name: str) -> Getter:
    """How a field of an event is got: a field of the system, of Lambda's lines, or one that was found in JSON."""
    system = _SYSTEM.get(name)
    if system is not None:
        return system
    of_lambda = LAMBDA_FIELDS.get(name)
    if of_lambda is not None:
        take = of_lambda
        return lambda row: take(row.event.message)
    if name.startswith("@@"):
        name = name[1:]  # A field of JSON whose name begins with @ is shown with one more.
    elif name.startswith("@"):
        return lambda _: None
    return lambda row: row.discovered(name)


def _json_of(message: str) -> Mapping[str, object]:
    """The JSON object that a message is, or the first that begins in it; empty if there is none."""
    start = message.find("{")
    if start < 0:
        return _NOTHING
    found: object = None
    if not message[:start].strip():
        try:
            found = read_json(message)
        except ValueError:
            found = None
    if found is None:
        try:
            found = read_json_at(message, start)
        except ValueError:
            return _NOTHING
    if not isinstance(found, dict):
        return _NOTHING
    if message.count(",") + message.count(":") > _MARKS_MAX:
        return _first_fields(found)
    return found


def _first_fields(document: Mapping[str, object]) -> Mapping[str, object]:
    """The first fields of a large document, by their whole names."""
    found: dict[str, object] = {}
    waiting: list[tuple[str, object]] = list(reversed([(name, value) for name, value in document.items()]))
    while waiting and len(found) < DISCOVERED_MAX:
        name, value = waiting.pop()
        if isinstance(value, dict):
            waiting += reversed([(f"{name}.{key}", inner) for key, inner in value.items()])
        elif isinstance(value, list):
            waiting += reversed([(f"{name}.{index}", inner) for index, inner in enumerate(value)])
        else:
            found[name] = value
    return found


def _deep(document: Mapping[str, object], name: str) -> Value:
    """The value at a name with dots: of members of members, and of items of lists by their numbers."""
    value: object = document
    for part in name.split("."):
        if isinstance(value, dict) and part in value:
            value = value[part]
        elif isinstance(value, list) and part.isdecimal() and len(part) < 6 and int(part) < len(value):
            value = value[int(part)]
        else:
            return _by_prefixes(document, name)
    return None if isinstance(value, dict | list) else _leaf(value)


def _by_prefixes(value: object, name: str) -> Value:
    """As `_deep`, for documents in which names of members have dots themselves."""
    if isinstance(value, dict):
        if name in value:
            return None if isinstance(value[name], dict | list) else _leaf(value[name])
        at = name.find(".")
        while at >= 0:
            inner = value.get(name[:at])
            if inner is not None:
                found = _by_prefixes(inner, name[at + 1 :])
                if found is not None:
                    return found
            at = name.find(".", at + 1)
    elif isinstance(value, list):
        index, _, rest = name.partition(".")
        if index.isdecimal() and len(index) < 6 and int(index) < len(value):
            inner = value[int(index)]
            return _by_prefixes(inner, rest) if rest else None if isinstance(inner, dict | list) else _leaf(inner)
    return None


def _leaf(value: object) -> Value:
    """A value of JSON: true is 1 and false is 0, as Insights has them."""
    if value is True:
        return 1
    if value is False:
        return 0
    return value if isinstance(value, str | int | float) else None


def names_found(row: Row) -> list[str]:
    """The names of all fields of an event: those of the system, of Lambda, and those found in its JSON."""
    found = [name for name in ("@timestamp", "@message", "@logStream", "@ingestionTime", "@log") if name in _SYSTEM]
    found += [name for name, take in LAMBDA_FIELDS.items() if take(row.event.message) is not None]
    return found + [f"@{name}" if name.startswith("@") else name for name in _first_fields(row.found)]
