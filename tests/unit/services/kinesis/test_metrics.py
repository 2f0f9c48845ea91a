"""What is written and read is counted for the stream, and for its shards where that was asked for."""

from __future__ import annotations

import pytest

from tests.unit.services.kinesis.conftest import FIRST, LOW


@pytest.fixture
def summed(world):
    """The sum of a metric in the last hour: `summed("IncomingBytes", ShardId=FIRST)`."""

    def summed(name: str, **dimensions: str) -> float | None:
        world.advance(minutes=1)
        points = world.client("cloudwatch").get_metric_statistics(
            Namespace="AWS/Kinesis", MetricName=name, Period=3600, Statistics=["Sum"],
            Dimensions=[{"Name": key, "Value": value} for key, value in {"StreamName": "clicks", **dimensions}.items()],
            StartTime=world.now / 1000 - 1800, EndTime=world.now / 1000 + 1800,
        )["Datapoints"]  # fmt: skip
        return points[0]["Sum"] if points else None

    return summed


def test_written_and_read_records_are_counted(call, stream, put, read, summed):
    put("abc", "de")
    call("PutRecord", StreamName=stream, PartitionKey="kk", Data=b"f")
    read()

    assert [summed(name) for name in ("IncomingRecords", "IncomingBytes")] == [3, 10]
    assert [summed(name) for name in ("PutRecord.Success", "PutRecords.Success", "PutRecords.TotalRecords")] == [
        1,
        1,
        2,
    ]
    assert [summed(name) for name in ("GetRecords.Success", "GetRecords.Records")] == [1, 2]


def test_throttled_records_are_counted(call, stream, put, summed):
    put(*["x"] * 400)
    put(*["x"] * 400)
    more = [{"PartitionKey": "k", "ExplicitHashKey": LOW, "Data": b"x"}] * 400
    call("PutRecords", StreamName=stream, Records=more)

    assert summed("WriteProvisionedThroughputExceeded") == 200
    assert summed("PutRecords.SuccessfulRecords") == 1_000


def test_shards_are_counted_where_that_was_asked_for(call, stream, put, read, summed):
    call("EnableEnhancedMonitoring", StreamName=stream, ShardLevelMetrics=["IncomingRecords", "OutgoingBytes"])
    put("abc", "de")
    read()

    assert summed("IncomingRecords", ShardId=FIRST) == 2
    assert summed("OutgoingBytes", ShardId=FIRST) == 7
    assert summed("IncomingBytes", ShardId=FIRST) is None
