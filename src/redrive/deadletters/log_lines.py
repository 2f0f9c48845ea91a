"""Reads lines of Lambda functions' logs: which request wrote them, which ids they name, and which error they tell.

Known are the runtimes' own lines in text and JSON, those of Python's logging, Powertools' logger, and a traceback in
any text. A line that nobody knows tells no error.

Sources: https://docs.aws.amazon.com/lambda/latest/dg/python-logging.html;
https://docs.aws.amazon.com/lambda/latest/dg/nodejs-logging.html;
https://docs.aws.amazon.com/lambda/latest/dg/monitoring-cloudwatchlogs-logformat.html
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from redrive.core.documents import load_json
from redrive.deadletters.letter import Failure

UUID = re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b")

_START = re.compile(rf"^START RequestId: (?P<id>{UUID.pattern})")
_OF_REQUEST = re.compile(
    rf"RequestId: (?P<id>{UUID.pattern})|^\S+Z[\t ](?P<first>{UUID.pattern})|\t(?P<tab>{UUID.pattern})\t"
)
_TIMED_OUT = re.compile(r"Task timed out after [\d.]+ seconds")
_EXITED = re.compile(r"Runtime exited with error: .*|Runtime\.ExitError|Runtime\.OutOfMemory")
_RUNTIME_ERROR = re.compile(r"^\[ERROR\] (?P<type>[\w.]+)(?:: (?P<message>.*))?")
_LAST_LINE = re.compile(r"^(?P<type>[A-Za-z_][\w.]*)(?:: (?P<message>.*))?$")
TRACEBACK = "Traceback (most recent call last):"
_INVOKE_ERROR = re.compile(
    r"(?:Invoke Error|Uncaught Exception|Unhandled Promise Rejection)\s+(?P<json>\{.*)", re.DOTALL
)


@dataclass(frozen=True, slots=True)
class Line:
    """What one event of a log tells. `request_id` is empty if the event does not name it."""

    request_id: str
    starts: bool
    ids: frozenset[str]
    failure: Failure | None


def read_line(message: str) -> Line:
    """Read one event of a log group. No text raises an exception."""
    ids = frozenset(UUID.findall(message))
    start = _START.match(message)
    if start is not None:
        return Line(start["id"], starts=True, ids=frozenset(), failure=None)
    document = _object(message)
    if document is not None:
        request_id, failure = _request_of(document), _failure_of(document)
    else:
        found = _OF_REQUEST.search(message)
        request_id = next((one for one in found.groups() if one), "") if found else ""
        failure = _failure_in(message)
    starts = document is not None and document.get("type") == "platform.start"
    return Line(request_id, starts, ids - {request_id}, failure)


def _failure_in(message: str) -> Failure | None:
    """The error that a text tells."""
    invoked = _INVOKE_ERROR.search(message)
    document = _object(invoked["json"]) if invoked else None
    if document is not None:
        return _failure_of(document)
    if TRACEBACK in message:
        return _of_traceback(message)
    told = _RUNTIME_ERROR.match(message)
    if told is not None:
        return Failure(code=told["type"], message=told["message"] or "")
    timed_out = _TIMED_OUT.search(message)
    if timed_out is not None:
        return Failure(code="Sandbox.Timedout", message=timed_out.group())
    exited = _EXITED.search(message)
    return None if exited is None else Failure(code="Runtime.ExitError", message=exited.group())


def _of_traceback(message: str) -> Failure:
    """A traceback of Python: in a line of the runtime the error stands before it, elsewhere after it."""
    text = message.replace("\r", "\n").replace("\N{NO-BREAK SPACE}", " ")  # The runtime indents so that logs keep it.
    before, _, after = text.rpartition(TRACEBACK)
    trace = [line for line in after.splitlines() if line.strip()]
    frames = tuple(line for line in trace if line.startswith(" "))
    told = _RUNTIME_ERROR.match(before.strip())
    last = next((_LAST_LINE.match(line) for line in trace if not line.startswith(" ")), None)
    found = told or last
    if found is None:
        return Failure(message=before.strip(), trace=frames)
    return Failure(code=found["type"], message=found["message"] or "", trace=frames)


def _failure_of(document: Mapping[str, object]) -> Failure | None:
    """The error in a line of JSON: the runtimes' own, Powertools', or the platform's report."""
    record = document.get("record")
    if isinstance(record, Mapping):
        return _of_platform(record)
    code = _first(document, "errorType", "exception_name")
    if not code:
        text = _first(document, "exception", "stack_trace", "exc_info", "message")
        return _failure_in(text) if text else None
    message = _first(document, "errorMessage", "exception", "message")
    if TRACEBACK in message:
        message = _of_traceback(message).message
    trace = document.get("stackTrace") or document.get("stack")
    return Failure(code=code, message=message, trace=tuple(map(str, trace)) if isinstance(trace, list) else ())


def _of_platform(record: Mapping[str, object]) -> Failure | None:
    match record.get("status"):
        case "timeout":
            return Failure(code="Sandbox.Timedout", message="Task timed out")
        case "failure" | "error" if record.get("errorType"):
            return Failure(code=str(record["errorType"]))
    return None


def _request_of(document: Mapping[str, object]) -> str:
    record = document.get("record")
    return _first(document, "requestId", "AWSRequestId", "function_request_id", "aws_request_id") or (
        _first(record, "requestId") if isinstance(record, Mapping) else ""
    )


def _first(document: Mapping[str, object], *names: str) -> str:
    """The first of the members that is a text."""
    return next((value for name in names if isinstance(value := document.get(name), str) and value), "")


def _object(text: str) -> Mapping[str, object] | None:
    if not text.lstrip().startswith("{"):
        return None
    try:
        parsed = load_json(text)
    except ValueError:
        return None
    return parsed if isinstance(parsed, dict) else None
