"""InvokeWithResponseStream, and URLs that stream: the events, their end, and what an error does before and after."""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redrive.core.errors import ServiceError
from redrive.delivery.operation import EventStream, StreamedOutside
from redrive.delivery.outside.invocation import Invocation, InvocationResult, ResponseStream
from redrive.delivery.outside.kept_pieces import KeptPieces
from redrive.services.lambda_.model.url_payloads import INTEGRATION_TYPE, PRELUDE_BYTES_MAX, StreamedResponse
from redrive.testing.world import World
from redrive.wire.message import HttpRequest
from tests.unit.services.lambda_.functions import BROKEN, ROLE, THROTTLED, answered, archive, raised
from tests.unit.services.lambda_.test_wire import TRUST

PRELUDE = json.dumps({"statusCode": 202, "headers": {"X-Mine": "1"}, "cookies": ["a=b"]}).encode() + bytes(8)


class StreamingInvoker:
    """An invoker whose functions answer in the pieces that a test says."""

    def __init__(self) -> None:
        self.content_type = ""
        self.pieces: Sequence[bytes] | None = None
        self.result = answered(None)

    def invoke(self, invocation: Invocation) -> InvocationResult:
        return self.invoke_streaming(invocation, KeptPieces())

    def invoke_streaming(self, invocation: Invocation, response: ResponseStream) -> InvocationResult:
        if self.pieces is None:
            return self.result
        response.begin(self.content_type)
        for piece in self.pieces:
            response.write(piece)
        return replace(self.result, is_streamed=True)

    def close(self) -> None:
        """Nothing is running."""


@pytest.fixture
def invoker() -> StreamingInvoker:
    return StreamingInvoker()


@pytest.fixture
def world(invoker: StreamingInvoker) -> Any:
    world = World(seed=1, invoker=invoker)
    world.client("iam").create_role(RoleName="worker", AssumeRolePolicyDocument=json.dumps(TRUST))
    world.call(
        "lambda", "CreateFunction", FunctionName="worker", Runtime="nodejs22.x", Role=ROLE, Handler="app.handler",
        Code={"ZipFile": archive()},
    )  # fmt: skip
    yield world
    world.close()


def events(world: World, **params: object) -> list[dict[str, Any]]:
    answer = world.client("lambda").invoke_with_response_stream(FunctionName="worker", **params)
    assert answer["ResponseStreamContentType"] == "application/vnd.amazon.eventstream"
    assert answer["ExecutedVersion"] == "$LATEST"
    return [*answer["EventStream"]]


def test_each_piece_is_an_event_and_the_last_one_says_that_all_is_sent(world: World, invoker: StreamingInvoker) -> None:
    invoker.pieces = [b"one", b"\x00\xff"]

    assert events(world) == [
        {"PayloadChunk": {"Payload": b"one"}},
        {"PayloadChunk": {"Payload": b"\x00\xff"}},
        {"InvokeComplete": {}},
    ]


def test_function_that_does_not_stream_is_one_piece(world: World, invoker: StreamingInvoker) -> None:
    invoker.result = answered({"a": 1})

    assert events(world) == [{"PayloadChunk": {"Payload": b'{"a": 1}'}}, {"InvokeComplete": {}}]


def test_error_before_the_first_piece_is_told_by_the_last_event(world: World, invoker: StreamingInvoker) -> None:
    invoker.result = raised("no")

    (complete,) = events(world)

    assert complete["InvokeComplete"]["ErrorCode"] == "Unhandled"
    assert json.loads(complete["InvokeComplete"]["ErrorDetails"])["errorMessage"] == "no"


def test_error_after_a_piece_follows_the_pieces(world: World, invoker: StreamingInvoker) -> None:
    invoker.pieces = [b"one"]
    invoker.result = replace(raised("late"), error="RangeError")

    piece, complete = events(world)

    assert piece == {"PayloadChunk": {"Payload": b"one"}}
    assert complete["InvokeComplete"]["ErrorCode"] == "RangeError"


def test_log_tail_comes_last_if_it_is_asked_for(world: World, invoker: StreamingInvoker) -> None:
    invoker.pieces = [b"one"]

    _, complete = events(world, LogType="Tail")

    assert b"at work" in base64.b64decode(complete["InvokeComplete"]["LogResult"])


@pytest.mark.parametrize(
    ("result", "code"), [(THROTTLED, "TooManyRequestsException"), (BROKEN, "ServiceException")]
)  # fmt: skip
def test_run_that_did_not_take_place_refuses_the_call(
    world: World, invoker: StreamingInvoker, result: InvocationResult, code: str
) -> None:
    invoker.result = result

    with pytest.raises(ServiceError) as caught:
        world.call("lambda", "InvokeWithResponseStream", FunctionName="worker")

    assert caught.value.code == code


def test_dry_run_answers_without_events(world: World) -> None:
    answer = world.client("lambda").invoke_with_response_stream(FunctionName="worker", InvocationType="DryRun")

    assert (answer["StatusCode"], [*answer["EventStream"]]) == (204, [])


@pytest.mark.parametrize(
    ("params", "code"),
    [
        ({"FunctionName": "ghost"}, "ResourceNotFoundException"),
        ({"Payload": b"{"}, "InvalidRequestContentException"),
        ({"Payload": b'"' + b"x" * 6_291_456 + b'"'}, "RequestTooLargeException"),
        ({"Qualifier": "7"}, "ResourceNotFoundException"),
        ({"TenantId": "t"}, "InvalidParameterValueException"),
    ],
)
def test_calls_are_refused_as_those_of_invoke(world: World, params: dict[str, object], code: str) -> None:
    with pytest.raises(ServiceError) as caught:
        world.call("lambda", "InvokeWithResponseStream", **{"FunctionName": "worker", **params})

    assert caught.value.code == code


def test_run_is_recorded_after_its_last_piece(world: World, invoker: StreamingInvoker) -> None:
    statement = {"Effect": "Allow", "Action": "logs:*", "Resource": "*"}
    policy = json.dumps({"Version": "2012-10-17", "Statement": [statement]})
    world.client("iam").put_role_policy(RoleName="worker", PolicyName="logs", PolicyDocument=policy)
    invoker.pieces = [b"one"]
    caller = world.caller()
    answer = world.store.run(
        lambda tx: world.engine.registry.begin(
            tx, caller, "lambda", "InvokeWithResponseStream", {"FunctionName": "worker"}
        )
    )
    assert isinstance(answer, StreamedOutside)

    ended = world.store.run(lambda tx: answer.resume(tx, replace(invoker.result, is_streamed=True)))

    assert isinstance(ended, EventStream)
    groups = world.call("logs", "DescribeLogGroups")["logGroups"]
    assert (ended.more, [group["logGroupName"] for group in groups]) == (None, ["/aws/lambda/worker"])


# URLs.


def open_url(world: World, **params: object) -> str:
    created = world.call(
        "lambda", "CreateFunctionUrlConfig", FunctionName="worker", AuthType="NONE", InvokeMode="RESPONSE_STREAM",
        **params,
    )  # fmt: skip
    given = {"FunctionName": "worker", "Principal": "*"}
    world.call(
        "lambda", "AddPermission", StatementId="url", Action="lambda:InvokeFunctionUrl", FunctionUrlAuthType="NONE",
        **given,
    )  # fmt: skip
    world.call(
        "lambda",
        "AddPermission",
        StatementId="run",
        Action="lambda:InvokeFunction",
        InvokedViaFunctionUrl=True,
        **given,
    )
    return str(created["FunctionUrl"]).removeprefix("http://").rstrip("/")


def ask(world: World, host: str, **headers: str) -> tuple[int, dict[str, str], bytes]:
    response = world.gateway.respond(HttpRequest("GET", "/", "", {"host": host, **headers}, b""))
    return response.status, dict(response.headers), response.body


def test_prelude_of_a_streamed_answer_is_the_head_of_the_response(world: World, invoker: StreamingInvoker) -> None:
    invoker.content_type = INTEGRATION_TYPE
    invoker.pieces = [PRELUDE[:20], PRELUDE[20:] + b"a", b"b"]

    status, headers, body = ask(world, open_url(world))

    assert (status, headers["x-mine"], headers["set-cookie"], body) == (202, "1", "a=b", b"ab")


def test_streamed_answer_without_a_prelude_has_the_type_of_the_function(
    world: World, invoker: StreamingInvoker
) -> None:
    host = open_url(world)
    invoker.content_type, invoker.pieces = "text/html", [b"a", b"b"]
    typed = ask(world, host)
    invoker.content_type, invoker.pieces = "", []
    bare = ask(world, host)

    assert (typed[0], typed[1]["content-type"], typed[2]) == (200, "text/html", b"ab")
    assert (bare[0], bare[1]["content-type"], bare[2]) == (200, "application/octet-stream", b"")


def test_function_that_does_not_stream_answers_its_url_as_always(world: World, invoker: StreamingInvoker) -> None:
    invoker.result = answered({"statusCode": 418, "body": "tea"})

    assert ask(world, open_url(world))[::2] == (418, b"tea")


def test_error_before_the_first_piece_is_a_bad_gateway(world: World, invoker: StreamingInvoker) -> None:
    host = open_url(world)
    invoker.result = raised("no")
    failed = ask(world, host)
    invoker.result = THROTTLED
    throttled = ask(world, host)

    assert (failed[0], throttled[0]) == (502, 429)


def test_streamed_response_has_the_cors_headers_of_its_url(world: World, invoker: StreamingInvoker) -> None:
    invoker.content_type, invoker.pieces = "text/plain", [b"a"]
    page = "http://localhost:3000"

    _, headers, _ = ask(world, open_url(world, Cors={"AllowOrigins": [page]}), origin=page)

    assert headers["access-control-allow-origin"] == page


@given(st.binary(max_size=40), st.integers(1, 30))
def test_head_and_body_are_the_same_however_the_pieces_are_cut(body: bytes, step: int) -> None:
    sent = PRELUDE + body
    response = StreamedResponse(lambda answer: answer)
    response.begin(f"{INTEGRATION_TYPE}; charset=utf-8")

    parts = [response.feed(sent[at : at + step]) for at in range(0, len(sent), step)]
    parts.append(response.end())

    (head,) = [head for head, _ in parts if head is not None]
    assert (head["Status"], b"".join(piece for _, piece in parts)) == (202, body)


@pytest.mark.parametrize(
    "pieces",
    [
        [b"{", bytes(8)],
        [b"[]", bytes(8)],
        [b'{"statusCode": 99}' + bytes(8)],
        [b"{}"],
        [b"x" * (PRELUDE_BYTES_MAX + 1)],
    ],
)
def test_answer_without_a_usable_prelude_is_a_bad_gateway(pieces: list[bytes]) -> None:
    response = StreamedResponse(lambda answer: answer)
    response.begin(INTEGRATION_TYPE)

    parts = [*map(response.feed, pieces), response.end()]

    (head,) = [head for head, _ in parts if head is not None]
    assert (head["Status"], b"".join(piece for _, piece in parts)) == (502, b"Internal Server Error")
