"""Convert metrics embedded in log events to data points for CloudWatch. All functions here are pure.

    {"_aws": {"Timestamp": …, "CloudWatchMetrics": [
        {"Namespace": …, "Dimensions": [["Shop"]], "Metrics": [{"Name": "Sold"}]}]},
     "Shop": "north", "Sold": 3}

A document that violates the format is an ordinary log event.
Source: https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/CloudWatch_Embedded_Metric_Format_Specification.html
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from redrive.core.documents import Document, load_json
from redrive.services.logs.limits import (
    METRIC_DIMENSIONS_MAX,
    METRIC_VALUES_MAX,
    METRICS_PER_DIRECTIVE_MAX,
)

MARK = '"_aws"'
"""Each event with metrics contains this text, so most events need no parsing."""


def embedded_metrics(message: str) -> Iterator[tuple[str, list[Document]]]:
    """Yield the namespace and data of each PutMetricData call that a log event stands for."""
    if MARK not in message:
        return
    try:
        event = load_json(message)
    except (ValueError, RecursionError):
        return
    metadata = event.get("_aws") if isinstance(event, dict) else None
    if not isinstance(metadata, dict) or not isinstance(metadata.get("CloudWatchMetrics"), list):
        return
    at = metadata.get("Timestamp")
    if not isinstance(at, int) or isinstance(at, bool):
        return
    for directive in metadata["CloudWatchMetrics"]:
        namespace = directive.get("Namespace") if isinstance(directive, dict) else None
        if isinstance(namespace, str) and (data := list(_data(event, directive, at))):
            yield namespace, data


def _data(event: Mapping[str, object], directive: Mapping[str, object], at: int) -> Iterator[Document]:
    """Yield a datum for each metric and each set of dimensions."""
    metrics, sets = directive.get("Metrics"), directive.get("Dimensions")
    if not isinstance(metrics, list) or not isinstance(sets, list):
        return
    placed = [dimensions for names in sets or [[]] if (dimensions := _dimensions(event, names)) is not None]
    for metric in metrics[:METRICS_PER_DIRECTIVE_MAX]:
        if not isinstance(metric, dict) or not isinstance(metric.get("Name"), str):
            continue
        values = _values(event.get(metric["Name"]))
        for dimensions in placed if values else ():
            datum: Document = {
                "MetricName": metric["Name"], "Timestamp": at, "Values": values, "Dimensions": dimensions,
                "Unit": metric.get("Unit") or "None",
            }  # fmt: skip
            if metric.get("StorageResolution"):
                datum["StorageResolution"] = metric["StorageResolution"]
            yield datum


def _dimensions(event: Mapping[str, object], names: object) -> list[Document] | None:
    """Return a set of dimensions with the event's values; None if a value is missing, or there are too many."""
    if not isinstance(names, list) or len(names) > METRIC_DIMENSIONS_MAX:
        return None
    values = [event.get(name) if isinstance(name, str) else None for name in names]
    if not all(isinstance(value, str) and value for value in values):
        return None
    return [{"Name": name, "Value": value} for name, value in zip(names, values, strict=True)]


def _values(value: object) -> Sequence[float]:
    """Return a number as a list, or a list of numbers; empty for anything else."""
    values = value if isinstance(value, list) else [value]
    numbers = [one for one in values if isinstance(one, int | float) and not isinstance(one, bool)]
    is_sound = len(numbers) == len(values) <= METRIC_VALUES_MAX
    return numbers if is_sound else []
