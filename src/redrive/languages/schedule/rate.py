"""Evenly spaced schedules: `rate(5 minutes)`. Elapsed time only, so no zone and no calendar."""

from __future__ import annotations

import re
from dataclasses import dataclass

from redrive.core.clock import DAY_MS, HOUR_MS, MINUTE_MS, Instant
from redrive.languages.schedule.malformed import Malformed

_SHAPE = re.compile(r"([0-9]+)[ \t]*(minute|hour|day)s?")
_UNIT_MS = {"minute": MINUTE_MS, "hour": HOUR_MS, "day": DAY_MS}


@dataclass(frozen=True, slots=True)
class Rate:
    """Fires every `interval_ms`; a day is exactly 24 hours, whatever local clocks do."""

    interval_ms: int

    def next_after(self, after: Instant, origin: Instant) -> Instant:
        """The first of origin, origin + 1 interval, origin + 2 intervals … after `after`, without drift."""
        if after < origin:
            return origin
        return origin + ((after - origin) // self.interval_ms + 1) * self.interval_ms


def parse_rate(body: str) -> Rate:
    """Parse `value unit`; `1 days`, `5 minute` and `5minutes` are valid. Errors: Malformed."""
    found = _SHAPE.fullmatch(body)
    if found is None:
        raise Malformed("rate takes a positive whole number and minutes, hours or days")
    value, unit = int(found[1]), found[2]
    if value == 0:
        raise Malformed("the value of a rate must be at least 1")
    return Rate(value * _UNIT_MS[unit])
