"""Schedule expressions of EventBridge Scheduler: `at(...)`, `rate(...)` and `cron(...)`, parsed and computed.

This package answers two questions: is this text an expression, and when does it fire next? The service decides
when a schedule really fires, which missed occurrences it catches up, and how far a flexible window moves them.

    expression.py   text -> At | Rate | Cron
    at.py rate.py   the two simple kinds
    cron.py         the cron kind: all its fields, and the next matching wall minute
    values.py       the number fields of a cron: lists, ranges, steps, names
    days.py         the day fields of a cron: L, nW, nL, n#k
    wall.py         local time of an IANA zone: gaps and repeated hours
    firing.py       next_fire and upcoming

Every rule, with its source and its confidence: docs/semantics/schedule-expressions.md
"""

from __future__ import annotations

from redrive.languages.schedule.at import At
from redrive.languages.schedule.cron import Cron
from redrive.languages.schedule.expression import Expression, InvalidExpression, parse_expression
from redrive.languages.schedule.firing import next_fire, upcoming
from redrive.languages.schedule.rate import Rate
from redrive.languages.schedule.wall import InvalidTimezone, find_zone

__all__ = [
    "At",
    "Cron",
    "Expression",
    "InvalidExpression",
    "InvalidTimezone",
    "Rate",
    "find_zone",
    "next_fire",
    "parse_expression",
    "upcoming",
]
