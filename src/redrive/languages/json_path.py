"""The subset of JSONPath that EventBridge reads in an InputPath, in an InputPathsMap and in parameters of targets.

    $                 the whole event
    $.detail.id       a member of an object; also $['detail']["id"]
    $.resources[0]    an element of an array
    $.resources[*]    all elements of an array, as an array; also $.detail.*

Source: https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-transform-target-input.html
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

PATHS_KEPT = 4_096

ALL: Final = object()
"""The step to all members or elements."""

MISSING: Final = object()
"""What a path finds where nothing is."""

PathStep = str | int | object

_STEP = re.compile(
    r"""\.(?P<name>[^.\[\]*'"\s]+) | (?P<all>\.\*|\[\*\]) | \[(?P<index>[0-9]{1,9})\]
    | \['(?P<single>[^']*)'\] | \["(?P<double>[^"]*)"\]""",
    re.VERBOSE,
)


class MalformedPath(ValueError):
    """The text is not a path."""


@lru_cache(PATHS_KEPT)
def parse_path(text: str) -> tuple[PathStep, ...]:
    """The steps of a path: names, indices, or ALL. Errors: MalformedPath."""
    if not text.startswith("$"):
        raise MalformedPath("it must begin with $")
    steps: list[PathStep] = []
    at = 1
    while at < len(text):
        found = _STEP.match(text, at)
        if found is None:
            raise MalformedPath(f"it cannot be read from character {at + 1} on")
        steps.append(_step(found))
        at = found.end()
    return tuple(steps)


def find(value: object, steps: tuple[PathStep, ...]) -> object:
    """The value at a path, or MISSING. With ALL in the path, the array of what is found."""
    for position, step in enumerate(steps):
        if step is ALL:
            rest = steps[position + 1 :]
            inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
            return [found for one in inner if (found := find(one, rest)) is not MISSING]
        if isinstance(step, int):
            if not isinstance(value, list) or step >= len(value):
                return MISSING
            value = value[step]
        elif isinstance(value, dict) and step in value:
            value = value[step]
        else:
            return MISSING
    return value


def _step(found: re.Match[str]) -> PathStep:
    if found["all"] is not None:
        return ALL
    if found["index"] is not None:
        return int(found["index"])
    return next(name for name in (found["name"], found["single"], found["double"]) if name is not None)
