"""Iterators of five types lead through a shard in order; they expire, cannot be made up, and end with their shard."""

from __future__ import annotations

import base64

import pytest

from tests.unit.services.kinesis.conftest import ARN, FIRST, LOW, SECOND, texts

CHILDREN = ["shardId-000000000002", "shardId-000000000003"]


def test_records_come_in_order_page_by_page(call, put, iterator):
    put("a", "b", "c")

    first = call("GetRecords", ShardIterator=iterator(), Limit=2)
    second = call("GetRecords", ShardIterator=first["NextShardIterator"], Limit=2)
    third = call("GetRecords", ShardIterator=second["NextShardIterator"], Limit=2)

    assert (texts(first), texts(second), texts(third)) == (["a", "b"], ["c"], [])


def test_types_of_iterators_begin_where_they_say(world, put, read):
    start = world.now
    first, second = put("a", "b")
    world.advance(seconds=10)
    put("c")

    assert read("TRIM_HORIZON") == ["a", "b", "c"]
    assert read("LATEST") == []
    assert read("AT_SEQUENCE_NUMBER", StartingSequenceNumber=second) == ["b", "c"]
    assert read("AFTER_SEQUENCE_NUMBER", StartingSequenceNumber=first) == ["b", "c"]
    assert read("AT_TIMESTAMP", Timestamp=start) == ["a", "b", "c"]
    assert read("AT_TIMESTAMP", Timestamp=start + 1) == ["c"]
    assert read("AT_TIMESTAMP", Timestamp=world.now) == ["c"]


def test_latest_sees_what_is_written_after_it(call, put, iterator):
    put("a")
    latest = iterator("LATEST")
    put("b")

    assert texts(call("GetRecords", ShardIterator=latest)) == ["b"]


def test_ends_of_a_shard_are_numbers_to_begin_at(call, stream, put, read):
    numbers = call("ListShards", StreamName=stream)["Shards"][0]["SequenceNumberRange"]
    put("a")

    assert read("AT_SEQUENCE_NUMBER", StartingSequenceNumber=numbers["StartingSequenceNumber"]) == ["a"]
    assert read("AFTER_SEQUENCE_NUMBER", StartingSequenceNumber=numbers["StartingSequenceNumber"]) == ["a"]


def test_time_behind_the_newest_record_is_told(world, call, put, iterator):
    put("a", "b")
    world.advance(seconds=3)
    put("c")

    first = call("GetRecords", ShardIterator=iterator(), Limit=1)
    last = call("GetRecords", ShardIterator=first["NextShardIterator"])

    assert (first["MillisBehindLatest"], last["MillisBehindLatest"]) == (3_000, 0)


def test_page_has_ten_mib_at_most(relaxed):
    data = bytes(1_048_576 - 1)
    for _ in range(11):
        relaxed.call("kinesis", "PutRecord", StreamName="clicks", PartitionKey="k", ExplicitHashKey=LOW, Data=data)
    given = {"StreamName": "clicks", "ShardId": FIRST, "ShardIteratorType": "TRIM_HORIZON"}
    iterator = relaxed.call("kinesis", "GetShardIterator", **given)["ShardIterator"]

    first = relaxed.call("kinesis", "GetRecords", ShardIterator=iterator)
    second = relaxed.call("kinesis", "GetRecords", ShardIterator=first["NextShardIterator"])

    assert (len(first["Records"]), len(second["Records"])) == (10, 1)


def test_next_iterator_differs_even_if_nothing_was_read(call, iterator):
    sent = iterator("LATEST")

    assert call("GetRecords", ShardIterator=sent)["NextShardIterator"] != sent


def test_iterator_in_quotes_is_accepted_and_can_be_used_again(call, put, iterator):
    put("a")
    text = iterator()

    assert [texts(call("GetRecords", ShardIterator=one)) for one in (text, f'"{text}"', text)] == [["a"]] * 3


def test_iterator_expires_after_five_minutes(world, call, iterator, refusal):
    text = iterator()
    world.advance(minutes=5)
    call("GetRecords", ShardIterator=text)
    world.advance(seconds=1)

    assert refusal("GetRecords", ShardIterator=text) == (
        "ExpiredIteratorException",
        (
            "Iterator expired. The iterator was created at time Wed Jan 01 00:00:00 UTC 2025 while right now it is "
            "Wed Jan 01 00:05:01 UTC 2025 which is further in the future than the tolerated delay of 300000 "
            "milliseconds."
        ),
    )


def test_iterator_cannot_be_made_up(call, put, iterator, refusal):
    """Whoever changes a place in an iterator has no iterator."""
    put("a", "b")
    text = base64.b64decode(iterator("LATEST")).decode()
    forged = base64.b64encode(text.replace("|0|2|", "|0|0|").encode()).decode()

    assert text != base64.b64decode(forged).decode()
    for made_up in (forged, "x", "AAAA", base64.b64encode(b"|" * 8).decode(), forged[:-8]):
        assert refusal("GetRecords", ShardIterator=made_up) == ("InvalidArgumentException", "Invalid ShardIterator.")


def test_iterator_of_a_deleted_stream_reads_nothing_of_its_successor(call, stream, iterator, refusal):
    text = iterator()
    call("DeleteStream", StreamName=stream)
    assert refusal("GetRecords", ShardIterator=text)[0] == "ResourceNotFoundException"

    call("CreateStream", StreamName=stream, ShardCount=2)

    assert refusal("GetRecords", ShardIterator=text) == ("InvalidArgumentException", "Invalid ShardIterator.")


@pytest.mark.parametrize(
    ("kind", "params", "message"),
    [
        ("AT_SEQUENCE_NUMBER", {}, "Request specified AT_SEQUENCE_NUMBER and no StartingSequenceNumber."),
        ("LATEST", {"StartingSequenceNumber": "1"}, "Request specified LATEST and also a StartingSequenceNumber."),
        ("AT_SEQUENCE_NUMBER", {"StartingSequenceNumber": "1"},
         (f"StartingSequenceNumber 1 used in GetShardIterator on shard {FIRST} in stream clicks under account "
         "000000000000 is invalid.")),
        ("AT_TIMESTAMP", {}, "Must specify timestampInMillis parameter for iterator of type AT_TIMESTAMP."),
        ("AT_TIMESTAMP", {"Timestamp": 4_000_000_000_000}, "cannot be greater than the currentTimestampInMillis"),
    ],
)  # fmt: skip
def test_iterator_that_begins_nowhere_is_refused(stream, refusal, kind, params, message):
    code, text = refusal("GetShardIterator", StreamName=stream, ShardId=FIRST, ShardIteratorType=kind, **params)

    assert code == "InvalidArgumentException"
    assert message in text


def test_number_of_another_shard_is_refused(stream, put, refusal):
    (number,) = put("a")

    given = {"StreamName": stream, "ShardId": SECOND, "ShardIteratorType": "AT_SEQUENCE_NUMBER"}
    code, text = refusal("GetShardIterator", StartingSequenceNumber=number, **given)

    assert (code, text[-52:]) == ("InvalidArgumentException", "is invalid because it did not come from this stream.")


@pytest.mark.parametrize("shard", ["shardId-000000000009", "shardId-9", "x"])
def test_missing_shard_is_told(stream, refusal, shard):
    assert refusal("GetShardIterator", StreamName=stream, ShardId=shard, ShardIteratorType="LATEST") == (
        "ResourceNotFoundException",
        f"Shard {shard} in stream clicks under account 000000000000 does not exist",
    )


def test_more_than_ten_thousand_records_are_refused(iterator, refusal):
    assert refusal("GetRecords", ShardIterator=iterator(), Limit=10_001)[0] == "ValidationException"


def test_arn_of_the_request_must_be_that_of_the_iterator(call, iterator, refusal):
    call("GetRecords", ShardIterator=iterator(), StreamARN=ARN)

    assert refusal("GetRecords", ShardIterator=iterator(), StreamARN=f"{ARN}2")[0] == "InvalidArgumentException"


def test_closed_shard_is_read_to_its_end_and_names_its_children(call, stream, put, iterator):
    """A reader that has begun before the split reads on; the end has children and no next iterator."""
    put("a", "b")
    first = call("GetRecords", ShardIterator=iterator(), Limit=1)
    call("SplitShard", StreamName=stream, ShardToSplit=FIRST, NewStartingHashKey=str(1 << 126))

    second = call("GetRecords", ShardIterator=first["NextShardIterator"], Limit=1)

    assert (texts(first), texts(second)) == (["a"], ["b"])
    assert "NextShardIterator" not in second
    assert [(child["ShardId"], child["ParentShards"]) for child in second["ChildShards"]] == [
        (child, [FIRST]) for child in CHILDREN
    ]


def test_dry_run_of_a_read_reads_nothing(stream, iterator, refusal):
    given = {"StreamName": stream, "ShardId": FIRST, "ShardIteratorType": "LATEST"}

    assert refusal("GetShardIterator", DryRun=True, **given)[0] == "DryRunOperationException"
    assert refusal("GetRecords", DryRun=True, ShardIterator=iterator())[0] == "DryRunOperationException"
