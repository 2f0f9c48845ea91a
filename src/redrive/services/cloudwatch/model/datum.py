"""The data of PutMetricData: check each datum, and convert it to a point of a series."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from redrive.core.clock import MINUTE_MS, SECOND_MS, Instant
from redrive.core.documents import Document
from redrive.services.cloudwatch import limits
from redrive.services.cloudwatch.model.metric import (
    INVALID_COMBINATION,
    INVALID_VALUE,
    NO_UNIT,
    Metric,
    Problems,
    invalid_value,
    too_many,
)
from redrive.services.cloudwatch.model.statistics import merged
from redrive.store.tables.metrics import DataPoint

_VALUE_MEMBERS = ("Value", "StatisticValues", "Values")


def check_namespace(namespace: str, problems: Problems) -> None:
    """Check a namespace: printable ASCII. Only AWS's services may use names that begin with `AWS/`."""
    if namespace.startswith("AWS/") or not _is_printable(namespace):
        problems.add(INVALID_VALUE, invalid_value(namespace, "Namespace"))


def check_datum(datum: Document, place: str, now: Instant, problems: Problems) -> None:
    """Record the problems of a datum; `place` is its path in the request, for example `MetricData.member.1`.

    Source: https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_MetricDatum.html
    """
    _check_dimensions(datum.get("Dimensions") or (), place, problems)
    _check_timestamp(datum.get("Timestamp"), place, now, problems)
    resolution = datum.get("StorageResolution")
    if resolution is not None and resolution not in limits.STORAGE_RESOLUTIONS_S:
        problems.add(INVALID_VALUE, invalid_value(resolution, f"{place}.StorageResolution"))
    given = [member for member in _VALUE_MEMBERS if datum.get(member) is not None]
    if not given:
        wanted = f"{place}.Value and {place}.StatisticValues"
        problems.add(INVALID_COMBINATION, f"At least one of the parameters {wanted} must be specified.")
    for first, second in pairwise(given):
        if first != "Value":
            continue  # A datum may have both a statistic set and a list of values.
        problems.add(
            INVALID_COMBINATION,
            f"The parameters {place}.{first} and {place}.{second} are mutually exclusive and you have specified both.",
        )
    for value, parameter in _numbers(datum, place):
        if not abs(value) <= limits.VALUE_MAX:  # The negation also catches NaN, for which every comparison is false.
            problems.add(INVALID_VALUE, invalid_value(value, parameter))
    _check_values(datum, place, problems)
    _check_statistics(datum.get("StatisticValues"), f"{place}.StatisticValues", problems)


def metric_of(namespace: str, datum: Document) -> Metric:
    """Return the metric of a datum."""
    return Metric.of(namespace, datum["MetricName"], datum.get("Dimensions"))


def unit_of(datum: Document) -> str:
    """Return the unit of a datum."""
    return str(datum.get("Unit") or NO_UNIT)


def point_of(datum: Document, now: Instant) -> DataPoint | None:
    """Return the point that a checked datum adds to its series; None if it has no values.

    A list keeps all its values. A statistic set has known values only if all its values are equal. If a datum has both,
    they make one point.
    Source: https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_PutMetricData.html
    """
    at = datum.get("Timestamp", now)
    begins = at - at % (SECOND_MS if datum.get("StorageResolution") == 1 else MINUTE_MS)
    if datum.get("Value") is not None:
        value = datum["Value"]
        return DataPoint(begins, value, 1, value, value, {value: 1})
    points = [point for point in (_point_of_set(datum, begins), _point_of_values(datum, begins)) if point is not None]
    return merged(points) if points else None


def _point_of_set(datum: Document, begins: Instant) -> DataPoint | None:
    statistics = datum.get("StatisticValues")
    if statistics is None:
        return None
    count, low, high = statistics["SampleCount"], statistics["Minimum"], statistics["Maximum"]
    samples = {low: count} if low == high and math.isclose(statistics["Sum"], low * count) else None
    return DataPoint(begins, statistics["Sum"], count, low, high, samples)


def _point_of_values(datum: Document, begins: Instant) -> DataPoint | None:
    values = datum.get("Values")
    if values is None:
        return None
    counted: dict[float, float] = {}
    for value, times in zip(values, datum.get("Counts") or [1] * len(values), strict=True):
        if times > 0:
            counted[value] = counted.get(value, 0) + times
    if not counted:
        return None
    total = sum(value * times for value, times in counted.items())
    return DataPoint(begins, total, sum(counted.values()), min(counted), max(counted), counted)


def check_entity(entity: Document | None, place: str, problems: Problems) -> None:
    """Check an entity: it needs a type and at least one more key attribute.

    Source: https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_Entity.html
    """
    attributes = (entity or {}).get("KeyAttributes") or {}
    known = {"Type", "ResourceType", "Identifier", "Name", "Environment"}
    if "Type" not in attributes or not attributes.keys() <= known:
        problems.add(INVALID_VALUE, f"The parameter {place}.Entity.KeyAttributes is invalid.")


def _check_dimensions(dimensions: Sequence[Mapping[str, str]], place: str, problems: Problems) -> None:
    names = [dimension["Name"] for dimension in dimensions]
    for number, dimension in enumerate(dimensions, start=1):
        name, value = dimension["Name"], dimension["Value"]
        path = f"{place}.Dimensions.member.{number}"
        if name.startswith(":") or not _is_printable(name) or names.count(name) > 1:
            problems.add(INVALID_VALUE, invalid_value(name, f"{path}.Name"))
        if not _is_printable(value):
            problems.add(INVALID_VALUE, invalid_value(value, f"{path}.Value"))


def _check_timestamp(at: Instant | None, place: str, now: Instant, problems: Problems) -> None:
    if at is None:
        return
    if at < now - limits.TIMESTAMP_AGE_MS_MAX:
        text = "must specify a time within the past two weeks."
    elif at > now + limits.TIMESTAMP_FUTURE_MS_MAX:
        text = "must specify a time no more than two hours in the future."
    else:
        return
    problems.add(INVALID_VALUE, f"The parameter {place}.Timestamp {text}")


def _numbers(datum: Document, place: str) -> Iterator[tuple[float, str]]:
    if datum.get("Value") is not None:
        yield datum["Value"], f"{place}.Value"
    for member, value in (datum.get("StatisticValues") or {}).items():
        yield value, f"{place}.StatisticValues.{member}"
    for member in ("Values", "Counts"):
        for number, value in enumerate(datum.get(member) or (), start=1):
            yield value, f"{place}.{member}.member.{number}"


def _check_values(datum: Document, place: str, problems: Problems) -> None:
    values, counts = datum.get("Values"), datum.get("Counts")
    if values is not None and len(values) > limits.VALUES_PER_DATUM_MAX:
        problems.add(INVALID_VALUE, too_many(f"{place}.Values", limits.VALUES_PER_DATUM_MAX))
    if values is not None and not values:
        problems.add(INVALID_VALUE, f"The collection {place}.Values must not be empty.")
    if counts is None:
        return
    if len(counts) != len(values or ()):
        problems.add(INVALID_VALUE, f"The collections {place}.Values and {place}.Counts must be of the same size.")
    for number, times in enumerate(counts, start=1):
        if times < 0:
            problems.add(INVALID_VALUE, invalid_value(times, f"{place}.Counts.member.{number}"))


def _check_statistics(statistics: Document | None, place: str, problems: Problems) -> None:
    if statistics is None:
        return
    if statistics["SampleCount"] <= 0:
        problems.add(INVALID_VALUE, invalid_value(statistics["SampleCount"], f"{place}.SampleCount"))
    if statistics["Minimum"] > statistics["Maximum"]:
        problems.add(
            INVALID_VALUE,
            f"The parameter {place}.Minimum must be less than or equal to the parameter {place}.Maximum.",
        )


def _is_printable(text: str) -> bool:
    """Whether the text is ASCII without control characters, and not only blanks."""
    return text.isascii() and text.isprintable() and not text.isspace()
