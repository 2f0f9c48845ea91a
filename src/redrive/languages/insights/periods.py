"""Periods of time, such as 5m, and the instants at which they begin. All times are UTC, in milliseconds."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from redrive.core.clock import DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS

_FIXED = {
    ("ms", "msec", "millisecond", "milliseconds"): 1,
    ("s", "sec", "second", "seconds"): SECOND_MS,
    ("m", "min", "minute", "minutes"): MINUTE_MS,
    ("h", "hr", "hour", "hours"): HOUR_MS,
    ("d", "day", "days"): DAY_MS,
    ("w", "week", "weeks"): 7 * DAY_MS,
}
_MONTHS = {
    ("mo", "mon", "month", "months"): 1,
    ("q", "qtr", "quarter", "quarters"): 3,
    ("y", "yr", "year", "years"): 12,
}
_MS = {word: ms for words, ms in _FIXED.items() for word in words}
_MONTHS_OF = {word: months for words, months in _MONTHS.items() for word in words}
UNITS = "ms, s, m, h, d, w, mo, q, y"

_MONDAY_MS = 4 * DAY_MS  # 1970-01-05. Weeks begin on Mondays.
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_YEAR_MAX = 9999


@dataclass(frozen=True, slots=True)
class Period:
    """A number of milliseconds, or a number of months. `offset_ms` is the first beginning after 1970 begins."""

    ms: int = 0
    months: int = 0
    offset_ms: int = 0

    def floor(self, at: float) -> int:
        """The latest beginning that is not after an instant."""
        if self.ms:
            return int((at - self.offset_ms) // self.ms * self.ms) + self.offset_ms
        moment = _EPOCH + timedelta(milliseconds=at)
        count = ((moment.year - 1970) * 12 + moment.month - 1) // self.months * self.months
        return _month_ms(count)

    def after(self, beginning: int) -> int:
        """The beginning after one."""
        if self.ms:
            return beginning + self.ms
        moment = _EPOCH + timedelta(milliseconds=beginning)
        return _month_ms((moment.year - 1970) * 12 + moment.month - 1 + self.months)


def period_of(number: float, unit: str) -> Period | None:
    """The period of a number and a unit; None if there is no such period."""
    unit = unit.lower()
    if number <= 0 or number != int(number):
        return None
    if unit in _MS:
        ms = int(number) * _MS[unit]
        return Period(ms=ms, offset_ms=_MONDAY_MS if _MS[unit] == 7 * DAY_MS else 0)
    return Period(months=int(number) * _MONTHS_OF[unit]) if unit in _MONTHS_OF and number < 1200 else None


def _month_ms(count: int) -> int:
    """When a month begins, counted from January 1970."""
    year = min(1970 + count // 12, _YEAR_MAX)
    return (datetime(year, count % 12 + 1, 1, tzinfo=UTC) - _EPOCH) // timedelta(milliseconds=1)


def time_text(at: float) -> str:
    """An instant as Insights shows it: 2026-11-23 20:56:52.000. What is no instant is shown as a number."""
    try:
        moment = _EPOCH + timedelta(milliseconds=int(at))
    except OverflowError:
        return str(int(at))
    return f"{moment:%Y-%m-%d %H:%M:%S}.{moment.microsecond // 1000:03d}"
