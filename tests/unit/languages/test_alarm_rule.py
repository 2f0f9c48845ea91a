"""The rules of composite alarms: what is one, what is none, and when one is met.

Source: https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_PutCompositeAlarm.html
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redrive.languages.alarm_rule import (
    AtLeast,
    Constant,
    InState,
    Joined,
    MalformedRule,
    Not,
    Rule,
    children_of,
    elements_of,
    is_met,
    parse_rule,
)

STATES = {"up": "OK", "down": "ALARM", "a b": "ALARM", "arn:aws:cloudwatch:us-east-1:1:alarm:x": "INSUFFICIENT_DATA"}


@pytest.mark.parametrize(
    ("text", "met"),
    [
        ("TRUE", True),
        ("FALSE", False),
        ("ALARM(down)", True),
        ("ALARM(up)", False),
        ('OK("up")', True),
        ("OK('up')", True),
        ("ALARM(a b)", True),
        ('ALARM("a b")', True),
        ("INSUFFICIENT_DATA(arn:aws:cloudwatch:us-east-1:1:alarm:x)", True),
        ("NOT ALARM(up)", True),
        ("NOT NOT ALARM(up)", False),
        ("NOT ALARM(up) AND ALARM(up)", False),
        ("NOT (ALARM(up) AND ALARM(up))", True),
        ("ALARM(down) OR ALARM(up) AND FALSE", True),
        ("(ALARM(down) OR ALARM(up)) AND FALSE", False),
        (" ALARM ( down )\n AND\tTRUE ", True),
        ("AT_LEAST(2, ALARM, (down, a b, up))", True),
        ("AT_LEAST(3, ALARM, (down, a b, up))", False),
        ("AT_LEAST(50%, ALARM, (down, up))", True),
        ("AT_LEAST(51%, ALARM, (down, up))", False),
        ("AT_LEAST(1, NOT ALARM, (down, up))", True),
        ("AT_LEAST(2, NOT ALARM, (down, up))", False),
    ],
)
def test_rule_is_met_by_the_states_of_its_alarms(text: str, met: bool) -> None:
    assert is_met(parse_rule(text), STATES.__getitem__) is met


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "The rule ends too early at character 1"),
        ("   ", "The rule ends too early at character 4"),
        ("ALARM", "'(' is missing at character 6"),
        ("ALARM()", "Unexpected ')' at character 7"),
        ("ALARM(a", "')' is missing at character 8"),
        ("alarm(a)", "Unexpected 'alarm' at character 1"),
        ("ALARM(a) ALARM(b)", "Unexpected 'ALARM' at character 10"),
        ("ALARM(a) AND", "The rule ends too early at character 13"),
        ("(TRUE", "')' is missing at character 6"),
        ('ALARM("a)', "A quotation mark is not closed at character 7"),
        ("TRUE, FALSE", "Unexpected ',' at character 5"),
        ("AT_LEAST(0, ALARM, (a))", "0 of 1 alarms cannot be at character 10"),
        ("AT_LEAST(2, ALARM, (a))", "2 of 1 alarms cannot be at character 10"),
        ("AT_LEAST(0%, ALARM, (a))", "A share is between 1 % and 100 % at character 10"),
        ("AT_LEAST(x, ALARM, (a))", "'x' is no number and no per cent at character 10"),
        ("AT_LEAST(1, UP, (a))", "'UP' is no state at character 13"),
        ("(" * 101 + "TRUE" + ")" * 101, "The rule nests deeper than 100 levels at character 102"),
    ],
)
def test_text_that_is_no_rule_is_refused_with_the_place(text: str, reason: str) -> None:
    with pytest.raises(MalformedRule) as refused:
        parse_rule(text)

    assert str(refused.value) == reason


def test_children_are_named_once_in_the_order_of_the_text() -> None:
    rule = parse_rule("ALARM(b) AND (OK(a) OR NOT ALARM(b)) OR AT_LEAST(1, OK, (c, a)) OR TRUE")

    assert (children_of(rule), elements_of(rule)) == (["b", "a", "c"], 6)


NAMES = st.text(st.sampled_from("abcXYZ019 -_./:#ä"), min_size=1, max_size=12)
LEAVES: st.SearchStrategy[Rule] = st.one_of(
    st.builds(Constant, st.booleans()),
    st.builds(InState, st.sampled_from(["ALARM", "OK", "INSUFFICIENT_DATA"]), NAMES),
    st.builds(
        AtLeast, st.just(1), st.sampled_from(["ALARM", "OK"]), st.booleans(),
        st.lists(NAMES, min_size=1, max_size=4).map(tuple),
    ),
)  # fmt: skip
RULES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.builds(Not, inner),
        st.builds(Joined, st.sampled_from(["AND", "OR"]), st.lists(inner, min_size=2, max_size=3).map(tuple)),
    ),
    max_leaves=12,
)


def _written(rule: Rule) -> str:
    match rule:
        case Constant(value):
            return "TRUE" if value else "FALSE"
        case InState(state, alarm):
            return f'{state}("{alarm}")'
        case Not(operand):
            return f"NOT ({_written(operand)})"
        case AtLeast(count, state, is_negated, alarms):
            listed = ", ".join(f"'{alarm}'" for alarm in alarms)
            return f"AT_LEAST({count}, {'NOT ' if is_negated else ''}{state}, ({listed}))"
        case Joined(operator, operands):
            return f" {operator} ".join(f"({_written(operand)})" for operand in operands)


@given(RULES, st.dictionaries(NAMES, st.sampled_from(["ALARM", "OK"])))
def test_written_rule_is_read_as_what_it_was(rule: Rule, states: dict[str, str]) -> None:
    read = parse_rule(_written(rule))

    def state_of(name: str) -> str:
        return states.get(name, "OK")

    assert is_met(read, state_of) == is_met(rule, state_of)
    assert children_of(read) == children_of(rule)


@given(st.text(st.sampled_from("ALRMOK()TUEANDF \"',1%x"), max_size=60))
def test_any_text_is_a_rule_or_is_refused(text: str) -> None:
    try:
        is_met(parse_rule(text), lambda _: "OK")
        place = 0
    except MalformedRule as refused:
        place = refused.at

    assert 0 <= place <= len(text)
