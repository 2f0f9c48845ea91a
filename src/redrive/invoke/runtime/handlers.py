"""Finds a function's handler, calls it, and makes the same documents from its result as Lambda's Python runtime.

Runs beside function code, in its process: standard library only, and no other room of the engine.
"""

from __future__ import annotations

import importlib
import json
import linecache
import sys
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from types import TracebackType

from redrive.core.clock import Instant, format_instant

Handler = Callable[[object, object], object]

ERROR_TYPE_HEADER = "Lambda-Runtime-Function-Error-Type"


class HandlerFault(Exception):
    """Errors of the runtime itself: no such module, no such handler, a document that is not JSON."""

    def __init__(self, error_type: str, message: str, trace: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.error_type = error_type
        self.message = message
        self.trace = list(trace)


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer of a run. `error_type` is None if the payload is the handler's result."""

    payload: bytes
    error_type: str | None = None


def split_handler(handler: str) -> tuple[str, str]:
    """The module and the function of a handler setting. Errors: HandlerFault."""
    module, dot, function = handler.rpartition(".")
    if not dot:
        message = f"Bad handler '{handler}': not enough values to unpack (expected 2, got 1)"
        raise HandlerFault("Runtime.MalformedHandlerName", message)
    return module, function


def load_handler(handler: str) -> Handler:
    """Import the module of a handler and return its function.

    Errors: HandlerFault as Lambda reports it; any exception that the module raises during its import.
    """
    module_name, function_name = split_handler(handler)
    if module_name.split(".")[0] in sys.builtin_module_names:
        message = f"Cannot use built-in module {module_name} as a handler module"
        raise HandlerFault("Runtime.BuiltInModuleConflict", message)
    try:
        module = importlib.import_module(module_name.replace("/", "."))
    except ImportError as error:
        message = f"Unable to import module '{module_name}': {error}"
        raise HandlerFault("Runtime.ImportModuleError", message) from error
    except SyntaxError as error:
        place = f'  File "{error.filename}" Line {error.lineno}\n    {error.text}'
        message = f"Syntax error in module '{module_name}': {error}"
        raise HandlerFault("Runtime.UserCodeSyntaxError", message, [place]) from error
    found: Handler | None = getattr(module, function_name, None)
    if found is None:
        message = f"Handler '{function_name}' missing on module '{module_name}'"
        raise HandlerFault("Runtime.HandlerNotFound", message)
    return found


def run_handler(handler: Handler, payload: bytes, context: object, request_id: str) -> Answer:
    """Call a handler with an event and answer in JSON. An exception of the handler becomes an error document.

    An exception that is no `Exception` (such as `SystemExit`) propagates.
    """
    try:
        event = _unmarshalled(payload)
        return Answer(_marshalled(handler(event, context)))
    except Exception as error:  # noqa: BLE001 - the function may raise any exception.
        return error_answer(error, request_id)


def error_answer(error: BaseException, request_id: str) -> Answer:
    """The error document of an exception. The trace begins with the first frame outside the runtime."""
    if isinstance(error, HandlerFault):
        error_type, message, trace = error.error_type, error.message, error.trace
    else:
        error_type, message, trace = type(error).__name__, str(error), _frames(error.__traceback__)
    document = {"errorMessage": message, "errorType": error_type, "requestId": request_id, "stackTrace": trace}
    return Answer(json.dumps(document).encode(), error_type)


def error_line(answer: Answer) -> str:
    """The runtime's log line for an error: one line, whose inner lines are separated by carriage returns."""
    document = json.loads(answer.payload)
    words = ": ".join(word for word in (document["errorType"], document["errorMessage"]) if word)
    lines = [f"[ERROR] {words}", "Traceback (most recent call last):"]
    for frame in document["stackTrace"]:
        lines += [_indented(line) for line in frame.splitlines()]
    return "\r".join(lines)


def json_error_line(answer: Answer, now: Instant) -> str:
    """The same for a log in JSON: the document itself, with the time and a level."""
    return json.dumps({"timestamp": format_instant(now), "log_level": "ERROR", **json.loads(answer.payload)})


def _indented(line: str) -> str:
    """The text with leading spaces as no-break spaces, which log viewers do not remove."""
    text = line.lstrip(" ")
    return "\u00a0" * (len(line) - len(text)) + text


def _frames(trace: TracebackType | None) -> list[str]:
    """The frames as `traceback.extract_tb` has them, without the columns, which cost most of its time."""
    frames = [
        (frame.f_code.co_filename, line, frame.f_code.co_name, frame.f_globals)
        for frame, line in traceback.walk_tb(trace)
    ]
    while len(frames) > 1 and (frames[0][0] == __file__ or frames[0][0].startswith("<frozen importlib")):
        del frames[0]
    return traceback.format_list(
        [
            (file, line or 0, name, linecache.getline(file, line or 0, known).strip())
            for file, line, name, known in frames
        ]
    )


def _unmarshalled(payload: bytes) -> object:
    try:
        event: object = json.loads(payload)
    except ValueError as error:
        raise HandlerFault("Runtime.UnmarshalError", f"Unable to unmarshal input: {error}") from error
    return event


def _marshalled(result: object) -> bytes:
    try:
        return json.dumps(result, default=_plain).encode()
    except (TypeError, ValueError) as error:
        raise HandlerFault("Runtime.MarshalError", f"Unable to marshal response: {error}") from error


def _plain(value: object) -> object:
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    raise TypeError(f"Object of type {type(value).__name__} is not JSON serializable")
