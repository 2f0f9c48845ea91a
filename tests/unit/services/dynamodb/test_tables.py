"""Tables are created with a primary key, described, listed in pages, changed, and deleted with all they hold."""

from __future__ import annotations

import json
from collections.abc import Mapping

import pytest

from redrive.core.errors import ServiceError
from redrive.core.scope import Caller, Scope
from tests.unit.services.dynamodb.conftest import ORDERS, key

INVALID = "One or more parameter values were invalid: "
ARN = "arn:aws:dynamodb:us-east-1:000000000000:table/orders"


def test_created_table_is_described_with_its_keys(world):
    """The answer shows CREATING; the table can be used at once, and a waiter finds it ACTIVE."""
    client = world.client("dynamodb")

    created = client.create_table(**ORDERS)["TableDescription"]
    client.get_waiter("table_exists").wait(TableName="orders", WaiterConfig={"Delay": 0, "MaxAttempts": 1})
    described = client.describe_table(TableName="orders")["Table"]

    assert created["TableStatus"] == "CREATING"
    assert described == {**created, "TableStatus": "ACTIVE"}
    assert described["TableArn"] == ARN
    assert described["KeySchema"] == ORDERS["KeySchema"]
    assert described["AttributeDefinitions"] == ORDERS["AttributeDefinitions"]
    assert described["BillingModeSummary"]["BillingMode"] == "PAY_PER_REQUEST"
    assert described["ProvisionedThroughput"]["ReadCapacityUnits"] == 0
    assert int(described["CreationDateTime"].timestamp() * 1000) == world.now


def test_described_table_counts_its_items(call, orders, put):
    put("ann", 1)
    put("ann", 2)

    described = call("DescribeTable", TableName=orders)["Table"]

    assert described["ItemCount"] == 2
    assert described["TableSizeBytes"] == 2 * (len("customer") + len("ann") + len("order_no") + 2)


def test_table_is_also_meant_by_its_arn(call, orders):
    assert call("DescribeTable", TableName=ARN)["Table"]["TableName"] == orders
    assert call("GetItem", TableName=ARN, Key=key("ann", 1)) == {}


def test_settings_of_a_new_table_are_shown(call):
    described = call(
        "CreateTable",
        **{**ORDERS, "BillingMode": "PROVISIONED"},
        ProvisionedThroughput={"ReadCapacityUnits": 5, "WriteCapacityUnits": 6},
        SSESpecification={"Enabled": True, "KMSMasterKeyId": "alias/mine"},
        TableClass="STANDARD_INFREQUENT_ACCESS",
        DeletionProtectionEnabled=True,
        WarmThroughput={"ReadUnitsPerSecond": 7},
        StreamSpecification={"StreamEnabled": False},
    )["TableDescription"]

    assert described["ProvisionedThroughput"]["ReadCapacityUnits"] == 5
    assert described["ProvisionedThroughput"]["WriteCapacityUnits"] == 6
    assert described["SSEDescription"] == {
        "Status": "ENABLED", "SSEType": "KMS", "KMSMasterKeyArn": "arn:aws:kms:us-east-1:000000000000:alias/mine",
    }  # fmt: skip
    assert described["TableClassSummary"] == {"TableClass": "STANDARD_INFREQUENT_ACCESS"}
    assert described["DeletionProtectionEnabled"] is True
    assert described["WarmThroughput"] == {"ReadUnitsPerSecond": 7, "WriteUnitsPerSecond": 6, "Status": "ACTIVE"}
    assert "BillingModeSummary" not in described


def test_second_table_of_a_name_is_refused(refusal, orders):
    assert refusal("CreateTable", **ORDERS) == ("ResourceInUseException", "Table already exists: orders")


HASH = {"AttributeName": "a", "KeyType": "HASH"}
RANGE = {"AttributeName": "b", "KeyType": "RANGE"}
A = {"AttributeName": "a", "AttributeType": "S"}
B = {"AttributeName": "b", "AttributeType": "S"}
UNITS = {"ReadCapacityUnits": 1, "WriteCapacityUnits": 1}
WRONG_COUNT = (
    INVALID
    + "Number of attributes in KeySchema does not exactly match number of attributes defined in AttributeDefinitions"
)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        (
            {"KeySchema": [HASH, RANGE], "AttributeDefinitions": [A]},
            "Invalid KeySchema: Some index key attribute have no definition",
        ),
        (
            {"KeySchema": [HASH], "AttributeDefinitions": [B]},
            INVALID + "Some index key attributes are not defined in AttributeDefinitions. "
            "Keys: [a], AttributeDefinitions: [b]",
        ),
        ({"KeySchema": [HASH], "AttributeDefinitions": [A, B]}, WRONG_COUNT),
        (
            {"KeySchema": [{**HASH, "KeyType": "RANGE"}], "AttributeDefinitions": [A]},
            "Invalid KeySchema: The first KeySchemaElement is not a HASH key type",
        ),
        (
            {"KeySchema": [HASH, {**RANGE, "KeyType": "HASH"}], "AttributeDefinitions": [A, B]},
            "Invalid KeySchema: The second KeySchemaElement is not a RANGE key type",
        ),
        (
            {"KeySchema": [HASH, {**HASH, "KeyType": "RANGE"}], "AttributeDefinitions": [A, B]},
            "Both the Hash Key and the Range Key element in the KeySchema have the same name",
        ),
        (
            {"KeySchema": [HASH], "AttributeDefinitions": [A, A]},
            INVALID + "Cannot have two attributes with the same name in AttributeDefinitions",
        ),
        (
            {"KeySchema": [HASH]},
            ("1 validation error detected: Value null at 'attributeDefinitions' failed to satisfy constraint: "
            "Member must not be null"),
        ),
        (
            {"ProvisionedThroughput": UNITS},
            INVALID + "Neither ReadCapacityUnits nor WriteCapacityUnits can be specified when "
            "BillingMode is PAY_PER_REQUEST",
        ),
        (
            {"BillingMode": "PROVISIONED"},
            INVALID + "ReadCapacityUnits and WriteCapacityUnits must both be specified when BillingMode is PROVISIONED",
        ),
        (
            {"BillingMode": "PROVISIONED", "ProvisionedThroughput": {**UNITS, "ReadCapacityUnits": 10**12 + 1}},
            "Given value 1000000000001 for ReadCapacityUnits is out of bounds",
        ),
        (
            {"BillingMode": "PROVISIONED", "ProvisionedThroughput": UNITS,
             "OnDemandThroughput": {"MaxReadRequestUnits": 1}},
            INVALID + "OnDemandThroughput can only be specified when BillingMode is PAY_PER_REQUEST",
        ),
        ({"TableName": "ab"}, "TableName must be at least 3 characters long and at most 255 characters long"),
        (
            {"TableName": "a b c"},
            ("1 validation error detected: Value 'a b c' at 'tableName' failed to satisfy constraint: "
            "Member must satisfy regular expression pattern: [a-zA-Z0-9_.-]+"),
        ),
        (
            {"TableName": "arn:aws:sqs:us-east-1:000000000000:orders"},
            "Invalid TableArn: Invalid ResourceArn provided as input arn:aws:sqs:us-east-1:000000000000:orders",
        ),
        ({"Tags": [{"Key": "aws:x", "Value": ""}]},
         "aws: prefixed tag key names are not allowed for external use: aws:x"),
    ],
)  # fmt: skip
def test_wrong_definition_is_refused(refusal, params, message):
    base = {
        "TableName": "new", "KeySchema": [HASH], "AttributeDefinitions": [A], "BillingMode": "PAY_PER_REQUEST",
    }  # fmt: skip
    if params.keys() == {"KeySchema"}:
        del base["AttributeDefinitions"]

    assert refusal("CreateTable", **{**base, **params}) == ("ValidationException", message)


@pytest.mark.parametrize(
    ("member", "value"),
    [
        ("GlobalTableSourceArn", ARN),
    ],
)
def test_what_tables_cannot_have_yet_is_refused_in_clear_words(refusal, member, value):
    code, message = refusal("CreateTable", **ORDERS, **{member: value})

    assert code == "ValidationException"
    assert member in message
    assert "not supported yet" in message


def test_tables_are_listed_by_name_in_pages(world):
    client = world.client("dynamodb")
    for name in ("three", "one", "two"):
        client.create_table(**{**ORDERS, "TableName": name})

    pages = list(client.get_paginator("list_tables").paginate(PaginationConfig={"PageSize": 2}))

    assert [page["TableNames"] for page in pages] == [["one", "three"], ["two"]]
    assert pages[0]["LastEvaluatedTableName"] == "three"


@pytest.mark.parametrize("operation", ["DescribeTable", "DeleteTable", "DescribeTimeToLive"])
def test_missing_table_is_named(refusal, operation):
    assert refusal(operation, TableName="orders") == (
        "ResourceNotFoundException",
        "Requested resource not found: Table: orders not found",
    )


def test_tables_of_other_accounts_and_regions_are_other_tables(world, orders):
    """Another account is not let in by ARN either: a table here has no resource policy that could allow it."""
    assert world.client("dynamodb", region="eu-west-1").list_tables()["TableNames"] == []
    assert world.client("dynamodb", account="111111111111").list_tables()["TableNames"] == []

    with pytest.raises(ServiceError) as caught:
        world.engine.call(
            Caller(Scope("111111111111", "us-east-1"), "id"), "dynamodb", "DescribeTable", {"TableName": ARN}
        )

    assert caught.value.code == "AccessDeniedException"
    assert caught.value.message == (
        "User: arn:aws:iam::111111111111:root is not authorized to perform: dynamodb:DescribeTable on resource: "
        f"{ARN} because no resource-based policy allows the dynamodb:DescribeTable action"
    )


def policy_of(statement: Mapping[str, object]) -> str:
    return json.dumps({"Version": "2012-10-17", "Statement": [statement]})


def test_role_needs_leave_for_the_table(world, orders, put):
    """A role may do what its policies allow on the table's ARN; the account itself may do everything."""
    put("ann", 1)
    trust = {"Effect": "Allow", "Action": "sts:AssumeRole", "Principal": {"Service": "lambda.amazonaws.com"}}
    may_get = {"Effect": "Allow", "Action": "dynamodb:Get*", "Resource": ARN}
    iam = world.client("iam")
    role_arn = iam.create_role(RoleName="reader", AssumeRolePolicyDocument=policy_of(trust))["Role"]["Arn"]
    iam.put_role_policy(RoleName="reader", PolicyName="read", PolicyDocument=policy_of(may_get))
    reader = Caller(Scope("000000000000", "us-east-1"), "id", role_arn, "session")

    got = world.engine.call(reader, "dynamodb", "GetItem", {"TableName": orders, "Key": key("ann", 1)})
    with pytest.raises(ServiceError) as caught:
        world.engine.call(reader, "dynamodb", "DeleteItem", {"TableName": orders, "Key": key("ann", 1)})

    assert got == {"Item": key("ann", 1)}
    assert caught.value.code == "AccessDeniedException"
    assert f"is not authorized to perform: dynamodb:DeleteItem on resource: {ARN}" in caught.value.message


def test_deleted_table_takes_its_items_with_it(call, orders, put):
    put("ann", 1)

    deleted = call("DeleteTable", TableName=orders)["TableDescription"]
    call("CreateTable", **ORDERS)

    assert deleted["TableStatus"] == "DELETING"
    assert call("Scan", TableName=orders)["Count"] == 0


def test_protected_table_is_not_deleted(call, refusal, orders):
    call("UpdateTable", TableName=orders, DeletionProtectionEnabled=True)

    assert refusal("DeleteTable", TableName=orders) == (
        "ValidationException",
        "Resource cannot be deleted as it is currently protected against deletion. Disable deletion protection first.",
    )

    call("UpdateTable", TableName=orders, DeletionProtectionEnabled=False)
    call("DeleteTable", TableName=orders)

    assert call("ListTables") == {"TableNames": []}


def test_billing_changes_between_modes(world, call, orders):
    provisioned = call(
        "UpdateTable", TableName=orders, BillingMode="PROVISIONED", ProvisionedThroughput=UNITS
    )["TableDescription"]  # fmt: skip
    world.advance(hours=1)
    on_demand = call("UpdateTable", TableName=orders, BillingMode="PAY_PER_REQUEST")["TableDescription"]

    assert provisioned["TableStatus"] == "UPDATING"
    assert provisioned["ProvisionedThroughput"]["ReadCapacityUnits"] == 1
    assert provisioned["BillingModeSummary"]["BillingMode"] == "PROVISIONED"
    assert on_demand["ProvisionedThroughput"]["ReadCapacityUnits"] == 0
    assert on_demand["BillingModeSummary"] == {
        "BillingMode": "PAY_PER_REQUEST", "LastUpdateToPayPerRequestDateTime": world.now,
    }  # fmt: skip


def test_throughput_remembers_when_it_went_up_and_down(world, call, orders):
    call("UpdateTable", TableName=orders, BillingMode="PROVISIONED", ProvisionedThroughput=UNITS)
    call(
        "UpdateTable", TableName=orders, ProvisionedThroughput={"ReadCapacityUnits": 9, "WriteCapacityUnits": 9}
    )  # fmt: skip
    raised_at = world.now
    world.advance(minutes=1)
    call("UpdateTable", TableName=orders, ProvisionedThroughput=UNITS)

    shown = call("DescribeTable", TableName=orders)["Table"]["ProvisionedThroughput"]
    world.advance(days=1)
    next_day = call("DescribeTable", TableName=orders)["Table"]["ProvisionedThroughput"]

    assert shown == {
        "LastIncreaseDateTime": raised_at, "LastDecreaseDateTime": raised_at + 60_000, "NumberOfDecreasesToday": 1,
        "ReadCapacityUnits": 1, "WriteCapacityUnits": 1,
    }  # fmt: skip
    assert next_day["NumberOfDecreasesToday"] == 0


def test_update_that_changes_no_throughput_is_refused(call, refusal, orders):
    call("UpdateTable", TableName=orders, BillingMode="PROVISIONED", ProvisionedThroughput=UNITS)

    code, message = refusal("UpdateTable", TableName=orders, ProvisionedThroughput=UNITS)

    assert code == "ValidationException"
    assert message.startswith(
        "The provisioned throughput for the table will not change. The requested value equals the current value."
    )


def test_update_must_ask_for_something(refusal, orders):
    assert refusal("UpdateTable", TableName=orders) == (
        "ValidationException",
        (
            "At least one of ProvisionedThroughput, BillingMode, UpdateStreamEnabled, GlobalSecondaryIndexUpdates or "
            "SSESpecification or ReplicaUpdates is required"
        ),
    )


def test_encryption_and_class_can_be_changed(call, orders):
    call("UpdateTable", TableName=orders, TableClass="STANDARD", SSESpecification={"Enabled": True})
    on = call("DescribeTable", TableName=orders)["Table"]
    call("UpdateTable", TableName=orders, SSESpecification={"Enabled": False})
    off = call("DescribeTable", TableName=orders)["Table"]

    assert on["SSEDescription"]["KMSMasterKeyArn"].startswith("arn:aws:kms:us-east-1:000000000000:key/")
    assert on["TableClassSummary"] == {"TableClass": "STANDARD"}
    assert "SSEDescription" not in off


def test_tags_are_added_replaced_and_taken_away(call, orders):
    call("TagResource", ResourceArn=ARN, Tags=[{"Key": "a", "Value": "1"}, {"Key": "b", "Value": "2"}])
    call("TagResource", ResourceArn=ARN, Tags=[{"Key": "a", "Value": "3"}])
    call("UntagResource", ResourceArn=ARN, TagKeys=["b", "c"])

    assert call("ListTagsOfResource", ResourceArn=ARN) == {"Tags": [{"Key": "a", "Value": "3"}]}


def test_tags_that_aws_would_not_take_are_refused(refusal, orders):
    many = [{"Key": str(number), "Value": ""} for number in range(51)]

    assert refusal("TagResource", ResourceArn=ARN, Tags=many)[1] == INVALID + "a table has at most 50 tags"
    assert refusal("TagResource", ResourceArn=ARN, Tags=[many[0], many[0]])[1] == "Duplicate keys found in tags"
    assert refusal("ListTagsOfResource", ResourceArn=ARN, NextToken="x")[1] == "Invalid NextToken"
    assert refusal("ListTagsOfResource", ResourceArn="orders") == (
        "ValidationException",
        "Invalid TableArn: Invalid ResourceArn provided as input orders",
    )
    assert refusal("ListTagsOfResource", ResourceArn=ARN + "2") == (
        "ResourceNotFoundException",
        f"Requested resource not found: ResourcArn: {ARN}2 not found",
    )


def test_quotas_and_endpoint_of_the_account_are_shown(call):
    assert call("DescribeLimits") == {
        "AccountMaxReadCapacityUnits": 80_000, "AccountMaxWriteCapacityUnits": 80_000,
        "TableMaxReadCapacityUnits": 40_000, "TableMaxWriteCapacityUnits": 40_000,
    }  # fmt: skip
    assert call("DescribeEndpoints")["Endpoints"][0]["Address"] == "127.0.0.1:4566"


def test_table_shows_what_it_can_serve_at_once(call, orders):
    """On demand 12,000 reads and 4,000 writes, before anybody asks for more."""
    shown = call("DescribeTable", TableName=orders)["Table"]["WarmThroughput"]

    assert shown == {"ReadUnitsPerSecond": 12_000, "WriteUnitsPerSecond": 4_000, "Status": "ACTIVE"}
