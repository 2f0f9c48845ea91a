"""Values of fields, and what it means to compare them.

A value is a text, a number, a list or a map of JSON; None is a missing one. Truth is 1 and 0, as Insights shows it. A
text that is a number is compared as that number.

Source: https://docs.aws.amazon.com/AmazonCloudWatch/latest/logs/CWL_QuerySyntax-Sort.html
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache

from redrive.languages.insights.json_text import written_json

Number = int | float
Value = str | int | float | Sequence[object] | Mapping[str, object] | None

_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)
_CHUNKS = re.compile(r"\d+|\D", re.ASCII | re.DOTALL)
_DIGITS = 4
"""How many digits stand after the point of a number that is shown."""
_WHOLE_MAX = 1e15

SortsBefore = tuple[int, object]


def number(value: object) -> Number | None:
    """The number that a value is, or that its text is; None if it is none."""
    if isinstance(value, str):
        return _number_of_text(value)
    return value if isinstance(value, int | float) else None


@lru_cache(maxsize=4096)
def _number_of_text(text: str) -> Number | None:
    if not _NUMBER.fullmatch(text):
        return None
    found = float(text)
    if not math.isfinite(found):
        return None
    return int(found) if found.is_integer() and abs(found) < _WHOLE_MAX else found


def text(value: object) -> str:
    """A value as Insights shows it: whole numbers without a point, others with up to four digits after it."""
    if isinstance(value, str):
        return value
    if isinstance(value, int):
        return str(int(value))
    if isinstance(value, float):
        if not math.isfinite(value):
            return str(value)
        if value.is_integer() and abs(value) < _WHOLE_MAX:
            return str(int(value))
        return f"{value:.{_DIGITS}f}".rstrip("0").rstrip(".") if abs(value) >= 10**-_DIGITS else f"{value:g}"
    if isinstance(value, list | dict):
        return written_json(value)
    return "" if value is None else str(value)


def equal(left: object, right: object) -> bool:
    """Whether two values are the same: as numbers if both are numbers, else as texts. None equals nothing."""
    if left is None or right is None:
        return False
    first = number(left)
    if first is not None:
        second = number(right)
        if second is not None:
            return first == second
    return text(left) == text(right)


def less(left: object, right: object) -> bool:
    """Whether a value is less than another: as numbers if both are numbers, else as texts."""
    if left is None or right is None:
        return False
    first, second = number(left), number(right)
    if first is not None and second is not None:
        return first < second
    return text(left) < text(right)


def is_true(value: object) -> bool:
    """Whether a value counts as true: it is there, and is neither 0 nor empty."""
    if isinstance(value, int | float):
        return value != 0
    return bool(value)


def order(value: object) -> SortsBefore:
    """A key that sorts as `sort … asc` does: missing values, then texts, then numbers.

    In texts, runs of digits are compared by their length first, then by their value.
    """
    if value is None:
        return (0, 0)
    found = number(value)
    if found is not None:
        return (2, found)
    return (1, _chunks(text(value)))


def _chunks(whole: str) -> tuple[tuple[str, int, str], ...]:
    # A run of digits compares with another character as "0" does: no other character lies between the digits.
    return tuple(("0", len(chunk), chunk) if chunk.isdecimal() else (chunk, 0, "") for chunk in _CHUNKS.findall(whole))
