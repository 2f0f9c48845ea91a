"""Events: accepted at once, run later, retried by Lambda's own rules, and recorded when they end."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest

from redrive.core.clock import MINUTE_MS
from redrive.core.errors import Bug
from redrive.core.retry import Failed, FailureKind
from redrive.delivery.history.runs import runs_of
from redrive.delivery.outside.invocation import Invocation, InvocationResult
from redrive.services.lambda_.model.event_invoke import dead_letter
from redrive.store.tables.attempts import AttemptRecord, RunState
from tests.unit.services.lambda_.functions import (
    ARN,
    BROKEN,
    QUEUE_ARN,
    START,
    STREAM,
    THROTTLED,
    Rig,
    answered,
    raised,
)

INVALID = "InvalidParameterValueException"
EVENT = b'{"n": 1}'


def send(rig: Rig, name: str = "worker") -> None:
    """Invoke with an event."""
    assert rig.call("Invoke", FunctionName=name, InvocationType="Event", Payload=EVENT) == {"StatusCode": 202}


def history(rig: Rig, name: str = "worker") -> list[AttemptRecord]:
    """What became of the attempts of a function's events."""
    return rig.store.run(lambda tx: tx.attempts.of_source(f"{ARN}{name}"))


def open_events(rig: Rig) -> int:
    """How many events are not at their end."""
    return rig.store.run(lambda tx: tx.deliveries.count_of_source("lambda", f"{ARN}worker"))


def test_event_is_accepted_at_once_and_run_afterwards(rig: Rig) -> None:
    rig.create_function()

    send(rig)
    before = list(rig.invoker.events)
    rig.advance(0)

    assert before == []
    assert rig.invoker.events == [{"n": 1}]
    assert open_events(rig) == 0


def test_event_is_never_swallowed_by_another_of_the_same_request_id(rig: Rig) -> None:
    """A caller that used a request id twice would lose its second event: that is a bug of ours, and loud."""
    rig.create_function()
    caller = rig.caller()
    params = {"FunctionName": "worker", "InvocationType": "Event"}
    rig.engine.call(caller, "lambda", "Invoke", params)

    with pytest.raises(Bug, match=caller.request_id):
        rig.engine.call(caller, "lambda", "Invoke", params)


def test_errors_of_the_function_are_retried_after_one_and_two_minutes(rig: Rig) -> None:
    """Three runs in all, of the same request id."""
    rig.create_function()
    rig.invoker.answer = lambda _: raised("broken")

    send(rig)
    rig.advance(3600)

    assert [(one.ended_at - START) // MINUTE_MS for one in history(rig)] == [0, 1, 3]
    assert [one.verdict for one in history(rig)] == ["retry", "retry", "gave up"]
    assert {one.message for one in history(rig)} == {"broken"}
    assert len({invocation.request_id for invocation in rig.invoker.invocations}) == 1
    assert open_events(rig) == 0


@pytest.mark.parametrize("retries", [0, 1, 2])
def test_function_decides_how_often_its_errors_are_retried(rig: Rig, retries: int) -> None:
    rig.create_function()
    rig.call("PutFunctionEventInvokeConfig", FunctionName="worker", MaximumRetryAttempts=retries)
    rig.invoker.answer = lambda _: raised("broken")

    send(rig)
    rig.advance(3600)

    assert len(rig.invoker.invocations) == retries + 1


@pytest.mark.parametrize("result", [THROTTLED, BROKEN])
def test_throttles_and_outside_errors_wait_longer_and_longer_and_use_up_no_retry(
    rig: Rig, result: InvocationResult
) -> None:
    """1 s, 2 s, 4 s … up to 5 min, until the event is too old: 6 hours."""
    rig.create_function()
    rig.invoker.answer = lambda _: result

    send(rig)
    rig.advance(6 * 3600)

    seconds = [(one.ended_at - START) // 1000 for one in history(rig)]
    waits = [after - before for before, after in itertools.pairwise(seconds)]
    assert waits[:10] == [1, 2, 4, 8, 16, 32, 64, 128, 256, 300]
    assert set(waits[9:]) == {300}
    assert history(rig)[-1].verdict == "gave up"
    assert 6 * 3600 - 300 <= seconds[-1] < 6 * 3600


def test_throttled_event_still_has_its_retries(rig: Rig) -> None:
    rig.create_function()
    results = iter([THROTTLED, THROTTLED, raised("a"), raised("b"), raised("c")])
    rig.invoker.answer = lambda _: next(results)

    send(rig)
    rig.advance(3600)

    assert len(history(rig)) == 5


def test_event_that_would_be_too_old_is_given_up_without_waiting(rig: Rig) -> None:
    """With a maximum age of 60 s the first error is the last: the retry would come at 60 s."""
    dead = rig.create_queue("dead")
    rig.create_function()
    rig.call(
        "PutFunctionEventInvokeConfig", FunctionName="worker", MaximumRetryAttempts=2, MaximumEventAgeInSeconds=60,
        DestinationConfig={"OnFailure": {"Destination": dead}},
    )  # fmt: skip
    rig.invoker.answer = lambda _: raised("broken")

    send(rig)
    rig.advance(0)

    (message,) = rig.messages("dead")
    context = json.loads(message["Body"])["requestContext"]
    assert (context["condition"], context["approximateInvokeCount"]) == ("EventAgeExceeded", 1)


def test_dead_letter_is_the_event_with_the_error_as_attributes(rig: Rig) -> None:
    dead = rig.create_queue("dead")
    rig.create_function(DeadLetterConfig={"TargetArn": dead})
    rig.invoker.answer = lambda _: raised("broken")

    send(rig)
    rig.advance(3600)

    (message,) = rig.messages("dead")
    attributes = message["MessageAttributes"]
    assert message["Body"] == EVENT.decode()
    assert attributes["RequestID"]["StringValue"] == rig.invoker.invocations[0].request_id
    assert (attributes["ErrorCode"]["DataType"], attributes["ErrorCode"]["StringValue"]) == ("Number", "200")
    assert attributes["ErrorMessage"]["StringValue"] == "broken"


def test_dead_letter_keeps_the_first_kilobyte_of_the_error() -> None:
    failed = Failed("ServiceException", "é" * 2_000, FailureKind.PERMANENT)

    letter = dead_letter("id", "{}", failed)

    assert letter.attributes["ErrorMessage"]["StringValue"] == "é" * 512


def test_event_that_succeeds_leaves_no_dead_letter(rig: Rig) -> None:
    dead = rig.create_queue("dead")
    rig.create_function(DeadLetterConfig={"TargetArn": dead})

    send(rig)
    rig.advance(3600)

    assert rig.messages("dead") == []
    assert [one.verdict for one in history(rig)] == ["delivered"]


def test_record_of_a_failure_goes_to_its_destination(rig: Rig) -> None:
    failed, succeeded = rig.create_queue("failed"), rig.create_queue("succeeded")
    rig.create_function()
    destinations = {"OnFailure": {"Destination": failed}, "OnSuccess": {"Destination": succeeded}}
    rig.call("PutFunctionEventInvokeConfig", FunctionName="worker", DestinationConfig=destinations)
    rig.invoker.answer = lambda _: raised("broken")

    send(rig)
    rig.advance(3600)

    (message,) = rig.messages("failed")
    assert json.loads(message["Body"]) == {
        "version": "1.0",
        "timestamp": "2025-01-01T00:03:00.000Z",
        "requestContext": {
            "requestId": rig.invoker.invocations[0].request_id,
            "functionArn": f"{ARN}worker:$LATEST",
            "condition": "RetriesExhausted",
            "approximateInvokeCount": 3,
        },
        "requestPayload": {"n": 1},
        "responseContext": {"statusCode": 200, "executedVersion": "$LATEST", "functionError": "Unhandled"},
        "responsePayload": {"errorMessage": "broken", "errorType": "ValueError"},
    }
    assert rig.messages("succeeded") == []


def test_record_of_a_success_runs_the_function_that_is_its_destination(rig: Rig) -> None:
    rig.create_function()
    rig.create_function("next")
    rig.call(
        "PutFunctionEventInvokeConfig", FunctionName="worker",
        DestinationConfig={"OnSuccess": {"Destination": f"{ARN}next"}},
    )  # fmt: skip
    rig.invoker.answer = lambda _: answered({"sum": 3})

    send(rig)
    rig.advance(0)

    first, second = rig.invoker.invocations
    record = json.loads(second.payload)
    assert (first.function_name, second.function_name) == ("worker", "next")
    assert first.request_id != second.request_id
    assert record["requestContext"]["condition"] == "Success"
    assert record["responseContext"] == {"statusCode": 200, "executedVersion": "$LATEST"}
    assert record["responsePayload"] == {"sum": 3}


def test_event_of_a_stopped_function_goes_straight_to_its_destinations(rig: Rig) -> None:
    """Reserved concurrency 0: no run, no retry, and a record without a response."""
    dead, failed = rig.create_queue("dead"), rig.create_queue("failed")
    rig.create_function(DeadLetterConfig={"TargetArn": dead})
    rig.call(
        "PutFunctionEventInvokeConfig", FunctionName="worker", DestinationConfig={"OnFailure": {"Destination": failed}}
    )
    rig.call("PutFunctionConcurrency", FunctionName="worker", ReservedConcurrentExecutions=0)

    send(rig)
    rig.advance(0)

    (letter,), (message,) = rig.messages("dead"), rig.messages("failed")
    record = json.loads(message["Body"])
    assert rig.invoker.invocations == []
    assert letter["MessageAttributes"]["ErrorCode"]["StringValue"] == "429"
    assert "responseContext" not in record
    assert "responsePayload" not in record
    assert record["requestContext"]["condition"] == "ZeroReservedConcurrency"
    assert record["requestContext"]["approximateInvokeCount"] == 0
    assert open_events(rig) == 0


@pytest.mark.parametrize(
    ("params", "state"),
    [
        ({"DeadLetterConfig": {"TargetArn": f"{QUEUE_ARN}dead"}}, RunState.DROPPED),
        ({}, RunState.GAVE_UP),
    ],
)
def test_record_that_the_role_may_not_write_is_lost_and_noted(
    rig: Rig, params: dict[str, Any], state: RunState
) -> None:
    rig.create_queue("dead")
    rig.create_function(**params)
    destinations = {"OnFailure": {"Destination": f"{QUEUE_ARN}dead"}}
    rig.call("PutFunctionEventInvokeConfig", FunctionName="worker", DestinationConfig=destinations)
    rig.call(
        "PutFunctionEventInvokeConfig", FunctionName="worker", MaximumRetryAttempts=0, DestinationConfig=destinations
    )
    rig.sqs("DeleteQueue", QueueUrl="dead")
    rig.invoker.answer = lambda _: raised("broken")

    send(rig)
    rig.advance(0)

    run = rig.store.run(lambda tx: runs_of(tx, f"{ARN}worker", limit=1))[0]
    assert run.state is state
    assert [note.arn for note in run.notes if note.code] == [f"{QUEUE_ARN}dead"]
    assert open_events(rig) == 0


def test_event_of_a_deleted_function_is_dropped(rig: Rig) -> None:
    rig.create_function()
    send(rig)

    rig.call("DeleteFunction", FunctionName="worker")
    rig.advance(0)

    assert rig.invoker.invocations == []
    assert open_events(rig) == 0


def test_lines_of_an_event_are_logged_for_each_run(rig: Rig) -> None:
    rig.create_function()
    rig.invoker.answer = lambda ran: answered(1) if rig.clock.now() > START else raised("broken")

    send(rig)
    rig.advance(60)

    lines = rig.around.groups["/aws/lambda/worker"][STREAM]
    assert len([line for line in lines if line.startswith("START")]) == 2
    assert "at work\n" in lines


def test_lines_of_a_run_are_logged_though_its_function_was_deleted_meanwhile(rig: Rig) -> None:
    """They go to the log group of the configuration that ran, by its role."""
    rig.create_function(LoggingConfig={"LogGroup": "/of/its/own"})

    def vanish(ran: Invocation) -> InvocationResult:
        rig.call("DeleteFunction", FunctionName="worker")
        rig.create_function(LoggingConfig={"LogGroup": "/of/another"})
        return answered(1)

    rig.invoker.answer = vanish
    send(rig)
    rig.advance(0)

    assert "at work\n" in rig.around.groups["/of/its/own"][STREAM]
    assert "/of/another" not in rig.around.groups


def test_event_that_was_delivered_is_shown_as_delivered_whatever_became_of_its_record(rig: Rig) -> None:
    """A destination that could not be told is a note of the run, and no attempt."""
    queue = rig.create_queue("told")
    rig.create_function()
    rig.call(
        "PutFunctionEventInvokeConfig", FunctionName="worker",
        DestinationConfig={"OnSuccess": {"Destination": queue}},
    )  # fmt: skip
    rig.sqs("DeleteQueue", QueueUrl="told")

    send(rig)
    rig.advance(0)

    run = rig.store.run(lambda tx: runs_of(tx, f"{ARN}worker", limit=1))[0]
    assert [(record.attempt, record.state) for record in run.records] == [(1, RunState.DELIVERED)]
    assert [(note.kind, note.arn, note.code) for note in run.notes] == [("destination", queue, "QueueDoesNotExist")]
    assert run.state is RunState.DELIVERED


def test_event_that_grew_too_old_is_recorded_as_given_up(rig: Rig) -> None:
    rig.create_function()
    send(rig)
    rig.clock.move_to(START + 21_600_000)

    rig.advance(0)

    assert [(one.code, one.verdict) for one in history(rig)] == [("MaximumEventAgeInSeconds", "gave up")]


def test_configuration_of_events_is_kept_changed_and_deleted(rig: Rig) -> None:
    rig.create_function()
    queue = rig.create_queue("dead")
    name = "worker"

    put = rig.call("PutFunctionEventInvokeConfig", FunctionName=name, MaximumRetryAttempts=1)
    destinations = {"OnFailure": {"Destination": queue}}
    updated = rig.call("UpdateFunctionEventInvokeConfig", FunctionName=name, DestinationConfig=destinations)
    listed = rig.call("ListFunctionEventInvokeConfigs", FunctionName=name)["FunctionEventInvokeConfigs"]
    replaced = rig.call("PutFunctionEventInvokeConfig", FunctionName=name, MaximumEventAgeInSeconds=60)
    rig.call("DeleteFunctionEventInvokeConfig", FunctionName=name)

    assert put == {
        "FunctionArn": f"{ARN}worker:$LATEST",
        "LastModified": START,
        "MaximumRetryAttempts": 1,
        "DestinationConfig": {"OnSuccess": {}, "OnFailure": {}},
    }
    assert (updated["MaximumRetryAttempts"], updated["DestinationConfig"]["OnFailure"]) == (1, {"Destination": queue})
    assert listed == [updated]
    assert "MaximumRetryAttempts" not in replaced
    assert rig.call("ListFunctionEventInvokeConfigs", FunctionName=name) == {"FunctionEventInvokeConfigs": []}


@pytest.mark.parametrize("operation", ["Get", "Update", "Delete"])
def test_missing_configuration_of_events_is_not_found(rig: Rig, operation: str) -> None:
    rig.create_function()
    params = {"MaximumRetryAttempts": 1} if operation == "Update" else {}

    refusal = rig.refusal(f"{operation}FunctionEventInvokeConfig", FunctionName="worker", **params)

    assert refusal == (
        "ResourceNotFoundException",
        f"The function {ARN}worker:$LATEST doesn't have an EventInvokeConfig",
    )


@pytest.mark.parametrize(
    ("destination", "message"),
    [
        (f"{ARN}worker", "You can't specify the function as a destination for itself."),
        (f"{QUEUE_ARN}ghost", f"The destination ARN {QUEUE_ARN}ghost is invalid."),
        (f"{ARN}ghost", f"The destination ARN {ARN}ghost is invalid."),
        (
            "arn:aws:sns:us-east-1:000000000000:topic",
            "The destination ARN arn:aws:sns:us-east-1:000000000000:topic is invalid.",
        ),
    ],
)
def test_destination_that_cannot_be_written_is_refused(rig: Rig, destination: str, message: str) -> None:
    rig.create_function()
    config = {"OnFailure": {"Destination": destination}}

    refusal = rig.refusal("PutFunctionEventInvokeConfig", FunctionName="worker", DestinationConfig=config)

    assert refusal == (INVALID, message)


def test_destination_that_the_role_may_not_write_is_refused(rig: Rig) -> None:
    rig.create_function()
    queue = rig.create_queue("dead")
    rig.around.actions_refused.add("sqs:SendMessage")

    refusal = rig.refusal(
        "PutFunctionEventInvokeConfig", FunctionName="worker", DestinationConfig={"OnFailure": {"Destination": queue}}
    )

    assert refusal == (
        INVALID,
        f"The function's execution role does not have permissions to call SendMessage on {queue}",
    )


def test_configuration_of_events_without_any_setting_is_refused(rig: Rig) -> None:
    rig.create_function()

    refusal = rig.refusal("PutFunctionEventInvokeConfig", FunctionName="worker")

    assert refusal == (INVALID, "You must specify at least one of error handling or destination setting.")


def test_event_that_a_destination_causes_belongs_to_the_same_execution(rig: Rig) -> None:
    """worker is run for a client; next is run because worker has succeeded."""
    rig.create_function()
    rig.create_function("next")
    rig.call(
        "PutFunctionEventInvokeConfig", FunctionName="worker",
        DestinationConfig={"OnSuccess": {"Destination": f"{ARN}next"}},
    )  # fmt: skip

    send(rig)
    rig.advance(0)

    (first,) = rig.store.run(lambda tx: runs_of(tx, f"{ARN}worker", limit=2))
    (second,) = rig.store.run(lambda tx: runs_of(tx, f"{ARN}next", limit=2))
    assert (first.facts.execution_id, first.facts.cause) == (first.delivery_id, "")
    assert (second.facts.execution_id, second.facts.cause) == (first.delivery_id, first.delivery_id)


def test_old_operation_for_events_accepts_256_kb(rig: Rig) -> None:
    rig.create_function()

    accepted = rig.call("InvokeAsync", FunctionName="worker", InvokeArgs=EVENT)
    rig.advance(0)

    assert accepted == {"Status": 202}
    assert rig.invoker.events == [{"n": 1}]
    code, _ = rig.refusal("InvokeAsync", FunctionName="worker", InvokeArgs=b'"' + b"x" * 262_144 + b'"')
    assert code == "InvalidRequestContentException"
