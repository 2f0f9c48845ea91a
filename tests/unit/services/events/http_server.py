"""An HTTP server of this machine that API destinations call: it keeps the requests, and answers as told."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import NamedTuple, Self

WAIT_S_MAX = 60


@dataclass(frozen=True)
class Answer:
    """An answer of the server."""

    status: int = 200
    body: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)


class Request(NamedTuple):
    """A request that the server got. Names of headers are in lower case."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes


class LocalServer:
    """Answers requests with `answers`, one after the other, and then with `always`."""

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self.answers: list[Answer] = []
        self.always = Answer()
        self.arrived = threading.Condition()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def wait_for(self, count: int) -> None:
        """Return when this many requests have come."""
        with self.arrived:
            assert self.arrived.wait_for(lambda: len(self.requests) >= count, WAIT_S_MAX), "no request comes"

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()


def _handler(server: LocalServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
            headers = {name.lower(): value for name, value in self.headers.items()}
            with server.arrived:
                server.requests.append(Request(self.command, self.path, headers, body))
                server.arrived.notify_all()
            answer = server.answers.pop(0) if server.answers else server.always
            content = answer.body.encode()
            self.send_response(answer.status)
            for name, value in answer.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(content)

        def log_message(self, format: str, *args: object) -> None:
            """The requests are kept, not printed."""

    for method in ("DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT"):
        setattr(Handler, f"do_{method}", Handler.answer)
    return Handler
