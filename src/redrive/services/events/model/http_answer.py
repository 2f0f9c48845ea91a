"""How the answer of an API destination or of an authorization endpoint counts.

Source: https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-api-destinations.html
"""

from __future__ import annotations

import zlib
from email.utils import parsedate_to_datetime
from typing import NamedTuple

from redrive.core.clock import HOUR_MS, SECOND_MS
from redrive.core.documents import load_json
from redrive.core.retry import Failed, FailureKind, Outcome, Succeeded
from redrive.delivery.outside.http_call import HttpEnding, HttpResult
from redrive.delivery.sources.letters import writable

UNAUTHORIZED = frozenset({401, 407})
"""The statuses after which a connection renews its token."""
RETRIED = frozenset({401, 407, 409, 429})
"""The statuses below 500 after which a call is made again."""

TOKEN_MS_DEFAULT = HOUR_MS
"""How long a token lasts whose answer does not say so. Ours: AWS publishes no figure."""

_QUOTED_BYTES_MAX = 1_000
_AUTO_DETECTED = 32 + zlib.MAX_WBITS
"""zlib's code for gzip and zlib alike."""


class Token(NamedTuple):
    """A token of an authorization endpoint, and how long it lasts."""

    text: str
    lasts_ms: int


def judge_call(result: HttpResult) -> Outcome:
    """The outcome of a call, with the codes that dead letters of EventBridge have.

    Status 2xx is success. 401, 407, 409, 429, 5xx and a missing answer are retried, not before the time that the answer
    asks for. All other answers are permanent failures: also one that asks to wait for a negative time, and a call that
    redrive refuses to send.
    """
    match result.ending:
        case HttpEnding.ANSWERED if 200 <= result.status < 300:
            return Succeeded({"StatusCode": result.status})
        case HttpEnding.ANSWERED:
            code = "THROTTLING" if result.status == 429 else "ERROR_FROM_TARGET"
            kind = FailureKind.PERMANENT if _ends_retries(result) else _kind_of(result.status)
            return Failed(code, _quoted(result), kind, wait_ms=retry_after_ms(result))
        case HttpEnding.REFUSED:
            return Failed("CONNECTION_FAILURE", writable(result.error), FailureKind.PERMANENT)
        case HttpEnding.TIMED_OUT:
            return Failed("TIMEOUT", writable(result.error), FailureKind.TRANSIENT)
        case HttpEnding.FAILED:
            return Failed("CONNECTION_FAILURE", writable(result.error), FailureKind.TRANSIENT)


def read_token(result: HttpResult) -> Token | Failed:
    """The token in an answer of an authorization endpoint, or why there is none."""
    outcome = judge_call(result)
    if isinstance(outcome, Failed):
        return outcome
    try:
        document = load_json(_decoded(result, len(result.body) * 10).decode())
        text, lasts_s = document["access_token"], document.get("expires_in")
        lasts_ms = TOKEN_MS_DEFAULT if lasts_s is None else int(lasts_s) * SECOND_MS
    except (ValueError, KeyError, TypeError, AttributeError):
        return Failed("ERROR_FROM_TARGET", "The answer has no access_token.", FailureKind.PERMANENT)
    if not isinstance(text, str) or not text.isprintable() or not text.isascii():
        return Failed("ERROR_FROM_TARGET", "The access_token fits into no header.", FailureKind.PERMANENT)
    return Token(text, lasts_ms)


def retry_after_ms(result: HttpResult) -> int:
    """How long an answer asks to wait before the next call; 0 if it does not.

    A Retry-After that is a date counts from the answer's own Date.
    Source: https://datatracker.ietf.org/doc/html/rfc9110#section-10.2.3
    """
    headers = dict(result.headers)
    text = headers.get("retry-after", "").strip()
    if text.isascii() and text.isdecimal():
        return int(text[:_DIGITS_MAX]) * SECOND_MS
    try:
        wait = parsedate_to_datetime(text) - parsedate_to_datetime(headers.get("date", ""))
        return max(0, round(wait.total_seconds() * SECOND_MS))
    except (ValueError, TypeError):
        return 0


_DIGITS_MAX = 9
"""The digits of a Retry-After that are read: 31 years."""


def _ends_retries(result: HttpResult) -> bool:
    """Whether an answer asks for no other call: its Retry-After is negative.

    Source: https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-api-destinations.html
    """
    text = dict(result.headers).get("retry-after", "").strip()
    return text[:1] == "-" and text[1:].isascii() and text[1:].isdecimal() and text[1:].strip("0") != ""


def _kind_of(status: int) -> FailureKind:
    if status == 429:
        return FailureKind.THROTTLED
    return FailureKind.TRANSIENT if status in RETRIED or status >= 500 else FailureKind.PERMANENT


def _quoted(result: HttpResult) -> str:
    text = _decoded(result, _QUOTED_BYTES_MAX)[:_QUOTED_BYTES_MAX].decode("utf-8", "replace")
    return writable(f"HTTP status {result.status}: {text}" if text else f"HTTP status {result.status}")


def _decoded(result: HttpResult, bytes_max: int) -> bytes:
    """The body without its compression, if it has one that was offered."""
    if dict(result.headers).get("content-encoding", "").lower() not in ("gzip", "deflate"):
        return result.body
    try:
        return zlib.decompressobj(_AUTO_DETECTED).decompress(result.body, max(1, bytes_max))
    except zlib.error:
        return result.body
