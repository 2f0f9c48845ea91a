"""Invoke, answered at once: what the function sees, and what the caller is told."""

from __future__ import annotations

import base64
import json
from dataclasses import replace

import pytest

from redrive.core.errors import ServiceError
from tests.unit.services.lambda_.functions import ARN, BROKEN, ROLE, STREAM, THROTTLED, Rig, raised


def test_answer_of_the_function_is_the_payload(rig: Rig) -> None:
    rig.create_function()

    answer = rig.call("Invoke", FunctionName="worker", Payload=b'{"n": 1}')

    assert answer == {"StatusCode": 200, "ExecutedVersion": "$LATEST", "Payload": b'{"done": true}'}
    assert rig.invoker.events == [{"n": 1}]


def test_run_has_the_code_and_configuration_of_the_function(rig: Rig) -> None:
    created = rig.create_function(Timeout=30, MemorySize=512, Environment={"Variables": {"KEY": "1"}})
    rig.call("PutFunctionConcurrency", FunctionName="worker", ReservedConcurrentExecutions=3)
    context = base64.b64encode(b'{"client": {}}').decode()

    rig.call("Invoke", FunctionName="worker", Qualifier="$LATEST", ClientContext=context)

    (run,) = rig.invoker.invocations
    assert (run.function_arn, run.function_name, run.version) == (f"{ARN}worker:$LATEST", "worker", "$LATEST")
    assert run.revision == created["RevisionId"]
    assert (run.code.handler, run.code.runtime) == ("app.handler", "python3.12")
    assert (run.timeout_ms, run.memory_mb, run.role_arn, run.reserved) == (30_000, 512, ROLE, 3)
    assert run.environment == {"KEY": "1"}
    assert (run.client_context, run.log_group) == ('{"client": {}}', "/aws/lambda/worker")


@pytest.mark.parametrize(("payload", "event"), [(b"", {}), (b"null", None), (b'"text"', "text"), (b"[1]", [1])])
def test_payload_may_be_any_json_and_nothing_is_an_empty_object(rig: Rig, payload: bytes, event: object) -> None:
    rig.create_function()

    rig.call("Invoke", FunctionName="worker", Payload=payload)

    assert rig.invoker.events == [event]


@pytest.mark.parametrize("payload", [b"{", b"\xff", b"[" * 100_000])
def test_payload_that_is_no_json_is_refused(rig: Rig, payload: bytes) -> None:
    rig.create_function()

    code, message = rig.refusal("Invoke", FunctionName="worker", Payload=payload)

    assert code == "InvalidRequestContentException"
    assert message.startswith("Could not parse request body into json: ")
    assert rig.invoker.invocations == []


@pytest.mark.parametrize(
    ("kind", "size", "message"),
    [
        ("RequestResponse", 6_291_457, "Request must be smaller than 6291456 bytes for the InvokeFunction operation"),
        ("Event", 1_048_577,
         "1048577 byte payload is too large for the Event invocation type (limit 1048576 bytes)"),
    ],
)  # fmt: skip
def test_payload_over_its_limit_is_refused(rig: Rig, kind: str, size: int, message: str) -> None:
    rig.create_function()
    fits, too_large = (f'"{"x" * (length - 2)}"'.encode() for length in (size - 1, size))

    refusal = rig.refusal("Invoke", FunctionName="worker", InvocationType=kind, Payload=too_large)

    assert refusal == ("RequestTooLargeException", message)
    assert rig.call("Invoke", FunctionName="worker", InvocationType=kind, Payload=fits)["StatusCode"] in (200, 202)


def test_dry_run_answers_204_and_runs_nothing(rig: Rig) -> None:
    rig.create_function()

    assert rig.call("Invoke", FunctionName="worker", InvocationType="DryRun") == {"StatusCode": 204}
    assert rig.invoker.invocations == []


def test_error_of_the_function_is_status_200_and_unhandled(rig: Rig) -> None:
    rig.create_function()
    rig.invoker.answer = lambda _: raised("broken")

    answer = rig.call("Invoke", FunctionName="worker")

    assert (answer["StatusCode"], answer["FunctionError"]) == (200, "Unhandled")
    assert json.loads(answer["Payload"]) == {"errorMessage": "broken", "errorType": "ValueError"}


def test_throttled_run_is_too_many_requests_with_the_reason(rig: Rig) -> None:
    rig.create_function()
    rig.invoker.answer = lambda _: THROTTLED

    with pytest.raises(ServiceError, match=r"Rate Exceeded\.") as caught:
        rig.call("Invoke", FunctionName="worker")

    assert caught.value.code == "TooManyRequestsException"
    assert caught.value.members["Reason"] == "ConcurrentInvocationLimitExceeded"


def test_function_with_no_reserved_concurrency_left_to_it_never_runs(rig: Rig) -> None:
    rig.create_function()
    rig.call("PutFunctionConcurrency", FunctionName="worker", ReservedConcurrentExecutions=0)

    refusal = rig.refusal("Invoke", FunctionName="worker")

    assert refusal == ("TooManyRequestsException", "Rate Exceeded.")
    assert rig.invoker.invocations == []


def test_run_that_failed_outside_of_the_function_is_a_service_exception(rig: Rig) -> None:
    rig.create_function()
    rig.invoker.answer = lambda _: BROKEN

    assert rig.refusal("Invoke", FunctionName="worker") == ("ServiceException", "the archive is gone")


@pytest.mark.parametrize(
    ("params", "code"),
    [
        ({"FunctionName": "ghost"}, "ResourceNotFoundException"),
        ({"FunctionName": "worker", "Qualifier": "1"}, "ResourceNotFoundException"),
        ({"FunctionName": "worker", "DurableExecutionName": "d"}, "InvalidParameterValueException"),
        ({"FunctionName": "worker", "TenantId": "t"}, "InvalidParameterValueException"),
        ({"FunctionName": "worker", "ClientContext": "no base64!"}, "InvalidRequestContentException"),
    ],
)
def test_invocation_that_cannot_be_meant_is_refused(rig: Rig, params: dict[str, object], code: str) -> None:
    rig.create_function()

    assert rig.refusal("Invoke", **params)[0] == code


def test_lines_of_a_run_are_logged_and_their_tail_answered(rig: Rig) -> None:
    """The group and the stream are made by the first run; the next one appends."""
    rig.create_function()

    answer = rig.call("Invoke", FunctionName="worker", LogType="Tail")
    rig.call("Invoke", FunctionName="worker")

    first, second = (invocation.request_id for invocation in rig.invoker.invocations)
    lines = rig.around.groups["/aws/lambda/worker"][STREAM]
    assert lines[:4] == [
        f"START RequestId: {first} Version: $LATEST\n",
        "at work\n",
        f"END RequestId: {first}\n",
        (
            f"REPORT RequestId: {first}\tDuration: 1.25 ms\tBilled Duration: 2 ms\tMemory Size: 128 MB\t"
            "Max Memory Used: 0 MB\t\n"
        ),
    ]
    assert lines[4] == f"START RequestId: {second} Version: $LATEST\n"
    assert base64.b64decode(answer["LogResult"]).decode() == "".join(lines[:4])


@pytest.mark.parametrize("action", ["logs:CreateLogGroup", "logs:CreateLogStream", "logs:PutLogEvents"])
def test_role_without_permission_to_log_leaves_no_lines(rig: Rig, action: str) -> None:
    rig.create_function()
    rig.around.actions_refused.add(action)

    answer = rig.call("Invoke", FunctionName="worker")

    assert answer["StatusCode"] == 200
    assert [line for streams in rig.around.groups.values() for lines in streams.values() for line in lines] == []


def test_run_that_never_began_leaves_no_lines(rig: Rig) -> None:
    rig.create_function()
    rig.invoker.answer = lambda _: THROTTLED

    rig.refusal("Invoke", FunctionName="worker")

    assert rig.around.groups == {}


TRACE = "Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8;Sampled=1"


@pytest.mark.parametrize("kind", ["RequestResponse", "Event"])
def test_trace_of_the_request_reaches_the_run(rig: Rig, kind: str) -> None:
    rig.create_function()
    traced = replace(rig.caller(), trace_header=TRACE)

    rig.engine.call(traced, "lambda", "Invoke", {"FunctionName": "worker", "InvocationType": kind})
    rig.advance(0)

    assert [run.trace_header for run in rig.invoker.invocations] == [TRACE]


@pytest.mark.parametrize("header", ["Root=1\r\nX-Other: 1", "Root=\u00e9", "x" * 1_025])
def test_trace_that_is_no_header_is_left_out(rig: Rig, header: str) -> None:
    rig.create_function()

    rig.engine.call(replace(rig.caller(), trace_header=header), "lambda", "Invoke", {"FunctionName": "worker"})

    assert [run.trace_header for run in rig.invoker.invocations] == [""]
