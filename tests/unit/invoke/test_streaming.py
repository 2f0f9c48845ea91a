"""Answers in pieces: the Runtime API's streaming mode, Node's awslambda.streamifyResponse, programs of their own."""

from __future__ import annotations

import base64
import json
import shutil
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redrive.core.clock import SystemClock
from redrive.core.entropy import SeededEntropy
from redrive.core.sessions import Issuer
from redrive.delivery.outside.invocation import FunctionCode, InvocationResult, InvocationStatus, invoke_streaming
from redrive.delivery.outside.kept_pieces import KeptPieces
from redrive.invoke.endings import RESPONSE_BYTES_MAX, STREAMED_BYTES_MAX, Reported
from redrive.invoke.process import ProcessInvoker
from redrive.invoke.runtime.api import PREFIX, Event, Phase, RuntimeApi
from redrive.invoke.runtime.http_exchange import Request, RequestReader
from redrive.invoke.runtime.runtimes import Runtimes
from tests.unit.invoke.functions import ENDPOINT_URL, archive, invocation
from tests.unit.invoke.test_runtimes import RUNTIMES, executable

ADDRESS = "127.0.0.1:40000"
NEXT = Request("GET", f"{PREFIX}/invocation/next", {})
MODE = "lambda-runtime-function-response-mode"
NODE = "nodejs22.x"
needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="there is no node on PATH")

JS = """
const { Readable } = require("stream");
const { pipeline } = require("stream/promises");
exports.handler = awslambda.streamifyResponse(async (event, stream, context) => {
  if (event === "early") throw new TypeError("early");
  stream.setContentType("text/plain");
  stream.write("one ");
  await new Promise((done) => setTimeout(done, 50));
  if (event === "late") throw new RangeError("l\\u00e4te");
  if (event === "uncaught") setTimeout(() => { throw new Error("lost"); }, 1), await new Promise(() => {});
  if (event === "exit") process.exit(3);
  if (event === "hang") await new Promise(() => {});
  stream.write("two " + context.awsRequestId.slice(0, 4));
  stream.end();
});
exports.http = awslambda.streamifyResponse(async (event, stream) => {
  const http = awslambda.HttpResponseStream.from(stream, { statusCode: 201, headers: { "X-A": "b" } });
  await pipeline(Readable.from(["a", "b"]), http);
});
exports.piped = awslambda.streamifyResponse(async (event, stream) => {
  async function* slowly() {
    yield "a";
    await new Promise((done) => setTimeout(done, 20));
    yield "b";
  }
  Readable.from(slowly()).pipe(stream);
});
exports.silent = awslambda.streamifyResponse(async () => {});
exports.large = awslambda.streamifyResponse(async (event, stream) => {
  function* blocks() {
    for (let number = 0; number < event; number++) yield Buffer.alloc(65536, number % 256);
  }
  await pipeline(Readable.from(blocks()), stream);
});
exports.plain = async () => ({ plain: true });
"""
BOOTSTRAP = """#!/bin/sh
exec {python} - <<'END'
import http.client, json, os
connection = http.client.HTTPConnection(os.environ["AWS_LAMBDA_RUNTIME_API"])
prefix = "/2018-06-01/runtime/invocation/"
while True:
    connection.request("GET", prefix + "next")
    event = connection.getresponse()
    pieces = json.loads(event.read())
    headers = {"Lambda-Runtime-Function-Response-Mode": "streaming", "Transfer-Encoding": "chunked"}
    where = prefix + event.headers["Lambda-Runtime-Aws-Request-Id"] + "/response"
    connection.request("POST", where, iter([piece.encode() for piece in pieces]), headers, encode_chunked=True)
    connection.getresponse().read()
END
""".replace("{python}", sys.executable)
CODE = {"js": archive({"app.js": JS}), "bootstrap": executable("bootstrap", BOOTSTRAP)}


@pytest.fixture(scope="module")
def invoker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ProcessInvoker]:
    made = make(tmp_path_factory.mktemp("work"), RUNTIMES)
    yield made
    made.close()


def make(workdir: Path, runtimes: Runtimes) -> ProcessInvoker:
    clock, entropy = SystemClock(), SeededEntropy(1)
    return ProcessInvoker(
        CODE.__getitem__, workdir, endpoint_url=ENDPOINT_URL, clock=clock, entropy=entropy, issuer=Issuer(b"secret"),
        runtimes=runtimes,
    )  # fmt: skip


class Pieces(KeptPieces):
    """Keeps pieces. The writer waits while the test says so."""

    def __init__(self) -> None:
        super().__init__()
        self.is_full = False

    @property
    def whole(self) -> bytes:
        return b"".join(self.kept)


def run(
    invoker: ProcessInvoker, event: object = None, handler: str = "app.handler", code: str = "js", **changes: object
) -> tuple[InvocationResult, Pieces]:
    pieces = Pieces()
    runtime = NODE if code == "js" else "provided.al2023"
    asked = replace(invocation(code, event, **changes), code=FunctionCode(code, handler, runtime))
    return invoke_streaming(invoker, asked, pieces), pieces


# The Runtime API without a process.


def running(pieces: KeptPieces | None) -> RuntimeApi:
    api = RuntimeApi(ADDRESS)
    api.handle(NEXT)
    api.begin(Event("r1", {}, b"{}"), pieces)
    return api


def head(request_id: str = "r1", kind: str = "response", **headers: str) -> Request:
    given = {MODE: "streaming", "content-type": "text/x", **headers}
    return Request("POST", f"{PREFIX}/invocation/{request_id}/{kind}", given)


def test_pieces_of_the_running_request_go_to_its_stream() -> None:
    pieces = KeptPieces()
    api = running(pieces)

    take = api.take_pieces(head())
    assert take is not None
    take(b"a")
    reply = api.handle(replace(head(), is_streamed=True))

    assert (pieces.content_type, pieces.kept, api.has_streamed) == ("text/x", [b"a"], True)
    assert reply is not None
    assert reply.startswith(b"HTTP/1.1 202")
    assert api.report == Reported(b"", is_error=False, is_streamed=True)
    assert api.phase is Phase.ANSWERED


@pytest.mark.parametrize(
    "request_head",
    [
        head("r2"),
        head(kind="error"),
        head(**{MODE: "buffered"}),
        head(host="evil.example"),
        head(origin="https://evil.example"),
    ],
)
def test_what_would_be_refused_is_not_sent_on(request_head: Request) -> None:
    pieces = KeptPieces()

    assert running(pieces).take_pieces(request_head) is None
    assert (pieces.kept, pieces.content_type) == ([], "")


def test_answer_in_pieces_is_collected_if_nobody_asked_for_pieces() -> None:
    api = running(None)

    assert api.take_pieces(head()) is None
    api.handle(replace(head(), body=b"whole"))

    assert api.report == Reported(b"whole", is_error=False)


@pytest.mark.parametrize("is_streamed", [True, False])
def test_error_in_trailers_fails_the_run(is_streamed: bool) -> None:
    api = running(KeptPieces() if is_streamed else None)
    trailers = {
        "lambda-runtime-function-error-type": "E",
        "lambda-runtime-function-error-body": base64.b64encode(b"{}").decode(),
    }
    api.take_pieces(head())

    api.handle(replace(head(**trailers), is_streamed=is_streamed))

    assert api.report is not None
    assert (api.report.is_error, api.report.payload) == (True, b"{}")


def test_streamed_answer_beyond_its_limit_is_refused() -> None:
    api = running(KeptPieces())
    api.take_pieces(head())

    reply = api.handle(replace(head(), is_streamed=True, is_cut=True))

    assert reply is not None
    assert reply.startswith(b"HTTP/1.1 413")
    assert api.report is not None
    assert (api.report.fits, api.report.error_type) == (False, "Function.ResponseSizeTooLarge")
    assert STREAMED_BYTES_MAX == 200 * 1024 * 1024


@given(st.lists(st.binary(min_size=1, max_size=50), max_size=8), st.integers(1, 40))
def test_body_in_pieces_is_whole_however_its_bytes_are_cut(pieces: list[bytes], step: int) -> None:
    taken: list[bytes] = []
    reader = RequestReader(4, streams=lambda _: taken.append, streamed_bytes_max=10_000)
    chunks = b"".join(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in pieces)
    sent = b"POST / HTTP/1.1\r\n%b: streaming\r\nTransfer-Encoding: chunked\r\n\r\n%b0\r\nX-Late: 1\r\n\r\n" % (
        MODE.encode(), chunks,
    )  # fmt: skip

    for at in range(0, len(sent), step):
        reader.feed(sent[at : at + step])
    request = reader.next_request()

    assert b"".join(taken) == b"".join(pieces)
    assert request is not None
    assert (request.body, request.is_streamed, request.headers["x-late"]) == (b"", True, "1")


def test_body_in_pieces_has_a_limit_of_its_own() -> None:
    taken: list[bytes] = []
    reader = RequestReader(1_000, streams=lambda _: taken.append, streamed_bytes_max=5)

    reader.feed(b"POST / HTTP/1.1\r\n%b: streaming\r\nTransfer-Encoding: chunked\r\n\r\n" % MODE.encode())
    reader.feed(b"4\r\nabcd\r\n")
    reader.feed(b"4\r\nefgh\r\n")
    request = reader.next_request()

    assert request is not None
    assert (taken, request.is_cut, request.is_streamed) == ([b"abcd"], True, True)


# With processes.


@needs_node
def test_node_function_answers_in_pieces_and_its_process_is_used_again(invoker: ProcessInvoker) -> None:
    first, pieces = run(invoker)
    second, again = run(invoker)

    assert (first.status, first.is_streamed, first.payload) == (InvocationStatus.OK, True, b"")
    assert (pieces.kept[0], pieces.whole, pieces.content_type) == (b"one ", b"one two 8f5e", "text/plain")
    assert (again.whole, second.init_ms) == (b"one two 8f5e", None)


@needs_node
@pytest.mark.parametrize(
    ("handler", "whole"),
    [
        ("app.http", b'{"statusCode":201,"headers":{"X-A":"b"}}' + bytes(8) + b"ab"),
        ("app.piped", b"ab"),
        ("app.silent", b""),
    ],
)
def test_ways_to_write_a_streamed_answer(invoker: ProcessInvoker, handler: str, whole: bytes) -> None:
    result, pieces = run(invoker, handler=handler, revision=handler)

    assert (result.status, result.is_streamed, pieces.whole) == (InvocationStatus.OK, True, whole)


@needs_node
def test_streamed_answer_may_be_larger_than_a_buffered_one(invoker: ProcessInvoker) -> None:
    result, pieces = run(invoker, 150, handler="app.large", revision="large")

    assert (result.status, len(pieces.whole)) == (InvocationStatus.OK, 150 * 65_536)
    assert len(pieces.whole) > RESPONSE_BYTES_MAX
    assert pieces.whole == b"".join(bytes([number]) * 65_536 for number in range(150))


@needs_node
def test_function_that_does_not_stream_answers_by_its_result(invoker: ProcessInvoker) -> None:
    result, pieces = run(invoker, handler="app.plain", revision="plain")

    assert (result.payload, result.is_streamed, pieces.kept) == (b'{"plain":true}', False, [])


@needs_node
def test_streaming_function_that_nobody_streams_answers_whole(invoker: ProcessInvoker) -> None:
    asked = replace(invocation("js", revision="buffered"), code=FunctionCode("js", "app.handler", NODE))

    result = invoker.invoke(asked)

    assert (result.status, result.payload, result.is_streamed) == (InvocationStatus.OK, b"one two 8f5e", False)


@needs_node
@pytest.mark.parametrize(
    ("event", "is_streamed", "error", "message"),
    [
        ("early", False, "", "early"),
        ("late", True, "RangeError", "läte"),
        ("uncaught", True, "Runtime.UncaughtException", "lost"),
    ],
)
def test_error_before_and_after_the_first_piece(
    invoker: ProcessInvoker, event: str, is_streamed: bool, error: str, message: str
) -> None:
    result, pieces = run(invoker, event, revision=event)

    document = json.loads(result.payload)
    assert (result.status, result.is_streamed, result.error) == (InvocationStatus.FUNCTION_ERROR, is_streamed, error)
    assert (document["errorMessage"], pieces.whole) == (message, b"one " if is_streamed else b"")


@needs_node
def test_process_that_ends_amid_its_answer_fails_the_run(invoker: ProcessInvoker) -> None:
    result, pieces = run(invoker, "exit", revision="exit")

    assert (result.status, result.is_streamed, pieces.whole) == (InvocationStatus.FUNCTION_ERROR, True, b"one ")
    assert json.loads(result.payload)["errorType"] == "Runtime.ExitError"


@needs_node
def test_timeout_ends_a_streamed_answer(invoker: ProcessInvoker) -> None:
    result, pieces = run(invoker, "hang", revision="hang", timeout_ms=400)

    assert (result.status, result.is_streamed, pieces.whole) == (InvocationStatus.FUNCTION_ERROR, True, b"one ")
    assert json.loads(result.payload)["errorType"] == "Sandbox.Timedout"


@needs_node
def test_function_waits_while_its_caller_does_not_read(invoker: ProcessInvoker) -> None:
    """A piece or two are on their way when the caller stops reading; the rest waits in the function."""
    pieces = Pieces()
    pieces.is_full = True
    asked = replace(
        invocation("js", 100, revision="slow"), code=FunctionCode("js", "app.large", NODE), timeout_ms=1_000
    )

    result = invoke_streaming(invoker, asked, pieces)

    assert json.loads(result.payload)["errorType"] == "Sandbox.Timedout"
    assert len(pieces.whole) < 100 * 65_536


def test_program_of_its_own_answers_in_pieces(invoker: ProcessInvoker) -> None:
    result, pieces = run(invoker, ["a", "bc"], code="bootstrap")

    assert (result.status, result.is_streamed, pieces.whole) == (InvocationStatus.OK, True, b"abc")
