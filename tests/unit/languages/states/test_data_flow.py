"""Data flows through a state as AWS's page on input and output says."""

from __future__ import annotations

from typing import Any

import pytest

from redrive.languages.states import (
    Pass,
    StatesError,
    caught_output,
    effective_input,
    error_output,
    output_of,
    result_of_pass,
)
from tests.unit.languages.states.worlds import FUNCTION, bindings, state

TASK: dict[str, Any] = {"Type": "Task", "Resource": FUNCTION, "End": True}
RAW = {"order": {"id": 7, "lines": [{"sku": "a"}, {"sku": "b"}]}, "other": 1}


def _task(**members: Any) -> dict[str, Any]:
    return {**TASK, **members}


def test_input_path_and_parameters_make_the_effective_input() -> None:
    one = state(
        _task(
            InputPath="$.order",
            Parameters={
                "plain": "$.id",
                "id.$": "$.id",
                "skus.$": "$.lines[*].sku",
                "who.$": "$$.Execution.Name",
                "n": [{"v.$": "$v.x"}],
            },
        )
    )

    assert effective_input(one, RAW, bindings(v={"x": 5})) == {
        "plain": "$.id", "id": 7, "skus": ["a", "b"], "who": "x", "n": [{"v": 5}],
    }  # fmt: skip


def test_paths_that_are_null_give_an_empty_object() -> None:
    one = state(_task(InputPath=None, OutputPath=None))

    assert effective_input(one, RAW, bindings()) == {}
    assert output_of(one, RAW, 5, bindings()).output == {}


@pytest.mark.parametrize(
    ("members", "output"),
    [
        ({}, {"r": {"x": 1}}),
        ({"ResultPath": None}, RAW),
        ({"ResultPath": "$.order.done"}, {**RAW, "order": {**RAW["order"], "done": {"r": {"x": 1}}}}),  # type: ignore[dict-item]
        ({"ResultPath": "$.order.lines[0]", "OutputPath": "$.order.lines"}, [{"r": {"x": 1}}, {"sku": "b"}]),
        ({"ResultSelector": {"y.$": "$.r.x"}, "ResultPath": "$.z", "OutputPath": "$.z"}, {"y": 1}),
        ({"OutputPath": "$$.Execution.Name"}, "x"),
    ],
)
def test_result_is_selected_put_into_the_input_and_cut_out(members: dict[str, Any], output: object) -> None:
    one = state(_task(InputPath="$.order", **members))

    assert output_of(one, RAW, {"r": {"x": 1}}, bindings()).output == output


@pytest.mark.parametrize(
    ("members", "cause"),
    [
        ({"InputPath": "$.zip"}, "Invalid path '$.zip' : No results for path: $['zip']"),
        ({"InputPath": "$.zip.zap"}, "Invalid path '$.zip.zap' : Missing property in path $['zip']"),
        (
            {"InputPath": "$.order", "Parameters": {"v.$": "$.zip"}},
            (
                """The JSONPath '$.zip' specified for the field 'v.$' could not be found in the input """
                """'{"id":7,"lines":[{"sku":"a"},{"sku":"b"}]}'"""
            ),
        ),
    ],
)
def test_path_that_leads_nowhere_fails_the_state(members: dict[str, Any], cause: str) -> None:
    with pytest.raises(StatesError) as raised:
        effective_input(state(_task(**members)), RAW, bindings())

    assert raised.value.error == "States.Runtime"
    assert raised.value.cause == cause
    assert raised.value.cause_in("S", 2) == (
        f"An error occurred while executing the state 'S' (entered at the event id #2). {cause}"
    )


def test_variable_without_a_value_fails_the_state() -> None:
    with pytest.raises(StatesError, match="Variable 'zip' is not defined"):
        effective_input(state(_task(Parameters={"v.$": "$zip"})), RAW, bindings())


def test_result_path_that_fits_nowhere_is_a_result_path_match_failure() -> None:
    one = state(_task(ResultPath="$.other.x"))

    with pytest.raises(StatesError) as raised:
        output_of(one, {"other": 1}, 5, bindings())

    assert raised.value.error == "States.ResultPathMatchFailure"
    assert raised.value.cause == 'Unable to apply ReferencePath $.other.x to input {"other":1}'


def test_assigned_variables_see_the_result_and_the_variables_of_before() -> None:
    one = state(_task(ResultSelector={"y.$": "$.x"}, Assign={"x.$": "$.x", "before.$": "$x", "fixed": 1}))

    flow = output_of(one, RAW, {"x": 5}, bindings(x="old"))

    assert flow.variables == {"x": 5, "before": "old", "fixed": 1}
    assert flow.output == {"y": 5}


def test_caught_error_goes_where_the_catcher_says() -> None:
    one = state(
        _task(
            Catch=[
                {"ErrorEquals": ["E"], "Next": "A", "ResultPath": "$.error", "Assign": {"why.$": "$.Cause"}},
                {"ErrorEquals": ["States.ALL"], "Next": "B"},
            ]
        )
    )
    error = error_output("E", "because")

    first = caught_output(one, one.catch[0], RAW, error, bindings())
    second = caught_output(one, one.catch[1], RAW, error, bindings())

    assert first.output == {**RAW, "error": {"Error": "E", "Cause": "because"}}
    assert first.variables == {"why": "because"}
    assert second.output == {"Error": "E", "Cause": "because"}


def test_pass_gives_its_result_or_its_input() -> None:
    fixed = state({"Type": "Pass", "Result": {"x": None}, "ResultPath": "$.r", "End": True})
    through = state({"Type": "Pass", "Parameters": {"id.$": "$.order.id"}, "End": True})
    null = state({"Type": "Pass", "Result": None, "End": True})
    assert isinstance(fixed, Pass)
    assert isinstance(through, Pass)
    assert isinstance(null, Pass)

    assert output_of(fixed, {"a": 1}, result_of_pass(fixed, {}), bindings()).output == {"a": 1, "r": {"x": None}}
    effective = effective_input(through, RAW, bindings())
    assert output_of(through, RAW, result_of_pass(through, effective), bindings()).output == {"id": 7}
    assert result_of_pass(null, 5) is None


def test_jsonata_state_has_arguments_and_output_instead() -> None:
    one = state(
        {
            **TASK,
            "QueryLanguage": "JSONata",
            "Arguments": {"id": "{% $states.input.order.id * 2 %}", "text": "{ % no % }", "list": ["{% $v %}", None]},
            "Output": {"got": "{% $states.result.x %}", "of": "{% $states.context.Execution.Name %}"},
            "Assign": {"v": "{% $v + 1 %}"},
            "Catch": [{"ErrorEquals": ["States.ALL"], "Next": "A", "Output": "{% $states.errorOutput.Cause & '!' %}"}],
        }
    )
    surroundings = bindings(v=1)

    assert effective_input(one, RAW, surroundings) == {"id": 14, "text": "{ % no % }", "list": [1, None]}
    flow = output_of(one, RAW, {"x": [1]}, surroundings)
    assert flow.output == {"got": [1], "of": "x"}
    assert flow.variables == {"v": 2}
    assert caught_output(one, one.catch[0], RAW, error_output("E", "c"), surroundings).output == "c!"


def test_jsonata_state_without_output_gives_its_result_and_its_error() -> None:
    one = state({**TASK, "QueryLanguage": "JSONata", "Catch": [{"ErrorEquals": ["States.ALL"], "Next": "A"}]})

    assert effective_input(one, RAW, bindings()) == RAW
    assert output_of(one, RAW, 5, bindings()).output == 5
    assert caught_output(one, one.catch[0], RAW, {"Error": "E"}, bindings()).output == {"Error": "E"}


def test_only_work_has_a_result_in_jsonata() -> None:
    one = state({"Type": "Pass", "QueryLanguage": "JSONata", "Output": "{% $exists($states.result) %}", "End": True})

    assert output_of(one, RAW, RAW, bindings()).output is False


@pytest.mark.parametrize(
    ("expression", "rest"),
    [
        ("$states.input.zip", "returned nothing (undefined)."),
        ("function($x){$x}", "returned an unsupported result type."),
        ("5()", "threw an error during evaluation. T1006: Attempted to invoke a non-function"),
    ],
)
def test_jsonata_that_fails_names_its_field(expression: str, rest: str) -> None:
    one = state(
        {"Type": "Pass", "QueryLanguage": "JSONata", "Output": {"result": f"{{% {expression} %}}"}, "End": True}
    )

    with pytest.raises(StatesError) as raised:
        output_of(one, RAW, RAW, bindings())

    assert raised.value.error == "States.QueryEvaluationError"
    assert raised.value.location == "Output/result"
    assert raised.value.cause == f"The JSONata expression '{expression}' specified for the field 'Output/result' {rest}"


def test_variables_of_one_state_have_at_most_256_kibibytes() -> None:
    one = state({"Type": "Pass", "Assign": {"v.$": "$.v"}, "End": True})
    most = "a" * (262_144 - len('{"v":""}'))

    assert output_of(one, {}, {"v": most}, bindings()).variables == {"v": most}
    with pytest.raises(StatesError) as raised:
        output_of(one, {}, {"v": most + "a"}, bindings())
    assert raised.value.error == "States.DataLimitExceeded"
