"""What the hot operations cost, in statements: counts do not flake, milliseconds do."""

from __future__ import annotations

import pytest

from tests.unit.services.kinesis.conftest import FIRST

FRAME = ("BEGIN", "COMMIT", "SAVEPOINT", "RELEASE")
RECORDS = [{"PartitionKey": f"k{number}", "Data": b"x"} for number in range(500)]


@pytest.fixture
def warm(relaxed):
    """A stream that has been written to and read."""
    relaxed.call("kinesis", "PutRecords", StreamName="clicks", Records=RECORDS)
    given = {"StreamName": "clicks", "ShardId": FIRST, "ShardIteratorType": "TRIM_HORIZON"}
    iterator = relaxed.call("kinesis", "GetShardIterator", **given)["ShardIterator"]
    relaxed.call("kinesis", "GetRecords", ShardIterator=iterator)
    return iterator


@pytest.fixture
def statements(relaxed, warm):
    """What the store runs from now on: each text once for each of its runs, transactions' frames left out."""
    seen: list[str] = []
    relaxed.store.connection.set_trace_callback(lambda sql: None if sql.startswith(FRAME) else seen.append(sql))
    return seen


def test_writing_a_record_costs_one_statement(relaxed, statements):
    relaxed.call("kinesis", "PutRecord", StreamName="clicks", PartitionKey="k", Data=b"x")

    assert len(statements) == 1


def test_writing_a_batch_costs_one_insert_for_each_record_and_nothing_else(relaxed, statements):
    """The inserts of a shard are one prepared statement."""
    relaxed.call("kinesis", "PutRecords", StreamName="clicks", Records=RECORDS)

    assert len(statements) == 500
    assert {sql.partition(" (")[0] for sql in statements} == {"INSERT INTO stream_records"}


def test_reading_a_page_costs_few_statements(relaxed, warm, statements):
    """One for the first 32 records, and one for the others."""
    relaxed.call("kinesis", "GetRecords", ShardIterator=warm)

    assert len(statements) == 2


def test_rate_of_a_shard_costs_one_statement_more(call, stream, world):
    """Only with quotas, and only if the shard was written to within the second."""
    call("PutRecord", StreamName=stream, PartitionKey="k", Data=b"x")
    seen: list[str] = []
    world.store.connection.set_trace_callback(lambda sql: None if sql.startswith(FRAME) else seen.append(sql))

    call("PutRecord", StreamName=stream, PartitionKey="k", Data=b"x")

    assert len(seen) == 2
