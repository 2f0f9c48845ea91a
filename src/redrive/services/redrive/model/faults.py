"""Faults in requests and answers of redrive's own API."""

from __future__ import annotations

from redrive.core.clock import SECOND_MS
from redrive.core.documents import Document
from redrive.delivery.faults import Fault
from redrive.delivery.surface import refusal
from redrive.delivery.told_faults import DUPLICATE, may_strike

USAGE = (
    'Send {"target": "arn:aws:sqs:*:*:orders", "error": "ThrottlingException", "times": 3}, '
    'or "rate": 0.5 instead of "times"; "message" and "latency_s" are optional.'
)


S3_USAGE = (
    'Send {"target": "arn:aws:s3:::uploads/*", "s3": "duplicate", "latency_s": 5, "times": 3}; "event", such as '
    '"ObjectCreated:*", is optional.'
)


def fault_of(
    target: str, *, error: str, message: str, times: int | None, rate: float | None, latency_s: float, s3: str,
    event: str,
) -> Fault:  # fmt: skip
    """Build the described fault, still without an id.

    Errors: ValidationException (neither or both of `times` and `rate`, or a fault without effect).
    """
    if (times is None) == (rate is None):
        raise refusal("The fault says neither or both of times and rate.", USAGE)
    if rate == 0:
        raise refusal("rate is 0; such a fault would never strike.", USAGE)
    if s3:
        _check_s3(s3, target, error, message, latency_s, event)
    elif event:
        raise refusal("The fault has an event, but it strikes calls.", S3_USAGE)
    elif not error and not latency_s:
        raise refusal("The fault has neither an error nor a latency_s: nothing would happen.", USAGE)
    return Fault("", target, error, message, times, rate, round(latency_s * SECOND_MS), s3, event)


def fault_document(fault: Fault, struck: int) -> Document:
    """A fault, and how often it has taken effect."""
    return {
        "id": fault.id,
        "target": fault.target,
        "error": fault.code or None,
        "message": fault.message or None,
        "times": fault.times,
        "rate": fault.rate,
        "latency_s": fault.latency_ms / SECOND_MS,
        "s3": fault.s3 or None,
        "event": fault.event or None,
        "struck": struck,
        "state": "spent" if fault.is_spent(struck) else "armed",
    }


def _check_s3(s3: str, target: str, error: str, message: str, latency_s: float, event: str) -> None:
    """Refuse a fault of what S3 tells that could never strike, or would change nothing. Errors: ValidationException."""
    if error or message:
        raise refusal("The fault has s3 and an error: what S3 tells comes twice or late, but never fails.", S3_USAGE)
    if not latency_s and s3 != DUPLICATE:
        raise refusal(f"The fault has s3 {s3} and no latency_s: nothing would happen.", S3_USAGE)
    if not target.startswith(("arn:aws:s3:::", "*", "arn:*")):
        raise refusal(f"The target {target[:100]} names no objects of S3; such a fault would never strike.", S3_USAGE)
    if not may_strike(event):
        raise refusal(f"S3 has no event {event[:100]}.", S3_USAGE)
