"""A world whose operations of our own surface are called as services call one another, and as a server does."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from redrive.core.errors import ServiceError
from redrive.core.scope import Caller
from redrive.delivery.operation import ByNode
from redrive.testing.world import World

ACCOUNT = "000000000000"
OTHER = "111111111111"
TRUST = {
    "Version": "2012-10-17",
    "Statement": [
        {"Effect": "Allow", "Principal": {"Service": "scheduler.amazonaws.com"}, "Action": "sts:AssumeRole"},
    ],
}


class Office:
    """Short words for what tests do."""

    def __init__(self) -> None:
        self.world = World(seed=1)
        self.root = self.world.caller()

    def call(self, operation: str, caller: Caller | None = None, **params: object) -> dict[str, Any]:
        """What an operation answers that is called within a transaction."""
        return self.world.store.run(lambda tx: tx.services.call(tx, caller or self.root, "redrive", operation, params))

    def refusal(self, operation: str, caller: Caller | None = None, **params: object) -> ServiceError:
        """Why an operation is refused."""
        with pytest.raises(ServiceError) as caught:
            self.call(operation, caller, **params)
        return caught.value

    def begun(self, operation: str, **params: object) -> ByNode:
        """What a server is asked to do by an operation, after its transaction."""
        registry = self.world.engine.registry
        answer = self.world.store.run(lambda tx: registry.begin(tx, self.root, "redrive", operation, params))
        assert isinstance(answer, ByNode)
        return answer

    def role(self, name: str, *actions: str, account: str = ACCOUNT) -> Caller:
        """A session of a role that may do these actions."""
        iam = self.world.client("iam", account=account)
        arn = iam.create_role(RoleName=name, AssumeRolePolicyDocument=json.dumps(TRUST))["Role"]["Arn"]
        if actions:
            allowed = {"Effect": "Allow", "Action": list(actions), "Resource": "*"}
            document = json.dumps({"Version": "2012-10-17", "Statement": [allowed]})
            iam.put_role_policy(RoleName=name, PolicyName="own", PolicyDocument=document)
        return Caller(self.world.caller(account=account).scope, "request", arn, "session")

    def schedule(self, name: str = "nightly", *, queue: str | None = "orders", region: str = "us-east-1") -> str:
        """Make a schedule that fires each day, at a queue or at none; answers its ARN."""
        role = f"arn:aws:iam::{ACCOUNT}:role/runs"
        try:
            self.role("runs", "sqs:SendMessage")
        except self.world.client("iam").exceptions.EntityAlreadyExistsException:
            pass
        if queue is not None:
            self.world.client("sqs", region=region).create_queue(QueueName=queue)
        arn: str = self.world.client("scheduler", region=region).create_schedule(
            Name=name, ScheduleExpression="rate(1 day)", FlexibleTimeWindow={"Mode": "OFF"},
            Target={"Arn": f"arn:aws:sqs:{region}:{ACCOUNT}:{queue or 'gone'}", "RoleArn": role},
        )["ScheduleArn"]  # fmt: skip
        return arn


@pytest.fixture
def office() -> Iterator[Office]:
    office = Office()
    yield office
    office.world.close()
