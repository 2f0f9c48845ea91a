"""The output of `logging` in a function, in the formats of Lambda's Python runtime: plain, or JSON.

    [LEVEL]<tab>2025-10-07T15:33:16.123Z<tab>request id<tab>message
    {"timestamp": "2025-10-07T15:33:16Z", "level": "INFO", "message": …, "logger": …, "requestId": …}

Source: https://docs.aws.amazon.com/lambda/latest/dg/python-logging.html
"""

from __future__ import annotations

import json
import logging
import traceback
from typing import TextIO

from redrive.core.clock import Clock, format_instant

_LEVELS = {"TRACE": "DEBUG", "FATAL": "CRITICAL", "WARN": "WARNING"}
"""Lambda's names for levels whose Python names differ."""

_OWN_FIELDS = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "aws_request_id", "utc_time"}


class RequestFilter(logging.Filter):
    """Adds to each record the time, and the id of the current request."""

    def __init__(self, clock: Clock) -> None:
        super().__init__()
        self._clock = clock
        self.request_id = ""

    def filter(self, record: logging.LogRecord) -> bool:
        now = self._clock.now()
        record.utc_time = f"{format_instant(now)[:-1]}.{now % 1000:03d}Z"
        record.aws_request_id = self.request_id
        return True


class PlainFormatter(logging.Formatter):
    """Formats records in Lambda's plain format. The lines of one event are separated by carriage returns."""

    def __init__(self) -> None:
        super().__init__("[%(levelname)s]\t%(utc_time)s\t%(aws_request_id)s\t%(message)s")

    def format(self, record: logging.LogRecord) -> str:
        return super().format(record).replace("\n", "\r")


class JsonFormatter(logging.Formatter):
    """Formats records as JSON, with the `extra` of the caller."""

    def format(self, record: logging.LogRecord) -> str:
        at = f"{getattr(record, 'utc_time', '')[:19]}Z"
        document: dict[str, object] = {
            "timestamp": at, "level": record.levelname, "message": record.getMessage(), "logger": record.name,
        }  # fmt: skip
        if record.exc_info and record.exc_info[0] is not None:
            kind, error, trace = record.exc_info
            document["stackTrace"] = traceback.format_tb(trace)
            document["errorType"] = kind.__name__
            document["errorMessage"] = str(error)
        request_id = getattr(record, "aws_request_id", "")
        if request_id:
            document["requestId"] = request_id
        document |= {name: value for name, value in vars(record).items() if name not in _OWN_FIELDS}
        return json.dumps(document, default=str, ensure_ascii=False)


def level_of(log_level: str) -> str:
    """The Python name of a level in a function's logging configuration."""
    return _LEVELS.get(log_level, log_level)


def log_handler(stream: TextIO, requests: RequestFilter, *, log_format: str = "") -> logging.Handler:
    """A handler that writes records to a stream in Lambda's format: plain, or `JSON`."""
    handler = logging.StreamHandler(stream)
    handler.setFormatter(JsonFormatter() if log_format == "JSON" else PlainFormatter())
    handler.addFilter(requests)
    return handler
