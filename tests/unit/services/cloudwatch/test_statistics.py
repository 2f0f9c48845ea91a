"""Statistics of values, against plain lists.

Source: https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/Statistics-definitions.html
"""

from __future__ import annotations

import math
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from redrive.services.cloudwatch.model.statistics import Statistic, merged, parse_statistic, value_of
from redrive.store.tables.metrics import DataPoint

TEN = [float(value) for value in range(1, 11)]

values = st.lists(st.integers(0, 50).map(float), min_size=1, max_size=30)
percents = st.integers(0, 100)
quickly = settings(max_examples=150, database=None, deadline=None, derandomize=True)


def point(samples: list[float]) -> DataPoint:
    return DataPoint(0, sum(samples), len(samples), min(samples), max(samples), Counter(samples))


def told(text: str, samples: list[float]) -> float | None:
    statistic = parse_statistic(text)
    assert statistic is not None
    return value_of(statistic, point(samples))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SampleCount", 10),
        ("Average", 5.5),
        ("Sum", 55),
        ("Minimum", 1),
        ("Maximum", 10),
        ("p0", 1),
        ("p10", 1),
        ("p10.5", 2),
        ("p50", 5),
        ("p70", 7),
        ("p100", 10),
        ("tm90", 5),
        ("TM(10%:90%)", 5.5),
        ("TM(:50%)", 3),
        ("TM(50%:)", 8),
        ("TM(2:4)", 3.5),
        ("TM(8:)", 9.5),
        ("TM(20:30)", None),
        ("IQM", 5.5),
        ("TC(10%:90%)", 8),
        ("tc90", 9),
        ("TC(2:4)", 2),
        ("TS(2:4)", 7),
        ("ts50", 15),
        ("wm90", 5.4),
        ("WM(3:8)", 5.5),
        ("PR(:3)", 30),
        ("PR(3:5)", 20),
        ("PR(9:)", 10),
    ],
)
def test_statistic_of_one_to_ten(text: str, expected: float | None) -> None:
    """Lower bounds exclude, upper bounds include."""
    shown = told(text, TEN)

    assert shown == (expected if expected is None else pytest.approx(expected))


@pytest.mark.parametrize(
    "text",
    [
        "", "sum", "p", "p101", "p-1", "P50", "p5.12345678901", "tm", "tm101", "TM()", "TM(:)", "TM(10%:90)",
        "TM(90%:10%)",        "TM(5:5)", "TM(0%:101%)", "PR(10%:90%)", "PR 5", "IQM(1:2)", "xx50", "TM90",
    ],
)  # fmt: skip
def test_text_that_is_no_statistic_is_seen(text: str) -> None:
    assert parse_statistic(text) is None


@quickly
@given(samples=values, percent=percents)
def test_percentile_is_the_smallest_value_that_covers_its_share(samples: list[float], percent: int) -> None:
    ordered = sorted(samples)

    assert told(f"p{percent}", samples) == ordered[max(0, math.ceil(percent * len(ordered) / 100) - 1)]


@quickly
@given(samples=values, low=percents, high=percents)
def test_trimmed_statistics_are_those_of_the_values_in_between(samples: list[float], low: int, high: int) -> None:
    low, high = sorted((low, high))
    ordered = sorted(samples)
    kept = ordered[low * len(ordered) // 100 : -(-high * len(ordered) // 100)]
    statistics = [Statistic(kind, low, high, in_percent=True) for kind in ("count", "sum", "mean")]

    count, total, mean = (value_of(statistic, point(samples)) for statistic in statistics)

    assert (count, total) == (len(kept), sum(kept))
    assert mean == (pytest.approx(sum(kept) / len(kept)) if kept else None)


@quickly
@given(parts=st.lists(values, min_size=1, max_size=4), percent=percents)
def test_points_together_say_what_all_their_values_say(parts: list[list[float]], percent: int) -> None:
    everything = [value for part in parts for value in part]

    together = merged([point(part) for part in parts])

    assert together == point(everything)
    for text in ("Average", f"p{percent}", "IQM"):
        statistic = parse_statistic(text)
        assert statistic is not None
        assert value_of(statistic, together) == pytest.approx(told(text, everything))
