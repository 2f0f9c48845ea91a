"""Universal targets of S3: what a schedule may call, and what it may not."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from botocore.exceptions import ClientError

from redrive.testing.world import World

ROLE = "arn:aws:iam::000000000000:role/caller"
TRUST = {
    "Version": "2012-10-17",
    "Statement": [{"Effect": "Allow", "Principal": {"Service": "scheduler.amazonaws.com"}, "Action": "sts:AssumeRole"}],
}
MAY = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "s3:*", "Resource": "*"}]}


@pytest.fixture
def world() -> Iterator[World]:
    """A bucket `files`, and a role that may do everything with it."""
    world = World(seed=1)
    world.call("s3", "CreateBucket", Bucket="files")
    world.call("iam", "CreateRole", RoleName="caller", AssumeRolePolicyDocument=json.dumps(TRUST))
    world.call("iam", "PutRolePolicy", RoleName="caller", PolicyName="p", PolicyDocument=json.dumps(MAY))
    yield world
    world.close()


def schedule(world: World, action: str, params: dict[str, Any]) -> None:
    world.client("scheduler").create_schedule(
        Name="s", ScheduleExpression="rate(1 minute)", FlexibleTimeWindow={"Mode": "OFF"},
        Target={"Arn": f"arn:aws:scheduler:::aws-sdk:s3:{action}", "RoleArn": ROLE, "Input": json.dumps(params)},
    )  # fmt: skip


def test_schedule_puts_an_object_whose_body_is_the_text_of_its_input(world: World) -> None:
    schedule(world, "putObject", {"Bucket": "files", "Key": "k", "Body": "text"})

    world.advance(minutes=2)

    assert world.call("s3", "GetObject", Bucket="files", Key="k")["Body"] == b"text"


@pytest.mark.parametrize("action", ["getObject", "listObjectsV2"])
def test_schedule_does_not_call_what_only_reads(world: World, action: str) -> None:
    """Source: https://docs.aws.amazon.com/scheduler/latest/UserGuide/managing-targets-universal.html"""
    with pytest.raises(ClientError, match=f"{action} API is not supported"):
        schedule(world, action, {"Bucket": "files", "Key": "k"})
