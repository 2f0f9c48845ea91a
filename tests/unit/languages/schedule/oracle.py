"""A second, dumber reading of crons: looks at every minute and every field, one value at a time."""

from __future__ import annotations

from calendar import monthrange
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

MINUTE_MS = 60_000
LONGEST_REPEAT_MINUTES = 3 * 60
MONTHS = ["", "JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"]
WEEKDAYS = ["", "SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"]


def first_matching_minute(cron: str, zone: str, *, after: int, minutes: int) -> int | None:
    """The first of so many minutes after `after` whose wall time matches and was not shown shortly before."""
    fields = cron.removeprefix("cron(").removesuffix(")").upper().split()
    tz = ZoneInfo(zone)
    shown: set[datetime] = set()
    begin = after // MINUTE_MS - LONGEST_REPEAT_MINUTES
    for minute in range(begin, after // MINUTE_MS + minutes + 1):
        wall = datetime.fromtimestamp(minute * 60, tz).replace(tzinfo=None, fold=0)
        is_first_pass = wall not in shown
        shown.add(wall)
        if minute * MINUTE_MS > after and is_first_pass and wall_matches(fields, wall):
            return minute * MINUTE_MS
    return None


def first_matching_day(cron: str, *, after: date, days: int) -> date | None:
    """The first day after `after`, among so many, that the day, month and year fields allow."""
    fields = cron.removeprefix("cron(").removesuffix(")").upper().split()
    candidates = (after + timedelta(days=number) for number in range(1, days + 1))
    return next((day for day in candidates if day_matches(fields, day)), None)


def wall_matches(fields: list[str], wall: datetime) -> bool:
    return (
        value_matches(fields[0], wall.minute, 0, 59, [])
        and value_matches(fields[1], wall.hour, 0, 23, [])
        and day_matches(fields, wall.date())
    )


def day_matches(fields: list[str], day: date) -> bool:
    year = fields[5] if len(fields) == 6 else "*"
    return (
        value_matches(fields[3], day.month, 1, 12, MONTHS)
        and value_matches(year, day.year, 1970, 2199, [])
        and (month_day_matches(fields[2], day) if fields[4] == "?" else weekday_matches(fields[4], day))
    )


def month_day_matches(field: str, day: date) -> bool:
    if field == "L":
        return (day + timedelta(days=1)).month != day.month
    if field.endswith("W"):
        return day == nearest_workday(day, int(field[:-1]))
    return value_matches(field, day.day, 1, 31, [])


def nearest_workday(month: date, wanted: int) -> date | None:
    if wanted > monthrange(month.year, month.month)[1]:
        return None
    target = month.replace(day=wanted)
    for distance in (0, -1, 1, -2, 2):
        near = target + timedelta(days=distance)
        if near.month == target.month and near.isoweekday() <= 5:
            return near
    return None


def weekday_matches(field: str, day: date) -> bool:
    weekday = WEEKDAYS.index(day.strftime("%a").upper())
    if field == "L":
        return weekday == 7
    if field.endswith("L"):
        is_last = (day + timedelta(days=7)).month != day.month
        return is_last and value_matches(field[:-1], weekday, 1, 7, WEEKDAYS)
    if "#" in field:
        wanted, nth = field.split("#")
        return value_matches(wanted, weekday, 1, 7, WEEKDAYS) and (day.day + 6) // 7 == int(nth)
    return value_matches(field, weekday, 1, 7, WEEKDAYS)


def value_matches(field: str, value: int, low: int, high: int, names: list[str]) -> bool:
    return any(item_matches(item, value, low, high, names) for item in field.split(","))


def item_matches(item: str, value: int, low: int, high: int, names: list[str]) -> bool:
    span, _, step = item.partition("/")
    first, _, last = ("*", "", "") if span == "*" else span.partition("-")
    begin = low if first == "*" else number(first, names)
    end = number(last, names) if last else high if (step or first == "*") else begin
    while True:
        if begin == value:
            return True
        for _ in range(int(step or 1)):
            if begin == end:
                return False
            begin = low if begin == high else begin + 1


def number(text: str, names: list[str]) -> int:
    return names.index(text) if text in names else int(text)


def utc_ms(text: str) -> int:
    """Milliseconds of a time in UTC, `2025-03-09T10:00`."""
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()) * 1000
