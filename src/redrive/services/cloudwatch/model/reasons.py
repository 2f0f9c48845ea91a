"""The reasons for an alarm's state: a sentence, and the same as JSON.

Sources: https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/cloudwatch-and-eventbridge.html (examples)
"""

from __future__ import annotations

from collections.abc import Sequence

from redrive.core.clock import Instant
from redrive.core.documents import Document, dump_json
from redrive.services.cloudwatch.model.alarm import StateValue
from redrive.services.cloudwatch.model.evaluated import Evaluated, Point, TreatMissing
from redrive.services.cloudwatch.model.numbers import long_time, number_text, short_time

REASON_LENGTH_MAX = 1_023
REASON_DATA_LENGTH_MAX = 4_000
POINTS_TOLD_MAX = 10
"""How many points a reason names, newest first: AWS limits the length."""
POINTS_SHOWN_MAX = 30
"""How many points the data of a reason have."""

OPERATORS = {
    "GreaterThanThreshold": "greater than",
    "GreaterThanOrEqualToThreshold": "greater than or equal to",
    "LessThanThreshold": "less than",
    "LessThanOrEqualToThreshold": "less than or equal to",
}
"""The comparisons with a threshold, in the words of the reasons."""
_TREATED = {TreatMissing.BREACHING: "Breaching", TreatMissing.NOT_BREACHING: "NonBreaching"}


def reason_of(
    evaluated: Evaluated, value: StateValue, *, operator: str, threshold: float, periods: int, to_alarm: int,
    treat: TreatMissing,
) -> str:  # fmt: skip
    """Return the sentence that says why an evaluation came to a state."""
    if value is StateValue.INSUFFICIENT_DATA:
        return f"Insufficient Data: {_count(periods, 'datapoint')} {_was(periods)} unknown."
    filled = evaluated.filled if treat in _TREATED else 0
    if not evaluated.points:
        return (
            f"Threshold Crossed: no datapoints were received for {_count(periods, 'period')} and "
            f"{_treated(filled, treat)}."
        )
    is_alarm = value is StateValue.ALARM
    told = [point for point in evaluated.points if point.is_breaching is is_alarm]
    crossed = f"{OPERATORS[operator]} the threshold ({number_text(threshold)})"
    said = f"{_was(len(told))}{'' if is_alarm else ' not'} {crossed}"
    listed = f"{len(told)} out of the last {_count(len(evaluated.points), 'datapoint', always='datapoints')}"
    sentence = f"Threshold Crossed: {listed} {_list(told)} {said}" if told else f"Threshold Crossed: {listed} {said}"
    if filled:
        sentence += f" and {_treated(filled, treat)}"
    return f"{sentence} (minimum {_minimum(is_alarm, periods, to_alarm)} transition)."[:REASON_LENGTH_MAX]


def reason_data(
    evaluated: Evaluated, *, now: Instant, start: Instant, statistic: str | None, unit: str | None,
    period_s: int, threshold: float,
) -> str:  # fmt: skip
    """Return the JSON text of a state's reason. `start`: where the evaluated periods begin."""
    shown = evaluated.points[-POINTS_SHOWN_MAX:]
    document: Document = {
        "version": "1.0", "queryDate": long_time(now),
        "startDate": long_time(shown[0].at if shown else start),
    }  # fmt: skip
    if unit is not None:
        document["unit"] = unit
    if statistic is not None:
        document["statistic"] = statistic
    document |= {
        "period": period_s,
        "recentDatapoints": [point.value for point in shown],
        "threshold": threshold,
        "evaluatedDatapoints": [_shown(point) for point in reversed(shown)],
    }
    while len(text := dump_json(document)) > REASON_DATA_LENGTH_MAX:
        document["evaluatedDatapoints"].pop()
    return text


def _shown(point: Point) -> Document:
    document: Document = {"timestamp": long_time(point.at)}
    if point.samples is not None:
        document["sampleCount"] = point.samples
    return {**document, "value": point.value}


def _list(points: Sequence[Point]) -> str:
    newest = [f"{number_text(point.value)} ({short_time(point.at)})" for point in reversed(points)]
    left_out = ", ..." if len(newest) > POINTS_TOLD_MAX else ""
    return f"[{', '.join(newest[:POINTS_TOLD_MAX])}{left_out}]"


def _minimum(is_alarm: bool, periods: int, to_alarm: int) -> str:
    if is_alarm:
        return f"{_count(to_alarm, 'datapoint')} for OK -> ALARM"
    return f"{_count(periods - to_alarm + 1, 'datapoint')} for ALARM -> OK"


def _treated(filled: int, treat: TreatMissing) -> str:
    return f"{_count(filled, 'missing datapoint')} {_was(filled)} treated as [{_TREATED[treat]}]"


def _count(number: int, noun: str, *, always: str | None = None) -> str:
    return f"{number} {always or (noun if number == 1 else noun + 's')}"


def _was(number: int) -> str:
    return "was" if number == 1 else "were"
