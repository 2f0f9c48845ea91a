"""Each change of an item becomes a record of its table's stream, in the transaction that makes the change."""

from __future__ import annotations

import pytest

from tests.unit.services.dynamodb.conftest import ORDERS, key
from tests.unit.services.dynamodb.stream_readers import disable, enable, names_of, records_of, shards

HOUR_S = 3_600
VIEWS = {
    "KEYS_ONLY": set(),
    "NEW_IMAGE": {"NewImage"},
    "OLD_IMAGE": {"OldImage"},
    "NEW_AND_OLD_IMAGES": {"NewImage", "OldImage"},
}


def test_stream_of_a_new_table_is_described_at_once(call):
    answer = call("CreateTable", **ORDERS, StreamSpecification={"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"})

    described = call("DescribeTable", TableName="orders")["Table"]
    for table in (answer["TableDescription"], described):
        assert table["StreamSpecification"] == {"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"}
        assert table["LatestStreamArn"] == f"{table['TableArn']}/stream/{table['LatestStreamLabel']}"
    assert described["LatestStreamLabel"].count(":") == 2


@pytest.mark.parametrize(
    ("specification", "problem"),
    [
        ({"StreamEnabled": False, "StreamViewType": "NEW_IMAGE"}, "StreamViewType cannot be specified"),
        ({"StreamEnabled": True}, "StreamViewType is required"),
    ],
)
def test_specification_that_contradicts_itself_is_refused(refusal, specification, problem):
    code, message = refusal("CreateTable", **ORDERS, StreamSpecification=specification)

    assert code == "ValidationException"
    assert problem in message


def test_table_with_a_disabled_stream_has_none(call):
    call("CreateTable", **ORDERS, StreamSpecification={"StreamEnabled": False})

    assert "LatestStreamArn" not in call("DescribeTable", TableName="orders")["Table"]


def test_create_change_and_delete_are_insert_modify_and_remove(world, call, put, orders):
    arn = enable(world, orders)

    put("ann", 1, note={"S": "a"})
    put("ann", 1, note={"S": "b"})
    call("UpdateItem", TableName=orders, Key=key("ann", 1), UpdateExpression="REMOVE note")
    call("DeleteItem", TableName=orders, Key=key("ann", 1))

    records = records_of(world, arn)
    assert names_of(records) == ["INSERT", "MODIFY", "MODIFY", "REMOVE"]
    assert all(record["dynamodb"]["Keys"] == key("ann", 1) for record in records)
    assert [record["dynamodb"].get("NewImage", {}).get("note") for record in records] == [
        {"S": "a"}, {"S": "b"}, None, None,
    ]  # fmt: skip
    assert [record["dynamodb"].get("OldImage", {}).get("note") for record in records] == [
        None, {"S": "a"}, {"S": "b"}, None,
    ]  # fmt: skip


def test_record_has_the_members_of_awss(world, put, orders):
    arn = enable(world, orders, "NEW_IMAGE")
    world.advance(seconds=1.5)
    put("ann", 1)

    (record,) = records_of(world, arn)
    body = record["dynamodb"]
    assert (record["eventVersion"], record["eventSource"], record["awsRegion"]) == ("1.1", "aws:dynamodb", "us-east-1")
    assert len(record["eventID"]) == 32
    assert body["ApproximateCreationDateTime"] == world.now // 1_000 * 1_000
    assert body["StreamViewType"] == "NEW_IMAGE"
    assert body["SequenceNumber"].isdigit()
    assert len(body["SequenceNumber"]) >= 21
    assert "userIdentity" not in record


def test_size_counts_the_keys_and_the_images(world, call):
    """A key-only item `id` with 4 characters counts twice: its key, and its image. Recorded."""
    call(
        "CreateTable", TableName="names", BillingMode="PAY_PER_REQUEST",
        KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
        StreamSpecification={"StreamEnabled": True, "StreamViewType": "NEW_IMAGE"},
    )  # fmt: skip
    arn = call("DescribeTable", TableName="names")["Table"]["LatestStreamArn"]

    call("PutItem", TableName="names", Item={"id": {"S": "abcd"}})

    assert records_of(world, arn)[0]["dynamodb"]["SizeBytes"] == 12


@pytest.mark.parametrize(("view_type", "images"), VIEWS.items())
def test_view_type_says_which_images_a_record_has(world, put, orders, view_type, images):
    put("ann", 1)
    arn = enable(world, orders, view_type)
    put("ann", 1, note={"S": "a"})

    (record,) = records_of(world, arn)

    assert {name for name in record["dynamodb"] if name.endswith("Image")} == images
    assert record["dynamodb"]["StreamViewType"] == view_type


def test_writes_that_change_nothing_have_no_record(world, call, put, orders):
    put("ann", 1, tags={"SS": ["a", "b"]}, address={"M": {"x": {"S": "1"}, "y": {"S": "2"}}})
    arn = enable(world, orders)

    put("ann", 1, tags={"SS": ["b", "a"]}, address={"M": {"y": {"S": "2"}, "x": {"S": "1"}}})
    call("UpdateItem", TableName=orders, Key=key("ann", 1), UpdateExpression="REMOVE nothing")
    call("DeleteItem", TableName=orders, Key=key("ann", 2))
    call("BatchWriteItem", RequestItems={orders: [{"DeleteRequest": {"Key": key("bob", 1)}}]})

    assert records_of(world, arn) == []


def test_failed_write_has_no_record(world, refusal, put, orders):
    put("ann", 1)
    arn = enable(world, orders)

    refusal(
        "TransactWriteItems",
        TransactItems=[
            {"Put": {"TableName": orders, "Item": key("ann", 2)}},
            {"Delete": {
                "TableName": orders, "Key": key("ann", 1), "ConditionExpression": "attribute_not_exists(customer)",
            }},
        ],
    )  # fmt: skip

    assert records_of(world, arn) == []


def test_batches_and_transactions_write_ordinary_records(world, call, put, orders):
    put("ann", 1)
    put("ann", 2)
    arn = enable(world, orders)

    call(
        "BatchWriteItem",
        RequestItems={orders: [{"PutRequest": {"Item": {**key("ann", 1), "n": {"N": "1"}}}},
                               {"DeleteRequest": {"Key": key("ann", 2)}}]},
    )  # fmt: skip
    call(
        "TransactWriteItems",
        TransactItems=[
            {"Update": {"TableName": orders, "Key": key("ann", 1), "UpdateExpression": "SET n = :n",
                        "ExpressionAttributeValues": {":n": {"N": "2"}}}},
            {"Put": {"TableName": orders, "Item": key("ann", 3)}},
        ],
    )  # fmt: skip

    assert names_of(records_of(world, arn)) == ["MODIFY", "REMOVE", "MODIFY", "INSERT"]


def test_expired_item_is_removed_by_the_service(world, call, put, orders):
    call("UpdateTimeToLive", TableName=orders, TimeToLiveSpecification={"Enabled": True, "AttributeName": "until"})
    arn = enable(world, orders)
    put("ann", 1, until={"N": str(world.now // 1_000 + 60)})

    world.advance(seconds=300)

    inserted, removed = records_of(world, arn)
    assert removed["eventName"] == "REMOVE"
    assert removed["userIdentity"] == {"Type": "Service", "PrincipalId": "dynamodb.amazonaws.com"}
    assert removed["dynamodb"]["OldImage"] == inserted["dynamodb"]["NewImage"]


def test_items_without_a_stream_expire_beside_those_with_one(world, call, put, orders):
    for table in (orders, "others"):
        if table != orders:
            call("CreateTable", **{**ORDERS, "TableName": table})
        call("UpdateTimeToLive", TableName=table, TimeToLiveSpecification={"Enabled": True, "AttributeName": "until"})
        until = {"until": {"N": str(world.now // 1_000 + 60)}}
        call("PutItem", TableName=table, Item={**key("ann", 1), **until})
    arn = enable(world, orders)

    world.advance(seconds=300)

    assert names_of(records_of(world, arn)) == ["REMOVE"]
    assert call("Scan", TableName="others")["Count"] == 0


def test_disabled_stream_gets_no_records_and_its_shards_are_closed(world, put, orders):
    arn = enable(world, orders)
    put("ann", 1)
    disable(world, orders)
    put("ann", 2)

    described = world.call("dynamodbstreams", "DescribeStream", StreamArn=arn)["StreamDescription"]

    assert described["StreamStatus"] == "DISABLED"
    assert all("EndingSequenceNumber" in shard["SequenceNumberRange"] for shard in described["Shards"])
    assert names_of(records_of(world, arn)) == ["INSERT"]


def test_enabling_again_begins_another_stream(world, call, put, orders):
    first = enable(world, orders)
    put("ann", 1)
    disable(world, orders)
    second = enable(world, orders)
    put("ann", 2)

    assert first != second
    assert call("DescribeTable", TableName=orders)["Table"]["LatestStreamArn"] == second
    assert [len(records_of(world, arn)) for arn in (first, second)] == [1, 1]


def test_stream_cannot_be_enabled_or_disabled_twice(world, refusal, orders):
    disabled = refusal("UpdateTable", TableName=orders, StreamSpecification={"StreamEnabled": False})
    enable(world, orders)
    enabled = refusal(
        "UpdateTable", TableName=orders, StreamSpecification={"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"}
    )

    assert disabled == ("ValidationException", "Table has no stream to disable: TableName: orders")
    assert enabled == ("ValidationException", "Table already has an enabled stream: TableName: orders")


def test_disabled_stream_is_readable_for_24_hours(world, call, put, orders):
    arn = enable(world, orders)
    put("ann", 1)
    call("DeleteTable", TableName=orders)

    world.advance(seconds=24 * HOUR_S - 1)
    listed = world.call("dynamodbstreams", "ListStreams", TableName=orders)["Streams"]
    found = records_of(world, arn)
    world.advance(seconds=1)

    assert [one["StreamArn"] for one in listed] == [arn]
    assert names_of(found) == ["INSERT"]
    assert world.call("dynamodbstreams", "ListStreams")["Streams"] == []


def test_stream_that_is_gone_leaves_no_rows(world, call, put, orders):
    enable(world, orders)
    for number in range(3):
        put("ann", number)
    call("DeleteTable", TableName=orders)

    world.advance(seconds=26 * HOUR_S)

    rows = world.store.connection.execute("SELECT count(*) FROM stream_records").fetchone()
    kinds = world.store.connection.execute("SELECT count(*) FROM resources WHERE kind = 'dynamodb.stream'").fetchone()
    assert (rows[0], kinds[0]) == (0, 0)


def test_records_are_deleted_after_24_hours_but_the_newest(world, put, orders):
    arn = enable(world, orders)
    for number in range(5):
        put("ann", number)
    world.advance(seconds=12 * HOUR_S)
    put("ann", 9)
    world.advance(seconds=14 * HOUR_S)

    rows = world.store.connection.execute("SELECT count(*) FROM stream_records").fetchone()
    assert rows[0] == 1
    assert len(records_of(world, arn)) == 1
    assert len(shards(world, arn)) > 4


def test_write_without_a_stream_costs_no_statement_more(world, call, statements, put, orders):
    put("ann", 1)

    unfollowed = statements("PutItem", TableName=orders, Item={**key("ann", 1), "n": {"N": "1"}})
    enable(world, orders)
    put("ann", 1)
    followed = statements("PutItem", TableName=orders, Item={**key("ann", 1), "n": {"N": "2"}})
    updated = statements(
        "UpdateItem", TableName=orders, Key=key("ann", 1), UpdateExpression="ADD n :n",
        ExpressionAttributeValues={":n": {"N": "1"}},
    )  # fmt: skip

    assert unfollowed == 1
    assert followed == unfollowed + 2, "the old item is read, and the record is written"
    assert updated == 3
