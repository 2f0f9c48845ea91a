"""The Lambda Runtime API of one execution environment, as a state machine without a socket.

    INIT ──init/error──► FAILED
      └──next──► WAITING ──begin──► RUNNING ──response, error──► ANSWERED ──next──► WAITING

Source: https://docs.aws.amazon.com/lambda/latest/dg/runtimes-api.html
"""

from __future__ import annotations

import base64
import binascii
import enum
import re
from collections.abc import Mapping
from dataclasses import dataclass

from redrive.core.documents import dump_json
from redrive.delivery.outside.invocation import ResponseStream
from redrive.invoke.endings import RESPONSE_BYTES_MAX, STREAMED_BYTES_MAX, Reported, too_large
from redrive.invoke.runtime.http_exchange import MODE_HEADER, Request, Take, response

PREFIX = "/2018-06-01/runtime"

STREAMING = "streaming"
ERROR_TYPE = "lambda-runtime-function-error-type"
ERROR_BODY = "lambda-runtime-function-error-body"

_OF_BROWSERS = ("origin", "referer", "sec-fetch-site", "sec-fetch-mode")
"""Headers that browsers send and runtimes do not."""

_ANSWER = re.compile(r"/invocation/([^/]+)/(response|error)")


class Phase(enum.Enum):
    """The state of an execution environment."""

    INIT = "init"
    FAILED = "failed"
    WAITING = "waiting"
    RUNNING = "running"
    ANSWERED = "answered"


@dataclass(frozen=True, slots=True)
class Event:
    """What a run receives: the headers of its event, and the payload."""

    request_id: str
    headers: Mapping[str, str]
    payload: bytes


class RuntimeApi:
    """Answers the requests of one runtime. `report` is its latest result.

    `has_streamed`: the latest run has begun to answer in pieces.
    """

    def __init__(self, address: str) -> None:
        """`address` is the host and port under which the runtime reaches this API."""
        self._address = address
        self.phase = Phase.INIT
        self.report: Reported | None = None
        self._request_id = ""
        self._stream: ResponseStream | None = None
        self.has_streamed = False

    def begin(self, event: Event, stream: ResponseStream | None = None) -> bytes:
        """Start a run: the answer to the runtime's waiting `next`. With `stream`, it may answer in pieces."""
        if self.phase is not Phase.WAITING:
            raise AssertionError(f"the runtime does not wait for an event: it is {self.phase.value}")
        self.phase = Phase.RUNNING
        self.report = None
        self._request_id = event.request_id
        self._stream = stream
        self.has_streamed = False
        return response(200, event.payload, event.headers)

    def handle(self, request: Request) -> bytes | None:
        """The answer to a request; None for a `next`, which `begin` answers.

        A web page can make a browser send requests to any port of its machine, also under host names of the page's own.
        So a request from a browser, or one for another host, is refused.
        """
        if not self._is_from_runtime(request):
            return _refusal(403, "AccessDenied", "The Runtime API is for the function's own process")
        path = request.path.removeprefix(PREFIX) if request.path.startswith(PREFIX) else ""
        answer = _ANSWER.fullmatch(path)
        match request.method, path:
            case "GET", "/invocation/next":
                return self._next()
            case "POST", "/init/error":
                return self._init_error(request)
            case "POST", _ if answer is not None:
                return self._answered(answer[1], request, is_error=answer[2] == "error")
            case _:
                return _refusal(404, "NotFound", f"There is no {request.method} {request.path} in this API")

    def take_pieces(self, request: Request) -> Take | None:
        """What takes the body of an answer in pieces; None if that is not for now: the body is collected.

        `request` has no body yet. An answer that would be refused is not sent on.
        """
        stream = self._stream
        answer = _ANSWER.fullmatch(request.path.removeprefix(PREFIX))
        is_meant = answer is not None and answer[1] == self._request_id and answer[2] == "response"
        is_streamed = request.headers.get(MODE_HEADER, "").lower() == STREAMING
        if stream is None or self.phase is not Phase.RUNNING or not (is_meant and is_streamed):
            return None
        if not self._is_from_runtime(request):
            return None
        self.has_streamed = True
        stream.begin(request.headers.get("content-type", ""))
        return stream.write

    def _is_from_runtime(self, request: Request) -> bool:
        headers = request.headers
        return headers.get("host", self._address) == self._address and not any(one in headers for one in _OF_BROWSERS)

    def _next(self) -> bytes | None:
        if self.phase not in (Phase.INIT, Phase.ANSWERED, Phase.WAITING):
            return _wrong_state()
        self.phase = Phase.WAITING
        return None

    def _init_error(self, request: Request) -> bytes:
        if self.phase is not Phase.INIT:
            return _wrong_state()
        self.phase = Phase.FAILED
        return self._report(request, is_error=True)

    def _answered(self, request_id: str, request: Request, *, is_error: bool) -> bytes:
        if request_id != self._request_id:
            return _refusal(400, "InvalidRequestID", "Invalid request ID")
        if self.phase is not Phase.RUNNING:
            return _wrong_state()
        self.phase = Phase.ANSWERED
        return self._report(request, is_error=is_error)

    def _report(self, request: Request, *, is_error: bool) -> bytes:
        if request.is_streamed:
            return self._report_streamed(request)
        if request.is_cut or len(request.body) > RESPONSE_BYTES_MAX:
            message = f"Exceeded maximum allowed payload size ({RESPONSE_BYTES_MAX} bytes)."
            self.report = too_large()
            return _refusal(413, "RequestEntityTooLarge", message)
        error_type = request.headers.get(ERROR_TYPE, "")
        if not is_error and MODE_HEADER in request.headers and error_type:
            self.report = Reported(_error_body(request), is_error=True)
        else:
            self.report = Reported(request.body, is_error=is_error)
        return _accepted()

    def _report_streamed(self, request: Request) -> bytes:
        """The end of an answer in pieces. A runtime that failed in between says so in trailers."""
        if request.is_cut:
            self.report = too_large(STREAMED_BYTES_MAX, is_streamed=True)
            message = f"Exceeded maximum allowed payload size ({STREAMED_BYTES_MAX} bytes)."
            return _refusal(413, "RequestEntityTooLarge", message)
        error_type = request.headers.get(ERROR_TYPE, "")
        payload = _error_body(request) if error_type else b""
        self.report = Reported(payload, is_error=bool(error_type), is_streamed=True, error_type=error_type)
        return _accepted()


def _error_body(request: Request) -> bytes:
    """The error document in the trailers of an answer. Source: as above, and dg/runtimes-custom.html."""
    try:
        return base64.b64decode(request.headers.get(ERROR_BODY, ""), validate=True)
    except (binascii.Error, ValueError):
        return b""


def _accepted() -> bytes:
    return response(202, b'{"status":"OK"}')


def _wrong_state() -> bytes:
    return _refusal(403, "InvalidStateTransition", "State transition is not allowed")


def _refusal(status: int, error_type: str, message: str) -> bytes:
    return response(status, dump_json({"errorMessage": message, "errorType": error_type}).encode())
