"""Timestamps as the language has them: RFC 3339 with a capital T, a zone, and at most nine digits of fraction."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from fractions import Fraction

_FORM = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)?(Z|[+-]\d\d:\d\d(?::\d\d)?)", re.ASCII
)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def read_timestamp(value: object) -> Fraction | None:
    """The milliseconds since the epoch, exact; None for what is no timestamp. Java also reads one without seconds."""
    found = _FORM.fullmatch(value) if isinstance(value, str) else None
    if found is None:
        return None
    year, month, day, hour, minute, second, fraction, zone = found.groups()
    try:
        moment = datetime(int(year), int(month), int(day), int(hour), int(minute), int(second or 0), tzinfo=UTC)
        whole = (moment - _EPOCH - _offset(zone)) // timedelta(seconds=1)
    except (ValueError, OverflowError):
        return None
    return Fraction(whole * 1000) + Fraction(int((fraction or "").ljust(9, "0")), 1_000_000)


def _offset(zone: str) -> timedelta:
    if zone == "Z":
        return timedelta()
    hours, minutes, *seconds = (int(part) for part in zone[1:].split(":"))
    offset = timedelta(hours=hours, minutes=minutes, seconds=seconds[0] if seconds else 0)
    if offset > timedelta(hours=18) or minutes > 59:
        raise ValueError("the zone is too far from UTC")
    return -offset if zone[0] == "-" else offset
