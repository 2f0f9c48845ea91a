"""Parses an expression: selects the kind by its name and passes on the text between the brackets."""

from __future__ import annotations

import re
from functools import lru_cache

from redrive.languages.schedule.at import At, parse_at
from redrive.languages.schedule.cron import Cron, parse_cron
from redrive.languages.schedule.malformed import Malformed
from redrive.languages.schedule.rate import Rate, parse_rate

Expression = At | Rate | Cron

_KIND_AND_BODY = re.compile(r"(at|rate|cron)\(([\t -~]*)\)", re.IGNORECASE | re.ASCII)
_LENGTH_MAX = 256
EXPRESSIONS_KEPT = 4_096


class InvalidExpression(ValueError):
    """The text is not a schedule expression. `text` is the input; `reason` is the violated rule."""

    def __init__(self, text: str, reason: str) -> None:
        super().__init__(f"{text!r} is not a schedule expression: {reason}")
        self.text = text
        self.reason = reason


@lru_cache(EXPRESSIONS_KEPT)
def parse_expression(text: str) -> Expression:
    """Parse `at(...)`, `rate(...)` or `cron(...)`.

    Blanks are not trimmed, the kind is case-insensitive, and the limit is 256 characters. An expression that never
    fires (a past year, 30 February) is valid.

    Errors: InvalidExpression.
    Source: https://docs.aws.amazon.com/scheduler/latest/UserGuide/schedule-types.html,
    https://docs.aws.amazon.com/scheduler/latest/APIReference/API_CreateSchedule.html
    """
    if len(text) > _LENGTH_MAX:
        raise InvalidExpression(text, f"it must have at most {_LENGTH_MAX} characters")
    found = _KIND_AND_BODY.fullmatch(text)
    if found is None:
        raise InvalidExpression(text, "it must be at(...), rate(...) or cron(...)")
    kind, body = found.groups()
    try:
        match kind.lower():
            case "at":
                return parse_at(body)
            case "rate":
                return parse_rate(body)
            case _:
                return parse_cron(body)
    except Malformed as malformed:
        raise InvalidExpression(text, str(malformed)) from malformed
