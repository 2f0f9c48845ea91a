"""Shards last four hours, iterators fifteen minutes, records a day; readers find each record once, in order."""

from __future__ import annotations

import base64

import pytest

from redrive.core.errors import ServiceError
from redrive.services.dynamodb.limits import CLOSING_MS, ITERATOR_MS, SHARD_MS, STREAM_RETENTION_MS
from redrive.testing.world import World
from tests.unit.services.dynamodb.conftest import ORDERS
from tests.unit.services.dynamodb.stream_readers import (
    Record,
    disable,
    enable,
    iterator,
    read,
    records_of,
    shard_records,
    shard_with,
    shards,
)

UNKNOWN = "arn:aws:dynamodb:us-east-1:000000000000:table/orders/stream/2020-01-01T00:00:00.000"


@pytest.fixture
def stream(world, orders):
    """The ARN of the stream of orders."""
    return enable(world, orders)


@pytest.fixture
def streams_refusal(world):
    """(code, message) of the error that an operation on streams answers."""

    def refusal(operation: str, **params: object) -> tuple[str, str]:
        with pytest.raises(ServiceError) as caught:
            world.call("dynamodbstreams", operation, **params)
        return caught.value.code, caught.value.message

    return refusal


def numbers_of(records: list[Record]) -> list[int]:
    return [int(record["dynamodb"]["Keys"]["order_no"]["N"]) for record in records]


def advance(world: World, milliseconds: int) -> None:
    world.advance(seconds=milliseconds / 1_000)


@pytest.mark.parametrize(
    ("billing", "count"),
    [
        ({}, 4),
        ({"BillingMode": "PROVISIONED", "ProvisionedThroughput": {"ReadCapacityUnits": 5, "WriteCapacityUnits": 5}}, 1),
        (
            {
                "BillingMode": "PROVISIONED",
                "ProvisionedThroughput": {"ReadCapacityUnits": 5, "WriteCapacityUnits": 2_000},
            },
            2,
        ),
    ],
)
def test_stream_has_a_shard_for_each_partition_of_the_table(world, call, billing, count):
    call("CreateTable", **{**ORDERS, **billing})

    found = shards(world, enable(world, "orders"))

    assert len(found) == len({shard["ShardId"] for shard in found}) == count
    assert all(28 <= len(shard["ShardId"]) <= 65 for shard in found)
    assert all("EndingSequenceNumber" not in shard["SequenceNumberRange"] for shard in found)


def test_shards_are_followed_by_their_children_every_four_hours(world, stream):
    before = shards(world, stream)
    advance(world, SHARD_MS + CLOSING_MS)
    after = shards(world, stream)

    parents = {shard["ShardId"] for shard in before}
    assert [shard["ShardId"] for shard in after[:4]] == [shard["ShardId"] for shard in before]
    assert {shard["ParentShardId"] for shard in after[4:]} == parents
    assert all("EndingSequenceNumber" in shard["SequenceNumberRange"] for shard in after[:4])
    assert all("EndingSequenceNumber" not in shard["SequenceNumberRange"] for shard in after[4:])


def test_shards_vanish_a_day_after_they_were_closed(world, stream):
    first = {shard["ShardId"] for shard in shards(world, stream)}
    advance(world, STREAM_RETENTION_MS + SHARD_MS - 1)
    before = {shard["ShardId"] for shard in shards(world, stream)}
    advance(world, 1)
    after = {shard["ShardId"] for shard in shards(world, stream)}

    assert first <= before
    assert not first & after
    assert len(after) == 4 * 7


def test_items_of_one_hash_key_go_through_a_shard_and_its_children_in_order(world, put, stream):
    for number in range(10):
        put("ann", number)
        put("ann", number, again={"S": "yes"})
        advance(world, SHARD_MS // 4)

    found = records_of(world, stream)

    assert numbers_of(found) == [number for number in range(10) for _ in range(2)]
    sequence = [int(record["dynamodb"]["SequenceNumber"]) for record in found]
    assert sequence == sorted(set(sequence))


def test_numbers_of_a_shard_enclose_those_of_its_records(world, put, stream):
    for number in range(9):
        put("ann", number)
        advance(world, SHARD_MS // 2)

    for shard in shards(world, stream):
        given = shard["SequenceNumberRange"]
        numbers = [
            int(record["dynamodb"]["SequenceNumber"]) for record in shard_records(world, stream, shard["ShardId"])
        ]
        assert all(int(given["StartingSequenceNumber"]) < number for number in numbers)
        assert all(number <= int(given.get("EndingSequenceNumber", 10**22)) for number in numbers)


def test_closed_shard_ends_without_a_next_iterator(world, put, stream):
    put("ann", 1)
    put("ann", 2)
    shard_id = shard_with(world, stream)
    position = iterator(world, stream, shard_id)
    is_open = read(world, position)
    advance(world, SHARD_MS + CLOSING_MS)

    position = iterator(world, stream, shard_id)
    first = read(world, position, Limit=1)
    second = read(world, first["NextShardIterator"], Limit=1)

    assert "NextShardIterator" in is_open
    assert numbers_of(first["Records"] + second["Records"]) == [1, 2]
    assert "NextShardIterator" not in second


def test_shard_ends_as_soon_as_its_child_has_a_record(world, put, stream):
    put("ann", 1)
    shard_id = shard_with(world, stream)
    advance(world, SHARD_MS)
    before = read(world, iterator(world, stream, shard_id))
    put("ann", 2)
    after = read(world, iterator(world, stream, shard_id))

    assert "NextShardIterator" in before
    assert numbers_of(after["Records"]) == [1]
    assert "NextShardIterator" not in after


def test_iterator_begins_where_its_type_says(world, put, stream):
    for number in range(4):
        put("ann", number)
        world.advance(seconds=10)
    shard_id = shard_with(world, stream)
    second = shard_records(world, stream, shard_id)[1]["dynamodb"]
    at = {"SequenceNumber": second["SequenceNumber"]}

    def found(kind: str, **place: object) -> list[int]:
        return numbers_of(read(world, iterator(world, stream, shard_id, kind, **place))["Records"])

    assert found("TRIM_HORIZON") == [0, 1, 2, 3]
    assert found("AT_SEQUENCE_NUMBER", **at) == [1, 2, 3]
    assert found("AFTER_SEQUENCE_NUMBER", **at) == [2, 3]
    assert found("AT_TIMESTAMP", Timestamp=world.now - 20_000) == [2, 3]
    assert found("LATEST") == []


def test_latest_iterator_finds_what_is_written_later(world, put, stream):
    put("ann", 0)
    position = iterator(world, stream, shard_with(world, stream), "LATEST")
    put("ann", 1)

    assert numbers_of(read(world, position)["Records"]) == [1]


def test_page_of_records_has_at_most_1000_and_ends_at_1_mb(world, call, put, stream):
    for number in range(5):
        put("ann", number, blob={"S": "x" * 300_000})
    shard_id = shard_with(world, stream)

    page = read(world, iterator(world, stream, shard_id))

    assert len(page["Records"]) == 4
    assert numbers_of(read(world, page["NextShardIterator"])["Records"]) == [4]


def test_iterator_expires_after_15_minutes(world, streams_refusal, stream):
    position = iterator(world, stream, shards(world, stream)[0]["ShardId"])
    advance(world, ITERATOR_MS - 1)
    in_time = read(world, position)
    advance(world, 1)

    assert "NextShardIterator" in in_time
    assert streams_refusal("GetRecords", ShardIterator=position)[0] == "ExpiredIteratorException"


def test_position_before_the_oldest_record_is_trimmed(world, streams_refusal, put, stream):
    put("ann", 1)
    shard_id = shard_with(world, stream)
    number = shard_records(world, stream, shard_id)[0]["dynamodb"]["SequenceNumber"]
    advance(world, STREAM_RETENTION_MS - 1)
    position = iterator(world, stream, shard_id)
    advance(world, 2)

    in_the_iterator = streams_refusal("GetRecords", ShardIterator=position)
    asked_for = streams_refusal(
        "GetShardIterator", StreamArn=stream, ShardId=shard_id, ShardIteratorType="AT_SEQUENCE_NUMBER",
        SequenceNumber=number,
    )  # fmt: skip

    assert in_the_iterator[0] == asked_for[0] == "TrimmedDataAccessException"
    assert read(world, iterator(world, stream, shard_id))["Records"] == []


def test_iterator_of_a_shard_that_vanished_is_trimmed(world, streams_refusal, stream):
    shard_id = shards(world, stream)[0]["ShardId"]
    advance(world, STREAM_RETENTION_MS + SHARD_MS - 1)
    position = iterator(world, stream, shard_id)
    advance(world, 1)

    assert streams_refusal("GetRecords", ShardIterator=position)[0] == "TrimmedDataAccessException"


def test_shards_are_described_in_pages(world, stream):
    advance(world, SHARD_MS)
    whole = shards(world, stream)

    first = world.call("dynamodbstreams", "DescribeStream", StreamArn=stream, Limit=5)["StreamDescription"]
    second = world.call(
        "dynamodbstreams", "DescribeStream", StreamArn=stream, ExclusiveStartShardId=first["LastEvaluatedShardId"]
    )["StreamDescription"]

    assert first["Shards"] + second["Shards"] == whole
    assert "LastEvaluatedShardId" not in second


def test_children_of_a_shard_are_described(world, stream):
    parent = shards(world, stream)[0]["ShardId"]
    advance(world, SHARD_MS)

    described = world.call(
        "dynamodbstreams", "DescribeStream", StreamArn=stream,
        ShardFilter={"Type": "CHILD_SHARDS", "ShardId": parent},
    )["StreamDescription"]  # fmt: skip

    assert [shard["ParentShardId"] for shard in described["Shards"]] == [parent]


def test_described_stream_names_its_table_and_key(world, stream):
    described = world.call("dynamodbstreams", "DescribeStream", StreamArn=stream)["StreamDescription"]

    assert described["StreamArn"] == stream
    assert stream.endswith(described["StreamLabel"])
    assert (described["StreamStatus"], described["TableName"]) == ("ENABLED", "orders")
    assert described["KeySchema"] == ORDERS["KeySchema"]
    assert described["StreamViewType"] == "NEW_AND_OLD_IMAGES"
    assert described["CreationRequestDateTime"] == world.now


def test_streams_are_listed_in_pages_and_by_table(world, call, orders):
    arns = [enable(world, orders)]
    disable(world, orders)
    arns.append(enable(world, orders))
    call("CreateTable", **{**ORDERS, "TableName": "parcels"})
    arns.append(enable(world, "parcels"))

    first = world.call("dynamodbstreams", "ListStreams", Limit=2)
    second = world.call("dynamodbstreams", "ListStreams", ExclusiveStartStreamArn=first["LastEvaluatedStreamArn"])
    of_table = world.call("dynamodbstreams", "ListStreams", TableName="parcels")

    assert [one["StreamArn"] for one in first["Streams"] + second["Streams"]] == arns
    assert "LastEvaluatedStreamArn" not in second
    assert [one["StreamArn"] for one in of_table["Streams"]] == arns[2:]


@pytest.mark.parametrize(
    ("operation", "params", "code"),
    [
        ("DescribeStream", {"StreamArn": UNKNOWN}, "ResourceNotFoundException"),
        ("DescribeStream", {"StreamArn": "arn:aws:dynamodb:us-east-1:000000000000:table/t"}, "ValidationException"),
        ("DescribeStream", {"StreamArn": UNKNOWN.replace("us-east-1", "eu-west-1")}, "ResourceNotFoundException"),
        ("GetRecords", {"ShardIterator": "nonsense"}, "ValidationException"),
        ("GetRecords", {"ShardIterator": f"{UNKNOWN}|1|{base64.b64encode(b'a:1:x').decode()}"}, "ValidationException"),
        ("GetRecords", {"ShardIterator": f"{UNKNOWN}|2|{base64.b64encode(b'a:1:1').decode()}"}, "ValidationException"),
        ("GetRecords", {"ShardIterator": f"{UNKNOWN}|1|{base64.b64encode(b'a:-1:1').decode()}"}, "ValidationException"),
        ("ListStreams", {"Limit": 101}, "ValidationException"),
    ],
)
def test_what_cannot_be_found_is_refused(streams_refusal, stream, operation, params, code):
    assert streams_refusal(operation, **params)[0] == code


@pytest.mark.parametrize(
    "params",
    [
        {"ShardIteratorType": "AT_SEQUENCE_NUMBER"},
        {"ShardIteratorType": "LATEST", "SequenceNumber": "100000000000000000001"},
        {"ShardIteratorType": "AT_SEQUENCE_NUMBER", "SequenceNumber": "x" * 21},
        {"ShardIteratorType": "AT_SEQUENCE_NUMBER", "SequenceNumber": "9" * 40},
        {"ShardIteratorType": "AT_SEQUENCE_NUMBER", "SequenceNumber": "\u0663" * 21},
        {"ShardIteratorType": "AT_TIMESTAMP"},
        {"ShardIteratorType": "AT_TIMESTAMP", "Timestamp": 1 << 50},
        {"ShardIteratorType": "TRIM_HORIZON", "Timestamp": 1},
    ],
)
def test_iterator_that_means_nothing_is_refused(world, streams_refusal, stream, params):
    place = {"StreamArn": stream, "ShardId": shards(world, stream)[0]["ShardId"]}

    assert streams_refusal("GetShardIterator", **place, **params)[0] == "ValidationException"


def test_unknown_shard_is_not_found(world, streams_refusal, stream):
    shard_id = shards(world, stream)[0]["ShardId"]
    other = shard_id[:-1] + ("0" if shard_id[-1] != "0" else "1")

    for unknown in (other, "shardId-" + "0" * 30):
        refused = streams_refusal(
            "GetShardIterator", StreamArn=stream, ShardId=unknown, ShardIteratorType="LATEST"
        )  # fmt: skip
        assert refused[0] == "ResourceNotFoundException"


def test_sequence_number_of_another_generation_is_refused(world, streams_refusal, put, stream):
    put("ann", 1)
    shard_id = shard_with(world, stream)
    advance(world, SHARD_MS)
    put("ann", 2)
    child = next(one["ShardId"] for one in shards(world, stream) if one.get("ParentShardId") == shard_id)
    later = shard_records(world, stream, child)[0]["dynamodb"]["SequenceNumber"]

    refused = streams_refusal(
        "GetShardIterator", StreamArn=stream, ShardId=shard_id, ShardIteratorType="AT_SEQUENCE_NUMBER",
        SequenceNumber=later,
    )  # fmt: skip

    assert refused[0] == "ValidationException"
