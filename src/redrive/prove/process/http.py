"""Requests over HTTP by Python's own http.client, and by all libraries that stand on it: urllib, urllib3, requests.

A connection gets a socket that is none: what is written to it is read as a request, which is answered in this process.
Libraries with connections of their own are in `http_async`.
"""

from __future__ import annotations

import contextlib
import functools
import http.client
import io
import ssl
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import httptools
import urllib3.connection
import urllib3.exceptions

from redrive.prove.process.exchange import HttpAnswer, HttpAsk, HttpAsked, asked_of
from redrive.prove.process.surroundings import NetworkReached, replaced

_Connection = http.client.HTTPConnection

AWS_METADATA = frozenset({"169.254.169.254", "169.254.170.2", "[fd00:ec2::254]"})
"""Hosts with the credentials of a machine. A function has none, so nobody answers."""


@contextmanager
def answered_http(ask: HttpAsk) -> Iterator[None]:
    """While entered, `ask` answers the requests of http.client and of what stands on it."""
    with contextlib.ExitStack() as stack:
        covered: set[type] = set()

        def connect(connection: _Connection) -> None:  # Becomes a method of each class.
            connection.sock = _Socket(connection, ask)

        def cover(kind: type[_Connection]) -> None:
            """Replace `connect` in a class, and in those from which it inherits."""
            for one in kind.__mro__:
                if "connect" in vars(one) and one not in covered:
                    covered.add(one)
                    stack.enter_context(replaced(one, "connect", connect))

        begin = _Connection.__init__

        def begin_covered(connection: _Connection, *args: object, **named: object) -> None:
            cover(type(connection))  # A class of a library that was imported meanwhile.
            begin(connection, *args, **named)  # type: ignore[arg-type] # As they were given.

        for kind in _kinds(_Connection):
            cover(kind)
        stack.enter_context(replaced(_Connection, "__init__", begin_covered))
        stack.enter_context(replaced(ssl, "_create_default_https_context", _known_context))
        yield


@functools.cache
def _known_context() -> ssl.SSLContext:
    """The TLS settings of connections that bring none. Reading the machine's certificates takes longer than a run."""
    return ssl.create_default_context()


def _kinds(kind: type[_Connection]) -> Iterator[type[_Connection]]:
    yield kind
    for narrower in kind.__subclasses__():
        yield from _kinds(narrower)


class _Socket:
    """What http.client uses of a socket. It holds one request and its answer at a time."""

    def __init__(self, connection: _Connection, ask: HttpAsk) -> None:
        self._ask = ask
        self._reader = _Reader(connection)
        self._refusal = _refusal_of(connection)
        self._answer: HttpAnswer | None = None
        self._lost: TimeoutError | None = None
        if isinstance(connection, urllib3.connection.HTTPSConnection):
            connection.is_verified = True  # Otherwise urllib3 warns of a connection that nobody has verified.

    def sendall(self, data: object) -> None:
        """Read a part of a request, and have the request answered when it is whole. Errors: ConnectionError."""
        asked = self._reader.read(bytes(memoryview(data)))  # type: ignore[arg-type] # http.client checks it.
        if asked is None:
            return
        try:
            self._answer = self._ask(asked)
        except ConnectionRefusedError as error:
            raise self._refusal(error) from error
        except TimeoutError as error:
            self._lost = error  # It is met where the answer is read.

    def makefile(self, *_: object, **__: object) -> io.BufferedIOBase:
        """The bytes of the answer. Errors: TimeoutError."""
        if self._lost is not None:
            raise self._lost
        return io.BytesIO(b"" if self._answer is None else self._answer.wire)

    def settimeout(self, seconds: float | None) -> None:
        """No read waits."""

    def setsockopt(self, *_: object) -> None:
        """There is nothing to set."""

    def shutdown(self, _: int) -> None:
        """Nothing is open."""

    def close(self) -> None:
        """Nothing is open."""


class _Reader:
    """Reads the requests of a connection."""

    def __init__(self, connection: _Connection) -> None:
        tunnelled = getattr(connection, "_tunnel_host", None)
        host = str(tunnelled or connection.host)
        port = (getattr(connection, "_tunnel_port", None) if tunnelled else None) or connection.port
        self._host = f"[{host}]" if ":" in host and not host.startswith("[") else host
        is_safe = bool(tunnelled) or type(connection).default_port == http.client.HTTPS_PORT
        self._scheme = "https" if is_safe else "http"
        self._authority = f"{self._host}:{port}"
        self._begin()

    def read(self, data: bytes) -> HttpAsked | None:
        """The request if it is whole now. Errors: NetworkReached for what is no HTTP, and for the machine's own."""
        if self._host in AWS_METADATA:
            raise NetworkReached(f"redrive prove lets no connection out, and this one was to {self._host}")
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserError as error:
            raise NetworkReached(
                f"redrive prove answers HTTP alone, and this was sent to {self._host}: {error}"
            ) from error
        if not self._is_whole:
            return None
        method, target = self._parser.get_method().decode(), self._target
        asked = asked_of(method, self._scheme, self._authority, target, self._headers, self._body)
        self._begin()
        return asked

    def _begin(self) -> None:
        self._parser = httptools.HttpRequestParser(self)
        self._target, self._body, self._is_whole = "", b"", False
        self._headers: dict[str, str] = {}

    def on_url(self, url: bytes) -> None:
        """A part of the target."""
        self._target += url.decode("latin-1")

    def on_header(self, name: bytes, value: bytes) -> None:
        """A header."""
        self._headers[name.decode("latin-1").lower()] = value.decode("latin-1")

    def on_body(self, body: bytes) -> None:
        """A part of the body."""
        self._body += body

    def on_message_complete(self) -> None:
        """The request is whole."""
        self._is_whole = True


def _refusal_of(connection: _Connection) -> Callable[[OSError], Exception]:
    """How a refused connection looks to those who use this kind of connection."""
    if isinstance(connection, urllib3.connection.HTTPConnection):
        pooled = connection
        return lambda error: urllib3.exceptions.NewConnectionError(pooled, f"Failed to establish a connection: {error}")
    return lambda error: error
