"""Streams of tables as their users meet them: the aws CLI and boto3, over a server that is killed."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.e2e.conftest import ServerProcess

Start = Callable[..., ServerProcess]

KEY = [{"AttributeName": "id", "KeyType": "HASH"}]
TYPES = [{"AttributeName": "id", "AttributeType": "S"}]


def records_of(server: ServerProcess, arn: str) -> list[dict[str, Any]]:
    streams = server.client("dynamodbstreams")
    found: list[dict[str, Any]] = []
    for shard in streams.describe_stream(StreamArn=arn)["StreamDescription"]["Shards"]:
        place = {"StreamArn": arn, "ShardId": shard["ShardId"], "ShardIteratorType": "TRIM_HORIZON"}
        position = streams.get_shard_iterator(**place)["ShardIterator"]
        found += streams.get_records(ShardIterator=position)["Records"]
    return found


def test_records_survive_a_killed_server_and_time_to_live_tells_them(start: Start, tmp_path: Path) -> None:
    options = ("--clock", "virtual", "--data", str(tmp_path / "data"))
    server = start(*options)
    server.aws(
        "dynamodb", "create-table", "--table-name", "orders", "--billing-mode", "PAY_PER_REQUEST",
        "--key-schema", json.dumps(KEY), "--attribute-definitions", json.dumps(TYPES),
        "--stream-specification", "StreamEnabled=true,StreamViewType=NEW_AND_OLD_IMAGES",
    )  # fmt: skip
    dynamodb = server.client("dynamodb")
    dynamodb.update_time_to_live(
        TableName="orders", TimeToLiveSpecification={"Enabled": True, "AttributeName": "until"}
    )
    dynamodb.put_item(TableName="orders", Item={"id": {"S": "1"}, "until": {"N": "1735690000"}, "b": {"B": b"\xff"}})
    arn = dynamodb.describe_table(TableName="orders")["Table"]["LatestStreamArn"]

    server.kill()
    server = start(*options)
    server.redrive("clock", "advance", "1h")

    inserted, removed = records_of(server, arn)
    assert inserted["dynamodb"]["NewImage"]["b"] == {"B": b"\xff"}
    assert removed["userIdentity"] == {"Type": "Service", "PrincipalId": "dynamodb.amazonaws.com"}
    listed = server.aws("dynamodbstreams", "list-streams", "--table-name", "orders")
    assert [one["StreamArn"] for one in listed["Streams"]] == [arn]
