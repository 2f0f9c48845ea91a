"""Streams of tables in stacks."""

from __future__ import annotations

from typing import Any

from redrive.testing.world import World
from tests.unit.services.cloudformation.conftest import Stacks


def table(**properties: Any) -> dict[str, Any]:
    given = {
        "TableName": "orders", "BillingMode": "PAY_PER_REQUEST",
        "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}],
        "AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}],
        **properties,
    }  # fmt: skip
    return {"T": {"Type": "AWS::DynamoDB::Table", "Properties": given}}


def test_stream_comes_changes_and_goes_with_the_property(stacks: Stacks, world: World) -> None:
    dynamodb = world.client("dynamodb")
    outputs = {"Stream": {"Value": {"Fn::GetAtt": ["T", "StreamArn"]}}}

    stacks.create("shop", table(StreamSpecification={"StreamViewType": "NEW_IMAGE"}), outputs=outputs)
    first = dynamodb.describe_table(TableName="orders")["Table"]
    stacks.update("shop", table(StreamSpecification={"StreamViewType": "KEYS_ONLY"}), outputs=outputs)
    second = dynamodb.describe_table(TableName="orders")["Table"]
    shown = stacks.outputs("shop")["Stream"]
    stacks.update("shop", table())
    third = dynamodb.describe_table(TableName="orders")["Table"]

    assert first["StreamSpecification"] == {"StreamEnabled": True, "StreamViewType": "NEW_IMAGE"}
    assert second["StreamSpecification"] == {"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"}
    assert first["LatestStreamArn"] != second["LatestStreamArn"] == shown
    assert "StreamSpecification" not in third
