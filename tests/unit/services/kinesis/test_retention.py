"""Records expire after the retention of their stream, and closed shards with them; readers skip what has expired."""

from __future__ import annotations

import pytest

from tests.unit.services.kinesis.conftest import FIRST, SECOND, texts


@pytest.fixture
def stored(world):
    """How many records the store has."""
    return lambda: world.store.connection.execute("SELECT count(*) FROM stream_records").fetchone()[0]


def test_record_expires_to_the_millisecond(world, put, read):
    put("a")
    world.advance(hours=24)
    assert read() == ["a"]

    world.advance(seconds=0.001)
    assert read() == []


def test_iterator_at_an_expired_record_begins_with_the_oldest(world, put, read):
    """AWS has no error for it: what has expired is skipped."""
    (old,) = put("a")
    world.advance(hours=20)
    put("b")
    world.advance(hours=5)

    assert read("AT_SEQUENCE_NUMBER", StartingSequenceNumber=old) == ["b"]
    assert read("AFTER_SEQUENCE_NUMBER", StartingSequenceNumber=old) == ["b"]
    assert read("TRIM_HORIZON") == ["b"]
    assert read("AT_TIMESTAMP", Timestamp=world.now - 25 * 3_600_000) == ["b"]


def test_reader_that_has_fallen_behind_goes_on_with_the_oldest(world, call, put, iterator):
    put("a", "b")
    first = call("GetRecords", ShardIterator=iterator(), Limit=1)
    world.advance(minutes=4)
    put("c")
    world.clock.move_to(world.now + 24 * 3_600_000 - 1_000)
    again = call("GetRecords", ShardIterator=iterator("AFTER_SEQUENCE_NUMBER", StartingSequenceNumber=(
        first["Records"][0]["SequenceNumber"])))  # fmt: skip

    assert texts(again) == ["c"]


def test_expired_records_are_deleted_but_for_the_newest(world, put, stored):
    put("a", "b", "c")
    world.advance(hours=26)

    assert stored() == 1


def test_numbers_go_on_after_everything_has_expired(world, put, stored):
    (before,) = put("a")
    world.advance(hours=30)
    (after,) = put("b")

    assert int(after) > int(before)


def test_closed_shard_vanishes_with_its_records(world, call, stream, put, stored, refusal):
    put("a", "b")
    call("SplitShard", StreamName=stream, ShardToSplit=FIRST, NewStartingHashKey=str(1 << 126))
    world.advance(hours=23)
    assert len(call("ListShards", StreamName=stream)["Shards"]) == 4

    world.advance(hours=3)

    ids = [shard["ShardId"] for shard in call("ListShards", StreamName=stream)["Shards"]]
    assert ids == [SECOND, "shardId-000000000002", "shardId-000000000003"]
    assert refusal("GetShardIterator", StreamName=stream, ShardId=FIRST, ShardIteratorType="LATEST")[0] == (
        "ResourceNotFoundException"
    )
    assert stored() == 0


def test_longer_retention_keeps_but_does_not_bring_back(world, call, stream, put, read):
    put("a")
    world.clock.move_to(world.now + 25 * 3_600_000)
    put("b")
    call("IncreaseStreamRetentionPeriod", StreamName=stream, RetentionPeriodHours=48)
    assert read() == ["b"]

    world.advance(hours=40)
    assert read() == ["b"]


def test_shorter_retention_takes_effect_at_once(world, call, stream, put, read):
    call("IncreaseStreamRetentionPeriod", StreamName=stream, RetentionPeriodHours=8_760)
    put("a")
    world.advance(days=300)
    put("b")
    assert read() == ["a", "b"]

    call("DecreaseStreamRetentionPeriod", StreamName=stream, RetentionPeriodHours=24)
    assert read() == ["b"]


def test_sweep_rests_while_nothing_expires(world, put):
    """The newest record stays for ever, so that it must not keep the sweep busy."""
    put("a", "b")
    world.advance(days=10)

    due = world.store.connection.execute("SELECT count(*) FROM timers WHERE kind = 'kinesis.retention'").fetchone()
    assert due == (0,)
