"""Definitions without machines: what is wrong with them, and the test of one state."""

from __future__ import annotations

import json
from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.unit.services.stepfunctions.conftest import ROLE, Machines, code_of, definition, message_of


def shown(machines: Machines, state: dict[str, Any], **params: Any) -> dict[str, Any]:
    answer = machines.sfn.test_state(definition=json.dumps({"Next": "N", **state}), roleArn=ROLE, **params)
    del answer["ResponseMetadata"]
    return dict(answer)


def test_all_faults_of_a_definition_are_told(machines: Machines) -> None:
    bad = json.dumps({"StartAt": "A", "States": {"A": {"Type": "Pass", "Next": "Z"}, "B": {"Type": "Nonsense"}}})

    answer = machines.sfn.validate_state_machine_definition(definition=bad)
    good = machines.sfn.validate_state_machine_definition(definition=definition({"Type": "Pass"}))
    with pytest.raises(ClientError) as refused:
        machines.sfn.create_state_machine(name="bad", definition=bad, roleArn=ROLE)

    assert (answer["result"], good["result"], good["diagnostics"]) == ("FAIL", "OK", [])
    assert "/States/A/Next" in [one["location"] for one in answer["diagnostics"]]
    assert code_of(refused) == "InvalidDefinition"
    assert "MISSING_TRANSITION_TARGET: Missing 'Next' target: Z at /States/A/Next" in message_of(refused)


def test_state_is_run_with_its_input_and_tells_where_it_leads(machines: Machines) -> None:
    choice = {"Type": "Choice", "Choices": [{"Variable": "$.n", "NumericEquals": 1, "Next": "One"}], "Default": "Two"}
    choice = {"definition": json.dumps(choice)}

    passed = shown(machines, {"Type": "Pass", "Parameters": {"x.$": "$.n"}}, input='{"n": 1}', inspectionLevel="DEBUG")
    chosen = machines.sfn.test_state(**choice, input='{"n": 2}')
    failed = machines.sfn.test_state(definition='{"Type": "Fail", "Error": "E", "Cause": "c"}')

    assert (passed["status"], passed["output"], passed["nextState"]) == ("SUCCEEDED", '{"x":1}', "N")
    assert passed["inspectionData"]["afterParameters"] == '{"x":1}'
    assert (chosen["status"], chosen["nextState"]) == ("SUCCEEDED", "Two")
    assert (failed["status"], failed["error"], failed["cause"]) == ("FAILED", "E", "c")


def test_task_is_really_done_or_mocked(machines: Machines) -> None:
    def handler(event, context):
        if event["n"] == 3:
            raise KeyError("three")
        return event["n"]

    retry = [{"ErrorEquals": ["KeyError"]}]
    task = {"Type": "Task", "Resource": machines.function("f", handler), "Retry": retry}
    catch = [{"ErrorEquals": ["Mine"], "Next": "Caught"}]

    done = shown(machines, task, input='{"n": 2}')
    retriable = shown(machines, task, input='{"n": 3}')
    mocked = shown(machines, task, input="{}", mock={"result": '"made up"'})
    caught = shown(machines, {**task, "Catch": catch}, mock={"errorOutput": {"error": "Mine", "cause": "c"}})

    assert (done["status"], done["output"]) == ("SUCCEEDED", "2")
    assert (retriable["status"], retriable["error"]) == ("RETRIABLE", "KeyError")
    assert (mocked["output"], mocked["nextState"]) == ('"made up"', "N")
    assert (caught["status"], caught["nextState"], caught["error"]) == ("CAUGHT_ERROR", "Caught", "Mine")


@pytest.mark.parametrize(
    ("params", "code", "text"),
    [
        ({"definition": '{"Type": "Pass", "End": true}', "mock": {"result": "{}"}}, "ValidationException",
         "State type 'Pass' is not supported when a mock is specified"),
        ({"definition": definition({"Type": "Pass"}), "stateName": "Z"}, "ValidationException",
         "State not found in definition"),
        ({"definition": '{"Type": "Task", "Resource": "arn:aws:states:::sqs:sendMessage", "End": true}'},
         "ValidationException", "RoleArn must be specified when testing a Task state"),
        ({"definition": "{"}, "InvalidDefinition", "INVALID_JSON_DESCRIPTION"),
    ],
)  # fmt: skip
def test_bad_test_of_a_state_is_refused(machines: Machines, params: dict[str, Any], code: str, text: str) -> None:
    with pytest.raises(ClientError) as refused:
        machines.sfn.test_state(**params)

    assert code_of(refused) == code
    assert text in message_of(refused)
