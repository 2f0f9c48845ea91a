"""A stream as a source of batches: its shards, starting points and pages, and records as functions see them."""

from __future__ import annotations

import base64

import pytest

from redrive.core.errors import ServiceError
from redrive.delivery.sources.stream_sources import StartingPoint, StreamShard
from redrive.delivery.sources.watches import Reader, watch
from redrive.services.kinesis.source import KinesisStreams
from redrive.testing.world import World
from tests.unit.services.kinesis.conftest import ARN, FIRST, HIGH, SECOND

CHILDREN = ("shardId-000000000002", "shardId-000000000003")
SOURCE = KinesisStreams()


@pytest.fixture
def page(world):
    """Read a page of a shard as the account: `page(FIRST, 0)`."""

    def page(shard, after, *, arn=ARN, limit=100, bytes_max=10_000):
        caller = world.caller()
        return world.store.run(lambda tx: SOURCE.read(tx, caller, arn, shard, after, limit=limit, bytes_max=bytes_max))

    return page


def position(world: World, start: StartingPoint, at: int | None = None) -> int:
    return world.store.run(lambda tx: SOURCE.position(tx, ARN, FIRST, start, at))


def test_shards_are_told_parents_first(world, call, stream):
    call("SplitShard", StreamName=stream, ShardToSplit=FIRST, NewStartingHashKey=str(1 << 126))

    caller = world.caller()
    assert world.store.run(lambda tx: SOURCE.shards(tx, caller, ARN)) == [
        StreamShard(FIRST, is_closed=True),
        StreamShard(SECOND),
        *(StreamShard(child, (FIRST,)) for child in CHILDREN),
    ]


def test_starting_points_are_numbers_of_records(world, put):
    put("a", "b")
    world.advance(seconds=1)
    put("c")

    assert position(world, StartingPoint.TRIM_HORIZON) == 0
    assert position(world, StartingPoint.LATEST) == 3
    assert position(world, StartingPoint.AT_TIMESTAMP, world.now) == 2
    assert position(world, StartingPoint.AT_TIMESTAMP, world.now + 1) == 3


def test_record_looks_as_functions_see_it(world, put, page):
    (number,) = put("a")

    (item,) = page(FIRST, 0).items

    assert (item.seq, item.at, item.partition_key, item.sequence_number) == (1, world.now, "k", number)
    assert item.document == {
        "kinesis": {
            "kinesisSchemaVersion": "1.0",
            "partitionKey": "k",
            "sequenceNumber": number,
            "data": base64.b64encode(b"a").decode(),
            "approximateArrivalTimestamp": world.now / 1000,
        },
        "eventSource": "aws:kinesis",
        "eventVersion": "1.0",
        "eventID": f"{FIRST}:{number}",
        "eventName": "aws:kinesis:record",
        "invokeIdentityArn": "arn:aws:iam::000000000000:root",
        "awsRegion": "us-east-1",
        "eventSourceARN": ARN,
    }


def test_page_says_when_a_closed_shard_has_ended(call, stream, put, page):
    put("a", "b")
    assert not page(FIRST, 0).is_end
    call("SplitShard", StreamName=stream, ShardToSplit=FIRST, NewStartingHashKey=str(1 << 126))

    assert [page(FIRST, 0, limit=1).is_end, page(FIRST, 0).is_end, page(FIRST, 2).is_end] == [False, True, True]
    assert not page(SECOND, 0).is_end


def test_expired_records_are_no_part_of_a_page(world, put, page):
    put("a")
    world.advance(hours=24)
    put("b")
    world.advance(seconds=1)

    assert [item.seq for item in page(FIRST, 0).items] == [2]


def test_consumer_names_its_stream(call, stream, put, page):
    put("a")
    arn = call("RegisterStreamConsumer", StreamARN=ARN, ConsumerName="c")["Consumer"]["ConsumerARN"]

    assert len(page(FIRST, 0, arn=arn).items) == 1
    with pytest.raises(ServiceError, match="ResourceNotFoundException"):
        page(FIRST, 0, arn=f"{arn}0")


@pytest.mark.parametrize("arn", [f"{ARN}2", "x", "arn:aws:kinesis:us-east-1:000000000000:queue/q"])
def test_missing_stream_is_told(stream, page, arn):
    with pytest.raises(ServiceError, match="ResourceNotFoundException"):
        page(FIRST, 0, arn=arn)


def test_missing_shard_is_told(stream, page):
    with pytest.raises(ServiceError, match="ResourceNotFoundException"):
        page(CHILDREN[0], 0)


@pytest.mark.parametrize(
    ("operation", "params"),
    [
        ("PutRecord", {"PartitionKey": "k", "Data": b""}),
        ("PutRecords", {"Records": [{"PartitionKey": "k", "ExplicitHashKey": HIGH, "Data": b""}]}),
        ("SplitShard", {"ShardToSplit": FIRST, "NewStartingHashKey": str(1 << 126)}),
        ("MergeShards", {"ShardToMerge": FIRST, "AdjacentShardToMerge": SECOND}),
        ("UpdateShardCount", {"TargetShardCount": 4, "ScalingType": "UNIFORM_SCALING"}),
        ("DeleteStream", {"EnforceConsumerDeletion": True}),
    ],
)
def test_readers_of_a_stream_and_of_its_consumers_are_told(world, call, stream, operation, params):
    """Both are told of records, of other shards, and of the stream's end."""
    arn = call("RegisterStreamConsumer", StreamARN=ARN, ConsumerName="c")["Consumer"]["ConsumerARN"]
    for number, watched in enumerate((ARN, arn)):
        world.store.run(lambda tx, at=watched, of=str(number): watch(tx, at, Reader("lambda.mapping", of)))

    call(operation, StreamName=stream, **params)

    rows = world.store.connection.execute("SELECT name FROM timers WHERE kind = 'lambda.mapping' ORDER BY name")
    assert [name for (name,) in rows] == ["0", "1"]
