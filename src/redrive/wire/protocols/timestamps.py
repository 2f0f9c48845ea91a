"""Timestamps on the wire: three formats of one instant (milliseconds since the epoch, UTC)."""

from __future__ import annotations

import functools
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime, parsedate_to_datetime

from redrive.core.clock import Instant, parse_instant

ISO_8601 = "iso8601"
UNIX = "unixTimestamp"
RFC_822 = "rfc822"
ISO_8601_MS = "iso8601-ms"
"""ISO 8601 with milliseconds, also where they are zero: the spelling of S3's documents."""

SECONDS_KEPT = 1_000
"""Size of the caches of dates: many answers name the same seconds."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)
_YEAR_1 = parse_instant("0001-01-01T00:00:00")
_YEAR_9999_END = parse_instant("9999-12-31T23:59:59.999")


def write_number(instant: Instant) -> int | float:
    """Seconds since the epoch, as JSON protocols write them: 1700000000, 1700000000.123."""
    seconds, rest = divmod(instant, 1000)
    return instant / 1000 if rest else seconds


def write_text(instant: Instant, spelling: str) -> str:
    """An instant as text. ISO 8601 has milliseconds only if they are not zero; RFC 822 has whole seconds."""
    if spelling == RFC_822:
        return _rfc_822(instant // 1000)
    if spelling == UNIX:
        return str(write_number(instant))
    second, rest = divmod(instant, 1000)
    if rest or spelling == ISO_8601_MS:
        return f"{_iso_8601(second)}.{rest:03}Z"
    return f"{_iso_8601(second)}Z"


@functools.lru_cache(SECONDS_KEPT)
def _iso_8601(second: int) -> str:
    return (_EPOCH + timedelta(seconds=second)).replace(tzinfo=None).isoformat(timespec="seconds")


@functools.lru_cache(SECONDS_KEPT)
def _rfc_822(second: int) -> str:
    return format_datetime(_EPOCH + timedelta(seconds=second), usegmt=True)


def read_number(seconds: float) -> Instant:
    """Milliseconds of a number of seconds. Errors: OverflowError, ValueError outside the years 1 to 9999."""
    instant = round(seconds * 1000)
    if not _YEAR_1 <= instant <= _YEAR_9999_END:
        raise OverflowError(f"{seconds} seconds are not in the years 1 to 9999")
    return instant


def read_text(text: str) -> Instant:
    """Read any of the three formats: AWS accepts each wherever a timestamp is text. Errors: ValueError."""
    try:
        return read_number(float(text))
    except (ValueError, OverflowError):
        pass
    if text[:1].isalpha():
        moment = parsedate_to_datetime(text)
        return (moment.replace(tzinfo=moment.tzinfo or UTC) - _EPOCH) // _MILLISECOND
    return parse_instant(text)
