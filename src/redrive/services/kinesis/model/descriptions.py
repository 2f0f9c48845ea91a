"""Streams, shards and consumers as AWS describes them."""

from __future__ import annotations

from collections.abc import Sequence

from redrive.core.documents import Document
from redrive.services.kinesis.model.stream import NOT_ENCRYPTED, ON_DEMAND, Consumer, Shard, Stream

ACTIVE = "ACTIVE"


def describe_stream(stream: Stream, shards: Sequence[Shard], *, has_more: bool) -> Document:
    """A StreamDescription with a page of shards."""
    return {
        **_common(stream),
        "Shards": [describe_shard(shard) for shard in shards],
        "HasMoreShards": has_more,
    }


def summarize_stream(stream: Stream) -> Document:
    """A StreamDescriptionSummary."""
    summary: Document = {
        **_common(stream),
        "OpenShardCount": len(stream.open_shards),
        "ConsumerCount": len(stream.consumers),
        "MaxRecordSizeInKiB": stream.record_kib_max,
    }
    if stream.mode == ON_DEMAND:
        summary["RecordDistributionStrategy"] = stream.distribution
    if stream.warm_mibps is not None:
        summary["WarmThroughput"] = warm_throughput(stream.warm_mibps)
    return summary


def list_entry(stream: Stream) -> Document:
    """A StreamSummary, as ListStreams has them."""
    return {
        "StreamName": stream.name,
        "StreamARN": stream.arn,
        "StreamStatus": ACTIVE,
        "StreamModeDetails": {"StreamMode": stream.mode},
        "StreamCreationTimestamp": stream.created_at,
    }


def describe_shard(shard: Shard) -> Document:
    """A Shard."""
    numbers = {"StartingSequenceNumber": shard.first_number}
    if shard.last_number is not None:
        numbers["EndingSequenceNumber"] = shard.last_number
    described: Document = {
        "ShardId": shard.id,
        "HashKeyRange": _hash_keys(shard),
        "SequenceNumberRange": numbers,
    }
    for key, parent in zip(("ParentShardId", "AdjacentParentShardId"), shard.parents, strict=False):
        described[key] = parent
    return described


def describe_child(shard: Shard) -> Document:
    """A ChildShard, as the end of a closed shard tells of it."""
    return {"ShardId": shard.id, "ParentShards": list(shard.parents), "HashKeyRange": _hash_keys(shard)}


def describe_consumer(consumer: Consumer, *, status: str = ACTIVE) -> Document:
    """A Consumer, which has no StreamARN; DescribeStreamConsumer adds one."""
    return {
        "ConsumerName": consumer.name,
        "ConsumerARN": consumer.arn,
        "ConsumerStatus": status,
        "ConsumerCreationTimestamp": consumer.created_at,
    }


def warm_throughput(mibps: int) -> Document:
    """A WarmThroughput, which is reached at once."""
    return {"TargetMiBps": mibps, "CurrentMiBps": mibps}


def _hash_keys(shard: Shard) -> Document:
    return {"StartingHashKey": shard.first_hash, "EndingHashKey": shard.last_hash}


def _common(stream: Stream) -> Document:
    described: Document = {
        "StreamName": stream.name,
        "StreamARN": stream.arn,
        "StreamStatus": ACTIVE,
        "StreamModeDetails": {"StreamMode": stream.mode},
        "RetentionPeriodHours": stream.retention_hours,
        "StreamCreationTimestamp": stream.created_at,
        "EnhancedMonitoring": [{"ShardLevelMetrics": list(stream.shard_metrics)}],
        "EncryptionType": NOT_ENCRYPTED,
    }
    if stream.is_encrypted:
        described |= {"EncryptionType": "KMS", "KeyId": stream.key_id}
    return described
