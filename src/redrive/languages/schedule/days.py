"""The two day fields of a cron. Exactly one of them is `?`; the other becomes a rule that selects days."""

from __future__ import annotations

import re
from calendar import monthrange
from dataclasses import dataclass
from datetime import date
from typing import assert_never

from redrive.languages.schedule.malformed import Malformed
from redrive.languages.schedule.values import ValueField

_MONTH_DAYS = ValueField("day-of-month", 1, 31, wraps=False)
_WEEKDAYS = ValueField(
    "day-of-week",
    1,
    7,
    names={"SUN": 1, "MON": 2, "TUE": 3, "WED": 4, "THU": 5, "FRI": 6, "SAT": 7},
    steps=False,
)
_SATURDAY, _SUNDAY = 7, 1


@dataclass(frozen=True, slots=True)
class MonthDays:
    """These days of the month, in months that have them."""

    days: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class LastDay:
    """`L`: the last day of the month."""


@dataclass(frozen=True, slots=True)
class NearestWorkday:
    """`15W`: the Monday-to-Friday day nearest to the 15th, never in another month."""

    day: int


@dataclass(frozen=True, slots=True)
class Weekdays:
    """These days of the week; 1 is Sunday, 7 is Saturday."""

    weekdays: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class LastWeekday:
    """`6L`: the month's last Friday."""

    weekday: int


@dataclass(frozen=True, slots=True)
class NthWeekday:
    """`3#2`: the month's second Tuesday, in months that have one."""

    weekday: int
    nth: int


DayRule = MonthDays | LastDay | NearestWorkday | Weekdays | LastWeekday | NthWeekday


def parse_days(month_days: str, weekdays: str) -> DayRule:
    """Parse the day-of-month and day-of-week fields, both in upper case.

    Errors: Malformed, also if none or both of them are `?`.
    """
    if (month_days == "?") == (weekdays == "?"):
        raise Malformed("exactly one of day-of-month and day-of-week must be ?")
    return _parse_weekdays(weekdays) if month_days == "?" else _parse_month_days(month_days)


def days_of_month(rule: DayRule, year: int, month: int) -> tuple[int, ...]:
    """The days of one month that the rule selects, ascending; the list may be empty."""
    monday_based, length = monthrange(year, month)
    first_weekday = (monday_based + 1) % 7 + 1
    match rule:
        case MonthDays(days):
            return tuple(day for day in days if day <= length)
        case LastDay():
            return (length,)
        case NearestWorkday(day):
            return (_nearest_workday(year, month, day, length),) if day <= length else ()
        case Weekdays(weekdays):
            return tuple(sorted(day for weekday in weekdays for day in _each(weekday, first_weekday, length)))
        case LastWeekday(weekday):
            return (_each(weekday, first_weekday, length)[-1],)
        case NthWeekday(weekday, nth):
            return tuple(_each(weekday, first_weekday, length)[nth - 1 : nth])
        case _:
            assert_never(rule)


def _parse_month_days(text: str) -> DayRule:
    if text == "L":
        return LastDay()
    if nearest := re.fullmatch(r"([0-9]+)W", text):
        return NearestWorkday(_MONTH_DAYS.parse_value(nearest[1]))
    return MonthDays(_MONTH_DAYS.parse(text))


def _parse_weekdays(text: str) -> DayRule:
    if text == "L":
        return Weekdays((_SATURDAY,))
    if last := re.fullmatch(r"([0-9A-Z]+)L", text):
        return LastWeekday(_WEEKDAYS.parse_value(last[1]))
    if nth := re.fullmatch(r"([0-9A-Z]+)#([1-5])", text):
        return NthWeekday(_WEEKDAYS.parse_value(nth[1]), int(nth[2]))
    return Weekdays(_WEEKDAYS.parse(text))


def _each(weekday: int, first_weekday: int, length: int) -> range:
    """All days of such a weekday in a month that begins on `first_weekday`."""
    return range(1 + (weekday - first_weekday) % 7, length + 1, 7)


def _nearest_workday(year: int, month: int, day: int, length: int) -> int:
    weekday = date(year, month, day).isoweekday() % 7 + 1
    if weekday == _SATURDAY:
        return day - 1 if day > 1 else day + 2
    if weekday == _SUNDAY:
        return day + 1 if day < length else day - 2
    return day
