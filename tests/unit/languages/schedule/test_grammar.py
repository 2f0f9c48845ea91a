"""Which texts are schedule expressions, and what they say."""

from __future__ import annotations

from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redrive.languages.schedule import At, Cron, InvalidExpression, Rate, parse_expression
from redrive.languages.schedule.days import (
    LastDay,
    LastWeekday,
    MonthDays,
    NearestWorkday,
    NthWeekday,
    Weekdays,
)
from tests.unit.languages.schedule.strategies import crons

RECORDED_ACCEPTED = [
    "cron(0-15/1 8-8 ? * 2,3,4,5,6,7 *)",
    "cron(30-30 13-13 ? * 2,4,6 *)",
    "cron(1-31/30 1-1 ? * 1,7 *)",
    "cron(0 18 ? * MON-FRI *)",
    "cron(*/15 * * * ? *)",
    "cron(0-59/10 0-23/2 ? * * *)",
    "at(2022-12-31T23:59:59)",
    "at(2030-01-01T00:00)",
    "rate(1minute)",
    "RATE(1 minute)",
    "AT(2030-01-01T00:00:00)",
    "CRON(0 9 * * ? *)",
]

RECORDED_REJECTED = [
    "cron(0 1 * * * *)",
    "cron(7 20 * * NOT *)",
    "cron(INVALID)",
    "cron(0 dummy ? * MON-FRI *)",
    "cron(71 8 1 * ? *)",
    "cron()",
    "rate(10 seconds)",
    "rate(10 years)",
    "rate()",
    "rate(10)",
    "rate(10 minutess)",
    "rate(foo minutes)",
    "rate(-10 minutes)",
    "rate( 10 minutes )",
    " rate(10 minutes)",
    "at(2021-12-31T23:59:59Z)",
    "at(2021-12-31)",
]

DOCUMENTED_ACCEPTED = [
    "cron(15 10 ? * 6L 2022-2023)",
    "cron(30 2 * * ? *)",
    "cron(0 9 ? * 3#2 *)",
    "cron(0/30 20-2 ? * MON-FRI *)",
    "cron(0 0 3W * ? *)",
    "cron(0 0 L * ? *)",
    "cron(0 0 ? * L *)",
    "cron(0 12 * JAN,FEB,MAR ? *)",
    "cron(0 10 * * ?)",
    "rate(5 minutes)",
    "rate(1 days)",
    "rate(1 hour)",
    "at(2022-11-20T13:00:00)",
]

JUDGED_ACCEPTED = [
    "cron(0 9 ? jan-Mar mon-FRI *)",
    "cron(0 9 ? * fril *)",
    "cron(0 9 ? * Tue#2 *)",
    "cron(00 09 * * ? *)",
    "cron(0  9\t* * ? *)",
    "cron(0 0 1 NOV-FEB ? *)",
    "cron(0 0 ? * SAT-MON *)",
    "cron(50-10/5 * * * ? *)",
    "cron(0 0 30 2 ? *)",
    "cron(0 0 1 1 ? 1970)",
    "cron(0 0 1 1 ? 2002-2005)",
    "cron(0 0 1 1 ? 2020/4)",
    "cron(0 9 * * ? 1969)",
    "cron(0 9 * * ? 2200)",
    "cron(0 9 * * ? 0-9999)",
    "Cron(0 9 * * ? *)",
    "rate(5 minute)",
    "rate(1 minutes)",
    "rate(5  minutes)",
    "rate(100000 days)",
]

JUDGED_REJECTED = [
    "",
    "rate(5 minutes",
    "rate(5 minutes) ",
    "rate(5 minutes)\n",
    "every(5 minutes)",
    "rate(5 Minutes)",
    "cron(0 9 * * ? 10000)",
    "cron(0 9 * * ? 0-99999999999)",
    "RATE(5 m\u0131nutes)",
    "AT(2022-12-31T23:59:59Z)",
    "rate(0 minutes)",
    "rate(1.5 hours)",
    "rate(+5 minutes)",
    "rate(٥ minutes)",
    "at()",
    "at(2022-02-30T00:00:00)",
    "at(2022-12-31T24:00:00)",
    "at(2022-12-31T23:59:60)",
    "at(2022-12-31 23:59:59)",
    "at(2022-12-31T23:59:59.000)",
    "at(2022-12-31T23:59:59+01:00)",
    "at(0000-01-01T00:00:00)",
    "cron( 0 9 * * ? *)",
    "cron(0 9 * * ? * )",
    "cron(0 9 * *)",
    "cron(0 9 * * ? * *)",
    "cron(0 9 ? * ? *)",
    "cron(0 9 1 * MON *)",
    "cron(0 9 * * MON *)",
    "cron(? 9 * * ? *)",
    "cron(0 9 1,? * ? *)",
    "cron(60 9 * * ? *)",
    "cron(0 24 * * ? *)",
    "cron(0 9 0 * ? *)",
    "cron(0 9 32 * ? *)",
    "cron(0 9 * 0 ? *)",
    "cron(0 9 * 13 ? *)",
    "cron(0 9 ? * 0 *)",
    "cron(0 9 ? * 8 *)",
    "cron(0 9 * * ? 2030-2025)",
    "cron(0 9 20-5 * ? *)",
    "cron(0 9 LW * ? *)",
    "cron(0 9 L-3 * ? *)",
    "cron(0 9 W * ? *)",
    "cron(0 9 32W * ? *)",
    "cron(0 9 1W,15W * ? *)",
    "cron(0 9 1,L * ? *)",
    "cron(0 9 MON * ? *)",
    "cron(0 9 ? * 3#1,6#3 *)",
    "cron(0 9 ? * 3#0 *)",
    "cron(0 9 ? * 3#6 *)",
    "cron(0 9 ? * 8#1 *)",
    "cron(0 9 ? * 8L *)",
    "cron(0 9 ? * MON,6L *)",
    "cron(0 9 ? * 2/2 *)",
    "cron(0 9 ? * \u017fUN *)",
    "cron(*/0 9 * * ? *)",
    "cron(*/60 9 * * ? *)",
    "cron(0 */24 * * ? *)",
    "cron(*-5 9 * * ? *)",
    "cron(5-* 9 * * ? *)",
    "cron(1-2-3 9 * * ? *)",
    "cron(1/2/3 9 * * ? *)",
    "cron(0, 9 * * ? *)",
    "cron(,0 9 * * ? *)",
    "cron(-5 9 * * ? *)",
    "cron(0/ 9 * * ? *)",
    "cron(0 9 * JANUARY ? *)",
    f"rate({'9' * 5000} minutes)",
    f"cron({'0' * 300} 9 * * ? *)",
]


@pytest.mark.parametrize("text", RECORDED_ACCEPTED + DOCUMENTED_ACCEPTED + JUDGED_ACCEPTED)
def test_expression_of_the_language_is_accepted(text: str) -> None:
    """Schedule expressions are at(...), rate(...) and cron(...) as recorded, documented or judged.

    Source: https://docs.aws.amazon.com/scheduler/latest/UserGuide/schedule-types.html
    """
    assert isinstance(parse_expression(text), At | Rate | Cron)


@pytest.mark.parametrize("text", RECORDED_REJECTED + JUDGED_REJECTED)
def test_any_other_text_is_rejected_and_carried_unchanged(text: str) -> None:
    """What is no expression is refused with the text as it was given, blanks included."""
    with pytest.raises(InvalidExpression) as refusal:
        parse_expression(text)

    assert refusal.value.text == text
    assert refusal.value.reason


def test_at_is_a_wall_time_without_a_zone() -> None:
    """at(yyyy-mm-ddThh:mm:ss) is read in the zone of the schedule, to the second."""
    assert parse_expression("at(2025-11-20T13:00:07)") == At(datetime.fromisoformat("2025-11-20T13:00:07"))
    assert parse_expression("AT(2025-11-20T13:00)") == At(datetime.fromisoformat("2025-11-20T13:00:00"))


@pytest.mark.parametrize(
    ("text", "interval_ms"),
    [
        ("rate(1 minute)", 60_000),
        ("rate(5 minutes)", 300_000),
        ("rate(2 hours)", 7_200_000),
        ("rate(1 days)", 86_400_000),
    ],
)
def test_rate_is_elapsed_time(text: str, interval_ms: int) -> None:
    """A rate's unit is minutes, hours or days, and a day is 24 hours."""
    assert parse_expression(text) == Rate(interval_ms)


def test_rate_needs_no_agreement_of_number_and_unit() -> None:
    """Scheduler takes `1 days` and `5 minute`, as its guide does."""
    assert parse_expression("rate(1 days)") == parse_expression("rate(1 day)")
    assert parse_expression("rate(5 minute)") == parse_expression("rate(5 minutes)")


def test_cron_fields_expand_to_their_values() -> None:
    """`a/n` runs to the field's end, `a-b/n` to b, `*` is everything, and values are sorted and unique."""
    cron = parse_expression("cron(50/5 8-12/2,8 ? 12,1-2 * 2195/2)")

    assert cron == Cron(
        minutes=(50, 55),
        hours=(8, 10, 12),
        days=Weekdays((1, 2, 3, 4, 5, 6, 7)),
        months=(1, 2, 12),
        years=(2195, 2197, 2199),
    )


def test_cron_without_a_year_means_every_year() -> None:
    """The year field is optional."""
    assert parse_expression("cron(0 9 * * ?)") == parse_expression("cron(0 9 * * ? *)")


def test_years_that_cron_does_not_know_stand_for_nothing() -> None:
    """A year before 1970 or after 2199 is no error of grammar, and is never reached.

    Source: docs/semantics/schedule-expressions.md
    """
    years = {text: parse_expression(f"cron(0 9 * * ? {text})") for text in ("1969", "2200/2", "1960-1971", "2198-9999")}

    assert {text: cron.years for text, cron in years.items() if isinstance(cron, Cron)} == {
        "1969": (), "2200/2": (), "1960-1971": (1970, 1971), "2198-9999": (2198, 2199),
    }  # fmt: skip


def test_range_over_the_end_of_a_field_wraps() -> None:
    """`20-2` in hours is 20:00 to 02:59, and a step goes on over the end."""
    cron = parse_expression("cron(50-10/5 20-2 ? NOV-FEB SAT-MON *)")

    assert isinstance(cron, Cron)
    assert cron.minutes == (0, 5, 10, 50, 55)
    assert cron.hours == (0, 1, 2, 20, 21, 22, 23)
    assert cron.months == (1, 2, 11, 12)
    assert cron.days == Weekdays((1, 2, 7))


@pytest.mark.parametrize(
    ("fields", "rule"),
    [
        ("1,15 * ?", MonthDays((1, 15))),
        ("L * ?", LastDay()),
        ("15W * ?", NearestWorkday(15)),
        ("? * MON-FRI", Weekdays((2, 3, 4, 5, 6))),
        ("? * L", Weekdays((7,))),
        ("? * 6L", LastWeekday(6)),
        ("? * friL", LastWeekday(6)),
        ("? * 3#2", NthWeekday(3, 2)),
        ("? * TUE#2", NthWeekday(3, 2)),
    ],
)
def test_day_fields_become_one_rule(fields: str, rule: object) -> None:
    """Days are numbered from Sunday = 1; L, W and # stand alone in their field."""
    cron = parse_expression(f"cron(0 9 {fields} *)")

    assert isinstance(cron, Cron)
    assert cron.days == rule


@given(text=crons())
def test_names_are_read_in_any_case(text: str) -> None:
    """Names and letters of a cron mean the same in upper and lower case."""
    inside = text.removeprefix("cron(")

    assert parse_expression("cron(" + inside.lower()) == parse_expression("cron(" + inside.upper())


@given(
    text=st.one_of(
        st.text(max_size=40),
        st.builds("{}({})".format, st.sampled_from(["at", "rate", "cron"]), st.text(max_size=60)),
        st.builds("cron({})".format, st.text("0123456789*?/-,#LWMON ", max_size=40)),
    )
)
def test_every_text_is_either_an_expression_or_invalid(text: str) -> None:
    """No text makes the parser fail in any other way."""
    try:
        expression = parse_expression(text)
    except InvalidExpression as refusal:
        assert refusal.text == text  # noqa: PT017  Both outcomes are right; only others are wrong.
    else:
        assert isinstance(expression, At | Rate | Cron)
