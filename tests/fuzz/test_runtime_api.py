"""What the code of a function may send to its Runtime API: any bytes, in any order, without end."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator

import pytest

from redrive.invoke.endings import RESPONSE_BYTES_MAX
from redrive.invoke.runtime.api import PREFIX, Event, Phase, RuntimeApi
from redrive.invoke.runtime.http_exchange import MalformedRequest, Request, RequestReader
from tests.fuzz.conftest import Cases
from tests.fuzz.values import Draw
from tests.fuzz.work import ending

MEGABYTE = 1024 * 1024
SENT_MEGABYTES = 64
HELD_BYTES_MAX = 24 * MEGABYTE
"""What a reader may hold: the head and the body of the largest answer that counts, several times over."""

ADDRESS = "x"
"""What the runtime takes for the address of its API, as the requests below say in their Host header."""

CHUNKED = "POST {path} HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{{}}\r\n0\r\nA: b\r\n\r\n"
NEXT = f"GET {PREFIX}/invocation/next HTTP/1.1\r\nHost: x\r\n\r\n".encode()
REQUESTS = (
    NEXT,
    NEXT,
    f"POST {PREFIX}/invocation/r1/response HTTP/1.1\r\nContent-Length: 2\r\n\r\n{{}}".encode(),
    CHUNKED.format(path=f"{PREFIX}/invocation/r1/response").encode(),
    f"POST {PREFIX}/invocation/r2/error HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\n1".encode(),
    f"POST {PREFIX}/invocation/r1/error HTTP/1.1\r\nContent-Length: 3\r\n\r\n{{}}}}".encode(),
    f"POST {PREFIX}/init/error HTTP/1.1\r\nLambda-Runtime-Function-Error-Type: A\r\n\r\n".encode(),
    b"DELETE / HTTP/1.1\r\n\r\n",
    b"POST / HTTP/1.1\r\nContent-Length: -5\r\n\r\nhello",
    b"POST / HTTP/1.1\r\nContent-Length: 1_0\r\n\r\nhello",
    b"POST / HTTP/1.1\r\nContent-Length: " + b"9" * 5_000 + b"\r\n\r\n",
    b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n-2\r\nhello\r\n",
    b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n" + b"f" * 5_000 + b"\r\nhello\r\n",
    b"GET / HTTP/1.1\r\nA\r\n\r\n",
    b"\r\n\r\n",
)
STREAMS = {
    "a head without end": (b"GET / HTTP/1.1\r\nX: ", b"x" * MEGABYTE),
    "headers without end": (b"GET / HTTP/1.1\r\n", b"X: y\r\n" * (MEGABYTE // 6)),
    "a line without end": (b"", b"G" * MEGABYTE),
    "a body without end": (b"POST / HTTP/1.1\r\nContent-Length: 99999999999\r\n\r\n", b"x" * MEGABYTE),
    "chunks without end": (
        b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"40000\r\n" + b"x" * 262_144 + b"\r\n",
    ),
}


def requests_of(reader: RequestReader) -> Iterator[Request]:
    """All that is whole."""
    while (request := reader.next_request()) is not None:
        yield request
    reader.wants_continue()


def test_no_bytes_of_a_runtime_are_more_than_malformed(cases: Cases) -> None:
    """A reader gives requests or MalformedRequest; the API answers each of them, whatever came before."""
    for seed in cases(1_500):
        draw = Draw(seed)
        data = b"".join(draw.choice(REQUESTS) for _ in range(draw.one_of(1, 2, 4, 8)))
        data = draw.changed(data, REQUESTS) if draw.chance(0.7) else data
        reader, api, started = RequestReader(RESPONSE_BYTES_MAX), RuntimeApi(ADDRESS), 0
        try:
            with ending():
                while data:
                    size = draw.one_of(1, 7, 100, len(data))
                    reader.feed(data[:size])
                    data = data[size:]
                    for request in requests_of(reader):
                        answer = api.handle(request)
                        assert answer is None or answer.startswith(b"HTTP/1.1 "), answer
                        if api.phase is Phase.WAITING and draw.chance(0.8):
                            started += 1
                            assert api.begin(Event(f"r{started % 3}", {"A": "b"}, b"{}")).startswith(b"HTTP/1.1 200 ")
        except MalformedRequest:
            continue


def test_answers_are_taken_only_while_a_run_waits_for_them(cases: Cases) -> None:
    """A report is what was posted under the running request's id, whatever else is posted, and in whatever order."""
    for seed in cases(400):
        draw = Draw(seed)
        api, running = RuntimeApi(ADDRESS), ""
        for _ in range(12):
            kind, name = draw.one_of("response", "error"), draw.one_of("r1", "r2", running, draw.text())
            path = draw.one_of("/invocation/next", f"/invocation/{name}/{kind}", "/init/error", name)
            path = path.encode("utf-8", "surrogatepass").decode("latin-1")  # As a reader gives it.
            request = Request(draw.one_of("GET", "POST"), f"{PREFIX}{path}", {}, b"1")
            was = api.phase
            answer = api.handle(request)
            if answer is not None and answer.startswith(b"HTTP/1.1 202"):
                assert was in {Phase.RUNNING, Phase.INIT}, was
                assert was is Phase.INIT or path == f"/invocation/{running}/{kind}", path
                assert api.report is not None
            if api.phase is Phase.WAITING:
                running = draw.one_of("r1", "r2")
                api.begin(Event(running, {}, b"{}"))


@pytest.mark.parametrize("name", sorted(STREAMS))
def test_what_a_runtime_sends_without_end_is_not_kept(name: str) -> None:
    """A reader that is fed for ever refuses, or lets go: it holds no more than a few answers."""
    start, more = STREAMS[name]
    reader = RequestReader(RESPONSE_BYTES_MAX)
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        with ending():
            reader.feed(start)
            for _ in range(SENT_MEGABYTES):
                reader.feed(more)
                assert all(request.is_cut for request in requests_of(reader))
                assert tracemalloc.get_traced_memory()[0] - before < HELD_BYTES_MAX
    except MalformedRequest:
        pass
    finally:
        tracemalloc.stop()
