"""An HTTP call as an errand: what is sent, and what came back. Bounded on both sides."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Protocol

from redrive.core.clock import SECOND_MS

ANSWER_BYTES_MAX = 1024 * 1024
"""How much of an answer's body is read."""


@dataclass(frozen=True, slots=True)
class HttpCall:
    """A request to send once. Redirects are not followed.

    `url` begins with `http://` or `https://`; `timeout_ms` bounds the whole call, from the connection to the end of the
    body; of the answer's body no more than `answer_bytes_max` is read.
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
    """By us: the address is not on this machine, and nobody has allowed it. Nothing was sent."""


@dataclass(frozen=True, slots=True)
class HttpResult:
    """What a call gave. Without an answer `status` is 0 and `error` says why.

    `is_cut`: the body was longer than what was read. Names of headers are in lower case.
    """

    ending: HttpEnding
    status: int = 0
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""
    is_cut: bool = False
    error: str = ""


class HttpCaller(Protocol):
    """What sends HTTP calls. Blocks until the call has ended; may be called from many threads."""

    def call(self, call: HttpCall) -> HttpResult:
        """Send a request once. Never raises for what the network or the other side does."""
        ...


class NoHttp:
    """Sends nothing: for engines whose sources call nobody."""

    def call(self, call: HttpCall) -> HttpResult:
        """Refuse."""
        return HttpResult(HttpEnding.REFUSED, error="This engine makes no HTTP calls.")


NO_HTTP = NoHttp()
