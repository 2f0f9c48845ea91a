"""Metric filters, subscription filters and destinations, as they are stored."""

from __future__ import annotations

import base64
import gzip
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from redrive.core.clock import Instant
from redrive.core.documents import Document, dump_json
from redrive.core.scope import Scope
from redrive.languages.log_filter import Filter, MalformedFilter, parse_filter, reference
from redrive.services.logs.model.group import invalid_parameter

_NUMBER = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?")
_DIMENSIONS_MAX = 3

CONTROL_MESSAGE = "CWL CONTROL MESSAGE: Checking health of destination Kinesis stream."


@dataclass(frozen=True, slots=True)
class Transformation:
    """What a metric filter publishes of each event that matches."""

    metric_name: str
    namespace: str
    value: str
    default_value: float | None = None
    dimensions: Mapping[str, str] = field(default_factory=dict)
    unit: str | None = None

    @property
    def described(self) -> Document:
        """The transformation as AWS shows it."""
        return {
            "metricName": self.metric_name, "metricNamespace": self.namespace, "metricValue": self.value,
            **({} if self.default_value is None else {"defaultValue": self.default_value}),
            **({"dimensions": dict(self.dimensions)} if self.dimensions else {}),
            **({"unit": self.unit} if self.unit else {}),
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class MetricFilter:
    """A filter whose matches become data points."""

    KIND: ClassVar[str] = "logs.metric_filter"

    group_id: str
    group_name: str
    filter_name: str
    pattern: str
    transformation: Transformation
    created_at: Instant
    on_transformed: bool = False

    @property
    def name(self) -> str:
        """The filter's name, after its group's id."""
        return filter_key(self.group_id, self.filter_name)

    @property
    def described(self) -> Document:
        """The filter as AWS shows it."""
        return {
            "filterName": self.filter_name, "filterPattern": self.pattern, "logGroupName": self.group_name,
            "metricTransformations": [self.transformation.described], "creationTime": self.created_at,
            "applyOnTransformedLogs": self.on_transformed,
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class DefaultMinute:
    """The latest minute of a metric filter with a default value that needs no default: it has one, or a match."""

    KIND: ClassVar[str] = "logs.default_minute"
    IS_STATE: ClassVar[bool] = True

    filter_key: str
    minute: Instant

    @property
    def name(self) -> str:
        """The filter's key."""
        return self.filter_key


@dataclass(frozen=True, slots=True)
class SubscriptionFilter:
    """A filter whose matches go to a function or a stream."""

    KIND: ClassVar[str] = "logs.subscription_filter"

    group_id: str
    group_name: str
    filter_name: str
    pattern: str
    destination_arn: str
    created_at: Instant
    role_arn: str = ""
    distribution: str = "ByLogStream"
    on_transformed: bool = False

    @property
    def name(self) -> str:
        """The filter's name, after its group's id."""
        return filter_key(self.group_id, self.filter_name)

    @property
    def described(self) -> Document:
        """The filter as AWS shows it."""
        return {
            "filterName": self.filter_name, "filterPattern": self.pattern, "logGroupName": self.group_name,
            "destinationArn": self.destination_arn, "distribution": self.distribution,
            "creationTime": self.created_at, "applyOnTransformedLogs": self.on_transformed,
            **({"roleArn": self.role_arn} if self.role_arn else {}),
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class Destination:
    """A stream of this account that other accounts may send their logs to, where its policy allows it."""

    KIND: ClassVar[str] = "logs.destination"

    name: str
    target_arn: str
    role_arn: str
    created_at: Instant
    access_policy: str = ""
    tags: Mapping[str, str] = field(default_factory=dict)

    def described(self, scope: Scope) -> Document:
        """The destination as AWS shows it."""
        return {
            "destinationName": self.name, "targetArn": self.target_arn, "roleArn": self.role_arn,
            "arn": subscribed_destination_arn(scope, self.name), "creationTime": self.created_at,
            **({"accessPolicy": self.access_policy} if self.access_policy else {}),
        }  # fmt: skip


def filter_key(group_id: str, filter_name: str) -> str:
    """The resource name of a filter of either kind."""
    return f"{group_id}/{filter_name}"


def subscribed_destination_arn(scope: Scope, name: str) -> str:
    """The ARN of a destination of subscription filters."""
    return f"arn:aws:logs:{scope.region}:{scope.account}:destination:{name}"


def read_filter(pattern: str) -> Filter:
    """The test of a filter pattern. Errors: InvalidParameterException."""
    try:
        return parse_filter(pattern)
    except MalformedFilter as error:
        raise invalid_parameter(f"Invalid filter pattern: {error}") from error


def read_transformation(pattern: str, given: Document) -> Transformation:
    """A transformation of PutMetricFilter. Errors: InvalidParameterException."""
    wanted = read_filter(pattern)
    dimensions: Mapping[str, str] = given.get("dimensions") or {}
    default = given.get("defaultValue")
    value = str(given["metricValue"])
    if dimensions and default is not None:
        raise _invalid("dimensions and default value are mutually exclusive properties.")
    if len(dimensions) > _DIMENSIONS_MAX:
        raise _invalid(f"a metric filter has at most {_DIMENSIONS_MAX} dimensions.")
    if not value.startswith("$") and not _NUMBER.fullmatch(value):
        raise _invalid(f"metricValue is a number or a field of the pattern such as $.size or $size, not {value}.")
    for text in (value, *dimensions.values()):
        if text.startswith("$"):
            _check_reference(text, wanted)
    if any(not text.startswith("$") for text in dimensions.values()):
        raise _invalid("the value of a dimension is a field of the pattern such as $.name or $name.")
    return Transformation(
        str(given["metricName"]), str(given["metricNamespace"]), value,
        None if default is None else float(default), dict(dimensions), given.get("unit"),
    )  # fmt: skip


def payload(
    scope: Scope, subscription: SubscriptionFilter, stream: str, events: Sequence[tuple[str, Instant, str]]
) -> bytes:  # fmt: skip
    """What a subscription sends for events (id, time, message) of one stream: compressed JSON."""
    document = {
        "messageType": "DATA_MESSAGE", "owner": scope.account, "logGroup": subscription.group_name,
        "logStream": stream, "subscriptionFilters": [subscription.filter_name],
        "logEvents": [{"id": one, "timestamp": at, "message": message} for one, at, message in events],
    }  # fmt: skip
    return gzip.compress(dump_json(document).encode(), mtime=0)


def control_payload(now: Instant, event_id: str) -> bytes:
    """What is sent to a stream to see whether it takes records."""
    document = {
        "messageType": "CONTROL_MESSAGE", "owner": "CloudwatchLogs", "logGroup": "", "logStream": "",
        "subscriptionFilters": [], "logEvents": [{"id": event_id, "timestamp": now, "message": CONTROL_MESSAGE}],
    }  # fmt: skip
    return gzip.compress(dump_json(document).encode(), mtime=0)


def function_event(data: bytes) -> bytes:
    """The event of a function that gets a payload."""
    return dump_json({"awslogs": {"data": base64.b64encode(data).decode()}}).encode()


def number_of(text: str | None) -> float | None:
    """The number that a text of an event is; None for what is none."""
    return float(text) if text is not None and _NUMBER.fullmatch(text) else None


def _check_reference(text: str, wanted: Filter) -> None:
    try:
        reference(text, wanted)
    except MalformedFilter as error:
        raise _invalid(f"{error}.") from error


def _invalid(why: str) -> Exception:
    return invalid_parameter(f"Invalid metric transformation: {why}")
