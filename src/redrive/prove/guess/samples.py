"""Sample events: of AWS's own sources, by source and detail-type; completed by the keys that a handler reads.

events.json has one event of each kind, written from the fields that AWS documents, with a link to their page. Calls
that CloudTrail records are told apart by the name of the call.
"""

from __future__ import annotations

import copy
import functools
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from redrive.core.documents import Document
from redrive.prove.guess.reading import EventKey, EventPath, Reading

CHOSEN_SHARE = 0.99
"""The least share of the keys read that an event has which is chosen by them alone."""

_USUAL = frozenset({"Object Created", "EC2 Instance State-change Notification", "ECS Task State Change"})
"""Of kinds of events that fit alike, those that are handled most."""
_NUMBERS = re.compile(
    r"(?i)(amount|price|total|(?<!ac)count$|quantity|qty|size|score|number|cost|_ms$|seconds|duration|latency|_time$|^age$)"
)
_TIMES = re.compile(r"(?i)(timestamp$|^time$|[a-z]time$|date$|_at$)|[a-z]At$")
_TO_COME = re.compile(r"(?i)^date_?time$|^due|appointment|deadline|expir|remind|schedul")
"""The names of times, among these, at which something is to happen: a schedule for a time that is past ends at once."""


@dataclass(frozen=True, slots=True)
class Shape:
    """A kind of event. `name` is `source/detail-type`, with the name of the call if CloudTrail has recorded one."""

    name: str
    source: str
    detail_type: str
    event: Document
    documentation: str

    def has(self, path: EventPath) -> bool:
        """Whether the sample has something at a path."""
        return _at(self.event, path) is not _NOTHING


@functools.cache
def all_shapes() -> tuple[Shape, ...]:
    """All kinds of events of AWS's own sources."""
    read = json.loads(Path(__file__).with_name("events.json").read_text("utf-8"))
    return tuple(
        Shape(
            name, one["source"], one["detail-type"],
            {key: value for key, value in one.items() if key != "documentation"}, one["documentation"],
        )
        for name, one in read.items()
    )  # fmt: skip


def shapes_of_type(text: str) -> list[Shape]:
    """The shapes that a user means: by detail-type, by `source/detail-type`, or by the name of a call."""
    wanted = text.lower()
    return [
        shape
        for shape in all_shapes()
        if wanted in (shape.name.lower(), shape.detail_type.lower(), shape.name.rpartition("/")[2].lower())
    ]


def shape_for(values: Mapping[EventPath, Sequence[str]], reading: Reading | None) -> Shape | None:
    """The kind of event that a pattern or a handler means: `values` are the texts that it takes at a path.

    Of several kinds the one that has most of the keys that the handler reads. Without any value, only a kind that has
    all of them.
    """
    sources, kinds = values.get(("source",), ()), values.get(("detail-type",), ())
    names = values.get(("detail", "eventName"), ())
    found = [
        shape
        for shape in all_shapes()
        if (not sources or shape.source in sources)
        and (not kinds or shape.detail_type in kinds)
        and (not names or str(_at(shape.event, ("detail", "eventName"))) in names)
    ]
    if not found and names and "AWS API Call via CloudTrail" in kinds:
        found = [shape for shape in all_shapes() if shape.detail_type in kinds]
    if not found:
        return None
    best = max(found, key=lambda shape: (_share(shape, reading), shape.detail_type in _USUAL))
    is_named = bool(sources or kinds or names)
    return best if is_named or _share(best, reading) >= CHOSEN_SHARE else None


def completed(event: Document, reading: Reading | None) -> dict[str, str]:
    """Add what a handler reads of the event's detail and the event does not have; returns each path and who reads it.

    The type is guessed from the name of the key.
    """
    if reading is None:
        return {}
    added: dict[str, str] = {}
    for path, place in sorted(reading.paths.items(), key=lambda one: len(one[0])):
        if path[:1] == ("detail",) and len(path) > 1 and _at(event, path) is _NOTHING:
            deeper = [other for other in reading.paths if len(other) > len(path) and other[: len(path)] == path]
            if _put(event, path, _value(path[-1], deeper, len(path), reading.compared.get(path, ()))):
                added |= {} if deeper else {_told(path): place}
    return added


_NOTHING = object()


def _share(shape: Shape, reading: Reading | None) -> float:
    """The share of the keys of the detail which a handler reads that a kind of event has."""
    paths = [path for path in (reading.paths if reading else ()) if path[:1] == ("detail",) and len(path) > 1]
    return sum(map(shape.has, paths)) / len(paths) if paths else 0.0


def _at(document: object, path: EventPath) -> object:
    for step in path:
        if isinstance(document, list):
            if not isinstance(step, int) or not -len(document) <= step < len(document):
                return _NOTHING
            document = document[step]
        elif isinstance(document, dict) and step in document:
            document = document[step]
        else:
            return _NOTHING
    return document


def _put(event: Document, path: EventPath, value: object) -> bool:
    parent = _at(event, path[:-1])
    step = path[-1]
    if isinstance(parent, dict) and isinstance(step, str):
        parent[step] = value
        return True
    if isinstance(parent, list) and isinstance(step, int):
        parent.append(value)
        return True
    return False


def _value(step: EventKey, deeper: Sequence[EventPath], depth: int, compared: Sequence[str]) -> object:
    """A value for a key: an object or a list if something is read below it."""
    if any(isinstance(path[depth], int) for path in deeper):
        return []
    if deeper:
        return {}
    if compared:
        return compared[0]
    name = str(step)
    return 1 if is_numbers_name(name) else text_for(name)


def text_for(name: str) -> str:
    """A text for a key with this name."""
    if _TIMES.search(name):
        if _TO_COME.search(name):
            return "2026-01-01T00:00:00Z"
        return "2025-01-01T00:00:00Z"
    return "someone@example.com" if "mail" in name.lower() else f"sample-{name}"


def is_numbers_name(name: str) -> bool:
    """Whether a key with this name probably holds a number."""
    return _NUMBERS.search(name) is not None


def _told(path: EventPath) -> str:
    return ".".join(map(str, path))


def copied(shape: Shape) -> Document:
    """The sample event of a kind, to be changed."""
    return copy.deepcopy(shape.event)


def names_of_shapes() -> Iterator[str]:
    """The names of all kinds, as a user may write them."""
    return (shape.name for shape in all_shapes())
