"""Calendar schedules: `cron(minutes hours day-of-month month day-of-week [year])`.

A cron matches wall-clock minutes. Only `wall.py` knows the instants of these minutes in a zone.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta

from redrive.languages.schedule.days import DayRule, days_of_month, parse_days
from redrive.languages.schedule.malformed import Malformed
from redrive.languages.schedule.values import ValueField

YEAR_MIN, YEAR_MAX = 1970, 2199
MINUTE = timedelta(minutes=1)

_MINUTES = ValueField("minutes", 0, 59)
_HOURS = ValueField("hours", 0, 23)
_MONTH_NAMES = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")
_MONTHS = ValueField("month", 1, 12, names=dict(zip(_MONTH_NAMES, range(1, 13), strict=True)))
_YEARS = ValueField("year", YEAR_MIN, YEAR_MAX, wraps=False, readable_max=9999)


@dataclass(frozen=True, slots=True)
class Cron:
    """The minutes, hours, months and years of firing, each ascending, and the rule that selects the days.

    `years` may be empty: no year from 1970 to 2199 then matches the year field.
    """

    minutes: tuple[int, ...]
    hours: tuple[int, ...]
    days: DayRule
    months: tuple[int, ...]
    years: tuple[int, ...]

    def first_wall(self, earliest: datetime) -> datetime | None:
        """The first matching wall minute at or after `earliest`; None if none is left before the year 2200.

        Walks days, not minutes: 30 February costs one look at each of some 200 Februaries.
        """
        earliest = _round_up_to_minute(earliest)
        for day in self._dates_from(earliest.date()):
            not_before = earliest.time() if day == earliest.date() else time.min
            found = self._first_time(not_before)
            if found is not None:
                return datetime.combine(day, found)
        return None

    def _dates_from(self, earliest: date) -> Iterator[date]:
        for year in self.years[bisect_left(self.years, earliest.year) :]:
            for month in self.months:
                if (year, month) < (earliest.year, earliest.month):
                    continue
                for day in days_of_month(self.days, year, month):
                    found = date(year, month, day)
                    if found >= earliest:
                        yield found

    def _first_time(self, not_before: time) -> time | None:
        for hour in self.hours[bisect_left(self.hours, not_before.hour) :]:
            if hour > not_before.hour:
                return time(hour, self.minutes[0])
            later = bisect_left(self.minutes, not_before.minute)
            if later < len(self.minutes):
                return time(hour, self.minutes[later])
        return None


def parse_cron(body: str) -> Cron:
    """Read five or six fields, parted by white space; names in any case. Errors: Malformed."""
    fields = body.upper().replace("\t", " ").split(" ")
    if not fields[0] or not fields[-1]:
        raise Malformed("no blanks just inside the brackets")
    fields = [text for text in fields if text]
    if len(fields) not in (5, 6):
        raise Malformed(f"cron takes five or six fields, not {len(fields)}")
    minutes, hours, month_days, months, weekdays = fields[:5]
    return Cron(
        minutes=_MINUTES.parse(minutes),
        hours=_HOURS.parse(hours),
        days=parse_days(month_days, weekdays),
        months=_MONTHS.parse(months),
        years=_YEARS.parse(fields[5] if len(fields) == 6 else "*"),
    )


def _round_up_to_minute(wall: datetime) -> datetime:
    whole = wall.replace(second=0, microsecond=0)
    return whole if whole == wall else whole + MINUTE
