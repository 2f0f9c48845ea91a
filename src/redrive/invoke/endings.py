"""The ways in which a run ends, and Lambda's documents and log lines for each.

Source: https://docs.aws.amazon.com/lambda/latest/dg/troubleshooting-invocation.html
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import assert_never

from redrive.core.clock import Instant, format_instant
from redrive.core.documents import dump_json
from redrive.delivery.outside.invocation import Invocation

RESPONSE_BYTES_MAX = 6_291_556  # https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html

# Source: https://docs.aws.amazon.com/lambda/latest/dg/configuration-response-streaming.html
STREAMED_BYTES_MAX = 200 * 1024 * 1024

TOO_LARGE = "Function.ResponseSizeTooLarge"
KILLED = "Runtime exited with error: signal: killed"


@dataclass(frozen=True, slots=True)
class Ready:
    """The runtime has loaded the function and waits for an event."""


@dataclass(frozen=True, slots=True)
class Reported:
    """What the runtime reported about a run, or about loading the function: the payload, and whether it is an error.

    An answer that is too large was refused, and its runtime is not used again. `is_streamed`: the answer was sent
    on in pieces, so the payload is empty, or the error that a runtime reported after its last piece, of `error_type`.
    """

    payload: bytes
    is_error: bool
    fits: bool = True
    is_streamed: bool = False
    error_type: str = ""


@dataclass(frozen=True, slots=True)
class Exited:
    """The process ended before it answered. `reason` is Lambda's wording."""

    reason: str


@dataclass(frozen=True, slots=True)
class TimedOut:
    """The timeout passed before the process answered. The process still runs."""


@dataclass(frozen=True, slots=True)
class OutOfMemory:
    """The processes used more memory than the function has. They still run."""


Ran = Reported | Exited | TimedOut | OutOfMemory


def too_large(bytes_max: int = RESPONSE_BYTES_MAX, *, is_streamed: bool = False) -> Reported:
    """The caller's error document if a function's answer is larger than Lambda allows."""
    message = f"Response payload size exceeded maximum allowed payload size ({bytes_max} bytes)."
    document = _document(TOO_LARGE, message)
    return Reported(
        document, is_error=True, fits=False, is_streamed=is_streamed, error_type=TOO_LARGE if is_streamed else ""
    )


def payload_of(ended: Ran, invocation: Invocation) -> bytes:
    """The caller's payload: the runtime's, or Lambda's own error document."""
    match ended:
        case Reported(payload):
            return payload
        case TimedOut():
            return _document("Sandbox.Timedout", f"RequestId: {invocation.request_id} Error: {_timeout(invocation)}")
        case Exited(reason):
            return _document("Runtime.ExitError", f"RequestId: {invocation.request_id} Error: {reason}")
        case OutOfMemory():
            return _document("Runtime.ExitError", f"RequestId: {invocation.request_id} Error: {KILLED}")
        case _:
            assert_never(ended)


def log_text_of(ended: Ran, invocation: Invocation, now: Instant) -> str | None:
    """The line that the environment adds to the function's log; empty if there is nothing to say."""
    match ended:
        case Reported():
            return None
        case TimedOut():
            moment = f"{format_instant(now)[:-1]}.{now % 1000:03d}Z"
            return f"{moment} {invocation.request_id} {_timeout(invocation)}"
        case Exited(reason):
            return f"RequestId: {invocation.request_id} Error: {reason}\nRuntime.ExitError"
        case OutOfMemory():
            return f"RequestId: {invocation.request_id} Error: {KILLED}\nRuntime.ExitError"
        case _:
            assert_never(ended)


def _timeout(invocation: Invocation) -> str:
    return f"Task timed out after {invocation.timeout_ms / 1000:.2f} seconds"


def _document(error_type: str, message: str) -> bytes:
    return dump_json({"errorType": error_type, "errorMessage": message}).encode()
