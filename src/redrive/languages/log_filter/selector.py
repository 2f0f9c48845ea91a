"""Selectors into JSON: `$.user.id`, `$.items[0].name`, `$.tags[*]`, `$.['a.b']`."""

from __future__ import annotations

import re

from redrive.languages.log_filter.malformed import MalformedFilter

_STEP = re.compile(r"\.?\[(?P<index>\d+|\*)\]|\.?\['(?P<quoted>[^']*)'\]|\.(?P<name>[^\s.\[\]()=!<>&|{}]+)")

Step = str | int | None
"""The name of a member, an index, or None for all items of an array."""


def parse_selector(text: str) -> tuple[Step, ...]:
    """The steps of a selector. Errors: MalformedFilter."""
    steps: list[Step] = []
    at = 1
    while at < len(text):
        found = _STEP.match(text, at)
        if found is None:
            raise MalformedFilter(f"not a property selector: {text}")
        at = found.end()
        if found["index"] is not None:
            steps.append(None if found["index"] == "*" else int(found["index"]))
        else:
            steps.append(found["quoted"] if found["quoted"] is not None else found["name"])
    if not text.startswith("$") or not steps:
        raise MalformedFilter(f"not a property selector: {text}")
    return tuple(steps)


def select(document: object, steps: tuple[Step, ...]) -> list[object]:
    """The values that a selector finds: none if there is no such place, several behind `[*]`."""
    found = [document]
    for step in steps:
        found = [item for value in found for item in _step(value, step)]
    return found


def _step(value: object, step: Step) -> list[object]:
    if isinstance(step, str):
        return [value[step]] if isinstance(value, dict) and step in value else []
    if not isinstance(value, list):
        return []
    if step is None:
        return value
    return [value[step]] if step < len(value) else []
