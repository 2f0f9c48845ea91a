"""On-failure destinations that are buckets."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from botocore.exceptions import ClientError

from redrive.testing.world import World
from tests.unit.services.lambda_.functions import ROLE, archive
from tests.unit.services.lambda_.test_wire import TRUST

BUCKET = "arn:aws:s3:::lost"
CODE = "def handler(event, context):\n    raise ValueError('no')\n"
_DATED = r"\d{4}/\d\d/\d\d/\d{4}-\d\d-\d\dT\d\d\.\d\d\.\d\d-[0-9a-f-]{36}"


@pytest.fixture
def world() -> Iterator[World]:
    """A function that fails, with a role that may do everything, and a bucket `lost`."""
    world = World(seed=1)
    world.call("iam", "CreateRole", RoleName="worker", AssumeRolePolicyDocument=json.dumps(TRUST))
    allow(world, "*")
    world.call("s3", "CreateBucket", Bucket="lost")
    world.call(
        "lambda", "CreateFunction", FunctionName="worker", Runtime="python3.12", Role=ROLE, Handler="app.handler",
        Code={"ZipFile": archive(CODE)},
    )  # fmt: skip
    yield world
    world.close()


def allow(world: World, action: str) -> None:
    statement = {"Effect": "Allow", "Action": action, "Resource": "*"}
    policy = json.dumps({"Version": "2012-10-17", "Statement": [statement]})
    world.call("iam", "PutRolePolicy", RoleName="worker", PolicyName="work", PolicyDocument=policy)


def lost(world: World) -> tuple[str, dict[str, Any]]:
    """The key and the record of the only object in the bucket."""
    (listed,) = world.call("s3", "ListObjectsV2", Bucket="lost")["Contents"]
    found = world.call("s3", "GetObject", Bucket="lost", Key=listed["Key"])["Body"]
    return listed["Key"], json.loads(found)


def configure(world: World, side: str, arn: str = BUCKET) -> None:
    world.client("lambda").put_function_event_invoke_config(
        FunctionName="worker", MaximumRetryAttempts=0, DestinationConfig={side: {"Destination": arn}}
    )


def test_record_of_an_event_that_failed_is_stored(world: World) -> None:
    """Source: https://docs.aws.amazon.com/lambda/latest/dg/invocation-async-retain-records.html"""
    configure(world, "OnFailure")

    world.client("lambda").invoke(FunctionName="worker", InvocationType="Event", Payload=b'{"a": 1}')
    world.settle()

    key, record = lost(world)
    assert re.fullmatch(f"aws/lambda/async/worker/{_DATED}", key)
    assert record["requestContext"]["condition"] == "RetriesExhausted"
    assert record["requestPayload"] == {"a": 1}


def test_record_of_a_batch_that_failed_has_the_whole_event(world: World) -> None:
    """Source: https://docs.aws.amazon.com/lambda/latest/dg/kinesis-on-failure-destination.html"""
    world.call("kinesis", "CreateStream", StreamName="s", ShardCount=1)
    made = world.call(
        "lambda", "CreateEventSourceMapping", FunctionName="worker", StartingPosition="TRIM_HORIZON",
        EventSourceArn="arn:aws:kinesis:us-east-1:000000000000:stream/s", MaximumRetryAttempts=0,
        DestinationConfig={"OnFailure": {"Destination": BUCKET}},
    )  # fmt: skip

    world.settle()
    world.call("kinesis", "PutRecord", StreamName="s", PartitionKey="p", Data=b"data")
    world.settle()

    key, record = lost(world)
    (sent,) = json.loads(record["payload"])["Records"]
    assert re.fullmatch(f"aws/lambda/{made['UUID']}/shardId-000000000000/{_DATED}", key)
    assert record["KinesisBatchInfo"]["batchSize"] == 1
    assert sent["kinesis"]["data"] == "ZGF0YQ=="


def test_bucket_takes_no_records_of_success(world: World) -> None:
    with pytest.raises(ClientError, match="S3 buckets are supported only for on-failure destinations"):
        configure(world, "OnSuccess")


def test_bucket_that_the_role_may_not_write_is_refused(world: World) -> None:
    allow(world, "sqs:*")

    with pytest.raises(ClientError, match="does not have permissions to call PutObject on arn:aws:s3:::lost"):
        configure(world, "OnFailure")


def test_bucket_that_is_not_there_is_refused(world: World) -> None:
    with pytest.raises(ClientError, match="The destination ARN arn:aws:s3:::nowhere is invalid"):
        configure(world, "OnFailure", "arn:aws:s3:::nowhere")
