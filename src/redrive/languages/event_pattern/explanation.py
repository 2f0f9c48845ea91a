"""Why an event does not match a pattern, field by field, and what would make it match."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from redrive.languages.event_pattern.conditions import Equals, Range, Scalar
from redrive.languages.event_pattern.conjunction import satisfies, values_at
from redrive.languages.event_pattern.pattern import Alternative, Field, Pattern
from redrive.languages.event_pattern.resemblance import (
    ALIKE,
    NEARLY_THE_SAME,
    closeness,
    deepest,
    nearest_text,
    places_of,
    places_of_text,
)
from redrive.languages.event_pattern.wording import either, in_words, shown

ALTERNATIVES_EXPLAINED_MAX = 100
"""Of so many alternatives the nearest is looked for."""

VALUES_SHOWN_MAX = 5


@dataclass(frozen=True, slots=True)
class FieldExplanation:
    """How one field of a pattern fares.

    `expected` is what the pattern takes, in words. `found` are the event's values, the first five. `nearest` is the
    value of the event that is nearest to what is expected. `hint` says what would make the field match; "" if it does.
    `nearness` goes from 0 to 1.
    """

    path: str
    is_satisfied: bool
    expected: tuple[str, ...]
    found: tuple[Scalar, ...]
    nearest: Scalar
    hint: str
    nearness: float


@dataclass(frozen=True, slots=True)
class Explanation:
    """Whether an event matches a pattern, and how each field of the alternative that is nearest fares.

    `nearness` is 1.0 if the event matches, and less otherwise; rules are ranked by it. `note` says what concerns
    several fields.
    """

    matches: bool
    nearness: float
    fields: tuple[FieldExplanation, ...]
    note: str = ""

    def text(self) -> str:
        """The explanation for people."""
        if self.matches:
            return "It matches."
        lines = ["It does not match."]
        for field in self.fields:
            if field.is_satisfied:
                lines.append(f"  ok    {field.path}")
                continue
            lines.append(f"  fails {field.path}")
            lines.append(f"        expected: {either(field.expected)}")
            lines.append(f"        found:    {', '.join(map(shown, field.found)) or 'nothing'}")
            lines.append(f"        {field.hint}")
        if self.note:
            lines.append(f"  {self.note}")
        return "\n".join(lines)


def explain(pattern: Pattern, event: Mapping[str, object]) -> Explanation:
    """Why an event matches a pattern, or why not: by the alternative that matches, or else by the nearest."""
    for alternative in pattern.alternatives:
        if satisfies(event, alternative):
            fields = tuple(_explain_field(field, event) for field in alternative)
            return Explanation(True, 1.0, fields)
    explained = (_explain(alternative, event) for alternative in pattern.alternatives[:ALTERNATIVES_EXPLAINED_MAX])
    return max(explained, key=lambda explanation: explanation.nearness)


def _explain(alternative: Alternative, event: Mapping[str, object]) -> Explanation:
    """The explanation of an alternative that the event does not satisfy."""
    fields = tuple(_explain_field(field, event) for field in alternative)
    nearness = sum(field.nearness for field in fields) / len(fields)
    note = ""
    if all(field.is_satisfied for field in fields):
        nearness -= 0.5 / len(fields)
        note = (
            "Each field finds a value, but not in the same element of an array. "
            "It would match if one element satisfied all fields under the array."
        )
    return Explanation(False, nearness, fields, note)


def _explain_field(field: Field, event: Mapping[str, object]) -> FieldExplanation:
    found = tuple(values_at(event, field.path))
    expected = tuple(map(in_words, field.conditions)) + (("no value",) if field.may_be_absent else ())
    if satisfies(event, (field,)):
        nearest = next((value for value in found if field.accepts(value)), None)
        return FieldExplanation(field.name, True, expected, found[:VALUES_SHOWN_MAX], nearest, "", 1.0)
    if not found:
        hint, nearness = _hint_for_absent(field, event)
        return FieldExplanation(field.name, False, expected, (), None, hint, nearness)
    closest = [
        (closeness(value, condition), -number, value)
        for number, value in enumerate(found[:50])
        for condition in field.conditions
    ]
    nearness, _, nearest = max(closest, key=lambda one: one[:2], default=(0.0, 0, found[0]))
    hint = _hint_for_value(field, nearest)
    # A field that is there is nearer than one that is not.
    return FieldExplanation(field.name, False, expected, found[:VALUES_SHOWN_MAX], nearest, hint, 0.25 + 0.7 * nearness)


def _hint_for_value(field: Field, value: Scalar) -> str:
    """What would make a field match that has a value."""
    if field.may_be_absent and not field.conditions:
        return f"It would match if there were no {field.name}."
    equal = [condition.value for condition in field.conditions if isinstance(condition, Equals)]
    for wanted in equal:
        if isinstance(wanted, str) and isinstance(value, str):
            if wanted.lower() == value.lower():
                return f"It would match if {field.name} were {shown(wanted)}: only the case differs."
            if wanted.strip() == value.strip():
                return f"It would match if {field.name} were {shown(wanted)}: only space around it differs."
        elif str(wanted) == str(value) or shown(wanted) == str(value) or shown(value) == str(wanted):
            return f"It would match if {field.name} were {_typed(wanted)}; the event has {_typed(value)}."
    if isinstance(value, str) and not equal and all(isinstance(one, Range) for one in field.conditions):
        return f"It would match only as a number; the event has {_typed(value)}."
    texts = [wanted for wanted in equal if isinstance(wanted, str)]
    if isinstance(value, str) and texts:
        nearest, alike = nearest_text(value, texts)
        if nearest is not None and alike >= ALIKE:
            return f"It would match if {field.name} were {shown(nearest)}, the nearest to {shown(value)}."
    words = [shown(one.value) if isinstance(one, Equals) else in_words(one) for one in field.conditions]
    return f"It would match with another value: {either(words)}."


def _typed(value: Scalar) -> str:
    kinds = {bool: "the boolean", str: "the text", int: "the number", float: "the number"}
    return f"{kinds[type(value)]} {shown(value)}" if value is not None else "null"


def _hint_for_absent(field: Field, event: Mapping[str, object]) -> tuple[str, float]:
    """What would make a field match that has no value, and how near the event is to it."""
    depth, objects = deepest(event, field.path)
    if depth == len(field.path):
        kind = "an object" if objects else "an empty array"
        return f"{field.name} holds {kind}. Patterns compare values: text, numbers, true, false and null.", 0.2
    parent, key = ".".join(field.path[:depth]), field.path[depth]
    where = f"in {parent}" if parent else "in the event"
    elsewhere = [place for place in places_of(event, field.path[-1]) if place != field.name]
    if not objects:
        return f"{parent} is no object, so there is no {field.name}.{_elsewhere(elsewhere)}", 0.1
    nearest, alike = nearest_text(key, (other for one in objects for other in one))
    texts = [one.value for one in field.conditions if isinstance(one, Equals) and isinstance(one.value, str)]
    holding = [] if elsewhere else places_of_text(event, texts)
    if holding and (nearest is None or alike < NEARLY_THE_SAME):
        return f"There is no {shown(key)} {where}. The event has such a value at {either(holding)}.", 0.2
    if nearest is not None and alike >= ALIKE:
        return f"There is no {shown(key)} {where}; the nearest key is {shown(nearest)}.", 0.2 * alike
    return f"There is no {shown(key)} {where}.{_elsewhere(elsewhere)}", 0.1 * bool(elsewhere)


def _elsewhere(places: list[str]) -> str:
    return f" The event has it at {either(places)}." if places else ""
