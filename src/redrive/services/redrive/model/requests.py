"""The target instant of a clock advance. No transaction, no clock."""

from __future__ import annotations

from redrive.core.clock import SECOND_MS, Instant, parse_instant
from redrive.delivery.surface import refusal

CLOCK_USAGE = 'Send {"advance_s": 86400} or {"to": "2026-01-01T00:00:00Z"}.'


def target_of(now: Instant, advance_s: float | None, to: str | None) -> Instant:
    """Return the target instant. Errors: ValidationException (neither or both are given, or `to` is not a time)."""
    if (advance_s is None) == (to is None):
        raise refusal("The body says neither or both of advance_s and to.", CLOCK_USAGE)
    if to is None:
        assert advance_s is not None, "one of both is given"
        return now + round(advance_s * SECOND_MS)
    try:
        return parse_instant(to)
    except ValueError as error:
        raise refusal(f"{to[:100]!r} is not an ISO 8601 time.", CLOCK_USAGE) from error
