"""When schedules fire: examples of the guide, and the edges of each kind."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from redrive.languages.schedule import InvalidTimezone, find_zone, next_fire, parse_expression, upcoming
from tests.unit.languages.schedule.oracle import utc_ms

LOS_ANGELES = "America/Los_Angeles"
LONDON = "Europe/London"
LORD_HOWE = "Australia/Lord_Howe"
MINUTE_MS, HOUR_MS, DAY_MS = 60_000, 3_600_000, 86_400_000


def fires(
    text: str,
    after: str,
    *,
    zone: str = "UTC",
    count: int = 3,
    start: str | None = None,
    end: str | None = None,
) -> list[str]:
    """The next instants as `2025-03-09T10:00`, in UTC."""
    instants = upcoming(
        parse_expression(text),
        zone=zone,
        anchor=0,
        after=utc_ms(after),
        start=None if start is None else utc_ms(start),
        end=None if end is None else utc_ms(end),
        count=count,
    )
    return [datetime.fromtimestamp(instant / 1000, UTC).strftime("%Y-%m-%dT%H:%M") for instant in instants]


def test_last_friday_of_the_month_between_two_years() -> None:
    """cron(15 10 ? * 6L 2022-2023) fires at 10:15 on the last Friday of each month of 2022 and 2023.

    Source: https://docs.aws.amazon.com/scheduler/latest/UserGuide/schedule-types.html
    """
    found = fires("cron(15 10 ? * 6L 2022-2023)", "2021-06-01T00:00", count=100)

    assert found[:3] == ["2022-01-28T10:15", "2022-02-25T10:15", "2022-03-25T10:15"]
    assert found[-1] == "2023-12-29T10:15"
    assert len(found) == 24


def test_second_tuesday_of_the_month() -> None:
    """3#2 is the second Tuesday."""
    assert fires("cron(0 9 ? * 3#2 *)", "2025-01-01T00:00") == [
        "2025-01-14T09:00",
        "2025-02-11T09:00",
        "2025-03-11T09:00",
    ]


def test_fifth_weekday_only_in_months_that_have_five() -> None:
    """A month without a fifth Monday is passed over."""
    assert fires("cron(0 9 ? * MON#5 *)", "2025-01-01T00:00") == [
        "2025-03-31T09:00",
        "2025-06-30T09:00",
        "2025-09-29T09:00",
    ]


def test_last_day_of_the_month_knows_leap_years() -> None:
    """L in day-of-month is the month's last day."""
    assert fires("cron(0 0 L * ? *)", "2024-01-31T12:00") == [
        "2024-02-29T00:00",
        "2024-03-31T00:00",
        "2024-04-30T00:00",
    ]
    assert fires("cron(0 0 L 2 ? *)", "2099-01-01T00:00", count=2) == ["2099-02-28T00:00", "2100-02-28T00:00"]


@pytest.mark.parametrize(
    ("day", "after", "expected"),
    [
        ("15W", "2025-02-01T00:00", "2025-02-14T00:00"),  # The 15th is a Saturday.
        ("15W", "2025-06-01T00:00", "2025-06-16T00:00"),  # The 15th is a Sunday.
        ("15W", "2025-05-01T00:00", "2025-05-15T00:00"),  # The 15th is a Thursday.
        ("1W", "2025-02-01T00:00", "2025-02-03T00:00"),  # The 1st is a Saturday: not back into January.
        ("31W", "2025-08-01T00:00", "2025-08-29T00:00"),  # The 31st is a Sunday: not on into September.
        ("31W", "2025-09-01T00:00", "2025-10-31T00:00"),  # September has no 31st.
    ],
)
def test_nearest_workday_stays_in_its_month(day: str, after: str, expected: str) -> None:
    """nW is the Monday-to-Friday day nearest to day n, in the same month."""
    instant = next_fire(parse_expression(f"cron(0 0 {day} * ? *)"), zone="UTC", anchor=0, after=utc_ms(after) - 1)

    assert instant == utc_ms(expected)


def test_29_february_waits_for_the_leap_year() -> None:
    """A day that a month lacks is passed over: 2100 is no leap year."""
    assert fires("cron(0 12 29 2 ? *)", "2095-01-01T00:00", count=2) == [
        "2096-02-29T12:00",
        "2104-02-29T12:00",
    ]


def test_hours_over_midnight_belong_to_the_day_on_which_they_fall() -> None:
    """20-2 with MON-FRI is the evening and the first hours of each of these days."""
    assert fires("cron(0 20-2 ? * MON *)", "2025-06-01T12:00", count=8) == [
        *[f"2025-06-02T{hour:02}:00" for hour in (0, 1, 2, 20, 21, 22, 23)],
        "2025-06-09T00:00",
    ]


def test_skipped_local_time_is_skipped() -> None:
    """A cron time that clocks jump over in spring does not fire that day.

    Source: https://docs.aws.amazon.com/scheduler/latest/UserGuide/schedule-types.html
    """
    assert fires("cron(30 2 * * ? *)", "2025-03-08T00:00", zone=LOS_ANGELES) == [
        "2025-03-08T10:30",
        "2025-03-10T09:30",
        "2025-03-11T09:30",
    ]


def test_repeated_local_time_fires_once_at_the_first_pass() -> None:
    """A cron time that clocks show twice in autumn fires at the first pass only.

    Source: https://docs.aws.amazon.com/scheduler/latest/UserGuide/schedule-types.html
    """
    assert fires("cron(30 1 * * ? *)", "2025-11-01T12:00", zone=LOS_ANGELES, count=2) == [
        "2025-11-02T08:30",
        "2025-11-03T09:30",
    ]


def test_every_quarter_of_an_hour_fires_once_per_wall_minute_through_a_repeated_hour() -> None:
    """`*/15` is silent in the second pass of a repeated hour."""
    assert fires("cron(*/15 * * * ? *)", "2025-11-02T08:20", zone=LOS_ANGELES) == [
        "2025-11-02T08:30",
        "2025-11-02T08:45",
        "2025-11-02T10:00",
    ]


def test_next_fire_asked_in_the_second_pass_is_after_it() -> None:
    """In the second pass of a repeated hour, its minutes have been."""
    assert fires("cron(* 1-2 * * ? *)", "2025-11-02T09:10", zone=LOS_ANGELES, count=1) == ["2025-11-02T10:00"]


def test_half_hour_shift_skips_and_repeats_half_an_hour() -> None:
    """Lord Howe Island moves its clocks by 30 minutes."""
    spring = fires("cron(*/15 2 * * ? *)", "2025-10-04T15:00", zone=LORD_HOWE)
    autumn = fires("cron(*/15 1-2 * * ? *)", "2025-04-05T14:20", zone=LORD_HOWE, count=5)

    assert spring == ["2025-10-04T15:30", "2025-10-04T15:45", "2025-10-05T15:00"]
    assert autumn == [f"2025-04-05T{minute}" for minute in ("14:30", "14:45", "15:30", "15:45", "16:00")]


def test_a_day_that_a_zone_left_out_has_no_crons() -> None:
    """Samoa had no 30 December 2011."""
    assert fires("cron(* * 30 12 ? 2011-2012)", "2011-12-29T00:00", zone="Pacific/Apia", count=1) == [
        "2012-12-29T10:00"
    ]


@pytest.mark.parametrize(
    "text",
    [
        "cron(0 0 30 2 ? *)",
        "cron(* * 31 4,6,9,11 ? *)",
        "cron(0 0 1 1 ? 2002-2005)",
        "cron(0 0 29 2 ? 2100)",
        "cron(* 2 ? 3 1#2 *)",  # The second Sunday of March: always in Los Angeles's gap since 2007.
    ],
)
def test_cron_that_never_fires_answers_none(text: str) -> None:
    """An expression without occurrences is valid and silent."""
    assert fires(text, "2025-01-01T00:00", zone=LOS_ANGELES) == []


def test_cron_ends_with_the_year_2199_of_its_zone() -> None:
    """The last year of a cron is 2199, in local time."""
    assert fires("cron(0 20 31 12 ? *)", "2199-06-01T00:00", zone=LOS_ANGELES) == ["2200-01-01T04:00"]
    assert fires("cron(* * * * ? *)", "2199-12-31T23:59") == []


def test_cron_begins_with_the_year_1970_of_its_zone() -> None:
    """The first year of a cron is 1970, in local time, however early one asks."""
    every_minute = parse_expression("cron(* * * * ? *)")

    instant = next_fire(every_minute, zone="Asia/Tokyo", anchor=0, after=-(10**18))

    assert instant == utc_ms("1969-12-31T15:00")
    assert next_fire(every_minute, zone="Asia/Tokyo", anchor=0, after=10**18) is None


def test_cron_fires_strictly_after() -> None:
    """The instant asked from does not count, the millisecond before does."""
    hourly, noon = parse_expression("cron(0 * * * ? *)"), utc_ms("2025-06-01T12:00")

    assert next_fire(hourly, zone="UTC", anchor=0, after=noon) == noon + HOUR_MS
    assert next_fire(hourly, zone="UTC", anchor=0, after=noon - 1) == noon


@pytest.mark.parametrize("text", ["cron(0 * * * ? *)", "rate(1 hour)"])
def test_start_is_inclusive_and_end_is_exclusive(text: str) -> None:
    """A recurring schedule may fire at its start and must fire before its end."""
    found = fires(text, "2025-06-01T00:00", count=9, start="2025-06-02T12:00", end="2025-06-02T15:00")

    assert found == ["2025-06-02T12:00", "2025-06-02T13:00", "2025-06-02T14:00"]


def test_at_regards_neither_start_nor_end() -> None:
    """StartDate and EndDate are ignored for one-time schedules."""
    assert fires("at(2025-06-01T12:00:00)", "2025-01-01T00:00", start="2026-01-01T00:00", end="2025-02-01T00:00") == [
        "2025-06-01T12:00"
    ]


def test_at_fires_once_in_its_zone_to_the_second() -> None:
    """at is a local time; once it has been there is nothing more."""
    at, tokyo = parse_expression("at(2025-06-01T12:00:07)"), utc_ms("2025-06-01T03:00") + 7_000

    assert next_fire(at, zone="Asia/Tokyo", anchor=0, after=tokyo - 1) == tokyo
    assert next_fire(at, zone="Asia/Tokyo", anchor=0, after=tokyo) is None


@pytest.mark.parametrize(
    ("wall", "zone", "expected"),
    [
        ("2025-03-09T02:00:00", LOS_ANGELES, "2025-03-09T10:00"),
        ("2025-03-09T02:30:00", LOS_ANGELES, "2025-03-09T10:00"),
        ("2025-03-09T02:59:59", LOS_ANGELES, "2025-03-09T10:00"),
        ("2025-03-09T03:00:00", LOS_ANGELES, "2025-03-09T10:00"),
        ("2025-03-30T01:15:00", LONDON, "2025-03-30T01:00"),
        ("2025-10-05T02:10:00", LORD_HOWE, "2025-10-04T15:30"),
        ("2011-12-30T12:00:00", "Pacific/Apia", "2011-12-30T10:00"),
    ],
)
def test_at_in_a_gap_fires_at_the_end_of_the_gap(wall: str, zone: str, expected: str) -> None:
    """A one-time schedule at a local time that is never shown fires at the first instant after the jump."""
    assert fires(f"at({wall})", "2011-01-01T00:00", zone=zone) == [expected]


@pytest.mark.parametrize(
    ("wall", "zone", "expected"),
    [
        ("2025-11-02T01:30:00", LOS_ANGELES, "2025-11-02T08:30"),
        ("2025-10-26T01:00:00", LONDON, "2025-10-26T00:00"),
        ("2025-04-06T01:45:00", LORD_HOWE, "2025-04-05T14:45"),
    ],
)
def test_at_shown_twice_fires_at_the_first_pass(wall: str, zone: str, expected: str) -> None:
    """A one-time schedule at a local time that is shown twice fires at the first pass."""
    assert fires(f"at({wall})", "2025-01-01T00:00", zone=zone) == [expected]


def test_nothing_fires_after_the_year_9999() -> None:
    """What lies beyond the last year of the calendar never fires."""
    assert fires("at(9999-12-31T23:59:59)", "2025-01-01T00:00", zone=LOS_ANGELES) == []
    assert fires(f"rate({'9' * 200} days)", "2025-01-01T00:00") == []


def test_rate_without_a_start_fires_at_the_anchor_at_once() -> None:
    """Without a start, a rate begins immediately, then keeps to anchor + k intervals."""
    rate, anchor = parse_expression("rate(5 minutes)"), utc_ms("2025-06-01T12:00") + 17

    found = upcoming(rate, zone="UTC", anchor=anchor, after=anchor - 1, count=3)

    assert found == [anchor, anchor + 5 * MINUTE_MS, anchor + 10 * MINUTE_MS]
    assert next_fire(rate, zone="UTC", anchor=anchor, after=anchor + 7 * MINUTE_MS) == anchor + 10 * MINUTE_MS


def test_rate_with_a_start_counts_from_the_start() -> None:
    """With a start, the first occurrence is at the start, and the anchor plays no part."""
    rate, start = parse_expression("rate(2 hours)"), utc_ms("2025-06-02T00:00")

    found = upcoming(rate, zone="UTC", anchor=start - DAY_MS + 1, after=start - DAY_MS, start=start, count=2)

    assert found == [start, start + 2 * HOUR_MS]


def test_rate_of_days_takes_no_notice_of_daylight_saving() -> None:
    """A rate in days is exactly 24 hours of elapsed time.

    Source: https://docs.aws.amazon.com/scheduler/latest/UserGuide/schedule-types.html
    """
    rate, anchor = parse_expression("rate(1 days)"), utc_ms("2025-03-08T20:00")

    found = upcoming(rate, zone=LOS_ANGELES, anchor=anchor, after=anchor, count=2)

    assert found == [anchor + DAY_MS, anchor + 2 * DAY_MS]


@pytest.mark.parametrize(
    "zone",
    [
        "",
        "Mars/Olympus",
        "america/new_york",
        "America",
        "../etc/passwd",
        "/etc/localtime",
        "UTC ",
        "localtime",
        "posixrules",
        "right/UTC",
        "posix/UTC",
        "zone.tab",
        "Europe/../Europe/London",
        "\0",
        "x" * 1000,
        "Europe" + "/a" * 2_000,
    ],
)
@pytest.mark.parametrize("text", ["at(2025-06-01T12:00:00)", "rate(1 day)", "cron(0 9 * * ? *)"])
def test_unknown_zone_is_refused_for_every_kind(text: str, zone: str) -> None:
    """The zone must be an IANA name, even where it makes no difference."""
    with pytest.raises(InvalidTimezone) as refusal:
        next_fire(parse_expression(text), zone=zone, anchor=0, after=0)

    assert refusal.value.zone == zone


@pytest.mark.parametrize("zone", ["UTC", LONDON, "America/Argentina/Buenos_Aires", "Etc/GMT+5"])
def test_iana_zone_is_found(zone: str) -> None:
    """IANA names are zones."""
    assert find_zone(zone).key == zone
