"""An HTTP call as an errand: the request and the answer. Time and size are bounded."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Protocol

from redrive.core.clock import SECOND_MS

ANSWER_BYTES_MAX = 1024 * 1024
"""How many bytes of an answer's body are read at most."""


@dataclass(frozen=True, slots=True)
class HttpCall:
    """A request to send once. Redirects are not followed.

    `url` begins with `http://` or `https://`. `timeout_ms` bounds the whole call, from the connection to the end of the
    body. At most `answer_bytes_max` bytes of the answer's body are read.
    """

    url: str
    method: str = "POST"
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""
    timeout_ms: int = 5 * SECOND_MS
    answer_bytes_max: int = ANSWER_BYTES_MAX


class HttpEnding(enum.Enum):
    """How a call ended."""

    ANSWERED = "answered"
    TIMED_OUT = "timed out"
    FAILED = "failed"
    REFUSED = "refused"
    """redrive refused: the address is not on this machine, and no setting allows it. Nothing was sent."""


@dataclass(frozen=True, slots=True)
class HttpResult:
    """The result of a call. Without an answer, `status` is 0 and `error` says why.

    `is_cut`: the body was longer than `answer_bytes_max`. Names of headers are in lower case.
    """

    ending: HttpEnding
    status: int = 0
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""
    is_cut: bool = False
    error: str = ""


class HttpCaller(Protocol):
    """Sends HTTP calls. `call` blocks until the call has ended; many threads may use it."""

    def call(self, call: HttpCall) -> HttpResult:
        """Send a request once. Never raises for errors of the network or of the server."""
        ...


class NoHttp:
    """Sends nothing: for engines whose sources make no HTTP calls."""

    def call(self, call: HttpCall) -> HttpResult:
        """Refuse the call."""
        return HttpResult(HttpEnding.REFUSED, error="This engine makes no HTTP calls.")


NO_HTTP = NoHttp()
