"""Processors that change fields: their names, their places, their texts."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import re2

from redrive.core.documents import Document
from redrive.languages.log_transform.documents import MalformedTransformer, NotFitting, Path, Transformed, read_path
from redrive.languages.log_transform.parsers import Processor

_METADATA = ("@logGroupName", "@logGroupStream", "@accountId", "@regionName")
_REFERENCE = re.compile(r"\$(?:(\d+)|\{(\w+)\})|\\", re.ASCII)


def each(steps: Sequence[Processor]) -> Processor:
    """Do several things. What an event does not fit is left out, and stops nothing else."""

    def run(event: Transformed) -> None:
        for step in steps:
            try:
                step(event)
            except NotFitting:
                continue

    return run


def _entries(settings: Document, step: Callable[[Document], Processor]) -> Processor:
    return each([step(entry) for entry in settings["entries"]])


def add_keys(settings: Document) -> Processor:
    """Add fields with a fixed text."""

    def step(entry: Document) -> Processor:
        path, value = read_path(str(entry["key"]), "addKeys.key"), str(entry["value"])
        return lambda event: event.put(path, value, overwrite=_overwrites(entry))

    return _entries(settings, step)


def delete_keys(settings: Document) -> Processor:
    """Delete fields."""
    paths = [read_path(str(key), "deleteKeys.withKeys") for key in settings["withKeys"]]
    return each([lambda event, path=path: event.take(path) for path in paths])  # type: ignore[misc]


def move_keys(settings: Document) -> Processor:
    """Move fields, under the names that they have, into an object."""

    def step(entry: Document) -> Processor:
        source, target = read_path(str(entry["source"]), "moveKeys.source"), _target(entry, "moveKeys")
        return lambda event: _moved(event, source, (*target, source[-1]), overwrite=_overwrites(entry))

    return _entries(settings, step)


def rename_keys(settings: Document) -> Processor:
    """Give fields another name, or another path."""

    def step(entry: Document) -> Processor:
        key = read_path(str(entry["key"]), "renameKeys.key")
        name = read_path(str(entry["renameTo"]), "renameKeys.renameTo")
        return lambda event: _moved(event, key, name, overwrite=_overwrites(entry))

    return _entries(settings, step)


def copy_value(settings: Document) -> Processor:
    """Copy the values of fields, or of what is known of the event's origin."""

    def step(entry: Document) -> Processor:
        source, target = str(entry["source"]), _target(entry, "copyValue")
        if source in _METADATA:
            return lambda event: event.put(target, event.metadata.get(source, ""), overwrite=_overwrites(entry))
        path = read_path(source, "copyValue.source")
        return lambda event: event.put(target, event.get(path), overwrite=_overwrites(entry))

    return _entries(settings, step)


def list_to_map(settings: Document) -> Processor:
    """Make fields of a list of objects: one for each value of `key`, with the values or the first or last of them."""
    source, key = read_path(str(settings["source"]), "listToMap.source"), str(settings["key"])
    value_key, target = settings.get("valueKey"), settings.get("target")
    kept = settings.get("flattenedElement") if settings.get("flatten") else None
    if settings.get("flatten") and kept is None:
        raise MalformedTransformer("listToMap.flattenedElement is required where flatten is true")
    destination = None if target is None else read_path(str(target), "listToMap.target")

    def run(event: Transformed) -> None:
        items = event.get(source)
        if not isinstance(items, list):
            raise NotFitting
        found: dict[str, list[object]] = {}
        for item in items:
            if isinstance(item, dict) and isinstance(item.get(key), str) and (value_key is None or value_key in item):
                found.setdefault(item[key], []).append(item if value_key is None else item[value_key])
        chosen = {"first": 0, "last": -1}
        made: dict[str, object] = {
            name: values if kept is None else values[chosen[str(kept)]] for name, values in found.items()
        }
        event.put_all(destination, made, overwrite=True)

    return run


def changing(name: str, change: Callable[[str], str]) -> Callable[[Document], Processor]:
    """A processor that changes the texts of the fields `withKeys`."""

    def read(settings: Document) -> Processor:
        return each([
            _changed(read_path(str(key), f"{name}.withKeys"), change) for key in settings["withKeys"]
        ])  # fmt: skip

    return read


def split_string(settings: Document) -> Processor:
    """Make lists of texts."""

    def step(entry: Document) -> Processor:
        delimiter = str(entry["delimiter"])
        return _changed(read_path(str(entry["source"]), "splitString.source"), lambda text: text.split(delimiter))

    return _entries(settings, step)


def substitute_string(settings: Document) -> Processor:
    """Put a text in place of each match of a regular expression; `$1` and `${name}` in it are what groups captured."""

    def step(entry: Document) -> Processor:
        options = re2.Options()
        options.log_errors = False
        try:
            pattern = re2.compile(str(entry["from"]), options)
        except re2.error as error:
            message = f"substituteString.from {entry['from']} cannot be matched in linear time: {error}"
            raise MalformedTransformer(message) from None
        groups = pattern.groups
        names = pattern.groupindex
        text = _REFERENCE.sub(lambda match: _replacement(match, groups, names), str(entry["to"]))
        path = read_path(str(entry["source"]), "substituteString.source")
        return _changed(path, lambda value: str(pattern.sub(text, value)))

    return _entries(settings, step)


def _replacement(match: re.Match[str], groups: int, names: Document) -> str:
    if match[0] == "\\":
        return r"\\"
    number = int(match[1]) if match[1] else names.get(match[2])
    if number is None or number > groups:
        raise MalformedTransformer(f"substituteString.to has {match[0]}, and substituteString.from has no such group")
    return rf"\g<{number}>"


def _changed(path: Path, change: Callable[[str], object]) -> Processor:
    return lambda event: event.put(path, change(event.text(path)), overwrite=True)


def _moved(event: Transformed, source: Path, target: Path, *, overwrite: bool) -> None:
    value = event.get(source)
    if source == target:
        return
    event.put(target, value, overwrite=overwrite)
    event.take(source)


def _target(entry: Document, name: str) -> Path:
    return read_path(str(entry["target"]), f"{name}.target")


def _overwrites(entry: Document) -> bool:
    return bool(entry.get("overwriteIfExists", False))


MUTATORS: dict[str, Callable[[Document], Processor]] = {
    "addKeys": add_keys, "deleteKeys": delete_keys, "moveKeys": move_keys, "renameKeys": rename_keys,
    "copyValue": copy_value, "listToMap": list_to_map, "splitString": split_string,
    "substituteString": substitute_string, "lowerCaseString": changing("lowerCaseString", str.lower),
    "upperCaseString": changing("upperCaseString", str.upper), "trimString": changing("trimString", str.strip),
}  # fmt: skip
