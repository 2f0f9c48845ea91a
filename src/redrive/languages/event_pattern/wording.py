"""Conditions and values in words, for people."""

from __future__ import annotations

from collections.abc import Iterable

from redrive.core.documents import dump_json
from redrive.languages.event_pattern.conditions import (
    AnythingBut,
    Cidr,
    Condition,
    Equals,
    EqualsIgnoreCase,
    Exists,
    Number,
    Prefix,
    Range,
    Suffix,
    Wild,
)

SHOWN_MAX = 120
"""How many characters of a value are shown."""


def in_words(condition: Condition) -> str:
    """What a condition asks for: `begins with "a"`."""
    match condition:
        case Equals(value):
            return shown(value)
        case EqualsIgnoreCase(folded):
            return f"{shown(folded)} in any case"
        case Prefix(text, any_case):
            return f"begins with {shown(text)}{_case(any_case)}"
        case Suffix(text, any_case):
            return f"ends with {shown(text)}{_case(any_case)}"
        case Wild(text):
            return f"is like {shown(text)}"
        case Range():
            return _range_in_words(condition)
        case Cidr(text):
            return f"is an address of {text}"
        case Exists():
            return "any value"
        case AnythingBut(excluded):
            return f"anything but {either(map(in_words, excluded))}"


def shown(value: object) -> str:
    """A value as JSON, cut if it is long."""
    text = dump_json(value)
    return text if len(text) <= SHOWN_MAX else f"{text[: SHOWN_MAX - 1]}…"


def either(words: Iterable[str]) -> str:
    """`a, b or c`."""
    *first, last = words
    return f"{', '.join(first)} or {last}" if first else last


def _case(any_case: bool) -> str:
    return " in any case" if any_case else ""


def _range_in_words(one: Range) -> str:
    if one.low is not None and one.low == one.high:
        return f"the number {one.low}"
    bounds: list[tuple[str, Number]] = []
    if one.low is not None:
        bounds.append((">=" if one.takes_low else ">", one.low))
    if one.high is not None:
        bounds.append(("<=" if one.takes_high else "<", one.high))
    return "a number " + " and ".join(f"{operator} {bound}" for operator, bound in bounds)
