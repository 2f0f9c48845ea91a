"""Reads the rules of a Choice."""

from __future__ import annotations

from redrive.languages.states.choice_rules import OPERATORS, WITH_PATH, And, Comparison, Not, Or, Test, is_number
from redrive.languages.states.definition import ChoiceRule
from redrive.languages.states.paths import parse_path
from redrive.languages.states.reading.assignments import read_assign
from redrive.languages.states.reading.fields import Fields
from redrive.languages.states.templates import Literal, Template
from redrive.languages.states.timestamps import read_timestamp

NEVER = Comparison(parse_path("$"), "IsPresent", expected=False)
"""What stands for a test that could not be read."""
TEST_DEPTH_MAX = 50


def read_rules(state: Fields) -> tuple[ChoiceRule, ...]:
    """The rules of a state, in their order."""
    return tuple(_rule(fields) for fields in state.elements("Choices"))


def _rule(fields: Fields) -> ChoiceRule:
    fields.require(["Next"])
    target = fields.text("Next") or ""
    comment = fields.text("Comment")
    assign = read_assign(fields)
    if fields.is_jsonata:
        output = fields.template("Output")
        fields.require(["Condition"])
        condition = fields.take("Condition")
        test: Template = Literal(condition) if isinstance(condition, bool) else _condition(fields)
        fields.refuse_others()
        return ChoiceRule(test, target, output, assign, comment)
    return ChoiceRule(_test(fields, 1), target, None, assign, comment)


def _condition(fields: Fields) -> Template:
    if not fields.has("Condition"):
        return Literal(False)
    return fields.expression("Condition") or Literal(False)


def _test(fields: Fields, depth: int) -> Test:
    if depth > TEST_DEPTH_MAX:
        fields.fault(f"Tests nest deeper than {TEST_DEPTH_MAX} levels")
        return NEVER
    if depth > 1 and fields.has("Next"):
        fields.take("Next")
        fields.fault("Field is not supported", "Next")
    fields.take("Comment")
    test = _read_test(fields, depth)
    fields.refuse_others()
    return test


def _read_test(fields: Fields, depth: int) -> Test:
    if fields.has("And"):
        return And(tuple(_test(one, depth + 1) for one in fields.elements("And")))
    if fields.has("Or"):
        return Or(tuple(_test(one, depth + 1) for one in fields.elements("Or")))
    if fields.has("Not"):
        return Not(_test(fields.inner("Not"), depth + 1))
    return _comparison(fields)


def _comparison(fields: Fields) -> Test:
    names = [name for name in fields.document if name in OPERATORS]
    if len(names) != 1:
        fields.fault(
            f"Only one of the fields [{', '.join(names)}] can be given"
            if names
            else "A comparison operator, or one of [And, Or, Not], is required"
        )
    for name in names:
        fields.take(name)
    variable = fields.path("Variable") if fields.require(["Variable"]) else None
    if len(names) != 1 or variable is None:
        return NEVER
    expected = fields.path(names[0]) if names[0] in WITH_PATH else _literal(fields, names[0])
    return NEVER if expected is None else Comparison(variable, names[0], expected)


def _literal(fields: Fields, name: str) -> object:
    value = fields.take(name)
    if name.startswith("Timestamp"):
        if read_timestamp(value) is None:
            fields.fault("String does not match RFC3339 timestamp", name)
            return None
    elif name.startswith("String") and not isinstance(value, str):
        fields.fault("Expected value of type String", name)
        return None
    elif name.startswith("Numeric") and not is_number(value):
        fields.fault("Expected value of type Number", name)
        return None
    elif name.startswith(("Is", "Boolean")) and not isinstance(value, bool):
        fields.fault("Expected value of type Boolean", name)
        return None
    return value
