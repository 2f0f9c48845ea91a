"""Check the parameters of PutMetricAlarm and PutCompositeAlarm, and make settings of them.

Source: https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_PutMetricAlarm.html
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence

from redrive.core.documents import Document
from redrive.core.errors import ServiceError
from redrive.services.cloudwatch import limits
from redrive.services.cloudwatch.model.evaluated import TreatMissing
from redrive.services.cloudwatch.model.evaluation import Allowance, Evaluation
from redrive.services.cloudwatch.model.metric import invalid_value, validation_error
from redrive.services.cloudwatch.model.queries import MetricStat, read_queries
from redrive.services.cloudwatch.model.reasons import OPERATORS
from redrive.services.cloudwatch.model.statistics import SIMPLE, parse_statistic
from redrive.services.cloudwatch.model.time import Window
from redrive.services.cloudwatch.model.values import TimeSeries

_OF_ONE_METRIC = ("MetricName", "Namespace", "Statistic", "ExtendedStatistic", "Dimensions", "Period", "Unit")
_ARN = re.compile(r"arn:[\w-]+:[\w.-]+:[\w-]*:[\w-]*:\S.*", re.ASCII)
_BAND = re.compile(r"\bANOMALY_DETECTION_BAND\b")
_INSIGHTS = re.compile(r"\s*SELECT\s", re.IGNORECASE)
_LOW_SAMPLES = ("evaluate", "ignore")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")

_UNSERVED = {
    "ThresholdMetricId": "alarms on anomaly detection models",
    "EvaluationCriteria": "alarms on PromQL queries",
    "EvaluationInterval": "alarms on PromQL queries",
    "ActionConfiguration": "tags in notifications",
}


def metric_settings(params: Mapping[str, object]) -> Document:
    """The settings of a metric alarm from a request's members. Errors: ValidationError."""
    given: Document = {key: value for key, value in params.items() if value is not None}
    _check_served(given)
    _check_actions(given)
    if given.get("ComparisonOperator") not in OPERATORS or "Threshold" not in given:
        raise validation_error(
            "The parameters ComparisonOperator and Threshold are required for an alarm with a static threshold."
        )
    if not math.isfinite(given["Threshold"]):
        raise validation_error(invalid_value(given["Threshold"], "Threshold"))
    if "EvaluationPeriods" not in given:
        raise validation_error("The parameter EvaluationPeriods is required.")
    if given.get("DatapointsToAlarm", 1) > given["EvaluationPeriods"]:
        raise validation_error("The parameter DatapointsToAlarm must be less than or equal to EvaluationPeriods.")
    _check_option(given, "TreatMissingData", [one.value for one in TreatMissing])
    _check_option(given, "EvaluateLowSampleCountPercentile", _LOW_SAMPLES)
    if ("Metrics" in given) == ("MetricName" in given):
        raise validation_error("Exactly one of the parameters MetricName and Metrics must be specified.")
    period_s = _check_math(given) if "Metrics" in given else _check_metric(given)
    _check_length(period_s, given["EvaluationPeriods"])
    return {"ActionsEnabled": True, **given}


def composite_settings(params: Mapping[str, object]) -> Document:
    """The settings of a composite alarm from a request's members, except its rule. Errors: ValidationError."""
    given: Document = {key: value for key, value in params.items() if value is not None}
    _check_served(given)
    _check_actions(given)
    periods = ("ActionsSuppressorWaitPeriod", "ActionsSuppressorExtensionPeriod")
    missing = [name for name in periods if name not in given]
    if "ActionsSuppressor" in given and missing:
        raise validation_error(f"The parameter {missing[0]} is required with ActionsSuppressor.")
    if "ActionsSuppressor" not in given and len(missing) < len(periods):
        raise validation_error("The periods of an actions suppressor require the parameter ActionsSuppressor.")
    if any(given.get(name, 0) < 0 for name in periods):
        raise validation_error("The periods of an actions suppressor must not be negative.")
    return {"ActionsEnabled": True, **given}


def check_name(name: str) -> None:
    """Refuse a name with control characters. Errors: ValidationError."""
    if _CONTROL.search(name):
        raise validation_error(f"The alarm name {name!r} contains control characters.")


def read_alarm_tags(tags: Sequence[Mapping[str, str]] | None) -> dict[str, str]:
    """The tags of a request. Errors: InvalidParameterValue (a repeated key, or one that is AWS's; too many)."""
    given = {str(tag["Key"]): str(tag["Value"]) for tag in tags or ()}
    if len(given) < len(tags or ()):
        raise ServiceError("InvalidParameterValueException", "Tag keys must be unique.")
    if any(key.lower().startswith("aws:") for key in given):
        raise ServiceError("InvalidParameterValueException", "Tag keys must not begin with aws:.")
    if len(given) > limits.ALARM_TAGS_MAX:
        raise ServiceError(
            "InvalidParameterValueException", f"A resource must not have more than {limits.ALARM_TAGS_MAX} tags."
        )
    return given


def _check_served(given: Document) -> None:
    for member, what in _UNSERVED.items():
        if member in given:
            raise validation_error(f"redrive has no {what} ({member}); see docs/semantics/cloudwatch.md.")
    if "WallClockWindow" in (given.get("EvaluationWindow") or {}):
        raise validation_error("redrive has no wall clock windows of alarms; see docs/semantics/cloudwatch.md.")
    for query in given.get("Metrics") or ():
        text = str(query.get("Expression") or "")
        if _BAND.search(text):
            raise validation_error("redrive has no anomaly detection; see docs/semantics/cloudwatch.md.")
        if _INSIGHTS.match(text):
            raise validation_error("redrive has no Metrics Insights; see docs/semantics/cloudwatch.md.")


def _check_actions(given: Document) -> None:
    for member in ("OKActions", "AlarmActions", "InsufficientDataActions"):
        for arn in given.get(member) or ():
            if _ARN.fullmatch(arn) is None:
                raise validation_error(f"Invalid arn syntax: {arn}")


def _check_option(given: Document, member: str, options: Sequence[str]) -> None:
    value = given.get(member)
    if value is not None and value not in options:
        raise validation_error(
            f"Option {value} is not supported. Supported options for parameter {member} are {', '.join(options)}."
        )


def _check_metric(given: Document) -> int:
    """Check an alarm on one metric, and return its period."""
    for member in ("Namespace", "Period"):
        if member not in given:
            raise validation_error(f"The parameter {member} is required with MetricName.")
    if ("Statistic" in given) == ("ExtendedStatistic" in given):
        raise validation_error("Exactly one of the parameters Statistic and ExtendedStatistic must be specified.")
    extended = given.get("ExtendedStatistic")
    if extended is not None and (extended in SIMPLE or parse_statistic(extended) is None):
        raise validation_error(f"The value {extended} for parameter ExtendedStatistic is not a valid statistic.")
    return int(given["Period"])


def _check_math(given: Document) -> int:
    """Check an alarm on metric math, and return its period."""
    beside = next((member for member in _OF_ONE_METRIC if given.get(member)), None)
    if beside is not None:
        raise validation_error(f"The parameter {beside} must not be specified with Metrics.")
    queries = read_queries(given["Metrics"], member="Metrics")
    returned = [query for query in queries if query.is_returned]
    if len(returned) != 1:
        raise validation_error("Metrics list must contain exactly one metric matching the ReturnData=true condition.")
    stats = [query.content for query in queries if isinstance(query.content, MetricStat)]
    if len(stats) > limits.ALARM_METRICS_MAX:
        raise validation_error(f"An alarm must not have more than {limits.ALARM_METRICS_MAX} metrics.")
    periods = {stat.period_s for stat in stats}
    if len(periods) > 1:
        raise validation_error("All metrics of an alarm must have the same period.")
    if any(query.account is not None for query in queries):
        raise validation_error("redrive has no alarms on metrics of other accounts (AccountId).")
    period_s = periods.pop() if periods else returned[0].period_s or 60
    nothing = Window(0, period_s * 1_000, period_s, 0)
    empty = {query.id: TimeSeries(nothing, {}) for query in queries if isinstance(query.content, MetricStat)}
    found = Evaluation(queries, empty, nothing, Allowance(limits.VALUES_COMPUTED_MAX)).series(returned[0])
    if len(found) > 1:
        raise validation_error("The expression of an alarm must return a single time series.")
    return period_s


def _check_length(period_s: int, periods: int) -> None:
    """Check the period, and how long an alarm evaluates in all."""
    if period_s % 60 and period_s not in limits.ALARM_PERIODS_S:
        raise validation_error("The parameter Period must be 10, 20, 30 or a multiple of 60.")
    is_short = period_s < limits.SHORT_PERIOD_S_END
    most_s = limits.EVALUATED_S_MAX_SHORT if is_short else limits.EVALUATED_S_MAX
    if period_s * periods > most_s:
        span = "a day" if is_short else "seven days"
        raise validation_error(
            f"Metrics cannot be checked across more than {span} (EvaluationPeriods * Period must be <= {most_s})."
        )
