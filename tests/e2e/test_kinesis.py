"""Streams from outside: a reader of all shards with boto3 while shards split, a killed server, and the aws CLI."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

from tests.e2e.conftest import ServerProcess


def cli(server: ServerProcess, operation: str, *arguments: str) -> Any:
    """Run `aws kinesis OPERATION`."""
    return server.aws("kinesis", operation, "--endpoint-url", server.endpoint_url, *arguments)


def read_all(kinesis: Any, stream: str) -> dict[str, list[bytes]]:
    """Read each shard from its beginning to its present end, parents before children: the data by partition key."""
    found: dict[str, list[bytes]] = {}
    for shard in kinesis.list_shards(StreamName=stream)["Shards"]:
        given = {"StreamName": stream, "ShardId": shard["ShardId"], "ShardIteratorType": "TRIM_HORIZON"}
        iterator = kinesis.get_shard_iterator(**given)["ShardIterator"]
        while iterator is not None:
            page = kinesis.get_records(ShardIterator=iterator, Limit=100)
            for record in page["Records"]:
                found.setdefault(record["PartitionKey"], []).append(record["Data"])
            iterator = page.get("NextShardIterator") if page["MillisBehindLatest"] else None
    return found


def put(kinesis: Any, stream: str, numbers: range) -> None:
    """Put these numbers, in batches of 100, under ten partition keys."""
    for start in numbers[::100]:
        records = [
            {"PartitionKey": f"k{number % 10}", "Data": str(number).encode()} for number in range(start, start + 100)
        ]
        assert kinesis.put_records(StreamName=stream, Records=records)["FailedRecordCount"] == 0


def test_order_within_each_key_survives_splits_and_merges(server: ServerProcess) -> None:
    kinesis = server.client("kinesis")
    kinesis.create_stream(StreamName="orders", ShardCount=2)

    put(kinesis, "orders", range(400))
    kinesis.split_shard(
        StreamName="orders", ShardToSplit="shardId-000000000000", NewStartingHashKey=str(1 << 126)
    )  # fmt: skip
    put(kinesis, "orders", range(400, 800))
    kinesis.merge_shards(
        StreamName="orders", ShardToMerge="shardId-000000000003", AdjacentShardToMerge="shardId-000000000001"
    )
    put(kinesis, "orders", range(800, 1_000))

    assert read_all(kinesis, "orders") == {
        f"k{key}": [str(number).encode() for number in range(key, 1_000, 10)] for key in range(10)
    }


def test_killed_server_has_every_record_that_was_answered(tmp_path: Path) -> None:
    options = ("--data", str(tmp_path / "store"))
    server = ServerProcess(*options)
    server.client("kinesis").create_stream(StreamName="orders", ShardCount=1)
    put(server.client("kinesis"), "orders", range(300))
    server.kill()

    again = ServerProcess(*options)
    kinesis = again.client("kinesis")
    put(kinesis, "orders", range(300, 400))
    found = read_all(kinesis, "orders")
    again.stop()

    assert sum(map(len, found.values())) == 400
    assert found["k0"] == [str(number).encode() for number in range(0, 400, 10)]


def test_aws_cli_writes_and_reads(server: ServerProcess) -> None:
    """Its waiters, and its base64 of what it has read."""
    cli(server, "create-stream", "--stream-name", "cli", "--shard-count", "1", "--tags", "team=shop")
    cli(server, "wait", "stream-exists", "--stream-name", "cli")
    cli(server, "put-record", "--stream-name", "cli", "--partition-key", "k", "--data", "hello")
    shard = cli(server, "list-shards", "--stream-name", "cli")["Shards"][0]["ShardId"]
    start = ("--stream-name", "cli", "--shard-id", shard, "--shard-iterator-type", "TRIM_HORIZON")
    iterator = cli(server, "get-shard-iterator", *start)["ShardIterator"]

    read = cli(server, "get-records", "--shard-iterator", iterator)

    assert [base64.b64decode(record["Data"]) for record in read["Records"]] == [b"hello"]
    tags = cli(server, "list-tags-for-stream", "--stream-name", "cli")["Tags"]
    assert json.dumps(tags) == json.dumps([{"Key": "team", "Value": "shop"}])
    cli(server, "delete-stream", "--stream-name", "cli")
    cli(server, "wait", "stream-not-exists", "--stream-name", "cli")
