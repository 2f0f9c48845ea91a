"""Whether an event satisfies fields together: the definition that everything else here is held against.

A field wants one value at its path, and an array offers each of its elements. Fields whose paths lead through the same
array have to be satisfied by the same element. Absence is the opposite of a value: a field that may be absent is
satisfied without a value if there is none beside the values that satisfy the other fields; if all fields under an array
are satisfied by absence, no element of the array may have a value for them.

A key with a dot stands for the keys between its dots. Where an event writes a path in several ways, the first way with
a value counts, shorter keys before longer ones.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Iterator, Mapping, Sequence

from redrive.languages.event_pattern.conditions import Scalar
from redrive.languages.event_pattern.pattern import Field


class _Outcome(enum.Enum):
    """How fields fare at a value: not satisfied; satisfied without any value; satisfied by at least one value."""

    NO = 0
    ABSENT = 1
    PICKED = 2


def satisfies(event: object, fields: Sequence[Field]) -> bool:
    """Whether an event satisfies all fields together."""
    return _outcome(event, fields, 0) is not _Outcome.NO


def values_at(value: object, path: Sequence[str], depth: int = 0) -> Iterator[Scalar]:
    """The scalars of a value at a path of which `depth` steps were taken, those in arrays included."""
    for element in elements(value):
        if isinstance(element, dict):
            if depth < len(path):
                key = _way(element, path, depth)
                if key is not None:
                    yield from values_at(element[key], path, depth + 1 + key.count("."))
        elif depth == len(path):
            yield element  # type: ignore[misc] # JSON has no other kinds.


def elements(value: object) -> Iterable[object]:
    """The elements of an array and of the arrays in it, at any depth; of any other value, the value."""
    if not isinstance(value, list):
        return (value,)
    for element in value:
        if isinstance(element, list):
            return _flattened(value)
    return value  # Most arrays hold no arrays, and need no generator.


def _flattened(value: list[object]) -> Iterator[object]:
    waiting = [iter(value)]
    while waiting:
        for element in waiting[-1]:
            if isinstance(element, list):
                waiting.append(iter(element))
                break
            yield element
        else:
            waiting.pop()


def _outcome(value: object, fields: Sequence[Field], depth: int) -> _Outcome:
    if not isinstance(value, list):
        return _outcome_at_element(value, fields, depth)
    is_absent = True
    for element in elements(value):
        outcome = _outcome_at_element(element, fields, depth)
        if outcome is _Outcome.PICKED:
            return outcome
        is_absent = is_absent and outcome is _Outcome.ABSENT
    return _without_value(fields) if is_absent else _Outcome.NO


def _outcome_at_element(value: object, fields: Sequence[Field], depth: int) -> _Outcome:
    if isinstance(value, dict):
        return _outcome_at_object(value, fields, depth)
    here = [field for field in fields if len(field.path) == depth]
    deeper = [field for field in fields if len(field.path) > depth]
    if _without_value(deeper) is _Outcome.NO:
        return _Outcome.NO
    if not here:
        return _Outcome.ABSENT
    return _Outcome.PICKED if all(field.accepts(value) for field in here) else _Outcome.NO  # type: ignore[arg-type]


def _outcome_at_object(value: Mapping[str, object], fields: Sequence[Field], depth: int) -> _Outcome:
    outcome = _Outcome.ABSENT
    by_key: dict[str, list[Field]] = {}
    for field in fields:
        key = _way(value, field.path, depth) if len(field.path) > depth else None
        if key is not None:
            by_key.setdefault(key, []).append(field)
        elif not field.may_be_absent:
            return _Outcome.NO
    for key, group in by_key.items():
        found = _outcome(value[key], group, depth + 1 + key.count("."))
        if found is _Outcome.NO:
            return found
        if found is _Outcome.PICKED:
            outcome = found
    return outcome


def _without_value(fields: Sequence[Field]) -> _Outcome:
    return _Outcome.ABSENT if all(field.may_be_absent for field in fields) else _Outcome.NO


def _way(value: Mapping[str, object], path: Sequence[str], depth: int) -> str | None:
    """The key of an object that leads to a value at the path; None if no key does.

    A key that is the only way is taken without looking whether a value is there.
    """
    keys = [key for key in (".".join(path[depth:end]) for end in range(depth + 1, len(path) + 1)) if key in value]
    for key in keys[:-1]:
        if any(True for _ in values_at(value[key], path, depth + 1 + key.count("."))):
            return key
    return keys[-1] if keys else None
