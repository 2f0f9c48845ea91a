"""What `logging` writes beside a handler, in the plain format of Lambda's Python runtime.

    [LEVEL]<tab>2025-10-07T15:33:16.123Z<tab>request id<tab>message

Source: https://docs.aws.amazon.com/lambda/latest/dg/python-logging.html
"""

from __future__ import annotations

import logging
from typing import TextIO

from redrive.core.clock import Clock, format_instant


class RequestFilter(logging.Filter):
    """Gives each record the time and the id of the request that is being handled."""

    def __init__(self, clock: Clock) -> None:
        super().__init__()
        self._clock = clock
        self.request_id = ""

    def filter(self, record: logging.LogRecord) -> bool:
        now = self._clock.now()
        record.utc_time = f"{format_instant(now)[:-1]}.{now % 1000:03d}Z"
        record.aws_request_id = self.request_id
        return True


def log_handler(stream: TextIO, requests: RequestFilter) -> logging.Handler:
    """A handler that writes records to a stream in Lambda's format."""
    handler = logging.StreamHandler(stream)
    handler.setFormatter(logging.Formatter("[%(levelname)s]\t%(utc_time)s\t%(aws_request_id)s\t%(message)s"))
    handler.addFilter(requests)
    return handler
