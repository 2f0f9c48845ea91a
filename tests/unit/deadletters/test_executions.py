"""A letter starts an execution once; one that exists under the letter's name goes on, or keeps the letter back."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from botocore.config import Config
from botocore.stub import Stubber

from redrive.deadletters.destinations import Destination, To, usual
from redrive.deadletters.envelopes import read_letter
from redrive.deadletters.executions import finding_of
from redrive.deadletters.findings import Answer
from redrive.deadletters.letter import Letter
from redrive.deadletters.outcomes import Accepted, Parcel, Refused
from redrive.deadletters.sending import Sender

MACHINE = "arn:aws:states:us-east-1:000000000000:stateMachine:orders"
EXECUTION = "arn:aws:states:us-east-1:000000000000:execution:orders:nightly-7"
TO = Destination(To.STATE_MACHINE, MACHINE)
AT = "2026-01-01T00:00:00Z"


def of_schedule(**request: str) -> Letter:
    """A letter of a schedule that starts an execution."""
    told = {
        "SCHEDULE_ARN": "arn:aws:scheduler:us-east-1:000000000000:schedule/default/s", "ERROR_CODE": "THROTTLING",
        "TARGET_ARN": "arn:aws:scheduler:::aws-sdk:sfn:startExecution", "EXECUTION_ID": "e-1",
    }  # fmt: skip
    attributes = {name: {"DataType": "String", "StringValue": value} for name, value in told.items()}
    body = json.dumps({"StateMachineArn": MACHINE} | request)
    return read_letter({"MessageId": "m-1", "Body": body, "MessageAttributes": attributes})


NAMED = of_schedule(Name="nightly-7", Input='{"day": 1}')
UNNAMED = of_schedule(Input='{"day": 1}')


@pytest.fixture
def states() -> Iterator[tuple[Any, Stubber]]:
    """A client whose answers follow botocore's model of Step Functions."""
    config = Config(retries={"total_max_attempts": 1})
    client = boto3.session.Session("test", "test", region_name="us-east-1").client("stepfunctions", config=config)
    with Stubber(client) as stub:
        yield client, stub
        stub.assert_no_pending_responses()


def told(**members: Any) -> dict[str, Any]:
    return {"executionArn": EXECUTION, "stateMachineArn": MACHINE, "startDate": AT, **members}


def starting(name: str) -> dict[str, str]:
    return {"stateMachineArn": MACHINE, "name": name, "input": '{"day": 1}'}


def refused(stub: Stubber, operation: str, code: str) -> None:
    stub.add_client_error(operation, code, "no", 400)


def sent(client: Any, letter: Letter) -> Any:
    (outcome,) = Sender(lambda _: client).send(TO, [Parcel(letter, letter.work.text)])
    return outcome


def test_letter_of_a_schedule_goes_to_the_state_machine_of_its_request() -> None:
    assert usual(NAMED, list) == TO


@pytest.mark.parametrize(("letter", "name"), [(NAMED, "nightly-7"), (UNNAMED, "redrive-m-1")])
def test_execution_starts_under_the_name_of_the_request(
    states: tuple[Any, Stubber], letter: Letter, name: str
) -> None:  # fmt: skip
    client, stub = states
    stub.add_response("start_execution", {"executionArn": EXECUTION, "startDate": AT}, starting(name))

    assert sent(client, letter) == Accepted(EXECUTION)


def test_execution_that_a_lost_answer_of_ours_started_is_taken_for_accepted(states: tuple[Any, Stubber]) -> None:
    client, stub = states
    refused(stub, "start_execution", "ExecutionAlreadyExists")

    assert sent(client, UNNAMED) == Accepted("redrive-m-1")


def test_execution_of_its_name_that_has_failed_goes_on(states: tuple[Any, Stubber]) -> None:
    client, stub = states
    refused(stub, "start_execution", "ExecutionAlreadyExists")
    stub.add_response("describe_execution", told(status="FAILED", redriveStatus="REDRIVABLE"))
    stub.add_response("redrive_execution", {"redriveDate": AT}, {"executionArn": EXECUTION, "clientToken": "m-1"})

    assert sent(client, NAMED) == Accepted(EXECUTION)


def test_execution_of_its_name_that_cannot_be_redriven_refuses_the_letter(states: tuple[Any, Stubber]) -> None:
    client, stub = states
    refused(stub, "start_execution", "ExecutionAlreadyExists")
    why = "Execution is SUCCEEDED and cannot be redriven"
    stub.add_response(
        "describe_execution", told(status="SUCCEEDED", redriveStatus="NOT_REDRIVABLE", redriveStatusReason=why)
    )

    found = sent(client, NAMED)

    assert isinstance(found, Refused)
    assert (found.code, why in found.message) == ("ExecutionAlreadyExists", True)


@pytest.mark.parametrize(
    ("status", "redrive_status", "expected"),
    [
        ("", "", Answer.GO),
        ("RUNNING", "NOT_REDRIVABLE", Answer.SKIP),
        ("SUCCEEDED", "NOT_REDRIVABLE", Answer.SKIP),
        ("FAILED", "REDRIVABLE", Answer.GO),
        ("ABORTED", "NOT_REDRIVABLE", Answer.REFUSE),
    ],
)
def test_gate_says_what_became_of_the_execution_that_a_letter_names(
    states: tuple[Any, Stubber], status: str, redrive_status: str, expected: Answer
) -> None:
    client, stub = states
    if status:
        stub.add_response("describe_execution", told(status=status, redriveStatus=redrive_status))
    else:
        refused(stub, "describe_execution", "ExecutionDoesNotExist")

    found = finding_of(lambda _: client, NAMED, Destination(To.STATE_MACHINE, f"{MACHINE}:production"))

    assert found is not None
    assert found.answer is expected


def test_letter_that_names_no_execution_asks_nothing(states: tuple[Any, Stubber]) -> None:
    client, _ = states

    assert finding_of(lambda _: client, UNNAMED, TO) is None
