"""Which variables a state refers to."""

from __future__ import annotations

from typing import Any

import pytest

from redrive.languages.states.references import variable_references

FIRST: dict[str, Any] = {"Type": "Pass", "Assign": {"x": 1, "y.$": "$.y", "order": {}}, "Next": "A"}


def references(**state: Any) -> list[str]:
    """The variables of a state behind one that assigns x, y and order."""
    definition = {"StartAt": "First", "States": {"First": FIRST, "A": {"Type": "Pass", "End": True, **state}}}
    return variable_references(definition).get("A", [])


@pytest.mark.parametrize(
    ("state", "names"),
    [
        ({"Parameters": {"a.$": "$x", "b": "$y"}}, ["x"]),
        ({"Parameters": {"a.$": "States.Format('{} $y', $order.id, $.x)"}}, ["order"]),
        ({"InputPath": "$x.items", "ResultPath": "$.y"}, ["x"]),
        ({"Choices": [{"Variable": "$x", "NumericEqualsPath": "$y", "Next": "First"}]}, ["x", "y"]),
        ({"Arguments": {"a": "{% $x + $y %}", "b": "$order"}}, ["x", "y"]),
        ({"Output": "{% ($z := $x; $map($states.input, function($v) { $v + $z })) %}"}, ["x"]),
        ({"Output": "{% $string($order) & '$x' %}"}, ["order"]),
        ({"Catch": [{"ErrorEquals": ["States.ALL"], "Output": "{% $y %}", "Next": "First"}]}, ["y"]),
        ({"Parameters": {"a.$": "$$.Execution.Id"}, "Comment": "$x"}, []),
    ],
)
def test_variables_of_a_state_are_those_that_some_state_assigns(state: dict[str, Any], names: list[str]) -> None:
    assert references(**state) == names


def test_states_inside_of_branches_have_their_own_and_others_are_left_out() -> None:
    inner = {"StartAt": "I", "States": {"I": {"Type": "Pass", "Parameters": {"a.$": "$x"}, "End": True}}}
    mapped = {"Type": "Map", "ItemsPath": "$y", "ItemProcessor": inner, "End": True}

    found = variable_references({"StartAt": "First", "States": {"First": FIRST, "A": mapped}})

    assert found == {"A": ["y"], "I": ["x"]}
