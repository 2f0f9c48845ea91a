"""Reads a pattern in the order of its text, so that the first mistake is the one that is told.

Source: https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-create-pattern.html
Source: https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-create-pattern-operators.html
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

from redrive.languages.event_pattern.conditions import Condition, Equals, Scalar
from redrive.languages.event_pattern.errors import PatternError
from redrive.languages.event_pattern.operators import RESERVED, read_match_expression
from redrive.languages.event_pattern.pattern import Alternative, Field, Pattern
from redrive.languages.event_pattern.tokens import DEPTH_MAX, Kind, Tokens

ALTERNATIVES_MAX = 1_000
"""How many alternatives the `$or`s of a pattern may make together."""

TERMS_MAX = 50_000
"""How many fields these alternatives may have together."""

OR = "$or"

Path = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Part:
    """What was read of a pattern: its alternatives, and all paths in them."""

    alternatives: tuple[Alternative, ...]
    paths: frozenset[Path]


def parse(text: str) -> Pattern:
    """The pattern of a text. Errors: PatternError, with AWS's sentence."""
    tokens = Tokens(text)
    if tokens.next() is not Kind.OBJECT:
        tokens.fail("Filter is not an object")
    part = _read_object(tokens, ())
    if tokens.next() is not Kind.END:
        tokens.fail("Unexpected content after the pattern")
    return Pattern(text, part.alternatives)


def _read_object(tokens: Tokens, path: Path) -> _Part:
    parts: list[_Part] = []
    paths: set[Path] = set()
    while tokens.next() is not Kind.OBJECT_END:
        part = _read_or(tokens, path) if tokens.name == OR and _is_or(tokens) else _read_field(tokens, path)
        if not paths.isdisjoint(part.paths):
            twice = min(paths & part.paths)
            tokens.fail(f"Path `{'.'.join(twice)}` cannot be allowed multiple times")
        paths |= part.paths
        parts.append(part)
        _refuse_too_many(tokens, math.prod(len(one.alternatives) for one in parts), len(paths))
    if not parts:
        tokens.fail("Empty objects are not allowed")
    combined = itertools.product(*(part.alternatives for part in parts))
    return _Part(tuple(tuple(itertools.chain(*chosen)) for chosen in combined), frozenset(paths))


def _read_field(tokens: Tokens, path: Path) -> _Part:
    name = tokens.name
    path = (*path, *name.split("."))
    if len(path) > DEPTH_MAX:
        tokens.fail(f"A path has more than {DEPTH_MAX} steps")
    kind = tokens.next()
    if kind is Kind.OBJECT:
        return _read_object(tokens, path)
    if kind is not Kind.ARRAY:
        tokens.fail(f'"{name}" must be an object or an array')
    return _Part(((_read_values(tokens, path),),), frozenset([path]))


def _read_values(tokens: Tokens, path: Path) -> Field:
    """The list of what a field may be."""
    conditions: dict[Condition, None] = {}
    may_be_absent = False
    is_empty = True
    while (kind := tokens.next()) is not Kind.ARRAY_END:
        is_empty = False
        if kind is Kind.OBJECT:
            expression = read_match_expression(tokens)
            may_be_absent = may_be_absent or expression is None
            if expression is not None:
                conditions[expression] = None
        elif kind is Kind.ARRAY:
            tokens.fail("Match value must be String, number, true, false, or null")
        else:
            conditions[Equals(_scalar(tokens, kind))] = None
    if is_empty:
        tokens.fail("Empty arrays are not allowed")
    return Field(path, tuple(conditions), may_be_absent)


def _scalar(tokens: Tokens, kind: Kind) -> Scalar:
    if kind is Kind.STRING:
        return tokens.text()
    if kind is Kind.NUMBER:
        return tokens.number
    return {Kind.TRUE: True, Kind.FALSE: False}.get(kind)


def _read_or(tokens: Tokens, path: Path) -> _Part:
    alternatives: list[Alternative] = []
    paths: set[Path] = set()
    tokens.next()
    while tokens.next() is not Kind.ARRAY_END:
        part = _read_object(tokens, path)
        alternatives += part.alternatives
        paths |= part.paths
        _refuse_too_many(tokens, len(alternatives), 1)
    return _Part(tuple(alternatives), frozenset(paths))


def _is_or(tokens: Tokens) -> bool:
    """Whether the field named `$or` whose name was just read holds alternatives: at least two objects of fields.

    An object with a reserved word as a field makes `$or` the name of an ordinary field.
    """
    ahead = tokens.copy()
    try:
        if ahead.next() is not Kind.ARRAY:
            return False
        count = 0
        while (kind := ahead.next()) is not Kind.ARRAY_END:
            if kind is not Kind.OBJECT:
                return False
            while ahead.next() is not Kind.OBJECT_END:
                if ahead.name in RESERVED:
                    return False
                ahead.next()
                ahead.skip()
            count += 1
    except PatternError:
        return True  # The text is no JSON; it is read again, and refused where it is wrong.
    return count >= 2


def _refuse_too_many(tokens: Tokens, alternatives: int, fields: int) -> None:
    if alternatives > ALTERNATIVES_MAX:
        tokens.fail(f"The $or conditions make more than {ALTERNATIVES_MAX} combinations")
    if alternatives > 1 and alternatives * fields > TERMS_MAX:
        tokens.fail(f"The combinations of the $or conditions have more than {TERMS_MAX} fields together")
