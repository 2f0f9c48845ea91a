"""Faults in requests and answers of redrive's own API."""

from __future__ import annotations

from redrive.core.clock import SECOND_MS
from redrive.core.documents import Document
from redrive.delivery.faults import Fault
from redrive.delivery.surface import refusal

USAGE = (
    'Send {"target": "arn:aws:sqs:*:*:orders", "error": "ThrottlingException", "times": 3}, '
    'or "rate": 0.5 instead of "times"; "message" and "latency_s" are optional.'
)


def fault_of(
    target: str, *, error: str, message: str, times: int | None, rate: float | None, latency_s: float
) -> Fault:  # fmt: skip
    """Build the described fault, still without an id.

    Errors: ValidationException (neither or both of `times` and `rate`, or a fault without effect).
    """
    if (times is None) == (rate is None):
        raise refusal("The fault says neither or both of times and rate.", USAGE)
    if rate == 0:
        raise refusal("rate is 0; such a fault would never strike.", USAGE)
    if not error and not latency_s:
        raise refusal("The fault has neither an error nor a latency_s: nothing would happen.", USAGE)
    return Fault("", target, error, message, times, rate, round(latency_s * SECOND_MS))


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
        "struck": struck,
        "state": "spent" if fault.is_spent(struck) else "armed",
    }
