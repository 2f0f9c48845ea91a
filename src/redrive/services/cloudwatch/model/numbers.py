"""Numbers and times in the texts of alarms, which are written as Java writes them."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from decimal import Decimal

from redrive.core.clock import Instant

_PLAIN_MIN, _PLAIN_END = 1e-3, 1e7


def number_text(value: float) -> str:
    """A number as Java writes doubles: `50.0`, `0.0666851903306472`, `1.2E7`."""
    number = float(value)
    if number == 0 or _PLAIN_MIN <= abs(number) < _PLAIN_END or not math.isfinite(number):
        return repr(number)
    sign, digits, exponent = Decimal(repr(number)).normalize().as_tuple()
    first, rest = str(digits[0]), "".join(map(str, digits[1:]))
    return f"{'-' if sign else ''}{first}.{rest or '0'}E{int(exponent) + len(digits) - 1}"


def short_time(at: Instant) -> str:
    """A time in a reason: `02/10/19 16:59:00`, the day first."""
    return _utc(at).strftime("%d/%m/%y %H:%M:%S")


def long_time(at: Instant) -> str:
    """A time in a document: `2019-10-02T17:04:40.989+0000`."""
    return _utc(at).strftime("%Y-%m-%dT%H:%M:%S.") + f"{at % 1000:03d}+0000"


def spoken_time(at: Instant) -> str:
    """A time in the reason of a composite alarm: `Friday 22 July, 2022 15:57:45 UTC`."""
    return _utc(at).strftime("%A %d %B, %Y %H:%M:%S UTC")


def _utc(at: Instant) -> datetime:
    return datetime.fromtimestamp(at // 1000, UTC)
