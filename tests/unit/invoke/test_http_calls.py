"""HTTP calls over loopback: what is sent, what comes back, and what is not sent at all."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable, Iterator

import pytest

from redrive.delivery.outside.http_call import HttpCall, HttpEnding
from redrive.invoke.http_calls import HttpCalls

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nX-Two: 2\r\n\r\nhi"


class Listener:
    """One connection's worth of a server: keeps what it was sent, and answers with what it was given."""

    def __init__(self) -> None:
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port = self._socket.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}/hook?a=1"
        self.received = b""
        self.answers: list[bytes] = [OK]
        self.released = threading.Event()
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        try:
            connection, _ = self._socket.accept()
        except OSError:
            return
        with connection:
            while not self.received.endswith(b"!end") and (read := connection.recv(65_536)):
                self.received += read
            for answer in self.answers:
                connection.sendall(answer)
            self.released.wait(10)

    def close(self) -> None:
        self.released.set()
        with contextlib.suppress(OSError):  # Wakes whoever still waits for a connection.
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        self._thread.join(10)


@pytest.fixture
def listener() -> Iterator[Listener]:
    listener = Listener()
    yield listener
    listener.close()


def test_call_is_sent_as_it_was_asked_for_and_answered_whole(listener: Listener) -> None:
    call = HttpCall(listener.url, "PUT", (("X-One", "1"),), b"body!end")

    result = HttpCalls().call(call)

    head, _, body = listener.received.partition(b"\r\n\r\n")
    assert head.split(b"\r\n") == [
        b"PUT /hook?a=1 HTTP/1.1", f"Host: 127.0.0.1:{listener.port}".encode(), b"Content-Length: 8", b"X-One: 1",
    ]  # fmt: skip
    assert body == b"body!end"
    assert (result.ending, result.status, result.body) == (HttpEnding.ANSWERED, 200, b"hi")
    assert result.headers == (("content-length", "2"), ("x-two", "2"))


def test_answer_longer_than_its_bound_is_cut(listener: Listener) -> None:
    listener.answers = [b"HTTP/1.1 500 No\r\nContent-Length: 100\r\n\r\n" + b"x" * 100]

    result = HttpCalls().call(HttpCall(listener.url, body=b"!end", answer_bytes_max=10))

    assert (result.status, result.body, result.is_cut) == (500, b"x" * 10, True)


def test_redirect_is_an_answer_and_is_not_followed(listener: Listener) -> None:
    listener.answers = [b"HTTP/1.1 302 Found\r\nLocation: http://192.0.2.1/\r\nContent-Length: 0\r\n\r\n"]

    assert HttpCalls().call(HttpCall(listener.url, body=b"!end")).status == 302


@pytest.mark.parametrize("begun", [b"", b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nbeg"])
def test_call_without_a_whole_answer_times_out(begun: bytes, listener: Listener) -> None:
    listener.answers = [begun]

    result = HttpCalls().call(HttpCall(listener.url, body=b"!end", timeout_ms=50))

    assert result.ending is HttpEnding.TIMED_OUT


@pytest.mark.parametrize("answer", [b"nonsense\r\n\r\n", b"HTTP/1.1 200 OK\r\n" + b"A: b\r\n" * 200 + b"\r\n"])
def test_answer_that_is_no_http_fails(answer: bytes, listener: Listener) -> None:
    listener.answers = [answer]

    assert HttpCalls().call(HttpCall(listener.url, body=b"!end")).ending is HttpEnding.FAILED


def test_answer_that_ends_before_its_length_fails(listener: Listener) -> None:
    listener.answers = [b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nbeg"]
    listener.released.set()

    assert HttpCalls().call(HttpCall(listener.url, body=b"!end")).ending is HttpEnding.FAILED


def test_nobody_who_listens_is_a_failure() -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]

    assert HttpCalls().call(HttpCall(f"http://127.0.0.1:{port}/")).ending is HttpEnding.FAILED


def test_header_cannot_smuggle_another(listener: Listener) -> None:
    call = HttpCall(listener.url, headers=(("X", "1\r\nY: 2"),), body=b"!end")

    assert HttpCalls().call(call).ending is HttpEnding.FAILED
    assert listener.received == b""


@pytest.mark.parametrize(
    "url",
    [
        "http://192.0.2.1/", "https://example.com/", "http://[2001:db8::1]/", "http://0.0.0.0/", "http://2130706433/",
        "http://127.0.0.1.example.com/", "http://localhost@example.com/", "http:///", "ftp://127.0.0.1/", "nonsense",
        "http://127.0.0.1:99999/",
    ],
)  # fmt: skip
def test_call_that_would_leave_the_machine_is_refused_unsent_and_unresolved(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not even a name is looked up: that would be traffic as well."""
    asked: list[object] = []
    monkeypatch.setattr(socket, "create_connection", note(asked))
    monkeypatch.setattr(socket, "getaddrinfo", note(asked))

    assert HttpCalls().call(HttpCall(url)).ending is HttpEnding.REFUSED
    assert asked == []


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("http://localhost:1/", ("127.0.0.1", 1)), ("http://api.LOCALHOST/", ("127.0.0.1", 80)),
        ("https://127.9.9.9/", ("127.9.9.9", 443)), ("http://[::1]:8/", ("::1", 8)),
        ("https://hooks.example.com/", ("hooks.example.com", 443)),
    ],
)  # fmt: skip
def test_this_machine_and_allowed_hosts_are_connected_to(
    url: str, address: tuple[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[object] = []
    monkeypatch.setattr(socket, "create_connection", note(asked))

    HttpCalls(allowed_hosts=frozenset({"hooks.example.com"})).call(HttpCall(url))

    assert asked == [address]


def note(asked: list[object]) -> Callable[..., object]:
    def connect(address: object, *_: object, **__: object) -> object:
        asked.append(address)
        raise OSError("a test connects to nobody")

    return connect
