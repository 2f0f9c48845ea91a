"""Selectors into JSON: `$.user.id`, `$.items[0].name`, `$.tags[*]`, `$.['a.b']`."""

from __future__ import annotations

import json
import re
from collections.abc import Callable

from redrive.languages.log_filter.filter import Filter
from redrive.languages.log_filter.malformed import MalformedFilter

_STEP = re.compile(r"\.?\[(?P<index>\d+|\*)\]|\.?\['(?P<quoted>[^']*)'\]|\.(?P<name>[^\s.\[\]()=!<>&|{}]+)")

Part = str | int | None
"""The name of a member, an index, or None for all items of an array."""


def parse_selector(text: str) -> tuple[Part, ...]:
    """The parts of a selector. Errors: MalformedFilter."""
    parts: list[Part] = []
    at = 1
    while at < len(text):
        found = _STEP.match(text, at)
        if found is None:
            raise MalformedFilter(f"not a property selector: {text}")
        at = found.end()
        if found["index"] is not None:
            parts.append(None if found["index"] == "*" else int(found["index"]))
        else:
            parts.append(found["quoted"] if found["quoted"] is not None else found["name"])
    if not text.startswith("$") or not parts:
        raise MalformedFilter(f"not a property selector: {text}")
    return tuple(parts)


def select(document: object, parts: tuple[Part, ...]) -> list[object]:
    """The values that a selector finds: none if the place does not exist, several after `[*]`."""
    found = [document]
    for part in parts:
        found = [item for value in found for item in _part(value, part)]
    return found


def value_text(value: object) -> str:
    """A value as text: a text as it is, anything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def reference(text: str, wanted: Filter) -> Callable[[str], str | None]:
    """What a reference in a metric filter finds in a message: `$.a.b` in JSON, `$name` between spaces.

    Errors: MalformedFilter for a reference that the pattern has not.
    """
    if wanted.references is None:
        parts = parse_selector(text)
        return lambda message: _selected(message, parts)
    if text not in wanted.references:
        raise MalformedFilter(f"the pattern has no field {text}")
    return lambda message: wanted.extracted(message).get(text)


def _selected(message: str, parts: tuple[Part, ...]) -> str | None:
    try:
        found = select(json.loads(message), parts)
    except (ValueError, RecursionError):
        return None
    return value_text(found[0]) if found and found[0] is not None else None


def _part(value: object, part: Part) -> list[object]:
    if isinstance(part, str):
        return [value[part]] if isinstance(value, dict) and part in value else []
    if not isinstance(value, list):
        return []
    if part is None:
        return value
    return [value[part]] if part < len(value) else []
