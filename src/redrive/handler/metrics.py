"""Metrics of a function: written to its log in the Embedded Metric Format, or sent to CloudWatch.

The log needs no permission and no call; CloudWatch extracts the metrics from it.

Source:
https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/CloudWatch_Embedded_Metric_Format_Specification.html
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, TextIO, get_args

from redrive.handler.clock import Clock, Instant, now_ms
from redrive.handler.signatures import CloudWatchClient

# Limits of the Embedded Metric Format's specification, and of PutMetricData.
METRICS_PER_LINE_MAX = 100
VALUES_PER_METRIC_MAX = 100
DIMENSIONS_MAX = 30
DATA_PER_REQUEST_MAX = 1_000

Dimensions = tuple[tuple[str, str], ...]

# https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_MetricDatum.html
Unit = Literal[
    "Seconds", "Microseconds", "Milliseconds",
    "Bytes", "Kilobytes", "Megabytes", "Gigabytes", "Terabytes",
    "Bits", "Kilobits", "Megabits", "Gigabits", "Terabits",
    "Percent", "Count",
    "Bytes/Second", "Kilobytes/Second", "Megabytes/Second", "Gigabytes/Second", "Terabytes/Second",
    "Bits/Second", "Kilobits/Second", "Megabits/Second", "Gigabits/Second", "Terabits/Second",
    "Count/Second", "None",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Datum:
    """One measured value."""

    name: str
    value: float
    unit: Unit
    dimensions: Dimensions
    at: Instant


class Metrics:
    """Collects values until they are written or sent.

    metrics = Metrics("Orders", {"FunctionName": "charge"})
    metrics.add("RetryCount", 2)
    metrics.write()
    """

    def __init__(self, namespace: str, dimensions: Mapping[str, str] | None = None, *, clock: Clock = now_ms) -> None:
        self._namespace = namespace
        self._dimensions = dict(dimensions or {})
        self._clock = clock
        self._data: list[Datum] = []

    def add(
        self, name: str, value: float = 1, unit: Unit = "Count", dimensions: Mapping[str, str] | None = None
    ) -> None:
        """Add a value, with the common dimensions and its own.

        Errors: ValueError for what CloudWatch would drop: more than 30 dimensions, an empty dimension, a number that is
        not finite, a name that is also a dimension's, an unknown unit.
        """
        if unit not in get_args(Unit):
            raise ValueError(f"metric {name!r} has the unit {unit!r}; CloudWatch knows {', '.join(get_args(Unit))}")
        all_dimensions = tuple((self._dimensions | dict(dimensions or {})).items())
        if len(all_dimensions) > DIMENSIONS_MAX or not all(text for pair in all_dimensions for text in pair):
            raise ValueError(f"metric {name!r} has dimensions that are empty, or more than {DIMENSIONS_MAX}")
        if not name or not math.isfinite(value):
            raise ValueError(f"metric {name!r} is {value}: it needs a name and a finite value")
        if name == "_aws" or name in dict(all_dimensions):
            raise ValueError(f"metric {name!r} is called as a dimension is: a log line cannot hold both")
        self._data.append(Datum(name, value, unit, all_dimensions, self._clock()))

    def write(self, stream: TextIO | None = None) -> None:
        """Write the collected values to the log, by default stdout, and clear them."""
        data, self._data = self._data, []
        out = sys.stdout if stream is None else stream
        for document in embedded_metrics(self._namespace, data):
            out.write(json.dumps(document, ensure_ascii=False, separators=(",", ":")) + "\n")
        out.flush()

    def send(self, client: CloudWatchClient) -> None:
        """Send the collected values by PutMetricData, and clear those that were sent.

        Errors: boto3's; values that were not sent are kept and may be written or sent later.
        Source: https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_PutMetricData.html
        """
        while self._data:
            chunk = self._data[:DATA_PER_REQUEST_MAX]
            client.put_metric_data(Namespace=self._namespace, MetricData=[_metric_datum(datum) for datum in chunk])
            self._data = self._data[DATA_PER_REQUEST_MAX:]


def embedded_metrics(namespace: str, data: list[Datum]) -> Iterator[dict[str, object]]:
    """The log lines for these values: one for each set of dimensions, instant, and hundred metrics or values."""
    lines: dict[tuple[Dimensions, Instant], list[_Line]] = {}
    for datum in data:
        of_kind = lines.setdefault((datum.dimensions, datum.at), [])
        if not of_kind or not of_kind[-1].has_room_for(datum):
            of_kind.append(_Line(datum))
        of_kind[-1].add(datum)
    for of_kind in lines.values():
        for line in of_kind:
            yield line.document(namespace)


class _Line:
    """The metrics of one line: all have the same instant and the same dimensions."""

    def __init__(self, first: Datum) -> None:
        self._dimensions = dict(first.dimensions)
        self._at = first.at
        self._values: dict[str, list[float]] = {}
        self._units: dict[str, Unit] = {}

    def has_room_for(self, datum: Datum) -> bool:
        values = self._values.get(datum.name)
        if values is None:
            return len(self._values) < METRICS_PER_LINE_MAX
        return len(values) < VALUES_PER_METRIC_MAX and self._units[datum.name] == datum.unit

    def add(self, datum: Datum) -> None:
        self._values.setdefault(datum.name, []).append(datum.value)
        self._units[datum.name] = datum.unit

    def document(self, namespace: str) -> dict[str, object]:
        metrics = [{"Name": name, "Unit": unit} for name, unit in self._units.items()]
        directive = {"Namespace": namespace, "Dimensions": [list(self._dimensions)], "Metrics": metrics}
        values = {name: values[0] if len(values) == 1 else values for name, values in self._values.items()}
        return {"_aws": {"Timestamp": self._at, "CloudWatchMetrics": [directive]}, **self._dimensions, **values}


def _metric_datum(datum: Datum) -> dict[str, object]:
    return {
        "MetricName": datum.name,
        "Dimensions": [{"Name": name, "Value": value} for name, value in datum.dimensions],
        "Timestamp": datum.at / 1000,
        "Value": datum.value,
        "Unit": datum.unit,
    }
