"""Classification of errors: which are retried, and under which code they are reported."""

from __future__ import annotations

from collections.abc import Mapping

from redrive.core.error_codes import FAULTS, THROTTLES
from redrive.core.errors import ServiceError
from redrive.core.retry import Failed, FailureKind, Outcome, Succeeded
from redrive.delivery.outside.http_call import HttpEnding, HttpResult
from redrive.delivery.sources.letters import writable

QUOTED_BYTES_MAX = 1_000
"""How many bytes of the answer to a failed HTTP call appear in the history."""

_UNKNOWN_OPERATION = "UnknownOperationException"

# The codes that an SDK reports for a service that kept the codes of its older protocol.
# Source: https://docs.aws.amazon.com/scheduler/latest/UserGuide/configuring-schedule-dlq.html
_REPORTED_CODES: Mapping[str, str] = {
    "AuthorizationErrorException": "AuthorizationError",
    "QueueDoesNotExist": "AWS.SimpleQueueService.NonExistentQueue",
}


def classify(error: ServiceError) -> Failed:
    """Classify a target's error: throttling and server faults are retried; all other errors are permanent.

    Source: docs/semantics/delivery.md
    """
    return Failed(_REPORTED_CODES.get(error.code, error.code), writable(error.message), _kind_of(error))


def judge_answer(result: HttpResult) -> Outcome:
    """The outcome of an HTTP call; a source may decide differently.

    Status 2xx is success. 429 is throttling. 408, 5xx and a missing answer are retried. All other answers are permanent
    failures, and so is a call that redrive refuses to send.
    """
    match result.ending:
        case HttpEnding.ANSWERED if 200 <= result.status < 300:
            return Succeeded({"StatusCode": result.status})
        case HttpEnding.ANSWERED:
            kinds = {429: FailureKind.THROTTLED, 408: FailureKind.TRANSIENT}
            kind = FailureKind.TRANSIENT if result.status >= 500 else kinds.get(result.status, FailureKind.PERMANENT)
            text = writable(result.body[:QUOTED_BYTES_MAX].decode("utf-8", "replace"))
            return Failed(f"Http{result.status}", text, kind)
        case HttpEnding.REFUSED:
            return Failed("HttpRefused", writable(result.error), FailureKind.PERMANENT)
        case HttpEnding.TIMED_OUT | HttpEnding.FAILED:
            return Failed("HttpNotAnswered", writable(result.error), FailureKind.TRANSIENT)


def _kind_of(error: ServiceError) -> FailureKind:
    status = error.http_status or 0
    if error.code in THROTTLES or status == 429:
        return FailureKind.THROTTLED
    if error.code == _UNKNOWN_OPERATION:
        return FailureKind.PERMANENT
    if error.code in FAULTS or status >= 500 or error.fault == "server":
        return FailureKind.TRANSIENT
    return FailureKind.PERMANENT
