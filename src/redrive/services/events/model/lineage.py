"""Which rules have led to an event: a member of the trace header, which functions hand on with what they call.

A rule that invokes a function adds itself to the header; if an event comes back with the rule in its header, the rule's
own target has published the event. Lambda counts functions in a member of its own, which ends at a bus.
"""

from __future__ import annotations

import hashlib

from redrive.core.clock import SECOND_MS, Instant
from redrive.core.lineage import passed, times_passed, without

RULES_MAX = 8
"""How many rules a header names; the latest ones."""

_MEMBER = "Rules"
_TRACE_DIGITS = 24
_PARENT_DIGITS = 16


def times_run(trace: str, rule_arn: str) -> int:
    """How often a rule has run on the way to an event with this trace header."""
    return times_passed(trace, _MEMBER, rule_arn)


def traced(trace: str, rule_arn: str, *, event_id: str, at: Instant) -> str:
    """The trace header with which a rule invokes its target. An event without a trace begins one."""
    header = without(trace, _MEMBER) or _begun(event_id, at)
    return f"{header};{_MEMBER}={passed(trace, _MEMBER, rule_arn, most=RULES_MAX)}"


def _begun(event_id: str, at: Instant) -> str:
    """A new trace that is not sampled."""
    digits = hashlib.sha256(event_id.encode()).hexdigest()
    trace_id = f"1-{at // SECOND_MS:08x}-{digits[:_TRACE_DIGITS]}"
    return f"Root={trace_id};Parent={digits[_TRACE_DIGITS:][:_PARENT_DIGITS]};Sampled=0"
