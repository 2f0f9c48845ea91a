"""When secrets are rotated.

Source: https://docs.aws.amazon.com/secretsmanager/latest/userguide/rotate-secrets_schedule.html
"""

from __future__ import annotations

import re

from redrive.core.clock import DAY_MS, Instant
from redrive.core.documents import Document
from redrive.languages.schedule import InvalidExpression, next_fire, parse_expression
from redrive.services.secretsmanager import limits
from redrive.services.secretsmanager.model.requests import invalid_parameter

_RATE = re.compile(r"rate\(([1-9][0-9]*) (hours?|days?)\)")
_CRON = re.compile(r"cron\(0 [^ ]+ [^ ]+ [^ ]+ [^ ]+ \*\)")
_ZONE = "UTC"


def check_rules(rules: Document) -> None:
    """Refuse the rules of a rotation that name no time, or two. Errors: InvalidParameterException."""
    days, expression = rules.get("AutomaticallyAfterDays"), rules.get("ScheduleExpression")
    if days is not None and expression is not None:
        raise invalid_parameter(
            "You can't specify both AutomaticallyAfterDays and ScheduleExpression in RotationRules."
        )
    if days is None and expression is None:
        raise invalid_parameter("RotationRules need AutomaticallyAfterDays or a ScheduleExpression.")
    if expression is not None:
        _check_expression(str(expression))


def next_rotation(rules: Document, now: Instant) -> Instant | None:
    """Return the beginning of the next rotation window; None without rules.

    Rotations by days begin with their day, in UTC.
    """
    days, expression = rules.get("AutomaticallyAfterDays"), rules.get("ScheduleExpression")
    if days is not None:
        at = now + int(days) * DAY_MS
        return at - at % DAY_MS
    if expression is None:
        return None
    return next_fire(parse_expression(str(expression)), zone=_ZONE, anchor=now, after=now)


def _check_expression(text: str) -> None:
    rate = _RATE.fullmatch(text)
    is_frequent = rate is not None and rate[2].startswith("hour") and int(rate[1]) < limits.ROTATION_HOURS_MIN
    try:
        parse_expression(text)
    except InvalidExpression as error:
        raise invalid_parameter(f"Invalid ScheduleExpression: {error.reason}") from None
    if is_frequent or (rate is None and _CRON.fullmatch(text) is None):
        raise invalid_parameter(
            f"Invalid ScheduleExpression: {text}. It is a rate of {limits.ROTATION_HOURS_MIN} hours or more, or of "
            "days, or a cron expression at the beginning of an hour, with * as the year."
        )
