"""The functions of `stats`: each takes the rows of a group one by one, and gives a value at the end.

Values that a function cannot work with are passed over; a group without any value has none.
Source: https://docs.aws.amazon.com/AmazonCloudWatch/latest/logs/CWL_QuerySyntax-Stats.html
"""

from __future__ import annotations

import hashlib
import heapq
import math
from abc import ABC, abstractmethod
from array import array
from collections.abc import Callable, Mapping
from typing import NamedTuple

from redrive.languages.insights.rows import Getter, Row
from redrive.languages.insights.values import SortsBefore, Value, number, order, text

EXACT_MAX = 20_000
"""How many different values `count_distinct` counts exactly; more are estimated, to about 1 %."""

_HASH_BYTES = 8


class Aggregate(ABC):
    """What is known of a group so far."""

    __slots__ = ()

    @abstractmethod
    def add(self, row: Row) -> None:
        """Take a row."""

    @abstractmethod
    def result(self) -> Value:
        """The value of the group."""


class _Count(Aggregate):
    __slots__ = ("_count", "_of")

    def __init__(self, of: Getter | None) -> None:
        self._of = of
        self._count = 0

    def add(self, row: Row) -> None:
        if self._of is None or self._of(row) is not None:
            self._count += 1

    def result(self) -> Value:
        return self._count


class _Distinct(Aggregate):
    """Counts exactly while there are few; then keeps the smallest hashes, whose largest tells how dense all are."""

    __slots__ = ("_heap", "_of", "_seen")

    def __init__(self, of: Getter) -> None:
        self._of = of
        self._seen: set[int] = set()
        self._heap: list[int] = []

    def add(self, row: Row) -> None:
        value = self._of(row)
        if value is None:
            return
        digest = hashlib.blake2b(text(value).encode("utf-8", "surrogatepass"), digest_size=_HASH_BYTES).digest()
        hashed = int.from_bytes(digest, "big")
        if hashed in self._seen:
            return
        if len(self._heap) < EXACT_MAX:
            self._seen.add(hashed)
            heapq.heappush(self._heap, -hashed)
        elif hashed < -self._heap[0]:
            self._seen.discard(-heapq.heapreplace(self._heap, -hashed))
            self._seen.add(hashed)

    def result(self) -> Value:
        if len(self._heap) < EXACT_MAX:
            return len(self._heap)
        estimated: int = round((EXACT_MAX - 1) * 2 ** (8 * _HASH_BYTES) / -self._heap[0])
        return estimated


class _Sum(Aggregate):
    """The sum, and the average."""

    __slots__ = ("_count", "_is_average", "_of", "_sum")

    def __init__(self, of: Getter, *, is_average: bool) -> None:
        self._of = of
        self._is_average = is_average
        self._sum: float = 0
        self._count = 0

    def add(self, row: Row) -> None:
        value = self._of(row)
        if type(value) is not int:
            value = number(value)
            if value is None:
                return
        self._sum += value
        self._count += 1

    def result(self) -> Value:
        if not self._count:
            return None
        return self._sum / self._count if self._is_average else self._sum


class _Extreme(Aggregate):
    """The least or the greatest: `min` and `max` by value, `sortsFirst` and `sortsLast` by the order of `sort`."""

    __slots__ = ("_is_greatest", "_key", "_of", "_value")

    def __init__(self, of: Getter, *, is_greatest: bool) -> None:
        self._of = of
        self._is_greatest = is_greatest
        self._value: Value = None
        self._key: SortsBefore | None = None

    def add(self, row: Row) -> None:
        value = self._of(row)
        if value is None:
            return
        key = order(value)
        if self._key is None or (key > self._key if self._is_greatest else key < self._key):
            self._value, self._key = value, key

    def result(self) -> Value:
        found = number(self._value)
        return self._value if found is None else found


class _Percentile(Aggregate):
    """The value that so many percent of the values do not exceed: the nearest rank."""

    __slots__ = ("_of", "_percent", "_values")

    def __init__(self, of: Getter, percent: float) -> None:
        self._of = of
        self._percent = percent
        self._values = array("d")

    def add(self, row: Row) -> None:
        value = number(self._of(row))
        if value is not None:
            self._values.append(value)

    def result(self) -> Value:
        if not self._values:
            return None
        rank = max(1, math.ceil(self._percent / 100 * len(self._values)))
        return sorted(self._values)[min(rank, len(self._values)) - 1]


class _Deviation(Aggregate):
    """The standard deviation of all values, by Welford's method."""

    __slots__ = ("_count", "_mean", "_of", "_squares")

    def __init__(self, of: Getter) -> None:
        self._of = of
        self._count = 0
        self._mean = self._squares = 0.0

    def add(self, row: Row) -> None:
        value = number(self._of(row))
        if value is None:
            return
        self._count += 1
        distance = value - self._mean
        self._mean += distance / self._count
        self._squares += distance * (value - self._mean)

    def result(self) -> Value:
        return math.sqrt(self._squares / self._count) if self._count else None


class _ByTime(Aggregate):
    """The value of the earliest or the latest event that has one."""

    __slots__ = ("_at", "_is_latest", "_of", "_value")

    def __init__(self, of: Getter, *, is_latest: bool) -> None:
        self._of = of
        self._is_latest = is_latest
        self._at: int | None = None
        self._value: Value = None

    def add(self, row: Row) -> None:
        value = self._of(row)
        if value is None:
            return
        at = row.event.at
        # Events come newest first, so among events of one instant the first is the latest.
        if self._at is None or (at > self._at if self._is_latest else at <= self._at):
            self._at, self._value = at, value

    def result(self) -> Value:
        return self._value


class AggregateFunction(NamedTuple):
    """How many arguments a function takes at least and at most, and how to begin it: with getters and a number."""

    least: int
    most: int
    begin: Callable[[Getter | None, float], Aggregate]


def _of(make: Callable[[Getter], Aggregate]) -> Callable[[Getter | None, float], Aggregate]:
    def begin(of: Getter | None, _: float) -> Aggregate:
        assert of is not None
        return make(of)

    return begin


def _percentile(of: Getter | None, percent: float) -> Aggregate:
    assert of is not None
    return _Percentile(of, percent)


AGGREGATES: Mapping[str, AggregateFunction] = {
    "count": AggregateFunction(0, 1, lambda of, _: _Count(of)),
    "count_distinct": AggregateFunction(1, 1, _of(_Distinct)),
    "sum": AggregateFunction(1, 1, _of(lambda of: _Sum(of, is_average=False))),
    "avg": AggregateFunction(1, 1, _of(lambda of: _Sum(of, is_average=True))),
    "min": AggregateFunction(1, 1, _of(lambda of: _Extreme(of, is_greatest=False))),
    "max": AggregateFunction(1, 1, _of(lambda of: _Extreme(of, is_greatest=True))),
    "sortsfirst": AggregateFunction(1, 1, _of(lambda of: _Extreme(of, is_greatest=False))),
    "sortslast": AggregateFunction(1, 1, _of(lambda of: _Extreme(of, is_greatest=True))),
    "pct": AggregateFunction(2, 2, _percentile),
    "stddev": AggregateFunction(1, 1, _of(_Deviation)),
    "earliest": AggregateFunction(1, 1, _of(lambda of: _ByTime(of, is_latest=False))),
    "latest": AggregateFunction(1, 1, _of(lambda of: _ByTime(of, is_latest=True))),
}
