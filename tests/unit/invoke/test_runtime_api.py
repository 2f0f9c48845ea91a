"""The Runtime API as a state machine, and the HTTP under it, byte by byte."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redrive.invoke.endings import RESPONSE_BYTES_MAX, Reported
from redrive.invoke.runtime.api import PREFIX, Event, Phase, RuntimeApi
from redrive.invoke.runtime.http_exchange import (
    HEAD_BYTES_MAX,
    HEADERS_MAX,
    REQUESTS_AHEAD_MAX,
    MalformedRequest,
    Request,
    RequestReader,
    response,
)

ADDRESS = "127.0.0.1:40000"
NEXT = Request("GET", f"{PREFIX}/invocation/next", {})


def running() -> RuntimeApi:
    """An API whose runtime handles request r1."""
    api = RuntimeApi(ADDRESS)
    api.handle(NEXT)
    api.begin(Event("r1", {}, b"{}"))
    return api


def answer(request_id: str, kind: str, body: bytes = b"1") -> Request:
    return Request("POST", f"{PREFIX}/invocation/{request_id}/{kind}", {}, body)


def status(reply: bytes | None) -> int:
    assert reply is not None
    return int(reply.split()[1])


def test_next_waits_until_an_event_begins() -> None:
    api = RuntimeApi(ADDRESS)

    parked = api.handle(NEXT)
    reply = api.begin(Event("r1", {"Lambda-Runtime-Aws-Request-Id": "r1"}, b'{"a":1}'))

    assert parked is None
    assert reply.startswith(b"HTTP/1.1 200 OK\r\n")
    assert b"Lambda-Runtime-Aws-Request-Id: r1\r\n" in reply
    assert reply.endswith(b'\r\n\r\n{"a":1}')


@pytest.mark.parametrize(("kind", "is_error"), [("response", False), ("error", True)])
def test_answer_to_the_running_request_is_accepted_once(kind: str, is_error: bool) -> None:
    api = running()

    first, second = api.handle(answer("r1", kind, b'"x"')), api.handle(answer("r1", kind, b'"y"'))

    assert (status(first), status(second)) == (202, 403)
    assert api.report == Reported(b'"x"', is_error=is_error)


def test_answer_under_another_request_id_is_refused_and_changes_nothing() -> None:
    api = running()

    reply = api.handle(answer("r2", "response"))

    assert status(reply) == 400
    assert reply is not None
    assert json.loads(reply.split(b"\r\n\r\n")[1])["errorType"] == "InvalidRequestID"
    assert (api.phase, api.report) == (Phase.RUNNING, None)


def test_next_before_the_answer_is_a_wrong_transition() -> None:
    assert status(running().handle(NEXT)) == 403


def test_init_error_is_accepted_only_before_the_first_next() -> None:
    fresh, late = RuntimeApi(ADDRESS), running()
    request = Request("POST", f"{PREFIX}/init/error", {}, b'{"errorType":"Runtime.ImportModuleError"}')

    replies = fresh.handle(request), late.handle(request)

    assert [status(reply) for reply in replies] == [202, 403]
    assert fresh.phase is Phase.FAILED
    assert fresh.report == Reported(request.body, is_error=True)


def test_answer_larger_than_six_megabytes_becomes_response_size_too_large() -> None:
    api = running()

    reply = api.handle(answer("r1", "response", b"x" * (RESPONSE_BYTES_MAX + 1)))

    assert status(reply) == 413
    assert api.report is not None
    assert not api.report.fits
    assert json.loads(api.report.payload) == {
        "errorType": "Function.ResponseSizeTooLarge",
        "errorMessage": "Response payload size exceeded maximum allowed payload size (6291556 bytes).",
    }


def test_answer_of_exactly_six_megabytes_is_accepted() -> None:
    assert status(running().handle(answer("r1", "response", b"x" * RESPONSE_BYTES_MAX))) == 202


def test_answer_that_was_cut_becomes_response_size_too_large() -> None:
    api = running()
    path = f"{PREFIX}/invocation/r1/response"

    reply = api.handle(Request("POST", path, {}, is_cut=True))

    assert status(reply) == 413
    assert api.report is not None
    assert not api.report.fits


@pytest.mark.parametrize(
    "headers",
    [
        {"host": "example.com"},
        {"host": "localhost:40000"},
        {"host": ADDRESS, "origin": "http://127.0.0.1:40000"},
        {"host": ADDRESS, "referer": "http://example.com/"},
        {"host": ADDRESS, "sec-fetch-site": "cross-site"},
    ],
)
def test_what_a_web_page_had_a_browser_send_is_refused(headers: dict[str, str]) -> None:
    """Any page can post to a port of the machine that it is read on, and a name of its own can lead there."""
    api = running()

    reply = api.handle(Request("POST", f"{PREFIX}/invocation/r1/response", headers, b"1"))

    assert status(reply) == 403
    assert (api.phase, api.report) == (Phase.RUNNING, None)


@pytest.mark.parametrize("path", ["/", f"{PREFIX}/invocation/next/more", "/2015-01-01/runtime/invocation/next"])
def test_path_outside_the_api_is_not_found(path: str) -> None:
    assert status(RuntimeApi(ADDRESS).handle(Request("GET", path, {}))) == 404


@given(
    bodies=st.lists(st.binary(max_size=40), min_size=1, max_size=4),
    cuts=st.lists(st.integers(min_value=1, max_value=30), min_size=1),
    chunked=st.booleans(),
)
def test_requests_are_read_whole_however_their_bytes_arrive(
    bodies: list[bytes], cuts: list[int], chunked: bool
) -> None:
    stream = b"".join(_chunked(body) if chunked else _plain(body) for body in bodies)
    reader = RequestReader(RESPONSE_BYTES_MAX)
    found = []

    while stream:
        size = cuts[len(stream) % len(cuts)]
        reader.feed(stream[:size])
        stream = stream[size:]
        while (request := reader.next_request()) is not None:
            found.append(request)

    assert [request.body for request in found] == bodies
    assert {(request.method, request.path) for request in found} == {("POST", "/p")}


def _plain(body: bytes) -> bytes:
    return b"POST /p HTTP/1.1\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)


def _chunked(body: bytes) -> bytes:
    chunks = b"".join(b"1\r\n%c\r\n" % byte for byte in body)
    return b"POST /p HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n%s0\r\n\r\n" % chunks


def test_client_that_expects_continue_is_told_so_once() -> None:
    reader = RequestReader(RESPONSE_BYTES_MAX)
    reader.feed(b"POST /p HTTP/1.1\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n")

    assert reader.next_request() is None
    assert [reader.wants_continue(), reader.wants_continue()] == [True, False]
    reader.feed(b"ok")
    assert reader.next_request() is not None


@pytest.mark.parametrize(
    "head",
    [
        b"nonsense\r\n\r\n",
        b"GET / HTTP/1.1\r\nno colon\r\n\r\n",
        b"POST / HTTP/1.1\r\nContent-Length: two\r\n\r\n",
        b"POST / HTTP/1.1\r\nContent-Length: -5\r\n\r\n",
        b"POST / HTTP/1.1\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n",
        b"POST / HTTP/1.1\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"POST / HTTP/1.1\r\nContent-Length: 99999999999999999999999\r\n\r\n",
        b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"GET / HTTP/1.1\r\n" + b"".join(b"X%d: 1\r\n" % number for number in range(HEADERS_MAX + 1)) + b"\r\n",
    ],
)
def test_bytes_that_are_not_http_are_malformed(head: bytes) -> None:
    reader = RequestReader(RESPONSE_BYTES_MAX)
    reader.feed(head)

    with pytest.raises(MalformedRequest):
        reader.next_request()


@given(st.lists(st.binary(max_size=200), max_size=20))
def test_bytes_of_any_kind_are_requests_or_malformed(pieces: list[bytes]) -> None:
    reader = RequestReader(100)
    for piece in pieces:
        reader.feed(piece)

    try:
        while (request := reader.next_request()) is not None:
            assert len(request.body) <= 100
    except MalformedRequest:
        pass


@pytest.mark.parametrize(
    "head",
    [
        b"GET / HTTP/1.1\r\nX: ",
        b"GET /",
        b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX: ",
        b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1;x=",
    ],
)
def test_what_is_no_body_is_bounded(head: bytes) -> None:
    """A line, a header, a trailer or an extension of a chunk that never ends."""
    reader = RequestReader(100)
    reader.feed(head)
    for _ in range(HEAD_BYTES_MAX // 65_536 + 1):
        reader.feed(b"x" * 65_536)

    with pytest.raises(MalformedRequest):
        reader.next_request()


@pytest.mark.parametrize(
    "request_bytes",
    [
        b"POST /p HTTP/1.1\r\nContent-Length: 101\r\n\r\n",
        b"POST /p HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n" + b"1\r\nx\r\n" * 101,
    ],
)
def test_body_over_the_bound_is_cut_before_it_is_there_and_nothing_is_read_after_it(request_bytes: bytes) -> None:
    reader = RequestReader(100)
    reader.feed(request_bytes)
    reader.feed(b"GET / HTTP/1.1\r\n\r\n")

    cut, after = reader.next_request(), reader.next_request()

    assert cut is not None
    assert (cut.path, cut.body, cut.is_cut) == ("/p", b"", True)
    assert after is None


def test_requests_sent_ahead_are_bounded() -> None:
    reader = RequestReader(100)
    reader.feed(b"GET / HTTP/1.1\r\n\r\n" * 1_000)

    found = [reader.next_request() for _ in range(REQUESTS_AHEAD_MAX + 1)]

    assert None not in found
    with pytest.raises(MalformedRequest):
        reader.next_request()


def test_response_states_the_length_of_its_body() -> None:
    assert response(202, b"abc").endswith(b"Content-Length: 3\r\n\r\nabc")
