"""A world with a stream of two shards, and the words of a refusal."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from redrive.core.errors import ServiceError
from redrive.core.limits import Limits, Rates
from redrive.engine.settings import Settings
from redrive.testing.world import World

Call = Callable[..., dict[str, Any]]
Refusal = Callable[..., tuple[str, str]]

NAME = "clicks"
ARN = "arn:aws:kinesis:us-east-1:000000000000:stream/clicks"
FIRST, SECOND = "shardId-000000000000", "shardId-000000000001"
LOW, HIGH = "0", str((1 << 128) - 1)
"""Explicit hash keys that lead to the first and to the last shard."""


@pytest.fixture
def world() -> Iterator[World]:
    """A world whose shards refuse what is beyond their rates, although its time is virtual."""
    world = World(seed=1, settings=Settings(rates=Rates.ALWAYS))
    yield world
    world.close()


@pytest.fixture
def relaxed() -> Iterator[World]:
    """A world without quotas, with the stream."""
    world = World(seed=1, settings=Settings(limits=Limits.RELAXED))
    world.call("kinesis", "CreateStream", StreamName=NAME, ShardCount=2)
    yield world
    world.close()


@pytest.fixture
def call(world: World) -> Call:
    """Run an operation: `call("PutRecord", StreamName="clicks", …)`."""
    return lambda operation, **params: world.call("kinesis", operation, **params)


@pytest.fixture
def refusal(call: Call) -> Refusal:
    """(code, message) of the error that an operation answers."""

    def refusal(operation: str, **params: object) -> tuple[str, str]:
        with pytest.raises(ServiceError) as caught:
            call(operation, **params)
        return caught.value.code, caught.value.message

    return refusal


@pytest.fixture
def stream(call: Call) -> str:
    """The name of an empty stream of two shards."""
    call("CreateStream", StreamName=NAME, ShardCount=2)
    return NAME


@pytest.fixture
def put(call: Call, stream: str) -> Callable[..., list[str]]:
    """Write records to the first shard, or to another: `put("a", "b", key=HIGH)`. Returns their sequence numbers."""

    def put(*texts: str, key: str = LOW) -> list[str]:
        records = [{"PartitionKey": "k", "ExplicitHashKey": key, "Data": text.encode()} for text in texts]
        return [one["SequenceNumber"] for one in call("PutRecords", StreamName=stream, Records=records)["Records"]]

    return put


@pytest.fixture
def iterator(call: Call, stream: str) -> Callable[..., str]:
    """An iterator: `iterator("AFTER_SEQUENCE_NUMBER", StartingSequenceNumber=…, shard=SECOND)`."""

    def iterator(kind: str = "TRIM_HORIZON", *, shard: str = FIRST, **params: object) -> str:
        given = {"StreamName": stream, "ShardId": shard, "ShardIteratorType": kind, **params}
        return str(call("GetShardIterator", **given)["ShardIterator"])

    return iterator


@pytest.fixture
def read(call: Call, iterator: Callable[..., str]) -> Callable[..., list[str]]:
    """The texts of the records after an iterator: `read("LATEST")`."""

    def read(kind: str = "TRIM_HORIZON", **params: object) -> list[str]:
        return texts(call("GetRecords", ShardIterator=iterator(kind, **params)))

    return read


def texts(answer: dict[str, Any]) -> list[str]:
    """The data of the records in an answer."""
    return [record["Data"].decode() for record in answer["Records"]]
