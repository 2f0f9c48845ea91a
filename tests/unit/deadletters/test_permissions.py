"""Whether the caller may send to a target, as IAM simulates it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from redrive.deadletters.findings import Answer
from redrive.deadletters.permissions import Permissions
from redrive.testing.world import World

QUEUE = "arn:aws:sqs:us-east-1:000000000000:orders"


@pytest.fixture
def world() -> Iterator[World]:
    world = World(seed=1)
    yield world
    world.close()


def acting_as(world: World, *statements: dict[str, str]) -> Callable[[str], Any]:
    """The clients of somebody in a role with these statements, who may ask IAM."""
    trust = {"Effect": "Allow", "Principal": {"AWS": "arn:aws:iam::000000000000:root"}, "Action": "sts:AssumeRole"}
    asking = {"Effect": "Allow", "Action": "iam:SimulatePrincipalPolicy", "Resource": "*"}
    iam = world.client("iam")
    role = iam.create_role(
        RoleName="operator", AssumeRolePolicyDocument=json.dumps({"Version": "2012-10-17", "Statement": [trust]})
    )["Role"]["Arn"]
    document = json.dumps({"Version": "2012-10-17", "Statement": [asking, *statements]})
    iam.put_role_policy(RoleName="operator", PolicyName="may", PolicyDocument=document)
    keys = world.client("sts").assume_role(RoleArn=role, RoleSessionName="me")["Credentials"]
    return lambda service: world.client(
        service, aws_access_key_id=keys["AccessKeyId"], aws_secret_access_key=keys["SecretAccessKey"],
        aws_session_token=keys["SessionToken"],
    )  # fmt: skip


@pytest.mark.parametrize(("effect", "answer"), [("Allow", Answer.GO), ("Deny", Answer.REFUSE), (None, Answer.CAUTION)])
def test_policies_of_the_callers_role_decide(world: World, effect: str | None, answer: Answer) -> None:
    statements = [] if effect is None else [{"Effect": effect, "Action": "sqs:SendMessage", "Resource": QUEUE}]

    finding = Permissions(acting_as(world, *statements)).finding("sqs", QUEUE)

    assert finding is not None
    assert finding.answer is answer
    assert finding.detail == f"arn:aws:iam::000000000000:role/operator sqs:SendMessage {QUEUE}"


def test_account_itself_and_targets_without_an_arn_are_not_asked_about(world: World) -> None:
    permissions = Permissions(world.client)

    assert permissions.finding("sqs", QUEUE) is None
    assert permissions.finding("sqs", "http://localhost/000000000000/orders") is None
    assert permissions.finding("kafka", QUEUE) is None
