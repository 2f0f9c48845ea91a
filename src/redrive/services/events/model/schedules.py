"""Schedules of rules: which expressions AWS takes, and when they fire. All of them count in UTC.

Source: https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-create-rule-schedule.html
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from redrive.core.clock import Instant
from redrive.languages.schedule import InvalidExpression, Rate, next_fire, parse_expression
from redrive.services.events.limits import SKIPPED_COUNTED_MAX
from redrive.services.events.model.rule import Rule

_RATE = re.compile(r"rate\((?:1 (?:minute|hour|day)|(?!0*1? )[0-9]+ (?:minutes|hours|days))\)")
_ZONE = "UTC"


def is_expression(text: str) -> bool:
    """Whether AWS takes a schedule expression for a rule: a rate with the right number, or a cron of six fields."""
    if not text.startswith("cron(") and _RATE.fullmatch(text) is None:
        return False
    try:
        parse_expression(text)
    except InvalidExpression:
        return False
    return True


def planned(rule: Rule, after: Instant) -> Rule:
    """The rule with the first instant after this one at which it fires; a rate first fires one interval after it began.

    None for a disabled rule, and without a schedule.
    """
    if rule.schedule is None or not rule.is_enabled:
        return replace(rule, next_at=None)
    expression = parse_expression(rule.schedule)
    next_at = next_fire(expression, zone=_ZONE, anchor=rule.anchor_at, after=max(after, rule.anchor_at))
    return replace(rule, next_at=next_at)


@dataclass(frozen=True, slots=True)
class Skipped:
    """Instants of a schedule at which nothing fires: the first, the last, and their number."""

    first_at: Instant
    last_at: Instant
    count: int


def skipped(rule: Rule, now: Instant) -> Skipped | None:
    """The instants after the one that fires now, up to now: nothing ran when they were due.

    A cron counts SKIPPED_COUNTED_MAX of them.
    """
    if rule.schedule is None or rule.next_at is None:
        return None
    expression = parse_expression(rule.schedule)
    if isinstance(expression, Rate):
        count = (now - rule.next_at) // expression.interval_ms
        first_at = rule.next_at + expression.interval_ms
        return Skipped(first_at, first_at + (count - 1) * expression.interval_ms, count) if count > 0 else None
    found: list[Instant] = []
    at: Instant | None = rule.next_at
    while at is not None and len(found) < SKIPPED_COUNTED_MAX:
        at = next_fire(expression, zone=_ZONE, anchor=rule.anchor_at, after=at)
        if at is None or at > now:
            break
        found.append(at)
    return Skipped(found[0], found[-1], len(found)) if found else None
