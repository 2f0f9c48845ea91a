"""next_fire against a dumb oracle that looks at every minute, and the laws that hold for every schedule."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from redrive.languages.schedule import next_fire, parse_expression, upcoming
from tests.unit.languages.schedule.oracle import (
    MINUTE_MS,
    first_matching_day,
    first_matching_minute,
    utc_ms,
)
from tests.unit.languages.schedule.strategies import ZONES, crons

DAY_MS = 86_400_000

CHANGES = {
    "America/Los_Angeles": ("2025-03-09T10:00", "2025-11-02T09:00", "2050-03-13T10:00"),
    "Europe/London": ("2025-03-30T01:00", "2025-10-26T01:00", "2024-02-29T00:00"),
    "Australia/Lord_Howe": ("2025-10-04T15:30", "2025-04-05T15:00", "2024-12-31T13:00"),
    "Asia/Tokyo": ("2024-12-31T15:00", "2024-02-28T15:00", "2027-12-31T15:00"),
    "America/Sao_Paulo": ("2018-11-04T03:00", "2019-02-17T02:00", "2024-02-29T03:00"),
}
"""Instants near which local time does something: clocks change, a leap day or a new year begins."""

HORIZON_MINUTES = 24 * 60

around_changes = st.sampled_from([(zone, change) for zone in ZONES for change in CHANGES[zone]])
instants = st.integers(utc_ms("2015-01-01T00:00"), utc_ms("2035-01-01T00:00"))
expressions = st.one_of(
    crons(),
    st.builds("rate({} {})".format, st.integers(1, 400), st.sampled_from(["minutes", "hours", "days"])),
    st.datetimes(datetime.fromisoformat("2015-01-01"), datetime.fromisoformat("2035-01-01")).map(
        lambda wall: f"at({wall.replace(microsecond=0).isoformat()})"
    ),
)


@settings(max_examples=150)
@given(text=crons(), place=around_changes, before_ms=st.integers(0, 5 * 60 * MINUTE_MS))
def test_cron_equals_brute_force_over_minutes_around_changes(text: str, place: tuple[str, str], before_ms: int) -> None:
    """A cron fires at the first minute whose local wall time matches and has not been shown before."""
    zone, change = place
    after = utc_ms(change) - before_ms + 90 * MINUTE_MS

    found = next_fire(parse_expression(text), zone=zone, anchor=0, after=after)

    expected = first_matching_minute(text, zone, after=after, minutes=HORIZON_MINUTES)
    if expected is None:
        assert found is None or found > after + (HORIZON_MINUTES - 1) * MINUTE_MS
    else:
        assert found == expected


@settings(max_examples=40)
@given(
    text=crons(minutes=st.just("0-59/7"), hours=st.just("*")),
    zone=st.sampled_from(ZONES),
    after=instants,
)
def test_cron_equals_brute_force_over_minutes_anywhere(text: str, zone: str, after: int) -> None:
    """The same at any time of twenty years, and for instants inside a minute."""
    found = next_fire(parse_expression(text), zone=zone, anchor=0, after=after)

    expected = first_matching_minute(text, zone, after=after, minutes=HORIZON_MINUTES)
    if expected is None:
        assert found is None or found > after + (HORIZON_MINUTES - 1) * MINUTE_MS
    else:
        assert found == expected


@settings(max_examples=100)
@given(
    text=crons(minutes=st.just("0"), hours=st.just("0")),
    after=st.dates(datetime(2014, 1, 1, tzinfo=UTC).date(), datetime(2104, 1, 1, tzinfo=UTC).date()),
)
def test_cron_equals_brute_force_over_days_of_nine_years(text: str, after: date) -> None:
    """Day, month and year fields agree with a look at each day, over leap years and year ends."""
    found = next_fire(parse_expression(text), zone="UTC", anchor=0, after=utc_ms(f"{after}T00:00"))

    expected = first_matching_day(text, after=after, days=9 * 366)
    if expected is None:
        assert found is None or found > utc_ms(f"{after + timedelta(days=9 * 366)}T00:00")
    else:
        assert found == utc_ms(f"{expected}T00:00")


@given(text=expressions, zone=st.sampled_from(ZONES), first=instants, second=instants)
def test_next_fire_is_monotone(text: str, zone: str, first: int, second: int) -> None:
    """Asking later never answers earlier, and nothing lies between the question and the answer."""
    earlier, later = sorted((first, second))
    expression = parse_expression(text)

    from_earlier = next_fire(expression, zone=zone, anchor=earlier, after=earlier)
    from_later = next_fire(expression, zone=zone, anchor=earlier, after=later)

    assert from_later is None or from_later > later
    if from_earlier is None:
        assert from_later is None
    elif from_earlier > later:
        assert from_later == from_earlier
    else:
        assert from_later is None or from_later > from_earlier


@given(text=expressions, zone=st.sampled_from(ZONES), after=instants, length_ms=st.integers(1, 30 * DAY_MS))
def test_start_and_end_are_respected(text: str, zone: str, after: int, length_ms: int) -> None:
    """No occurrence of a recurring schedule lies before its start, or at or after its end."""
    assume(not text.startswith("at"))
    start, end = after + DAY_MS, after + DAY_MS + length_ms

    found = upcoming(parse_expression(text), zone=zone, anchor=after, after=after, start=start, end=end, count=5)

    assert all(start <= instant < end for instant in found)
    assert found == sorted(set(found))


@given(text=crons(), zone=st.sampled_from(ZONES), after=instants)
def test_start_and_end_only_take_away(text: str, zone: str, after: int) -> None:
    """A window around the next occurrence of a cron keeps it; one that ends with it loses it."""
    expression = parse_expression(text)
    instant = next_fire(expression, zone=zone, anchor=0, after=after)
    assume(instant is not None)
    assert instant is not None

    kept = next_fire(expression, zone=zone, anchor=0, after=after, start=instant, end=instant + 1)
    lost = next_fire(expression, zone=zone, anchor=0, after=after, end=instant)

    assert (kept, lost) == (instant, None)
