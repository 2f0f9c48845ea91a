"""The record that an on-failure destination gets of a batch that was given up. No transaction, no clock.

Source: https://docs.aws.amazon.com/lambda/latest/dg/kinesis-on-failure-destination.html
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from redrive.core.clock import Instant
from redrive.core.documents import Document


class Condition(enum.Enum):
    """Why a batch was given up, in AWS's spelling."""

    RETRIES = "RetryAttemptsExhausted"
    AGE = "RecordAgeExceeded"


@dataclass(frozen=True, slots=True)
class Edge:
    """The first or the last record of a batch."""

    sequence_number: str
    arrived_at: Instant


@dataclass(frozen=True, slots=True)
class Extent:
    """The records of a batch: how many, and from which to which."""

    first: Edge
    last: Edge
    count: int

    @property
    def text(self) -> str:
        """The sequence numbers, for people."""
        if self.count == 1:
            return self.first.sequence_number
        return f"{self.first.sequence_number} to {self.last.sequence_number} ({self.count} records)"


@dataclass(frozen=True, slots=True)
class Response:
    """What the last attempt answered. `function_error` is None for a function that reported failures."""

    version: str
    function_error: str | None


def failure_record(
    *, request_id: str, function_arn: str, condition: Condition, calls: int, response: Response | None,
    stream_arn: str, shard_id: str, extent: Extent, now: Instant,
) -> Document:  # fmt: skip
    """The metadata of a batch. A batch that grew too old has no response, and counts at least one call."""
    record: Document = {
        "requestContext": {
            "requestId": request_id,
            "functionArn": function_arn,
            "condition": condition.value,
            "approximateInvokeCount": max(1, calls),
        }
    }
    if response is not None:
        record["responseContext"] = {
            "statusCode": 200,
            "executedVersion": response.version,
            "functionError": response.function_error,
        }
    service = stream_arn.split(":")[2]
    member, time_of = _FORMS[service]
    return {
        **record,
        "version": "1.0",
        "timestamp": _with_milliseconds(now),
        member: {
            "shardId": shard_id,
            "startSequenceNumber": extent.first.sequence_number,
            "endSequenceNumber": extent.last.sequence_number,
            "approximateArrivalOfFirstRecord": time_of(extent.first.arrived_at),
            "approximateArrivalOfLastRecord": time_of(extent.last.arrived_at),
            "batchSize": extent.count,
            "streamArn": stream_arn,
        },
    }


def _with_milliseconds(at: Instant) -> str:
    return f"{_moment(at)}.{at % 1000:03d}Z"


def _in_seconds(at: Instant) -> str:
    return f"{_moment(at)}Z"


def _moment(at: Instant) -> str:
    return f"{datetime.fromtimestamp(at // 1000, UTC):%Y-%m-%dT%H:%M:%S}"


_FORMS: Mapping[str, tuple[str, Callable[[Instant], str]]] = {
    "kinesis": ("KinesisBatchInfo", _with_milliseconds),
    "dynamodb": ("DDBStreamBatchInfo", _in_seconds),
}
