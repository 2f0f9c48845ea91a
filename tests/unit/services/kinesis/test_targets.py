"""Rules and schedules put records into streams, under their roles."""

from __future__ import annotations

import json

import pytest

from tests.unit.services.kinesis.conftest import ARN, FIRST, SECOND

ROLE = "arn:aws:iam::000000000000:role/r"


@pytest.fixture
def role(world):
    """A role that may put records, and nothing else, for rules and schedules."""
    iam = world.client("iam")
    services = ["events.amazonaws.com", "scheduler.amazonaws.com"]
    trust = {"Effect": "Allow", "Principal": {"Service": services}, "Action": "sts:AssumeRole"}
    allow = {"Effect": "Allow", "Action": "kinesis:PutRecord", "Resource": ARN}
    iam.create_role(RoleName="r", AssumeRolePolicyDocument=json.dumps({"Version": "2012-10-17", "Statement": [trust]}))
    document = json.dumps({"Version": "2012-10-17", "Statement": [allow]})
    iam.put_role_policy(RoleName="r", PolicyName="p", PolicyDocument=document)
    return ROLE


@pytest.fixture
def written(call):
    """All records of the stream: (partition key, data)."""

    def written() -> list[tuple[str, bytes]]:
        found = []
        for shard in (FIRST, SECOND):
            given = {"StreamName": "clicks", "ShardId": shard, "ShardIteratorType": "TRIM_HORIZON"}
            read = call("GetRecords", ShardIterator=call("GetShardIterator", **given)["ShardIterator"])
            found += [(record["PartitionKey"], record["Data"]) for record in read["Records"]]
        return found

    return written


def test_rule_puts_its_events_into_a_stream(world, stream, role, written):
    """The partition key comes from the event; without a path it is the event's id."""
    events = world.client("events")
    events.put_rule(Name="rule", EventPattern='{"source":["shop"]}')
    path = {"KinesisParameters": {"PartitionKeyPath": "$.detail.user"}}
    targets = [{"Id": "1", "Arn": ARN, "RoleArn": role, **path}, {"Id": "2", "Arn": ARN, "RoleArn": role}]
    events.put_targets(Rule="rule", Targets=targets)

    answer = events.put_events(Entries=[{"Source": "shop", "DetailType": "d", "Detail": '{"user":"ann"}'}])
    world.settle()

    assert sorted(key for key, _ in written()) == sorted(["ann", answer["Entries"][0]["EventId"]])
    assert {json.loads(data)["detail"]["user"] for _, data in written()} == {"ann"}


def test_schedule_puts_its_input_into_a_stream(world, stream, role, written):
    target = {"Arn": ARN, "RoleArn": role, "KinesisParameters": {"PartitionKey": "k"}, "Input": "été"}
    window = {"Mode": "OFF"}
    world.client("scheduler").create_schedule(
        Name="s", ScheduleExpression="rate(1 hour)", FlexibleTimeWindow=window, Target=target
    )

    world.advance(minutes=61)

    assert set(written()) == {("k", "été".encode())}


def test_target_that_may_not_write_is_refused(world, stream, role, written):
    world.client("iam").delete_role_policy(RoleName="r", PolicyName="p")
    events = world.client("events")
    events.put_rule(Name="rule", EventPattern='{"source":["shop"]}')
    events.put_targets(Rule="rule", Targets=[{"Id": "1", "Arn": ARN, "RoleArn": role}])

    events.put_events(Entries=[{"Source": "shop", "DetailType": "d", "Detail": "{}"}])
    world.settle()

    assert written() == []
