"""How errors count: which are tried again, and how they are reported."""

from __future__ import annotations

from collections.abc import Mapping

from redrive.core.error_codes import FAULTS, THROTTLES
from redrive.core.errors import ServiceError
from redrive.core.retry import Failed, FailureKind
from redrive.delivery.letters import writable

_UNKNOWN_OPERATION = "UnknownOperationException"

# What an SDK reports of a service that kept the codes of its older protocol.
# Source: https://docs.aws.amazon.com/scheduler/latest/UserGuide/configuring-schedule-dlq.html
_REPORTED_CODES: Mapping[str, str] = {"QueueDoesNotExist": "AWS.SimpleQueueService.NonExistentQueue"}


def classify(error: ServiceError) -> Failed:
    """How a target's error counts: throttles and faults of the service are tried again, everything else is permanent.

    Source: docs/semantics/delivery.md
    """
    return Failed(_REPORTED_CODES.get(error.code, error.code), writable(error.message), _kind_of(error))


def _kind_of(error: ServiceError) -> FailureKind:
    status = error.http_status or 0
    if error.code in THROTTLES or status == 429:
        return FailureKind.THROTTLED
    if error.code == _UNKNOWN_OPERATION:
        return FailureKind.PERMANENT
    if error.code in FAULTS or status >= 500 or error.fault == "server":
        return FailureKind.TRANSIENT
    return FailureKind.PERMANENT
