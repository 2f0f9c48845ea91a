"""Reads a pattern in the order of its text, so that the first mistake is the one that is told.

Source: https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-create-pattern.html
Source: https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-create-pattern-operators.html
"""

from __future__ import annotations

from redrive.languages.event_pattern.conditions import Condition, Equals, Scalar
from redrive.languages.event_pattern.errors import PatternError
from redrive.languages.event_pattern.operators import RESERVED, read_match_expression
from redrive.languages.event_pattern.pattern import Alternative, Field, Pattern
from redrive.languages.event_pattern.tokens import DEPTH_MAX, Kind, Tokens

ALTERNATIVES_MAX = 1_000
"""How many alternatives the `$or`s of a pattern may make together."""

OR = "$or"

Path = tuple[str, ...]


def parse(text: str) -> Pattern:
    """The pattern of a text. Errors: PatternError, with AWS's sentence."""
    tokens = Tokens(text)
    if tokens.next() is not Kind.OBJECT:
        tokens.fail("Filter is not an object")
    alternatives = _read_object(tokens, ())
    if tokens.next() is not Kind.END:
        tokens.fail("Unexpected content after the pattern")
    return Pattern(text, alternatives)


def _read_object(tokens: Tokens, path: Path) -> tuple[Alternative, ...]:
    alternatives: tuple[Alternative, ...] = ((),)
    while tokens.next() is not Kind.OBJECT_END:
        read = _read_or(tokens, path) if tokens.name == OR and _is_or(tokens) else _read_field(tokens, path)
        alternatives = _joined(tokens, alternatives, read)
    if alternatives == ((),):
        tokens.fail("Empty objects are not allowed")
    return alternatives


def _read_field(tokens: Tokens, path: Path) -> tuple[Alternative, ...]:
    name = tokens.name
    path = (*path, *name.split("."))
    if len(path) > DEPTH_MAX:
        tokens.fail(f"A path has more than {DEPTH_MAX} steps")
    kind = tokens.next()
    if kind is Kind.OBJECT:
        return _read_object(tokens, path)
    if kind is not Kind.ARRAY:
        tokens.fail(f'"{name}" must be an object or an array')
    return ((_read_values(tokens, path),),)


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


def _read_or(tokens: Tokens, path: Path) -> tuple[Alternative, ...]:
    alternatives: list[Alternative] = []
    tokens.next()
    while tokens.next() is not Kind.ARRAY_END:
        alternatives += _read_object(tokens, path)
        _refuse_too_many(tokens, len(alternatives))
    return tuple(alternatives)


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


def _joined(tokens: Tokens, first: tuple[Alternative, ...], second: tuple[Alternative, ...]) -> tuple[Alternative, ...]:
    """Each alternative of the first together with each of the second."""
    _refuse_too_many(tokens, len(first) * len(second))
    for one in first:
        paths = {field.path for field in one}
        for field in (field for other in second for field in other):
            if field.path in paths:
                tokens.fail(f"Path `{field.name}` cannot be allowed multiple times")
    return tuple(one + other for one in first for other in second)


def _refuse_too_many(tokens: Tokens, count: int) -> None:
    if count > ALTERNATIVES_MAX:
        tokens.fail(f"The $or conditions make more than {ALTERNATIVES_MAX} combinations")
