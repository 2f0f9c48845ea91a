"""Readers of streams for tests: all shards of a stream, from their oldest record on, or from an iterator."""

from __future__ import annotations

from typing import Any

from redrive.testing.world import World

Record = dict[str, Any]


def enable(world: World, table: str, view_type: str = "NEW_AND_OLD_IMAGES") -> str:
    """Enable the stream of a table. Returns its ARN."""
    described = world.call(
        "dynamodb", "UpdateTable", TableName=table,
        StreamSpecification={"StreamEnabled": True, "StreamViewType": view_type},
    )["TableDescription"]  # fmt: skip
    return str(described["LatestStreamArn"])


def disable(world: World, table: str) -> None:
    """Disable the stream of a table."""
    world.call("dynamodb", "UpdateTable", TableName=table, StreamSpecification={"StreamEnabled": False})


def shards(world: World, arn: str) -> list[dict[str, Any]]:
    """The shards of a stream as DescribeStream shows them."""
    found: list[dict[str, Any]] = world.call("dynamodbstreams", "DescribeStream", StreamArn=arn)["StreamDescription"][
        "Shards"
    ]
    return found


def iterator(world: World, arn: str, shard_id: str, kind: str = "TRIM_HORIZON", **place: object) -> str:
    """An iterator of a shard."""
    params = {"StreamArn": arn, "ShardId": shard_id, "ShardIteratorType": kind, **place}
    return str(world.call("dynamodbstreams", "GetShardIterator", **params)["ShardIterator"])


def read(world: World, position: str, **params: object) -> dict[str, Any]:
    """One answer of GetRecords."""
    answer: dict[str, Any] = world.call("dynamodbstreams", "GetRecords", ShardIterator=position, **params)
    return answer


def records_of(world: World, arn: str, **params: object) -> list[Record]:
    """All records of a stream: shard after shard, each from its oldest record on."""
    return [record for shard in shards(world, arn) for record in shard_records(world, arn, shard["ShardId"], **params)]


def shard_records(world: World, arn: str, shard_id: str, **params: object) -> list[Record]:
    """All records of a shard, read until a page is empty or the shard ends."""
    found: list[Record] = []
    position: str | None = iterator(world, arn, shard_id)
    while position is not None:
        answer = read(world, position, **params)
        found += answer["Records"]
        position = answer.get("NextShardIterator") if answer["Records"] else None
    return found


def names_of(records: list[Record]) -> list[str]:
    """The names of records' events."""
    return [record["eventName"] for record in records]


def shard_with(world: World, arn: str) -> str:
    """The only shard of a stream that has records."""
    (found,) = [one["ShardId"] for one in shards(world, arn) if shard_records(world, arn, one["ShardId"])]
    return str(found)
