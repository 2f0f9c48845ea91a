"""Event patterns as requests give them.

Source: https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-event-patterns.html
"""

from __future__ import annotations

from redrive.core.errors import ServiceError
from redrive.core.limits import Limits
from redrive.languages.event_pattern import Pattern, PatternError, parse
from redrive.services.events.limits import PATTERN_CHARACTERS_MAX
from redrive.services.events.model.requests import limit_exceeded


def check_pattern(text: str, quotas: Limits = Limits.RELAXED) -> Pattern:
    """Parse a pattern. Errors: InvalidEventPatternException; LimitExceededException (longer than the quota)."""
    if quotas is Limits.STRICT and len(text) > PATTERN_CHARACTERS_MAX:
        raise limit_exceeded(
            f"Event pattern exceeds the maximum number of {PATTERN_CHARACTERS_MAX} characters allowed."
        )
    try:
        return parse(text)
    except PatternError as error:
        raise ServiceError("InvalidEventPatternException", str(error)) from error
