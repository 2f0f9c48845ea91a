"""Crons as hypothesis makes them: every operator of every field, in the text that a user would write."""

from __future__ import annotations

from hypothesis import strategies as st

from tests.unit.languages.schedule.oracle import MONTHS, WEEKDAYS

ZONES = (
    "America/Los_Angeles",
    "Europe/London",
    "Australia/Lord_Howe",
    "Asia/Tokyo",
    "America/Sao_Paulo",
)


@st.composite
def items(draw: st.DrawFn, low: int, high: int, *, wraps: bool = True, steps: bool = True) -> str:
    """One item of a list: a value, a range (perhaps over the end), all values; perhaps with a step."""
    first, last = draw(st.integers(low, high)), draw(st.integers(low, high))
    if not wraps:
        first, last = sorted((first, last))
    span = draw(st.sampled_from([f"{first}", f"{first}-{last}", "*"]))
    step = draw(st.sampled_from(["", f"/{draw(st.integers(1, high))}"])) if steps else ""
    return span + step


def values(low: int, high: int, *, wraps: bool = True, steps: bool = True) -> st.SearchStrategy[str]:
    return st.lists(items(low, high, wraps=wraps, steps=steps), min_size=1, max_size=3).map(",".join)


MINUTES = st.one_of(st.just("*"), st.just("*/15"), values(0, 59))
HOURS = st.one_of(st.just("*"), st.just("1"), st.just("2"), values(0, 23))
MONTH_FIELDS = st.one_of(st.just("*"), values(1, 12), st.sampled_from(MONTHS[1:]), st.just("nov-Mar"))
MONTH_DAYS = st.one_of(
    st.just("*"),
    st.just("L"),
    st.integers(1, 31).map("{}W".format),
    values(1, 31, wraps=False),
)
WEEKDAY_FIELDS = st.one_of(
    st.just("*"),
    st.just("L"),
    st.integers(1, 7).map("{}L".format),
    st.sampled_from(WEEKDAYS[1:]).map("{}l".format),
    st.builds("{}#{}".format, st.integers(1, 7), st.integers(1, 5)),
    st.just("mon-FRI"),
    st.just("SAT-TUE"),
    values(1, 7, steps=False),
)
DAY_FIELDS = st.one_of(
    st.tuples(MONTH_DAYS, MONTH_FIELDS, st.just("?")),
    st.tuples(st.just("?"), MONTH_FIELDS, WEEKDAY_FIELDS),
)
YEARS = st.one_of(st.just(""), st.just(" *"), st.just(" 2016-2032"), st.just(" 2015/2"))


@st.composite
def crons(draw: st.DrawFn, minutes: st.SearchStrategy[str] = MINUTES, hours: st.SearchStrategy[str] = HOURS) -> str:
    month_days, months, weekdays = draw(DAY_FIELDS)
    return f"cron({draw(minutes)} {draw(hours)} {month_days} {months} {weekdays}{draw(YEARS)})"
