"""Schedules whose target is the synchronous invocation of a function, as a universal target."""

from __future__ import annotations

import io
import json
import zipfile
from typing import Any

import pytest

from redrive.delivery.faults import Fault, add_fault

INVOKE = "arn:aws:scheduler:::aws-sdk:lambda:invoke"
FUNCTION = "arn:aws:lambda:us-east-1:000000000000:function:report"


@pytest.fixture
def seen(desk: Any) -> list[Any]:
    """The events that the function has seen; it exists from now on."""
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as zipped:
        zipped.writestr("app.py", "")
    role = desk.make_role("report", "logs:*", service="lambda.amazonaws.com")
    desk.world.call(
        "lambda", "CreateFunction", FunctionName="report", Runtime="python3.11", Role=role, Handler="app.handler",
        Code={"ZipFile": archive.getvalue()},
    )  # fmt: skip
    events: list[Any] = []
    desk.world.functions.register("report", lambda event, context: events.append(event))
    return events


def at_one(desk: Any, input: dict[str, str] | None = None, *, dead: bool = False) -> str:
    """A schedule that invokes the function at one o'clock."""
    params = {"FunctionName": "report", "Payload": '{"id": "<aws.scheduler.execution-id>"}', **(input or {})}
    letters = {"DeadLetterConfig": {"Arn": desk.dead}} if dead else {}
    return str(desk.create("at(2025-01-01T01:00:00)", Target=desk.target(INVOKE, Input=json.dumps(params), **letters)))


def fail(desk: Any, target: str, code: str, *, times: int) -> None:
    desk.world.store.run(lambda tx: add_fault(tx, Fault("", target, code, times=times)))


@pytest.mark.parametrize("input", [{}, {"InvocationType": "RequestResponse"}])
def test_function_is_invoked_and_waited_for(desk: Any, seen: list[Any], input: dict[str, str]) -> None:
    """InvocationType is RequestResponse unless the Input says otherwise.

    Source: https://docs.aws.amazon.com/lambda/latest/api/API_Invoke.html
    """
    arn = at_one(desk, input)

    desk.world.advance(hours=1)

    (record,) = desk.attempts(arn)
    assert [event["id"] for event in seen] == [record.delivery_id.rpartition("#")[2]]
    assert (record.attempt, record.verdict) == (1, "delivered")


def test_error_of_the_function_is_an_answer_of_the_invocation(desk: Any, seen: list[Any]) -> None:
    """Invoke answers 200 with FunctionError: the target has taken the call, and nothing is tried again."""
    desk.world.functions.register("report", lambda event, context: 1 // 0)
    arn = at_one(desk)

    desk.world.advance(hours=25)

    assert [record.verdict for record in desk.attempts(arn)] == ["delivered"]


@pytest.mark.parametrize("struck", [INVOKE, FUNCTION])
def test_throttled_invocation_is_retried_under_the_same_execution_id(desk: Any, seen: list[Any], struck: str) -> None:
    """Faults strike the call or the run of the function alike."""
    fail(desk, struck, "TooManyRequestsException", times=2)
    arn = at_one(desk)

    desk.world.advance(hours=2)

    records = desk.attempts(arn)
    assert [(record.attempt, record.code) for record in records] == [
        (1, "TooManyRequestsException"), (2, "TooManyRequestsException"), (3, ""),
    ]  # fmt: skip
    assert len(seen) == 1


def test_function_without_concurrency_ends_among_the_dead_letters_after_a_day(desk: Any, seen: list[Any]) -> None:
    desk.world.call("lambda", "PutFunctionConcurrency", FunctionName="report", ReservedConcurrentExecutions=0)
    at_one(desk, dead=True)

    desk.world.advance(hours=26)

    body, attributes = desk.letter()
    assert json.loads(body)["FunctionName"] == "report"
    assert attributes["ERROR_CODE"] == "TooManyRequestsException"
    assert attributes["EXHAUSTED_RETRY_CONDITION"] in ("MaximumEventAgeInSeconds", "MaximumRetryAttempts")
    assert seen == []


def test_function_that_does_not_exist_is_a_permanent_failure(desk: Any, seen: list[Any]) -> None:
    at_one(desk, {"FunctionName": "gone"}, dead=True)

    desk.world.advance(hours=1)

    _, attributes = desk.letter()
    assert (attributes["ERROR_CODE"], attributes["RETRY_ATTEMPTS"]) == ("ResourceNotFoundException", "0")


def test_role_without_permission_to_invoke_runs_nothing(desk: Any, seen: list[Any]) -> None:
    desk.world.call("iam", "PutRolePolicy", RoleName="runs", PolicyName="allowed", PolicyDocument=json.dumps({
        "Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "sqs:*", "Resource": "*"}],
    }))  # fmt: skip
    at_one(desk, dead=True)

    desk.world.advance(hours=1)

    _, attributes = desk.letter()
    assert attributes["ERROR_CODE"] == "AccessDeniedException"
    assert seen == []
