"""The time range of a query, and its periods."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from redrive.core.clock import HOUR_MS, MINUTE_MS, SECOND_MS, Instant
from redrive.services.cloudwatch import limits
from redrive.store.tables.metrics import DataPoint


@dataclass(frozen=True, slots=True)
class Window:
    """A time range with exclusive `end`; periods count from `start`. Data from before `visible_from` is not shown."""

    start: Instant
    end: Instant
    period_s: int
    visible_from: Instant

    @property
    def period_ms(self) -> int:
        """The length of a period."""
        return self.period_s * SECOND_MS

    @property
    def periods(self) -> range:
        """The start of each period."""
        return range(self.start, self.end, self.period_ms)

    def begin_of(self, at: Instant) -> Instant:
        """Return the start of the period that contains an instant."""
        return at - (at - self.start) % self.period_ms

    def groups(self, points: Iterable[DataPoint]) -> Iterator[tuple[Instant, list[DataPoint]]]:
        """Group points by period, in order."""
        found: dict[Instant, list[DataPoint]] = {}
        for point in points:
            found.setdefault(self.begin_of(point.minute), []).append(point)
        yield from sorted(found.items())


def is_period(period_s: int) -> bool:
    """Whether this period is valid for data points."""
    return period_s % 60 == 0 or period_s in limits.HIGH_RESOLUTION_PERIODS_S


def window(start: Instant, end: Instant, period_s: int, now: Instant, *, is_aligned: bool = True) -> Window:
    """Return the time range of a query. AWS rounds the start down, more coarsely for older data.

    Data with periods under a minute is visible for three hours; the longer a period, the longer its data is kept. An
    alarm's range is not rounded (`is_aligned`).
    Source: https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_GetMetricData.html
    """
    is_high_resolution = period_s in limits.HIGH_RESOLUTION_PERIODS_S
    if not is_aligned:
        step_ms = 1
    elif is_high_resolution:
        step_ms = period_s * SECOND_MS
    elif start >= now - limits.MINUTES_AGE_MS_MAX:
        step_ms = MINUTE_MS
    elif start >= now - limits.FIVE_MINUTES_AGE_MS_MAX:
        step_ms = 5 * MINUTE_MS
    else:
        step_ms = HOUR_MS
    return Window(start - start % step_ms, end, period_s, now - _age_ms_max(period_s))


def _age_ms_max(period_s: int) -> int:
    """For how long data of this period is kept."""
    if period_s in limits.HIGH_RESOLUTION_PERIODS_S:
        return limits.HIGH_RESOLUTION_AGE_MS_MAX
    if period_s % 3_600 == 0:
        return limits.HOURS_AGE_MS_MAX
    return limits.FIVE_MINUTES_AGE_MS_MAX if period_s % 300 == 0 else limits.MINUTES_AGE_MS_MAX
