"""A Lambda runtime for other versions of Python, from 3.8 on: takes events from the Runtime API and answers them.

    python3.9 python_runtime.py TASK_ROOT OPT_ROOT PACKAGES HANDLER

One file, with the standard library alone: redrive itself does not run on each of these versions. PACKAGES is the folder
of the engine's packages, where functions find AWS's SDK; it comes last on the search path. All code here must run on
Python 3.8. `client.py` is the runtime for the engine's own Python; both write the same documents.

Source: https://docs.aws.amazon.com/lambda/latest/dg/runtimes-api.html
"""

from __future__ import annotations

import http.client
import importlib
import json
import logging
import os
import sys
import time
import traceback
from collections.abc import Callable
from decimal import Decimal
from email.message import Message
from types import SimpleNamespace
from typing import TypedDict

API = "/2018-06-01/runtime"
LEVELS = {"TRACE": "DEBUG", "FATAL": "CRITICAL", "WARN": "WARNING"}


class HandlerFault(Exception):
    """Errors of the runtime itself: no such module, no such handler, a document that is not JSON."""

    def __init__(self, error_type: str, message: str, trace: list[str] | None = None) -> None:
        super().__init__(message)
        self.error_type = error_type
        self.trace = trace or []


class Report(TypedDict):
    """The error document of Lambda's Python runtime."""

    errorMessage: str
    errorType: str
    requestId: str
    stackTrace: list[str]


class Context:
    """What a handler can learn about its own run."""

    def __init__(self, headers: Message) -> None:
        self.aws_request_id = headers["Lambda-Runtime-Aws-Request-Id"]
        self.invoked_function_arn = headers["Lambda-Runtime-Invoked-Function-Arn"]
        self.function_name = os.environ.get("AWS_LAMBDA_FUNCTION_NAME")
        self.function_version = os.environ.get("AWS_LAMBDA_FUNCTION_VERSION")
        self.memory_limit_in_mb = os.environ.get("AWS_LAMBDA_FUNCTION_MEMORY_SIZE")
        self.log_group_name = os.environ.get("AWS_LAMBDA_LOG_GROUP_NAME")
        self.log_stream_name = os.environ.get("AWS_LAMBDA_LOG_STREAM_NAME")
        self.tenant_id = None
        self.identity = SimpleNamespace(cognito_identity_id=None, cognito_identity_pool_id=None)
        self.client_context = _client_context(headers.get("Lambda-Runtime-Client-Context"))
        self._deadline_ms = int(headers["Lambda-Runtime-Deadline-Ms"])

    def get_remaining_time_in_millis(self) -> int:
        """Milliseconds until the timeout ends the run; 0 after that."""
        return max(0, self._deadline_ms - int(time.time() * 1000))

    def log(self, message: object) -> None:
        """Write to the log without a line end."""
        sys.stdout.write(str(message))
        sys.stdout.flush()


class Formatter(logging.Formatter):
    """Lambda's plain format, or its JSON format. `request_id` is the id of the current event."""

    def __init__(self, is_json: bool) -> None:
        super().__init__()
        self._is_json = is_json
        self.request_id = ""

    def format(self, record: logging.LogRecord) -> str:
        at = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
        if self._is_json:
            return json.dumps(self._document(record, at + "Z"), default=str, ensure_ascii=False)
        record.message = record.getMessage()
        line = f"[{record.levelname}]\t{at}.{int(record.msecs):03d}Z\t{self.request_id}\t{record.message}"
        if record.exc_info:
            line += "\n" + self.formatException(record.exc_info)
        return line.replace("\n", "\r")

    def _document(self, record: logging.LogRecord, at: str) -> dict[str, object]:
        document: dict[str, object] = {
            "timestamp": at,
            "level": record.levelname,
            "message": record.getMessage(),
            "logger": record.name,
        }
        if record.exc_info and record.exc_info[0] is not None:
            document["stackTrace"] = traceback.format_tb(record.exc_info[2])
            document["errorType"] = record.exc_info[0].__name__
            document["errorMessage"] = str(record.exc_info[1])
        if self.request_id:
            document["requestId"] = self.request_id
        return document


class Client:
    """One connection to the Runtime API."""

    def __init__(self, address: str) -> None:
        self._connection = http.client.HTTPConnection(address)

    def call(self, method: str, path: str, body: bytes = b"", error_type: str = "") -> tuple[Message, bytes]:
        """The headers and the content of the answer. Errors: RuntimeError."""
        headers = {"Lambda-Runtime-Function-Error-Type": error_type} if error_type else {}
        self._connection.request(method, API + path, body or None, headers)
        response = self._connection.getresponse()
        content = response.read()
        if response.status not in (200, 202):
            raise RuntimeError(f"{method} {path} was answered {response.status}: {content!r}")
        return response.headers, content


def _client_context(text: str | None) -> SimpleNamespace | None:
    if not text:
        return None
    document = json.loads(text)
    client = document.get("client")
    return SimpleNamespace(
        custom=document.get("custom"),
        env=document.get("env"),
        client=SimpleNamespace(**client) if isinstance(client, dict) else None,
    )


def load(name: str) -> Callable[[object, object], object]:
    """Import the module of a handler and return its function. Errors: HandlerFault; any exception of the module."""
    module_name, dot, function = name.rpartition(".")
    if not dot:
        message = f"Bad handler '{name}': not enough values to unpack (expected 2, got 1)"
        raise HandlerFault("Runtime.MalformedHandlerName", message)
    try:
        module = importlib.import_module(module_name.replace("/", "."))
    except ImportError as error:
        raise HandlerFault("Runtime.ImportModuleError", f"Unable to import module '{module_name}': {error}") from error
    except SyntaxError as error:
        place = f'  File "{error.filename}" Line {error.lineno}\n    {error.text}'
        message = f"Syntax error in module '{module_name}': {error}"
        raise HandlerFault("Runtime.UserCodeSyntaxError", message, [place]) from error
    found = getattr(module, function, None)
    if found is None:
        raise HandlerFault("Runtime.HandlerNotFound", f"Handler '{function}' missing on module '{module_name}'")
    handler: Callable[[object, object], object] = found
    return handler


def run(handler: Callable[[object, object], object], payload: bytes, context: Context) -> bytes:
    """Call a handler with an event. Errors: HandlerFault; any exception of the handler."""
    try:
        event = json.loads(payload)
    except ValueError as error:
        raise HandlerFault("Runtime.UnmarshalError", f"Unable to unmarshal input: {error}") from error
    result = handler(event, context)
    try:
        return json.dumps(result, default=_plain).encode()
    except (TypeError, ValueError) as error:
        raise HandlerFault("Runtime.MarshalError", f"Unable to marshal response: {error}") from error


def _plain(value: object) -> object:
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    raise TypeError(f"Object of type {type(value).__name__} is not JSON serializable")


def error_document(error: BaseException, request_id: str) -> Report:
    """The error document of an exception. The trace begins with the first frame outside the runtime."""
    if isinstance(error, HandlerFault):
        trace, error_type = error.trace, error.error_type
    else:
        frames = traceback.extract_tb(error.__traceback__)
        while len(frames) > 1 and (
            frames[0].filename == __file__ or frames[0].filename.startswith("<frozen importlib")
        ):
            del frames[0]
        trace, error_type = traceback.format_list(frames), type(error).__name__
    return {"errorMessage": str(error), "errorType": error_type, "requestId": request_id, "stackTrace": trace}


def log_error(document: Report, is_json: bool) -> None:
    """Write an error as one line of the log."""
    if is_json:
        at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        sys.stdout.write(json.dumps({"timestamp": at, "log_level": "ERROR", **document}) + "\n")
        return
    words = ": ".join(word for word in (document["errorType"], document["errorMessage"]) if word)
    lines = ["[ERROR] " + words, "Traceback (most recent call last):"]
    for frame in document["stackTrace"]:
        for line in frame.splitlines():
            text = line.lstrip(" ")
            lines.append("\u00a0" * (len(line) - len(text)) + text)
    sys.stdout.write("\r".join(lines) + "\n")


def main(task_root: str, opt_root: str, packages: str, name: str) -> None:
    """Load the handler, then serve until the process ends."""
    version = f"python{sys.version_info[0]}.{sys.version_info[1]}"
    layers = [opt_root + "/python/lib/" + version + "/site-packages", opt_root + "/python"] if opt_root else []
    sys.path[:1] = [task_root] + [path for path in layers if os.path.isdir(path)]  # noqa: PTH112 - as quick as can be.
    sys.path.append(packages)
    sys.argv = [name]
    is_json = os.environ.get("AWS_LAMBDA_LOG_FORMAT") == "JSON"
    formatter = Formatter(is_json)
    log = logging.StreamHandler(sys.stdout)
    log.setFormatter(formatter)
    logging.getLogger().addHandler(log)
    level = os.environ.get("AWS_LAMBDA_LOG_LEVEL", "")
    if level:
        logging.getLogger().setLevel(LEVELS.get(level, level))
    client = Client(os.environ["AWS_LAMBDA_RUNTIME_API"])
    try:
        handler = load(name)
    except Exception as error:  # noqa: BLE001 - the function's module may raise any exception.
        document = error_document(error, "")
        log_error(document, is_json)
        client.call("POST", "/init/error", json.dumps(document).encode(), document["errorType"])
        sys.exit(1)
    while True:
        headers, payload = client.call("GET", "/invocation/next")
        formatter.request_id = request_id = headers["Lambda-Runtime-Aws-Request-Id"]
        os.environ["_X_AMZN_TRACE_ID"] = headers.get("Lambda-Runtime-Trace-Id", "")
        try:
            answer = run(handler, payload, Context(headers))
        except Exception as error:  # noqa: BLE001 - the function may raise any exception.
            document = error_document(error, request_id)
            log_error(document, is_json)
            content = json.dumps(document).encode()
            client.call("POST", f"/invocation/{request_id}/error", content, document["errorType"])
        else:
            client.call("POST", f"/invocation/{request_id}/response", answer)


if __name__ == "__main__":
    main(*sys.argv[1:])
