"""What a metric alarm evaluates: its queries, its periods, and the instants at which it looks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from redrive.core.clock import MINUTE_MS, SECOND_MS, Instant
from redrive.core.documents import Document
from redrive.delivery.upkeep.metrics import ALARM_TIMER, HIGH_RESOLUTION_TIMER
from redrive.services.cloudwatch.model.alarm import Alarm
from redrive.services.cloudwatch.model.evaluated import RANGE_BEYOND, Point, TreatMissing
from redrive.services.cloudwatch.model.math import Call, Expression, Listed, Negated, Operation
from redrive.services.cloudwatch.model.metric import Metric
from redrive.services.cloudwatch.model.queries import MetricStat, Query, read_query
from redrive.services.cloudwatch.model.statistics import Statistic, parse_statistic
from redrive.services.cloudwatch.model.time import Window, window

_ALWAYS_IGNORES = "AWS/DynamoDB"
_CALENDAR = frozenset({"DATE", "DAY", "EPOCH", "HOUR", "MINUTE", "MONTH", "YEAR"})
_PERIOD_S_DEFAULT = 60

_COMPARED: Mapping[str, Callable[[float, float], bool]] = {
    "GreaterThanThreshold": lambda value, threshold: value > threshold,
    "GreaterThanOrEqualToThreshold": lambda value, threshold: value >= threshold,
    "LessThanThreshold": lambda value, threshold: value < threshold,
    "LessThanOrEqualToThreshold": lambda value, threshold: value <= threshold,
}


@dataclass(frozen=True, slots=True)
class Plan:
    """How an alarm is evaluated. `watched` is the query whose values meet the threshold.

    `ignores_low_samples`: percentiles of few samples change nothing.
    """

    queries: Sequence[Query]
    watched: Query
    period_s: int
    periods: int
    to_alarm: int
    operator: str
    threshold: float
    treat: TreatMissing
    ignores_low_samples: bool

    @property
    def stats(self) -> list[MetricStat]:
        """The statistics of metrics that the alarm reads."""
        return [query.content for query in self.queries if isinstance(query.content, MetricStat)]

    @property
    def single(self) -> MetricStat | None:
        """The only statistic, for an alarm without metric math."""
        return self.watched.content if isinstance(self.watched.content, MetricStat) else None

    @property
    def timer(self) -> str:
        """The kind of the alarm's timer: alarms with periods under a minute look more often."""
        return HIGH_RESOLUTION_TIMER if self.period_s < _PERIOD_S_DEFAULT else ALARM_TIMER

    @property
    def interval_ms(self) -> int:
        """How often the alarm looks."""
        return MINUTE_MS if self.timer == ALARM_TIMER else 10 * SECOND_MS

    @property
    def tells_time(self) -> bool:
        """Whether the result depends on the time of day, even while no data come."""
        return any(_tells_time(query.content) for query in self.queries if not isinstance(query.content, MetricStat))

    def looked_at(self, now: Instant) -> Instant:
        """The end of the latest period that is over: a full minute, or ten seconds."""
        return now - now % self.interval_ms

    def range_at(self, now: Instant) -> Window:
        """The evaluation range: the periods before the latest full interval, the last one ending there."""
        end = self.looked_at(now)
        length_ms = (self.periods + RANGE_BEYOND) * self.period_s * SECOND_MS
        return window(end - length_ms, end, self.period_s, now, is_aligned=False)

    def breaches(self, value: float) -> bool:
        """Whether a value is beyond the threshold."""
        return _COMPARED[self.operator](value, self.threshold)

    def points(
        self, values: Mapping[Instant, float], asked: Window, counts: Mapping[Instant, float]
    ) -> list[Point | None]:  # fmt: skip
        """The points of the evaluation range, oldest first; None where there is no value."""
        return [
            Point(at, values[at], self.breaches(values[at]), counts.get(at)) if at in values else None
            for at in asked.periods
        ]

    def has_few_samples(self, points: Sequence[Point | None]) -> bool:
        """Whether there are too few samples for the percentile to mean something.

        Source: https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/percentiles-with-low-samples.html
        """
        single = self.single
        if not self.ignores_low_samples or single is None or single.statistic.kind != "percentile":
            return False
        share = single.statistic.high / 100
        # Rounded, because 10 / (1 - 0.9) is more than 100.
        least = round(10 / min(share, 1 - share), 6) if 0 < share < 1 else 0
        samples = [point.samples for point in points[-self.periods :] if point is not None]
        return bool(samples) and sum(one or 0 for one in samples) < least


def plan_of(alarm: Alarm) -> Plan:
    """Return the plan of a metric alarm, whose settings were checked when they came."""
    settings = alarm.settings
    queries = [_query_of(alarm)] if "Metrics" not in settings else [read_query(one) for one in settings["Metrics"]]
    watched = next(query for query in queries if query.is_returned)
    stats = [query.content for query in queries if isinstance(query.content, MetricStat)]
    period_s = max([stat.period_s for stat in stats] or [watched.period_s or _PERIOD_S_DEFAULT])
    periods = int(settings["EvaluationPeriods"])
    treat = TreatMissing(settings.get("TreatMissingData", "missing"))
    if any(stat.metric.namespace == _ALWAYS_IGNORES for stat in stats):
        treat = TreatMissing.IGNORE
    return Plan(
        queries, watched, period_s, periods, int(settings.get("DatapointsToAlarm") or periods),
        str(settings["ComparisonOperator"]), float(settings["Threshold"]), treat,
        settings.get("EvaluateLowSampleCountPercentile") == "ignore",
    )  # fmt: skip


def _query_of(alarm: Alarm) -> Query:
    settings = alarm.settings
    written = str(settings.get("Statistic") or settings["ExtendedStatistic"])
    statistic: Statistic | None = parse_statistic(written)
    assert statistic is not None, f"{alarm.name} was stored with the statistic {written}"
    metric = Metric.of(settings["Namespace"], settings["MetricName"], settings.get("Dimensions"))
    stat = MetricStat(metric, written, statistic, int(settings["Period"]), settings.get("Unit"))
    return Query(alarm.metric_id, stat, None, True, None, None)


def _tells_time(expression: Expression) -> bool:
    match expression:
        case Call(function, arguments):
            return function in _CALENDAR or any(map(_tells_time, arguments))
        case Listed(items):
            return any(map(_tells_time, items))
        case Negated(operand):
            return _tells_time(operand)
        case Operation(_, left, right):
            return _tells_time(left) or _tells_time(right)
        case _:
            return False


def shown_metrics(alarm: Alarm) -> list[Document]:
    """The metrics of an alarm as its events and its payload for functions show them."""
    settings = alarm.settings
    if "Metrics" in settings:
        return [_shown_query(document) for document in settings["Metrics"]]
    stat = {
        "metric": _shown_metric(settings),
        "period": settings["Period"],
        "stat": settings.get("Statistic") or settings["ExtendedStatistic"],
    }
    if settings.get("Unit") is not None:
        stat["unit"] = settings["Unit"]
    return [{"id": alarm.metric_id, "metricStat": stat, "returnData": True}]


def _shown_query(document: Document) -> Document:
    shown: Document = {"id": document["Id"]}
    stat = document.get("MetricStat")
    if stat is not None:
        shown["metricStat"] = {
            "metric": _shown_metric(stat["Metric"]), "period": stat["Period"], "stat": stat["Stat"],
            **({"unit": stat["Unit"]} if stat.get("Unit") is not None else {}),
        }  # fmt: skip
    for member, name in (("Expression", "expression"), ("Label", "label"), ("Period", "period")):
        if document.get(member) is not None:
            shown[name] = document[member]
    return {**shown, "returnData": document.get("ReturnData", True)}


def _shown_metric(document: Document) -> Document:
    dimensions = {one["Name"]: one["Value"] for one in document.get("Dimensions") or ()}
    shown = {"namespace": document["Namespace"], "name": document["MetricName"]}
    return {**shown, "dimensions": dimensions} if dimensions else shown
