"""Streams are created in two modes, described, listed in pages, and deleted with all they hold."""

from __future__ import annotations

import pytest

from redrive.core.errors import ServiceError
from redrive.core.scope import Caller, Scope
from tests.unit.services.kinesis.conftest import ARN, FIRST, HIGH, SECOND


def test_created_stream_can_be_used_at_once(world):
    """A waiter finds the stream ACTIVE at its first look."""
    client = world.client("kinesis")

    client.create_stream(StreamName="clicks", ShardCount=2)
    client.get_waiter("stream_exists").wait(StreamName="clicks", WaiterConfig={"Delay": 0, "MaxAttempts": 1})
    described = client.describe_stream(StreamName="clicks")["StreamDescription"]

    assert int(described.pop("StreamCreationTimestamp").timestamp() * 1000) == world.now
    shards = described.pop("Shards")
    assert described == {
        "StreamName": "clicks",
        "StreamARN": ARN,
        "StreamStatus": "ACTIVE",
        "StreamModeDetails": {"StreamMode": "PROVISIONED"},
        "HasMoreShards": False,
        "RetentionPeriodHours": 24,
        "EnhancedMonitoring": [{"ShardLevelMetrics": []}],
        "EncryptionType": "NONE",
    }
    assert [(shard["ShardId"], shard["HashKeyRange"]) for shard in shards] == [
        (FIRST, {"StartingHashKey": "0", "EndingHashKey": str((1 << 127) - 1)}),
        (SECOND, {"StartingHashKey": str(1 << 127), "EndingHashKey": HIGH}),
    ]


def test_last_of_three_ranges_takes_the_remainder(call):
    call("CreateStream", StreamName="s", ShardCount=3)

    width = (1 << 128) // 3
    ranges = [shard["HashKeyRange"] for shard in call("ListShards", StreamName="s")["Shards"]]
    assert [(int(one["StartingHashKey"]), int(one["EndingHashKey"])) for one in ranges] == [
        (0, width - 1), (width, 2 * width - 1), (2 * width, (1 << 128) - 1),
    ]  # fmt: skip


def test_stream_without_mode_and_shards_is_on_demand_with_four_shards(call):
    call("CreateStream", StreamName="s")

    summary = call("DescribeStreamSummary", StreamName="s")["StreamDescriptionSummary"]
    assert (summary["StreamModeDetails"], summary["OpenShardCount"]) == ({"StreamMode": "ON_DEMAND"}, 4)


@pytest.mark.parametrize(
    ("params", "code"),
    [
        ({"StreamModeDetails": {"StreamMode": "PROVISIONED"}}, "ValidationException"),
        ({"StreamModeDetails": {"StreamMode": "ON_DEMAND"}, "ShardCount": 1}, "ValidationException"),
        ({"ShardCount": 0}, "ValidationException"),
        ({"ShardCount": 20_001}, "LimitExceededException"),
        ({"ShardCount": 1, "MaxRecordSizeInKiB": 1_000}, "ValidationException"),
        ({"ShardCount": 1, "WarmThroughputMiBps": 5}, "InvalidArgumentException"),
        ({"ShardCount": 1, "RecordDistributionStrategy": "AUTO"}, "InvalidArgumentException"),
        ({"ShardCount": 1, "Tags": {"aws:x": "y"}}, "InvalidArgumentException"),
    ],
)
def test_stream_that_cannot_be_is_refused(refusal, params, code):
    assert refusal("CreateStream", StreamName="s", **params)[0] == code


def test_name_is_used_once(stream, refusal):
    assert refusal("CreateStream", StreamName=stream, ShardCount=1) == (
        "ResourceInUseException",
        "Stream clicks under account 000000000000 already exists.",
    )


def test_missing_stream_is_told_with_its_account(refusal):
    assert refusal("PutRecord", StreamName="ghost", PartitionKey="k", Data=b"") == (
        "ResourceNotFoundException",
        "Stream ghost under account 000000000000 not found.",
    )


def test_stream_is_named_by_name_or_arn_or_both(call, stream, refusal):
    for named in ({"StreamName": stream}, {"StreamARN": ARN}, {"StreamName": stream, "StreamARN": ARN}):
        assert call("DescribeStreamSummary", **named)["StreamDescriptionSummary"]["StreamName"] == stream

    assert refusal("DescribeStream")[0] == "InvalidArgumentException"
    assert refusal("DescribeStream", StreamName="other", StreamARN=ARN)[0] == "InvalidArgumentException"


def test_stream_of_another_region_is_not_found(call, stream, refusal):
    arn = ARN.replace("us-east-1", "eu-west-1")

    assert refusal("DescribeStream", StreamARN=arn)[0] == "ResourceNotFoundException"


def test_stream_of_another_account_needs_its_policy(world, stream):
    other = Caller(Scope("111111111111", "us-east-1"), "r")

    with pytest.raises(ServiceError) as caught:
        world.engine.call(other, "kinesis", "DescribeStreamSummary", {"StreamARN": ARN})

    assert caught.value.code == "AccessDeniedException"


def test_streams_are_listed_in_pages(call):
    for name in ("b", "c", "a"):
        call("CreateStream", StreamName=name)

    first = call("ListStreams", Limit=2)
    second = call("ListStreams", NextToken=first["NextToken"])

    assert (first["StreamNames"], first["HasMoreStreams"]) == (["a", "b"], True)
    assert (second["StreamNames"], second["HasMoreStreams"], "NextToken" in second) == (["c"], False, False)
    assert call("ListStreams", ExclusiveStartStreamName="a")["StreamNames"] == ["b", "c"]
    assert [one["StreamARN"] for one in second["StreamSummaries"]] == [ARN.replace("clicks", "c")]


def test_token_of_a_list_expires_and_is_no_other_text(world, call, refusal):
    for name in ("a", "b"):
        call("CreateStream", StreamName=name)
    token = call("ListStreams", Limit=1)["NextToken"]
    world.advance(seconds=301)

    assert refusal("ListStreams", NextToken=token)[0] == "ExpiredNextTokenException"
    assert refusal("ListStreams", NextToken="!")[0] == "InvalidArgumentException"
    assert refusal("ListStreams", NextToken="eA==")[0] == "InvalidArgumentException"


def test_deleted_stream_takes_its_records_along(world, call, stream, put, refusal):
    put("a", "b")

    call("DeleteStream", StreamName=stream)
    call("CreateStream", StreamName=stream, ShardCount=1)
    given = {"StreamName": stream, "ShardId": FIRST, "ShardIteratorType": "TRIM_HORIZON"}
    read = call("GetRecords", ShardIterator=call("GetShardIterator", **given)["ShardIterator"])

    assert read["Records"] == []
    assert world.store.connection.execute("SELECT count(*) FROM stream_records").fetchone() == (0,)


def test_stream_with_consumers_is_deleted_only_by_force(call, stream, refusal):
    call("RegisterStreamConsumer", StreamARN=ARN, ConsumerName="c")

    assert refusal("DeleteStream", StreamName=stream)[0] == "ResourceInUseException"
    call("DeleteStream", StreamName=stream, EnforceConsumerDeletion=True)
    assert refusal("DescribeStream", StreamName=stream)[0] == "ResourceNotFoundException"


def test_limits_count_streams_and_shards(call, stream):
    call("CreateStream", StreamName="free")

    assert call("DescribeLimits") == {
        "ShardLimit": 20_000,
        "OpenShardCount": 2,
        "OnDemandStreamCount": 1,
        "OnDemandStreamCountLimit": 50,
    }


@pytest.mark.parametrize(
    ("operation", "params"),
    [
        ("CreateQueue", {"QueueName": "q", "StreamConfigurationList": [{}]}),
        ("ListChannels", {}),
        ("ReceiveQueueRecords", {"QueueARN": "arn:aws:kinesis:us-east-1:000000000000:queue/q"}),
    ],
)
def test_queues_and_channels_are_refused_by_name(refusal, operation, params):
    assert refusal(operation, **params) == (
        "UnknownOperationException",
        f"redrive does not implement kinesis {operation}.",
    )
