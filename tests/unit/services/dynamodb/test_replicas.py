"""Global tables of version 2019.11.21: replicas have the same items, and share most settings."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from redrive.core.errors import ServiceError
from redrive.core.scope import Caller, Scope
from redrive.testing.world import World
from tests.unit.services.dynamodb.conftest import key

HOME, AWAY, FAR = "us-east-1", "eu-west-1", "ap-south-1"
BY_NOTE = {
    "IndexName": "by-note", "KeySchema": [{"AttributeName": "note", "KeyType": "HASH"}],
    "Projection": {"ProjectionType": "ALL"},
}  # fmt: skip
DISASSOCIATION = {"Disassociate": {"RegionName": HOME, "DisassociationMode": "WAIT_FOR_REPLICATION"}}
In = Callable[..., dict[str, Any]]


def create(region: str, **settings: object) -> dict[str, Any]:
    """An update that makes a replica."""
    return {"Create": {"RegionName": region, **settings}}


@pytest.fixture
def within(world: World) -> In:
    """Run an operation in a Region: `within(AWAY, "GetItem", Key=…)`; on the table orders unless it says otherwise."""

    def within(region: str, operation: str, **params: object) -> dict[str, Any]:
        named = {} if operation in ("ListTables", "TransactWriteItems", "BatchWriteItem") else {"TableName": "orders"}
        caller = world.caller(region=region)
        return dict(world.engine.call(caller, "dynamodb", operation, {**named, **params}))

    return within


@pytest.fixture
def replicated(call, orders):
    """The table orders with a replica in AWAY; two items were there before the replica."""
    for number in (1, 2):
        call("PutItem", TableName=orders, Item={**key("ann", number), "note": {"S": f"note {number}"}})
    call("UpdateTable", TableName=orders, ReplicaUpdates=[create(AWAY)])
    return orders


def items(within: In, region: str) -> list[dict[str, Any]]:
    return list(within(region, "Scan")["Items"])


def stream_of(world: World, within: In, region: str) -> list[tuple[str, object]]:
    """(event, user identity) of all records of the stream of orders in a Region."""
    arn = within(region, "DescribeTable")["Table"]["LatestStreamArn"]
    caller = world.caller(region=region)

    def streams(operation: str, **params: object) -> dict[str, Any]:
        return dict(world.engine.call(caller, "dynamodbstreams", operation, params))

    found = []
    for shard in streams("DescribeStream", StreamArn=arn)["StreamDescription"]["Shards"]:
        place = {"StreamArn": arn, "ShardId": shard["ShardId"], "ShardIteratorType": "TRIM_HORIZON"}
        position = streams("GetShardIterator", **place)["ShardIterator"]
        found += streams("GetRecords", ShardIterator=position)["Records"]
    return [(record["eventName"], record.get("userIdentity")) for record in found]


def refused(within: In, region: str, operation: str, **params: object) -> tuple[str, str]:
    with pytest.raises(ServiceError) as caught:
        within(region, operation, **params)
    return caught.value.code, caught.value.message


def test_new_replica_has_the_items_and_is_shown(within, replicated):
    """Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_ReplicaDescription.html"""
    home, away = (within(region, "DescribeTable")["Table"] for region in (HOME, AWAY))

    assert items(within, AWAY) == items(within, HOME) != []
    assert home["GlobalTableVersion"] == away["GlobalTableVersion"] == "2019.11.21"
    assert [(one["RegionName"], one["ReplicaStatus"]) for one in home["Replicas"]] == [(AWAY, "ACTIVE")]
    assert [one["RegionName"] for one in away["Replicas"]] == [HOME]
    assert away["TableArn"] == home["TableArn"].replace(HOME, AWAY) == home["Replicas"][0]["ReplicaArn"]
    assert away["TableId"] != home["TableId"]
    assert home["StreamSpecification"] == away["StreamSpecification"] == {
        "StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES",
    }  # fmt: skip


def test_answer_shows_that_a_replica_is_created(within, orders):
    described = within(HOME, "UpdateTable", ReplicaUpdates=[create(AWAY)])["TableDescription"]

    assert [(one["RegionName"], one["ReplicaStatus"]) for one in described["Replicas"]] == [(AWAY, "CREATING")]
    assert described["TableStatus"] == "UPDATING"


def test_writes_reach_every_replica_and_the_last_one_wins(within, replicated):
    """Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/V2globaltables_HowItWorks.html"""
    within(HOME, "UpdateTable", ReplicaUpdates=[create(FAR)])
    within(AWAY, "PutItem", Item={**key("ann", 1), "note": {"S": "away"}})
    within(FAR, "UpdateItem", Key=key("ann", 1), AttributeUpdates={"more": {"Value": {"S": "far"}}})
    within(HOME, "DeleteItem", Key=key("ann", 2))

    expected = [{**key("ann", 1), "note": {"S": "away"}, "more": {"S": "far"}}]
    assert items(within, HOME) == items(within, AWAY) == items(within, FAR) == expected


def test_replicated_items_have_no_attributes_of_the_replication(within, replicated):
    """Version 2017.11.29 had aws:rep attributes; version 2019.11.21 has none."""
    within(AWAY, "PutItem", Item=key("bob", 1))

    assert within(HOME, "GetItem", Key=key("bob", 1))["Item"] == key("bob", 1)


def test_each_replica_has_a_stream_with_every_change_once(world, within, replicated):
    within(AWAY, "PutItem", Item=key("bob", 1))
    within(HOME, "DeleteItem", Key=key("bob", 1))

    assert stream_of(world, within, HOME) == stream_of(world, within, AWAY) == [("INSERT", None), ("REMOVE", None)]


def test_item_expires_in_one_region_and_is_deleted_in_the_others(world, within, replicated):
    """Only the Region of the expiry names the service.

    Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/time-to-live-ttl-streams.html
    """
    within(HOME, "UpdateTimeToLive", TimeToLiveSpecification={"Enabled": True, "AttributeName": "until"})
    within(AWAY, "PutItem", Item={**key("bob", 1), "until": {"N": str(world.now // 1_000 + 60)}})
    world.advance(minutes=5)

    seen = [stream_of(world, within, region) for region in (HOME, AWAY)]

    assert within(AWAY, "DescribeTimeToLive")["TimeToLiveDescription"]["AttributeName"] == "until"
    assert len(items(within, HOME)) == len(items(within, AWAY)) == 2
    assert [[name for name, _ in records] for records in seen] == [["INSERT", "REMOVE"]] * 2
    assert sorted(identity is not None for records in seen for _, identity in records) == [False, False, False, True]


def test_replica_of_a_table_with_time_to_live_expires_too(world, within, orders):
    within(HOME, "UpdateTimeToLive", TimeToLiveSpecification={"Enabled": True, "AttributeName": "until"})
    within(HOME, "PutItem", Item={**key("bob", 1), "until": {"N": str(world.now // 1_000 + 60)}})
    within(HOME, "UpdateTable", ReplicaUpdates=[create(AWAY)])
    world.advance(hours=25)
    within(HOME, "DeleteTable")
    within(AWAY, "PutItem", Item={**key("bob", 2), "until": {"N": str(world.now // 1_000 + 60)}})
    world.advance(minutes=5)

    assert items(within, AWAY) == []


def test_indexes_follow_in_every_replica(within, replicated):
    within(
        AWAY, "UpdateTable", GlobalSecondaryIndexUpdates=[{"Create": BY_NOTE}],
        AttributeDefinitions=[{"AttributeName": "note", "AttributeType": "S"}],
    )  # fmt: skip
    within(AWAY, "PutItem", Item={**key("bob", 1), "note": {"S": "note 1"}})
    within(HOME, "UpdateTable", ReplicaUpdates=[create(FAR)])
    within(FAR, "DeleteItem", Key=key("ann", 1))

    asked = {
        "IndexName": "by-note", "KeyConditionExpression": "note = :note",
        "ExpressionAttributeValues": {":note": {"S": "note 1"}},
    }  # fmt: skip
    found = [within(region, "Query", **asked)["Items"] for region in (HOME, AWAY, FAR)]
    assert found == [[{**key("bob", 1), "note": {"S": "note 1"}}]] * 3


def test_shared_settings_change_everywhere_and_others_do_not(within, replicated):
    """Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/V2globaltables_HowItWorks.html"""
    units = {"ReadCapacityUnits": 5, "WriteCapacityUnits": 6}
    within(AWAY, "UpdateTable", BillingMode="PROVISIONED", ProvisionedThroughput=units)
    within(AWAY, "UpdateTable", DeletionProtectionEnabled=True, TableClass="STANDARD_INFREQUENT_ACCESS")

    home = within(HOME, "DescribeTable")["Table"]

    assert units.items() <= home["ProvisionedThroughput"].items()
    assert home["TableClassSummary"] == {"TableClass": "STANDARD_INFREQUENT_ACCESS"}
    assert home["DeletionProtectionEnabled"] is False


def test_overrides_of_a_replica_are_its_own(within, replicated):
    """Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_UpdateReplicationGroupMemberAction.html"""
    units = {"ReadCapacityUnits": 5, "WriteCapacityUnits": 6}
    within(HOME, "UpdateTable", BillingMode="PROVISIONED", ProvisionedThroughput=units)
    asked = {
        "RegionName": AWAY, "ProvisionedThroughputOverride": {"ReadCapacityUnits": 50},
        "TableClassOverride": "STANDARD_INFREQUENT_ACCESS",
    }  # fmt: skip
    within(HOME, "UpdateTable", ReplicaUpdates=[{"Update": asked}])
    within(HOME, "UpdateTable", ProvisionedThroughput={"ReadCapacityUnits": 7, "WriteCapacityUnits": 8})

    home, away = (within(region, "DescribeTable")["Table"] for region in (HOME, AWAY))
    shown = home["Replicas"][0]

    assert shown["ProvisionedThroughputOverride"] == {"ReadCapacityUnits": 50}
    assert shown["ReplicaTableClassSummary"] == {"TableClass": "STANDARD_INFREQUENT_ACCESS"}
    assert [away["ProvisionedThroughput"][name] for name in ("ReadCapacityUnits", "WriteCapacityUnits")] == [50, 8]
    assert home["ProvisionedThroughput"]["ReadCapacityUnits"] == 7
    assert "TableClassSummary" not in home


def test_deleted_replica_is_gone_and_the_others_go_on(within, replicated):
    within(HOME, "UpdateTable", ReplicaUpdates=[create(FAR)])
    answer = within(HOME, "UpdateTable", ReplicaUpdates=[{"Delete": {"RegionName": AWAY}}])
    within(FAR, "PutItem", Item=key("bob", 1))

    assert within(AWAY, "ListTables")["TableNames"] == []
    assert [one["RegionName"] for one in answer["TableDescription"]["Replicas"]] == [FAR]
    assert items(within, HOME) == items(within, FAR)
    assert len(items(within, HOME)) == 3


def test_table_without_replicas_is_not_global_any_more(within, replicated):
    within(AWAY, "DeleteTable")

    table = within(HOME, "DescribeTable")["Table"]

    assert "Replicas" not in table
    assert "GlobalTableVersion" not in table
    within(HOME, "UpdateTable", StreamSpecification={"StreamEnabled": False})
    within(HOME, "DeleteTable")


def test_source_of_a_replica_is_not_deleted_within_a_day(world, within, replicated):
    """Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/V2globaltables_HowItWorks.html"""
    early = refused(within, HOME, "DeleteTable")
    world.advance(hours=24)
    within(HOME, "DeleteTable")

    assert early[0] == "ValidationException"
    assert early[1].startswith("Replica cannot be deleted because it has acted as a source region")
    assert len(items(within, AWAY)) == 2


def test_protected_replica_is_not_deleted(within, replicated):
    within(AWAY, "UpdateTable", DeletionProtectionEnabled=True)

    code, message = refused(within, HOME, "UpdateTable", ReplicaUpdates=[{"Delete": {"RegionName": AWAY}}])

    assert (code, "protected against deletion" in message) == ("ValidationException", True)
    assert len(items(within, AWAY)) == 2


@pytest.mark.parametrize(
    ("region", "params", "sentence"),
    [
        (HOME, {"ReplicaUpdates": [create(HOME)]}, "Cannot add, delete, or update the local region"),
        (HOME, {"ReplicaUpdates": [create(AWAY)]}, "Failed to create a the new replica of table with name: 'orders'"),
        (HOME, {"ReplicaUpdates": [create("nowhere")]}, "Unsupported region nowhere"),
        (HOME, {"ReplicaUpdates": [{"Delete": {"RegionName": FAR}}]}, "no replica of orders is in region ap-south-1"),
        (HOME, {"ReplicaUpdates": [{}]}, "Exactly one of Create, Update and Delete"),
        (HOME, {"ReplicaUpdates": [DISASSOCIATION]}, "Disassociate is not supported yet"),
        (HOME, {"ReplicaUpdates": [create(FAR)], "MultiRegionConsistency": "STRONG"}, "STRONG is not supported yet"),
        (HOME, {"MultiRegionConsistency": "EVENTUAL", "BillingMode": "PAY_PER_REQUEST"}, "when a replica is created"),
        (AWAY, {"StreamSpecification": {"StreamEnabled": False}},
         "Disabling Stream is not allowed for a Global Table replica."),
    ],
)  # fmt: skip
def test_what_replicas_cannot_be_is_refused(within, replicated, region, params, sentence):
    code, message = refused(within, region, "UpdateTable", **params)

    assert (code, sentence in message, message) == ("ValidationException", True, message)
    assert within(FAR, "ListTables")["TableNames"] == []


def test_stream_of_another_type_makes_no_replica(within, orders):
    within(HOME, "UpdateTable", StreamSpecification={"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"})

    _, message = refused(within, HOME, "UpdateTable", ReplicaUpdates=[create(AWAY)])

    assert "NEW_AND_OLD_IMAGES" in message


def test_replica_needs_permissions_in_its_region(world, within, replicated):
    """Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_ReplicationGroupUpdate.html"""
    iam = world.client("iam")

    def document(statement: dict[str, Any]) -> str:
        return json.dumps({"Version": "2012-10-17", "Statement": [statement]})

    def allow(*actions: str) -> None:
        may = {"Effect": "Allow", "Action": ["dynamodb:UpdateTable", *actions], "Resource": "*"}
        iam.put_role_policy(RoleName="operator", PolicyName="may", PolicyDocument=document(may))

    trust = {"Effect": "Allow", "Action": "sts:AssumeRole", "Principal": {"Service": "lambda.amazonaws.com"}}
    role_arn = iam.create_role(RoleName="operator", AssumeRolePolicyDocument=document(trust))["Role"]["Arn"]
    role = Caller(Scope(world.account, HOME), "id", role_arn=role_arn)

    def code(update: dict[str, Any]) -> str | None:
        try:
            world.engine.call(role, "dynamodb", "UpdateTable", {"TableName": "orders", "ReplicaUpdates": [update]})
        except ServiceError as error:
            return error.code
        return None

    allow()
    before = [code(create(FAR)), code({"Delete": {"RegionName": AWAY}})]
    allow("dynamodb:CreateTableReplica", "dynamodb:DeleteTableReplica")
    after = [code(create(FAR)), code({"Delete": {"RegionName": AWAY}})]

    assert (before, after) == (["AccessDeniedException"] * 2, [None] * 2)
