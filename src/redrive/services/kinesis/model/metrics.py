"""The metrics of streams and their units.

Source: https://docs.aws.amazon.com/streams/latest/dev/monitoring-with-cloudwatch.html
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from types import MappingProxyType

from redrive.core.arn import Arn
from redrive.core.scope import Scope
from redrive.store.tables.metrics import Series, SeriesGroup, Watched, dimensions_text

NAMESPACE = "AWS/Kinesis"
ALL = "ALL"

SHARD_METRICS = MappingProxyType(
    {
        "IncomingBytes": "Bytes",
        "IncomingRecords": "Count",
        "OutgoingBytes": "Bytes",
        "OutgoingRecords": "Count",
        "WriteProvisionedThroughputExceeded": "Count",
        "ReadProvisionedThroughputExceeded": "Count",
        "IteratorAgeMilliseconds": "Milliseconds",
    }
)
"""What EnableEnhancedMonitoring can turn on for each shard, with the units."""


@dataclass(frozen=True, slots=True)
class StreamMetrics:
    """The metrics of one stream. Those of one group always have the same value."""

    put_record: SeriesGroup
    put_record_bytes: SeriesGroup
    put_records: SeriesGroup
    put_records_total: SeriesGroup
    put_records_stored: SeriesGroup
    put_records_bytes: SeriesGroup
    put_records_throttled: SeriesGroup
    get_records: SeriesGroup
    get_records_count: SeriesGroup
    get_records_bytes: SeriesGroup
    get_records_age: SeriesGroup


@functools.lru_cache(maxsize=4_096)
def metrics_of(stream_arn: str) -> StreamMetrics:
    """The metrics of the stream with this ARN."""
    stream = _watched(stream_arn, {})

    def counts(*names: str) -> SeriesGroup:
        return SeriesGroup(*(Series(stream, name, "Count") for name in names))

    def sizes(*names: str) -> SeriesGroup:
        return SeriesGroup(*(Series(stream, name, "Bytes") for name in names))

    def ages(name: str) -> SeriesGroup:
        return SeriesGroup(Series(stream, name, "Milliseconds"))

    return StreamMetrics(
        put_record=counts("IncomingRecords", "PutRecord.Success"),
        put_record_bytes=sizes("IncomingBytes", "PutRecord.Bytes"),
        put_records=counts("PutRecords.Success"),
        put_records_total=counts("PutRecords.TotalRecords"),
        put_records_stored=counts("IncomingRecords", "PutRecords.Records", "PutRecords.SuccessfulRecords"),
        put_records_bytes=sizes("IncomingBytes", "PutRecords.Bytes"),
        put_records_throttled=counts("PutRecords.ThrottledRecords", "WriteProvisionedThroughputExceeded"),
        get_records=counts("GetRecords.Success"),
        get_records_count=counts("GetRecords.Records"),
        get_records_bytes=sizes("GetRecords.Bytes"),
        get_records_age=ages("GetRecords.IteratorAgeMilliseconds"),
    )


@dataclass(frozen=True, slots=True)
class SubscriptionMetrics:
    """The metrics of a consumer's subscriptions to a stream."""

    begun: Series
    events: Series
    records: Series
    bytes: Series
    behind: Series


@functools.lru_cache(maxsize=4_096)
def subscription_metrics_of(stream_arn: str, consumer: str) -> SubscriptionMetrics:
    """The metrics of the consumer with this name."""
    watched = _watched(stream_arn, {"ConsumerName": consumer})
    return SubscriptionMetrics(
        begun=Series(watched, "SubscribeToShard.Success", "Count"),
        events=Series(watched, "SubscribeToShardEvent.Success", "Count"),
        records=Series(watched, "SubscribeToShardEvent.Records", "Count"),
        bytes=Series(watched, "SubscribeToShardEvent.Bytes", "Bytes"),
        behind=Series(watched, "SubscribeToShardEvent.MillisBehindLatest", "Milliseconds"),
    )


@functools.lru_cache(maxsize=4_096)
def shard_metrics_of(stream_arn: str, shard_id: str) -> tuple[Series, ...]:
    """All metrics of a shard, of which a stream has those that EnableEnhancedMonitoring has turned on."""
    shard = _watched(stream_arn, {"ShardId": shard_id})
    return tuple(Series(shard, name, unit) for name, unit in SHARD_METRICS.items())


def _watched(stream_arn: str, dimensions: dict[str, str]) -> Watched:
    arn = Arn.parse(stream_arn)
    named = {"StreamName": arn.resource.partition("/")[2], **dimensions}
    return Watched(str(Scope(arn.account, arn.region)), NAMESPACE, dimensions_text(named))
