"""Which rules have led to an event: a part of the trace header, which functions hand on with what they call.

AWS's SDKs send a function's trace header with each call that the function makes. A rule that invokes a function adds
itself to the header; if an event comes back with the rule's mark, the rule's own target has published the event.
"""

from __future__ import annotations

import hashlib

from redrive.core.clock import SECOND_MS, Instant

RULES_MAX = 8
"""How many rules a header names; the latest ones."""

_FIELD = "Lineage="
_MARK_DIGITS = 8
_TRACE_DIGITS = 24
_PARENT_DIGITS = 16


def times_run(trace: str, rule_arn: str) -> int:
    """How often a rule has run on the way to an event with this trace header."""
    return _counts(trace).get(_mark(rule_arn), 0) if _FIELD in trace else 0


def traced(trace: str, rule_arn: str, *, event_id: str, at: Instant) -> str:
    """The trace header with which a rule invokes its target. An event without a trace begins one."""
    counts = _counts(trace)
    mark = _mark(rule_arn)
    counts[mark] = counts.pop(mark, 0) + 1
    latest = list(counts.items())[-RULES_MAX:]
    fields = [field for field in trace.split(";") if field and not field.startswith(_FIELD)]
    if not fields:
        fields = _begun(event_id, at)
    return ";".join([*fields, _FIELD + "|".join(f"{one}:{times}" for one, times in latest)])


def _begun(event_id: str, at: Instant) -> list[str]:
    """The fields of a new trace that is not sampled."""
    digits = hashlib.sha256(event_id.encode()).hexdigest()
    trace_id = f"1-{at // SECOND_MS:08x}-{digits[:_TRACE_DIGITS]}"
    return [f"Root={trace_id}", f"Parent={digits[_TRACE_DIGITS:][:_PARENT_DIGITS]}", "Sampled=0"]


def _counts(trace: str) -> dict[str, int]:
    """How often each rule has run, by its mark. What others have written there is left out."""
    counts: dict[str, int] = {}
    for field in trace.split(";"):
        if not field.startswith(_FIELD):
            continue
        for part in field.removeprefix(_FIELD).split("|"):
            mark, _, times = part.partition(":")
            if len(mark) == _MARK_DIGITS and times.isascii() and times.isdigit() and len(times) <= _MARK_DIGITS:
                counts[mark] = int(times)
    return counts


def _mark(rule_arn: str) -> str:
    return hashlib.sha256(rule_arn.encode()).hexdigest()[:_MARK_DIGITS]
