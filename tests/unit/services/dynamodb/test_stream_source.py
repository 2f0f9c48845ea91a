"""Event source mappings read streams of tables by the port of streams, and are told of new records."""

from __future__ import annotations

import json

import pytest

from redrive.core.errors import ServiceError
from redrive.core.scope import Caller, Scope
from redrive.delivery.sources.stream_sources import StartingPoint, StreamPage, StreamSource
from redrive.delivery.sources.watches import Reader, watch
from redrive.services.dynamodb.limits import CLOSING_MS, SHARD_MS, STREAM_RETENTION_MS
from redrive.services.dynamodb.stream_source import TableStreams
from redrive.testing.world import World
from tests.unit.services.dynamodb.stream_readers import disable, enable, shards

CALLER = Caller(Scope("000000000000", "us-east-1"), "request")
SOURCE: StreamSource = TableStreams()
READER = Reader("mapping", "one")


@pytest.fixture
def stream(world, orders):
    """The ARN of the stream of orders."""
    return enable(world, orders)


def read_all(world: World, arn: str, shard_id: str, after: int = 0, *, limit: int = 100) -> StreamPage:
    return world.store.run(lambda tx: SOURCE.read(tx, CALLER, arn, shard_id, after, limit=limit, bytes_max=1_000_000))


def position(world: World, arn: str, shard_id: str, start: StartingPoint) -> int:
    return world.store.run(lambda tx: SOURCE.position(tx, arn, shard_id, start, None))


def shard_ids(world: World, arn: str) -> list[str]:
    """The shards that have records."""
    return [one["ShardId"] for one in shards(world, arn) if read_all(world, arn, one["ShardId"]).items]


def test_function_gets_records_in_json(world, put, stream):
    put("ann", 1, data={"B": b"\xff\x00"}, parts={"BS": [b"a"]})
    (shard_id,) = shard_ids(world, stream)

    (item,) = read_all(world, stream, shard_id).items

    document = json.loads(json.dumps(item.document))
    assert document["eventSourceARN"] == stream
    assert document["dynamodb"]["NewImage"]["data"] == {"B": "/wA="}
    assert document["dynamodb"]["NewImage"]["parts"] == {"BS": ["YQ=="]}
    assert document["dynamodb"]["ApproximateCreationDateTime"] == item.at // 1_000
    assert document["dynamodb"]["SequenceNumber"] == item.sequence_number


def test_deletion_by_time_to_live_names_the_service_in_small_letters(world, call, put, stream):
    call("UpdateTimeToLive", TableName="orders", TimeToLiveSpecification={"Enabled": True, "AttributeName": "until"})
    put("ann", 1, until={"N": str(world.now // 1_000 + 60)})
    world.advance(seconds=300)
    (shard_id,) = shard_ids(world, stream)

    removed = read_all(world, stream, shard_id).items[-1].document

    assert removed["userIdentity"] == {"type": "Service", "principalId": "dynamodb.amazonaws.com"}


def test_records_of_an_item_share_a_partition_key(world, put, stream):
    for number in (1, 2, 1):
        put("ann", number, at={"N": str(world.now)})
        world.advance(seconds=1)
    (shard_id,) = shard_ids(world, stream)

    first, second, third = (item.partition_key for item in read_all(world, stream, shard_id).items)

    assert first == third != second


def test_reader_goes_on_after_its_position_and_through_the_children(world, put, stream):
    seen: list[int] = []
    put("ann", 0)
    (shard_id,) = shard_ids(world, stream)
    after = position(world, stream, shard_id, StartingPoint.TRIM_HORIZON)
    for number in range(1, 5):
        page = read_all(world, stream, shard_id, after, limit=1)
        seen += [int(item.document["dynamodb"]["Keys"]["order_no"]["N"]) for item in page.items]
        after = page.items[-1].seq if page.items else after
        put("ann", number)

    assert seen == [0, 1, 2, 3]


def test_latest_position_skips_what_is_there(world, put, stream):
    put("ann", 0)
    (shard_id,) = shard_ids(world, stream)
    after = position(world, stream, shard_id, StartingPoint.LATEST)
    put("ann", 1)

    assert len(read_all(world, stream, shard_id, after).items) == 1


def test_shards_tell_their_parents_and_whether_they_are_closed(world, stream):
    world.advance(seconds=(SHARD_MS + CLOSING_MS) / 1_000)

    found = world.store.run(lambda tx: SOURCE.shards(tx, CALLER, stream))

    assert [(bool(one.parents), one.is_closed) for one in found] == [(False, True)] * 4 + [(True, False)] * 4
    assert {parent for one in found for parent in one.parents} == {one.id for one in found[:4]}


def test_reader_that_is_late_goes_on_with_what_has_not_expired(world, put, stream):
    """No error tells a mapping that it has missed records: it goes on at the oldest one."""
    put("ann", 0)
    (shard_id,) = shard_ids(world, stream)
    world.advance(seconds=SHARD_MS / 1_000 - 1)
    put("ann", 1)
    world.advance(seconds=(STREAM_RETENTION_MS - SHARD_MS) / 1_000 + 2)

    page = read_all(world, stream, shard_id)

    assert [item.seq for item in page.items] == [2]
    assert page.is_end


def test_readers_are_told_of_records_and_of_the_end(world, put, stream):
    told: list[int | None] = []

    def rest(tx):
        tx.timers.set(READER.kind, READER.timer, tx.now + 10**9)
        watch(tx, stream, READER)

    for change in (lambda: put("ann", 1), lambda: put("ann", 1), lambda: disable(world, "orders")):
        world.store.run(rest)
        change()
        told.append(world.store.run(lambda tx: tx.timers.next(READER.kind)))

    assert told == [world.now, world.now + 10**9, world.now], "the second put changes nothing"


def test_reader_needs_permission_and_a_stream(world, stream):
    stranger = Caller(CALLER.scope, "request", role_arn="arn:aws:iam::000000000000:role/none", session_name="s")
    with pytest.raises(ServiceError) as refused:
        world.store.run(lambda tx: SOURCE.shards(tx, stranger, stream))
    with pytest.raises(ServiceError) as missing:
        world.store.run(lambda tx: SOURCE.shards(tx, CALLER, stream.replace("orders", "others")))

    assert (refused.value.code, missing.value.code) == ("AccessDeniedException", "ResourceNotFoundException")


def test_policy_of_a_stream_lets_another_account_read(world, call, stream):
    other = Caller(Scope("111111111111", "us-east-1"), "request")
    with pytest.raises(ServiceError) as before:
        world.store.run(lambda tx: SOURCE.shards(tx, other, stream))
    statement = {
        "Effect": "Allow", "Principal": {"AWS": "111111111111"}, "Action": "dynamodb:DescribeStream",
        "Resource": stream,
    }  # fmt: skip
    call(
        "PutResourcePolicy", ResourceArn=stream,
        Policy=json.dumps({"Version": "2012-10-17", "Statement": [statement]}),
    )  # fmt: skip

    assert before.value.code == "AccessDeniedException"
    assert len(world.store.run(lambda tx: SOURCE.shards(tx, other, stream))) == 4
