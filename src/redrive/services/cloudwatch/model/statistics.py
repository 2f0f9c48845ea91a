"""Statistics: their syntax, and how to compute them from data points.

Percentiles and related statistics need the values themselves. A percentile is the smallest value that at least this per
cent of the values do not exceed. Bounds in per cent never split a value. See docs/semantics/cloudwatch.md.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

from redrive.store.tables.metrics import STATISTICS, DataPoint

SIMPLE = tuple(STATISTICS)

_NUMBER = r"\d+(?:\.\d{1,10})?"
_PERCENTILE = re.compile(rf"(p|tm|wm|tc|ts)({_NUMBER})")
_BETWEEN = re.compile(rf"(TM|WM|TC|TS|PR)\((?:(-?{_NUMBER})(%?))?:(?:(-?{_NUMBER})(%?))?\)")
_KINDS = {"p": "percentile", "tm": "mean", "wm": "winsorized", "tc": "count", "ts": "sum", "pr": "rank"}


@dataclass(frozen=True, slots=True)
class Statistic:
    """A statistic. `low` and `high` are its bounds: per cent of the values if `in_percent`, otherwise values.

    The lower bound is exclusive, the upper bound inclusive.
    """

    kind: str
    low: float = -math.inf
    high: float = math.inf
    in_percent: bool = False


def parse_statistic(text: str) -> Statistic | None:
    """Parse a statistic: `Average`, `p99.9`, `tm90`, `TM(10%:90%)`, `PR(:300)`, `IQM`; None if it is invalid.

    Source: https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/Statistics-definitions.html
    """
    if text in SIMPLE:
        return Statistic(text)
    if text == "IQM":
        return Statistic("mean", 25, 75, in_percent=True)
    if match := _PERCENTILE.fullmatch(text):
        high = float(match[2])
        return Statistic(_KINDS[match[1]], 0, high, in_percent=True) if high <= 100 else None
    match = _BETWEEN.fullmatch(text)
    if match is None or (match[2] is None and match[4] is None):
        return None
    return _between(_KINDS[match[1].lower()], match)


def _between(kind: str, match: re.Match[str]) -> Statistic | None:
    signs = {sign for number, sign in ((match[2], match[3]), (match[4], match[5])) if number is not None}
    if len(signs) > 1:
        return None
    in_percent = signs == {"%"}
    floor, ceiling = (0.0, 100.0) if in_percent else (-math.inf, math.inf)
    low = floor if match[2] is None else float(match[2])
    high = ceiling if match[4] is None else float(match[4])
    if low >= high or (in_percent and (kind == "rank" or low < 0 or high > 100)):
        return None
    return Statistic(kind, low, high, in_percent)


def merged(points: Sequence[DataPoint]) -> DataPoint:
    """Merge points into one, with the first point's time."""
    return reduce(_both, points)


def _both(one: DataPoint, other: DataPoint) -> DataPoint:
    samples: dict[float, float] | None = None
    if one.samples is not None and other.samples is not None:
        samples = dict(one.samples)
        for value, times in other.samples.items():
            samples[value] = samples.get(value, 0) + times
    return DataPoint(
        one.minute, one.sum + other.sum, one.count + other.count, min(one.min, other.min), max(one.max, other.max),
        samples,
    )  # fmt: skip


def value_of(statistic: Statistic, point: DataPoint) -> float | None:
    """Compute a statistic of a point; None if it needs values and these are unknown or some are negative.

    Source: https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_GetMetricStatistics.html
    """
    match statistic.kind:
        case "SampleCount":
            return point.count
        case "Average":
            return point.sum / point.count
        case "Sum":
            return point.sum
        case "Minimum":
            return point.min
        case "Maximum":
            return point.max
    if point.samples is None or point.min < 0:
        return None
    return _of_samples(statistic, _Samples(point.samples))


class _Samples:
    """Sorted values, each with its number of occurrences."""

    def __init__(self, samples: Mapping[float, float]) -> None:
        self.pairs = sorted(samples.items())
        self.count = sum(times for _, times in self.pairs)

    def percentile(self, percent: float) -> float:
        """Return the smallest value that at least `percent` per cent of the values do not exceed."""
        rank = _exact(self.count * percent / 100)
        seen = 0.0
        for value, times in self.pairs:
            seen += times
            if seen >= rank:
                return value
        return self.pairs[-1][0]

    def between(self, statistic: Statistic) -> list[tuple[float, float]]:
        """Return the values within the bounds of a statistic."""
        if not statistic.in_percent:
            return [(value, times) for value, times in self.pairs if statistic.low < value <= statistic.high]
        first = math.floor(_exact(self.count * statistic.low / 100))
        last = math.ceil(_exact(self.count * statistic.high / 100))
        kept = []
        seen = 0.0
        for value, times in self.pairs:
            within = min(seen + times, last) - max(seen, first)
            if within > 0:
                kept.append((value, within))
            seen += times
        return kept


def _of_samples(statistic: Statistic, samples: _Samples) -> float | None:
    if statistic.kind == "percentile":
        return samples.percentile(statistic.high)
    if statistic.kind == "winsorized":
        low, high = statistic.low, statistic.high
        if statistic.in_percent:
            low, high = samples.percentile(low), samples.percentile(high)
        return sum(min(max(value, low), high) * times for value, times in samples.pairs) / samples.count
    kept = samples.between(statistic)
    count = sum(times for _, times in kept)
    total = sum(value * times for value, times in kept)
    match statistic.kind:
        case "count":
            return count
        case "sum":
            return total
        case "rank":
            return 100 * count / samples.count
        case _:
            return total / count if count else None


def _exact(rank: float) -> float:
    """Round floating-point errors away: 70 per cent of 10 is 7, not 7.000000000000001."""
    return round(rank, 9)
