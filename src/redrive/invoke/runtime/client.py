"""Our own Lambda runtime, for platforms without AWS's: takes events from the Runtime API and answers them.

Runs in the function's process (`python -m redrive.invoke.runtime.client HANDLER [VIRTUAL_NOW_MS TIMEOUT_MS]`); standard
library only. Does what AWS's runtime interface client does.

Source: https://docs.aws.amazon.com/lambda/latest/dg/runtimes-api.html
"""

from __future__ import annotations

import http.client
import logging
import os
import sys
from collections.abc import Callable
from email.message import Message

from redrive.core.clock import Clock, SystemClock
from redrive.invoke.runtime.context import LambdaContext
from redrive.invoke.runtime.handler_log import RequestFilter, level_of, log_handler
from redrive.invoke.runtime.handlers import (
    ERROR_TYPE_HEADER,
    Answer,
    Handler,
    error_answer,
    error_line,
    json_error_line,
    load_handler,
    run_handler,
)

API = "/2018-06-01/runtime"


class RuntimeRefused(Exception):
    """The Runtime API gave an answer after which the process can only end."""


class RuntimeClient:
    """One connection to the Runtime API."""

    def __init__(self, address: str) -> None:
        self._connection = http.client.HTTPConnection(address)

    def next(self) -> tuple[Message, bytes]:
        """Wait for an event: its headers and its payload."""
        return self._call("GET", "/invocation/next", b"", {}, 200)

    def answer(self, request_id: str, answer: Answer) -> None:
        """Send the result, or the error, of a run."""
        if answer.error_type is None:
            self._call("POST", f"/invocation/{request_id}/response", answer.payload, {}, 202)
        else:
            headers = {ERROR_TYPE_HEADER: answer.error_type}
            self._call("POST", f"/invocation/{request_id}/error", answer.payload, headers, 202)

    def init_error(self, answer: Answer) -> None:
        """Report that the function could not be loaded."""
        self._call("POST", "/init/error", answer.payload, {ERROR_TYPE_HEADER: answer.error_type or ""}, 202)

    def _call(
        self, method: str, path: str, body: bytes, headers: dict[str, str], expected: int
    ) -> tuple[Message, bytes]:
        self._connection.request(method, API + path, body or None, headers)
        response = self._connection.getresponse()
        content = response.read()
        if response.status != expected:
            raise RuntimeRefused(f"{method} {path} was answered {response.status}: {content!r}")
        return response.headers, content


def serve(
    client: RuntimeClient, handler: Handler, requests: RequestFilter, clock: Clock, begin: Callable[[int], None]
) -> None:
    """Handle events in sequence until the process ends. Passes each event's deadline to `begin`."""
    while True:
        headers, payload = client.next()
        begin(int(headers["Lambda-Runtime-Deadline-Ms"]))
        requests.request_id = request_id = headers["Lambda-Runtime-Aws-Request-Id"]
        os.environ["_X_AMZN_TRACE_ID"] = headers.get("Lambda-Runtime-Trace-Id", "")
        answer = _run(handler, headers, payload, clock)
        if answer.error_type is not None:
            print_error(answer, clock)
        client.answer(request_id, answer)


def print_error(answer: Answer, clock: Clock) -> None:
    """Write an error to the log, in the function's log format."""
    is_json = os.environ.get("AWS_LAMBDA_LOG_FORMAT") == "JSON"
    line = json_error_line(answer, clock.now()) if is_json else error_line(answer)
    print(line, flush=True)  # noqa: T201 -- standard output is the log.


def _run(handler: Handler, headers: Message, payload: bytes, clock: Clock) -> Answer:
    request_id = headers["Lambda-Runtime-Aws-Request-Id"]
    try:
        context = LambdaContext(
            request_id=request_id,
            function_arn=headers["Lambda-Runtime-Invoked-Function-Arn"],
            deadline_at=int(headers["Lambda-Runtime-Deadline-Ms"]),
            clock=clock,
            environment=os.environ,
            client_context=headers.get("Lambda-Runtime-Client-Context"),
        )
    except Exception as error:  # noqa: BLE001 - the caller made the error if the client context cannot be parsed.
        return error_answer(error, request_id)
    return run_handler(handler, payload, context, request_id)


def main(handler_name: str, *virtual_time: str) -> None:
    """Load the handler, then serve. If loading fails, report the error and end the process."""
    client = RuntimeClient(os.environ["AWS_LAMBDA_RUNTIME_API"])
    begin = _in_virtual_time(*map(int, virtual_time)) if virtual_time else _in_real_time
    clock = SystemClock()
    requests = RequestFilter(clock)
    log_format = os.environ.get("AWS_LAMBDA_LOG_FORMAT", "")
    logging.getLogger().addHandler(log_handler(sys.stdout, requests, log_format=log_format))
    if os.environ.get("AWS_LAMBDA_LOG_LEVEL"):
        logging.getLogger().setLevel(level_of(os.environ["AWS_LAMBDA_LOG_LEVEL"]))
    try:
        handler = load_handler(handler_name)
    except Exception as error:  # noqa: BLE001 - the function's module may raise any exception.
        answer = error_answer(error, "")
        print_error(answer, clock)
        client.init_error(answer)
        sys.exit(1)
    serve(client, handler, requests, clock, begin)


def _in_real_time(deadline_ms: int) -> None:
    """In real time there is nothing to set."""


def _in_virtual_time(now_ms: int, timeout_ms: int) -> Callable[[int], None]:
    from redrive.invoke.runtime.function_time import FunctionTime  # noqa: PLC0415 - only virtual time needs it.

    return FunctionTime(now_ms, timeout_ms).begin


if __name__ == "__main__":
    main(*sys.argv[1:])
