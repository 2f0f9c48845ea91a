"""Recursive loops: chains of requests that run a function again and again are stopped after about 16 runs."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redrive.core.errors import ServiceError
from redrive.core.scope import Caller
from redrive.delivery.outside.invocation import Invocation, InvocationResult
from redrive.services.lambda_.model.recursion import is_loop, lineage_after, longest_chain, without_lineage
from tests.unit.services.lambda_.functions import ARN, QUEUE_ARN, SCOPE, Rig, answered

STOPPED = (
    "Lambda has detected your function being invoked in a recursive loop with other AWS resources and stopped your "
    "function's invocation."
)


def looping(rig: Rig, invocation_type: str) -> None:
    """Let the function call itself, as its SDK would, with the trace that it sees."""

    def answer(invocation: Invocation) -> InvocationResult:
        caller = Caller(SCOPE, f"{len(rig.invoker.invocations):032x}", trace_header=invocation.trace(rig.clock.now()))
        try:
            params = {"FunctionName": "worker", "InvocationType": invocation_type}
            rig.engine.call(caller, "lambda", "Invoke", params)
        except ServiceError as error:
            return answered({"refused": error.code, "message": error.message})
        return answered({})

    rig.invoker.answer = answer


def dropped(rig: Rig) -> float:
    """The sum of the metric, counted once."""
    sums = rig.store.counted.sums()
    return max((value for series, value in sums.items() if series.name == "RecursiveInvocationsDropped"), default=0.0)


def test_function_that_calls_itself_is_stopped_after_16_runs(rig: Rig) -> None:
    rig.create_function()
    looping(rig, "RequestResponse")
    results: list[InvocationResult] = []
    inner = rig.invoker.answer

    def noted(invocation: Invocation) -> InvocationResult:
        results.append(inner(invocation))
        return results[-1]

    rig.invoker.answer = noted

    rig.call("Invoke", FunctionName="worker")

    assert len(rig.invoker.invocations) == 16
    assert json.loads(results[0].payload) == {"refused": "RecursiveInvocationException", "message": STOPPED}
    assert dropped(rig) == 1


def test_event_of_a_loop_goes_to_its_dead_letter_queue_and_destination(rig: Rig) -> None:
    rig.create_queue("dead")
    rig.create_queue("failed")
    rig.create_function(DeadLetterConfig={"TargetArn": f"{QUEUE_ARN}dead"})
    rig.call(
        "PutFunctionEventInvokeConfig", FunctionName="worker",
        DestinationConfig={"OnFailure": {"Destination": f"{QUEUE_ARN}failed"}},
    )  # fmt: skip
    looping(rig, "Event")

    rig.call("Invoke", FunctionName="worker", InvocationType="Event")
    rig.advance(3600)

    assert len(rig.invoker.invocations) == 16
    (letter,) = rig.messages("dead")
    assert letter["Attributes"]["AWSTraceHeader"].endswith(":17")
    assert letter["MessageAttributes"]["ErrorMessage"]["StringValue"] == STOPPED
    (failed,) = rig.messages("failed")
    assert failed["Attributes"]["AWSTraceHeader"] == letter["Attributes"]["AWSTraceHeader"]
    record = json.loads(failed["Body"])
    assert "responsePayload" not in record
    assert dropped(rig) == 1


def test_loop_that_is_allowed_goes_on(rig: Rig) -> None:
    rig.create_function()
    rig.call("PutFunctionRecursionConfig", FunctionName="worker", RecursiveLoop="Allow")
    caller = Caller(SCOPE, "0" * 32, trace_header=f"Root=1-a;Lineage={lineage_of(40)}")

    answer = rig.engine.call(caller, "lambda", "Invoke", {"FunctionName": "worker"})

    assert answer["StatusCode"] == 200


def lineage_of(runs: int) -> str:
    """The lineage of a chain that has run the function so often."""
    header = ""
    for _ in range(runs):
        header = f"Lineage={lineage_after(header, f'{ARN}worker')}"
    return header.removeprefix("Lineage=")


@pytest.mark.parametrize(("runs", "is_run"), [(15, True), (16, False)])
def test_loop_through_a_queue_ends_with_messages_that_stay(rig: Rig, runs: int, *, is_run: bool) -> None:
    rig.create_function()
    rig.create_queue("inbox", VisibilityTimeout="30")
    rig.call("CreateEventSourceMapping", FunctionName="worker", EventSourceArn=f"{QUEUE_ARN}inbox")
    caller = Caller(SCOPE, "0" * 32, trace_header=f"Root=1-a;Lineage={lineage_of(runs)}")

    rig.engine.call(caller, "sqs", "SendMessage", {"QueueUrl": "inbox", "MessageBody": "x"})
    rig.advance(1)

    assert len(rig.invoker.invocations) == int(is_run)
    assert rig.count("inbox") == int(not is_run)
    assert dropped(rig) == int(not is_run)


def test_lineage_of_the_request_is_replaced_by_that_of_the_run(rig: Rig) -> None:
    rig.create_function()
    caller = Caller(SCOPE, "0" * 32, trace_header="Root=1-a;Lineage=00000000:3;Sampled=1")

    rig.engine.call(caller, "lambda", "Invoke", {"FunctionName": "worker"})

    (ran,) = rig.invoker.invocations
    assert ran.trace_header == "Root=1-a;Sampled=1"
    assert ran.lineage.startswith("00000000:3|")
    assert ran.trace(0).endswith(f";Lineage={ran.lineage}")


def test_other_functions_of_a_chain_are_not_stopped() -> None:
    header = f"Root=1-a;Lineage={lineage_of(16)}"

    assert is_loop(header, f"{ARN}worker")
    assert not is_loop(header, f"{ARN}other")
    assert longest_chain(["", "Lineage=x", header], f"{ARN}worker") == header


@given(st.text(max_size=200))
def test_any_header_is_read(text: str) -> None:
    """Headers come from clients: whatever they say, a run adds one to what could be read."""
    header = f"Root=1;Lineage={text}"

    after = lineage_after(header, f"{ARN}worker")

    assert without_lineage(without_lineage(header)) == without_lineage(header)
    assert 1 <= len(after.split("|")) <= 16
    assert all(len(entry.split(":")[0]) == 8 and entry.split(":")[1].isdecimal() for entry in after.split("|"))
