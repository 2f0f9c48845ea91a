"""Reads whole streams, tables and indexes, by a client without hazards. Nothing else happens in between."""

from __future__ import annotations

from collections.abc import Iterator

from redrive.core.documents import Document
from redrive.sim.checkers.happenings import ChangesRead, IndexRead, StreamRead, TableRead
from redrive.sim.checkers.stream_batches import change_name, item_key
from redrive.sim.fleet.clients import Client

_EMPTY_PAGES_MAX = 50


def read_table(client: Client, table: str) -> TableRead:
    """The items of a table, and the entries of those of its indexes that are complete."""
    # The first call ends the transaction that is open, if there is one: the others then see the same state.
    shown = client.call("dynamodb", "DescribeTable", TableName=table)["Table"]
    found = [*shown.get("GlobalSecondaryIndexes", ()), *shown.get("LocalSecondaryIndexes", ())]
    complete = [index for index in found if index.get("IndexStatus", "ACTIVE") == "ACTIVE"]
    items = list(_scan(client, TableName=table, ConsistentRead=True))
    return TableRead(table, items, [_read_index(client, table, index) for index in complete])


def read_stream(client: Client, name: str) -> StreamRead:
    """All records of a stream of Kinesis."""
    records = []
    for shard in client.call("kinesis", "ListShards", StreamName=name)["Shards"]:
        shard_id = shard["ShardId"]
        asked = {"StreamName": name, "ShardId": shard_id, "ShardIteratorType": "TRIM_HORIZON"}
        for record in _records(client, "kinesis", asked):
            number = record["SequenceNumber"]
            records.append((shard_id, number, record["PartitionKey"], number))
    return StreamRead(name, records)


def read_changes(client: Client, table: str) -> tuple[StreamRead, ChangesRead]:
    """All records of the stream of a table, with both images. Parents are listed before their children."""
    arn = client.call("dynamodb", "DescribeTable", TableName=table)["Table"]["LatestStreamArn"]
    records, changes = [], []
    for shard in client.call("dynamodbstreams", "DescribeStream", StreamArn=arn)["StreamDescription"]["Shards"]:
        shard_id = shard["ShardId"]
        asked = {"StreamArn": arn, "ShardId": shard_id, "ShardIteratorType": "TRIM_HORIZON"}
        for record in _records(client, "dynamodbstreams", asked):
            change = record["dynamodb"]
            old, new, key = change.get("OldImage"), change.get("NewImage"), item_key(change["Keys"])
            records.append((shard_id, change["SequenceNumber"], key, change_name(old, new)))
            changes.append((key, old, new))
    return StreamRead(table, records), ChangesRead(table, changes)


def _read_index(client: Client, table: str, index: Document) -> IndexRead:
    projection = index["Projection"]
    projected = None
    if projection["ProjectionType"] != "ALL":
        projected = frozenset(projection.get("NonKeyAttributes", ()))
    names = [member["AttributeName"] for member in index["KeySchema"]]
    name = index["IndexName"]
    return IndexRead(name, names, projected, list(_scan(client, TableName=table, IndexName=name)))


def _scan(client: Client, **params: object) -> Iterator[Document]:
    asked = dict(params)
    while True:
        answer = client.call("dynamodb", "Scan", **asked)
        yield from answer["Items"]
        if "LastEvaluatedKey" not in answer:
            return
        asked["ExclusiveStartKey"] = answer["LastEvaluatedKey"]


def _records(client: Client, service: str, asked: Document) -> Iterator[Document]:
    """The records of a shard, up to its end or to where nothing follows now."""
    iterator = client.call(service, "GetShardIterator", **asked)["ShardIterator"]
    for _ in range(_EMPTY_PAGES_MAX):
        answer = client.call(service, "GetRecords", ShardIterator=iterator)
        yield from answer["Records"]
        iterator = answer.get("NextShardIterator")
        if iterator is None or not answer["Records"]:
            return
