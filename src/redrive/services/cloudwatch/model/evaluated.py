"""What an alarm makes of its data points: AWS's documented algorithm for missing data, as a pure rule.

The points of an evaluation range are more than the N that are evaluated, so that a few missing points change nothing:

    0 - X - X    N = 3, range 5: three real points are there, 0 X X are evaluated, nothing is filled in
    - - X - -    N = 3: one real point; two are filled in, as TreatMissingData says

Source: https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/alarms-and-missing-data.html
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass

from redrive.core.clock import Instant
from redrive.services.cloudwatch.model.alarm import StateValue

RANGE_BEYOND = 2
"""By how many periods the evaluation range is longer than N. AWS's examples have 5 for N = 3 and tell no rule."""


class TreatMissing(enum.Enum):
    """How an alarm treats missing data points."""

    BREACHING = "breaching"
    NOT_BREACHING = "notBreaching"
    IGNORE = "ignore"
    MISSING = "missing"


@dataclass(frozen=True, slots=True)
class Point:
    """A data point: the start of its period, its value, whether it breaches, and how many samples it has, if known."""

    at: Instant
    value: float
    is_breaching: bool
    samples: float | None = None


@dataclass(frozen=True, slots=True)
class Evaluated:
    """What came of an evaluation. `value` None: the alarm keeps its state.

    `points` are the real points that count, oldest first; `filled` is how many missing points were filled in.
    """

    value: StateValue | None
    points: tuple[Point, ...]
    filled: int = 0

    @property
    def breaching(self) -> list[Point]:
        """The real points that breach, oldest first."""
        return [point for point in self.points if point.is_breaching]


def evaluate(
    points: Sequence[Point | None], *, periods: int, to_alarm: int, treat: TreatMissing
) -> Evaluated:  # fmt: skip
    """Decide from the points of an evaluation range, oldest first, None where one is missing.

    `periods` is N, `to_alarm` is M.
    """
    real = [point for point in points if point is not None]
    used = tuple(real[-periods:])
    filled = periods - len(used)
    breaching = sum(point.is_breaching for point in used)
    if filled:
        match treat:
            case TreatMissing.BREACHING:
                breaching += filled
            case TreatMissing.NOT_BREACHING:
                pass
            case _:
                return Evaluated(_without_filling(points, used, breaching, to_alarm, treat), used, filled)
    return Evaluated(StateValue.ALARM if breaching >= to_alarm else StateValue.OK, used, filled)


def _without_filling(
    points: Sequence[Point | None], used: Sequence[Point], breaching: int, to_alarm: int, treat: TreatMissing
) -> StateValue | None:
    """The state where missing points stay missing: real points decide, if they can."""
    if breaching >= to_alarm:
        return StateValue.ALARM
    if breaching < len(used):
        return StateValue.OK
    if treat is TreatMissing.IGNORE:
        return None
    if not used:
        return StateValue.INSUFFICIENT_DATA
    return StateValue.ALARM if _is_premature_no_more(points, to_alarm) else None


def _is_premature_no_more(points: Sequence[Point | None], to_alarm: int) -> bool:
    """Whether the oldest breaching point is M periods old, and all newer ones breach or are missing.

    The newest period is one period old: in `- - X - -` the breaching point is three periods old.
    """
    ages = [len(points) - place for place, point in enumerate(points) if point is not None]
    return max(ages) >= to_alarm
