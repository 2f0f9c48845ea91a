"""Sample records of streams: two versions of one thing, with what the handler reads of them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from redrive.core.documents import Document
from redrive.prove.guess.reading import EventPath, Reading
from redrive.prove.guess.samples import completed, is_numbers_name, text_for

_OF_DATA = ("Records", 0, "kinesis", "data")
_OF_CHANGE = ("Records", 0, "dynamodb")
_EVENT_NAME = ("Records", 0, "eventName")
_NAMES_THE_THING = re.compile(r"(?i)(^|_)(id|key|pk|sk|name|type|kind)$|[a-z]I[dD]$")
_TYPES: Mapping[str, object] = {
    "N": "1", "BOOL": True, "NULL": True, "M": {}, "L": [], "SS": ["a"], "NS": ["1"], "B": "YQ==", "BS": ["YQ=="],
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class SampleRecords:
    """Records, and what was guessed of them: each key with the line that reads it."""

    records: tuple[Document, ...]
    guesses: Mapping[str, str] = field(default_factory=dict)


def sample_data(reading: Reading | None) -> SampleRecords:
    """Two records of Kinesis: what stands in their data."""
    made, added = sample_object(reading, _OF_DATA)
    first = made or {"id": "sample-1", "version": 1}
    return SampleRecords((first, _changed(first)), {f"{name} of the data": place for name, place in added.items()})


def sample_object(reading: Reading | None, prefix: EventPath) -> tuple[Document, dict[str, str]]:
    """An object with the keys that a handler reads below a path, and the line that reads each."""
    known = Reading() if reading is None else reading
    below = Reading({("detail", *path): known.paths[(*prefix, *path)] for path in _below(known.paths, prefix)})
    below.compared = {("detail", *path): known.compared[(*prefix, *path)] for path in _below(known.compared, prefix)}
    event: Document = {"detail": {}}
    added = completed(event, below)
    return event["detail"], {
        name.removeprefix("detail."): f"made up, because {place} reads it" for name, place in added.items()
    }


def sample_changes(reading: Reading | None, key_types: Mapping[str, str]) -> SampleRecords:
    """Changes of a table: an item is made and changed; and deleted, if the handler asks for that.

    `key_types` has the types of the key's attributes; empty if the table is made for the handler.
    """
    known = Reading() if reading is None else reading
    guesses: dict[str, str] = {}
    item: Document = {}
    keys = dict(key_types)
    for path in _below(known.paths, _OF_CHANGE):
        place = known.paths[(*_OF_CHANGE, *path)]
        if len(path) >= 2 and path[0] in ("Keys", "NewImage", "OldImage"):
            name = str(path[1])
            kind = str(path[2]) if len(path) > 2 else "N" if is_numbers_name(name) else "S"
            texts = known.compared.get((*_OF_CHANGE, *path), ())
            item.setdefault(name, _value(name, kind, texts[0] if texts else None))
            guesses.setdefault(f"{name} of the item", f"made up, because {place} reads it")
            if path[0] == "Keys" and not key_types:
                keys[name] = kind
    if not keys:
        keys = {next((name for name in item if _NAMES_THE_THING.search(name) and "S" in item[name]), "id"): "S"}
    for name, kind in keys.items():
        item[name] = item[name] if kind in item.get(name, {}) else _value(name, kind, None)
    if item.keys() <= keys.keys():
        item["version"] = {"N": "1"}
    key = {name: item[name] for name in keys}
    changed = {**item, **_changed_item(item, keys)}
    records: list[Document] = [{"Keys": key, "NewImage": item}, {"Keys": key, "NewImage": changed}]
    if "REMOVE" in known.compared.get(_EVENT_NAME, ()):
        records.append({"Keys": key})
    return SampleRecords(tuple(records), guesses)


def _below(paths: Iterable[EventPath], prefix: EventPath) -> Iterator[EventPath]:
    for path in paths:
        if len(path) > len(prefix) and path[: len(prefix)] == prefix:
            yield path[len(prefix) :]


def _changed(first: Document) -> Document:
    """A later version of the same thing: what names the thing stays."""
    for name, value in first.items():
        if isinstance(value, int) and not isinstance(value, bool):
            return {**first, name: value + 1}
    for name, value in reversed(first.items()):
        if isinstance(value, str) and value == f"sample-{name}" and not _NAMES_THE_THING.search(name):
            return {**first, name: f"{value}-2"}
    return {**first, "version": 2}


def _changed_item(item: Document, keys: Mapping[str, str]) -> Document:
    free = [name for name in item if name not in keys]
    for name in free:
        if item[name] == {"N": "1"}:
            return {name: {"N": "2"}}
    for name in reversed(free):
        if item[name] == {"S": f"sample-{name}"} and not _NAMES_THE_THING.search(name):
            return {name: {"S": f"sample-{name}-2"}}
    return {"version": {"N": "2"}}


def _value(name: str, kind: str, text: str | None) -> Document:
    if kind in _TYPES:
        return {kind: text if kind == "N" and text is not None else _TYPES[kind]}
    return {"S": text if text is not None else text_for(name)}
