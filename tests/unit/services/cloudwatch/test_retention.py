"""How long data points are kept: by the second 3 hours, by the minute 15 days, by 5 minutes 63, by the hour 455.

Source: https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/cloudwatch_concepts.html
"""

from __future__ import annotations

from typing import Any

from tests.unit.services.cloudwatch.conftest import Desk

DAY = 24 * 60


def _rows(desk: Desk) -> list[tuple[int, float]]:
    """The stored points: their minutes, and how many samples each has."""
    found = desk.world.store.rows(["metrics"])[0]
    return sorted(((row[5] - desk.start) // 1_000, row[7]) for row in found)


def _sums(desk: Desk, period: int, *, end: int = 120) -> list[float]:
    metric = {"Namespace": "App", "MetricName": "m"}
    query: Any = {"Id": "m", "MetricStat": {"Metric": metric, "Period": period, "Stat": "Sum"}}
    (result,) = desk.data(query, end=end)
    return list(result["Values"])


def test_points_are_added_up_to_longer_periods_as_they_age(desk: Desk) -> None:
    for second in (0, 30, 61, 62):
        desk.put(minutes=second / 60, Value=1.0, StorageResolution=1)
    desk.put(minutes=7, Value=5.0)
    desk.put(minutes=70, Value=9.0)
    desk.world.advance(hours=2)
    fresh = _rows(desk)
    desk.world.advance(hours=3)
    minutes = _rows(desk)
    desk.world.advance(days=16)
    fives, by_minute, by_five = _rows(desk), _sums(desk, 60), _sums(desk, 300)
    desk.world.advance(days=50)
    hours, hourly = _rows(desk), _sums(desk, 3_600)
    percentile = desk.statistics(end=60, period=3_600, ExtendedStatistics=["p100"])
    desk.world.advance(days=400)

    assert fresh == [(0, 1), (30, 1), (61, 1), (62, 1), (420, 1), (4_200, 1)]
    assert minutes == [(0, 2), (60, 2), (420, 1), (4_200, 1)]
    assert fives == [(0, 4), (300, 1), (4_200, 1)]
    assert (by_minute, by_five) == ([], [4, 5, 9])
    assert hours == [(0, 5), (3_600, 1)]
    assert hourly == [9, 9]
    assert percentile[0]["ExtendedStatistics"] == {"p100": 5.0}
    assert _rows(desk) == []


def test_sweeps_of_a_silent_store_are_few(desk: Desk) -> None:
    """A year with one point: only the instants at which the point ages, and none in between."""
    desk.put(minutes=1, Value=1.0)
    stops: list[int] = []

    desk.world.advance(days=365, moved=stops.append)

    assert len(stops) < 8
