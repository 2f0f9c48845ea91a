"""A world with a queue, a dead-letter queue, and roles that EventBridge Scheduler may assume."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cached_property
from typing import Any

import pytest
from botocore.exceptions import ClientError

from redrive.core.clock import format_instant, parse_instant
from redrive.engine.settings import DEFAULTS, Settings
from redrive.testing.world import World

ACCOUNT = "000000000000"


class Desk:
    """What a user of EventBridge Scheduler has at hand, and short words for it."""

    def __init__(self, start: str = "2025-01-01T00:00:00Z", *, settings: Settings = DEFAULTS) -> None:
        self.world = World(seed=1, start=parse_instant(start), settings=settings)
        self.orders = self.queue("orders")
        self.dead = self.queue("dead")
        self.role = self.make_role("runs", "sqs:SendMessage", "lambda:InvokeFunction", "dynamodb:*")

    @cached_property
    def scheduler(self) -> Any:
        """A boto3 client of EventBridge Scheduler."""
        return self.world.client("scheduler")

    def queue(self, name: str, **attributes: str) -> str:
        """Make a queue; answers its ARN."""
        self.world.call("sqs", "CreateQueue", QueueName=name, Attributes=attributes)
        return f"arn:aws:sqs:us-east-1:{ACCOUNT}:{name}"

    def make_role(
        self, name: str, *actions: str, service: str = "scheduler.amazonaws.com", condition: Any = None
    ) -> str:
        """Make a role that a service may assume and that may do these actions on everything; answers its ARN."""
        trust: dict[str, Any] = {"Effect": "Allow", "Principal": {"Service": service}, "Action": "sts:AssumeRole"}
        if condition is not None:
            trust["Condition"] = condition
        document = {"Version": "2012-10-17", "Statement": [trust]}
        self.world.call("iam", "CreateRole", RoleName=name, AssumeRolePolicyDocument=json.dumps(document))
        if actions:
            allowed = {"Effect": "Allow", "Action": list(actions), "Resource": "*"}
            policy = json.dumps({"Version": "2012-10-17", "Statement": [allowed]})
            self.world.call("iam", "PutRolePolicy", RoleName=name, PolicyName="allowed", PolicyDocument=policy)
        return f"arn:aws:iam::{ACCOUNT}:role/{name}"

    def target(self, arn: str | None = None, **more: Any) -> dict[str, Any]:
        """A target: the queue of orders, unless it is another."""
        return {"Arn": arn or self.orders, "RoleArn": self.role, **more}

    def params(self, expression: str = "rate(1 hour)", **more: Any) -> dict[str, Any]:
        """The parameters of a schedule, all required ones given."""
        defaults = {
            "Name": "nightly", "ScheduleExpression": expression, "Target": self.target(),
            "FlexibleTimeWindow": {"Mode": "OFF"},
        }  # fmt: skip
        return {**defaults, **more}

    def create(self, expression: str = "rate(1 hour)", **more: Any) -> str:
        """Make a schedule; answers its ARN. Dates are datetimes or ISO texts, as boto3 takes them."""
        params = self.params(expression, **more)
        dates = {name: parse_instant(str(params[name])) for name in ("StartDate", "EndDate") if name in params}
        return str(self.world.call("scheduler", "CreateSchedule", **(params | dates))["ScheduleArn"])

    def names(self, **filters: Any) -> list[str]:
        """The names of the schedules that a list shows on its first page."""
        return [one["Name"] for one in self.world.call("scheduler", "ListSchedules", **filters)["Schedules"]]

    def take(self, queue: str = "orders") -> list[dict[str, Any]]:
        """Take all messages from a queue, in the order in which they were sent."""
        url = self.world.call("sqs", "GetQueueUrl", QueueName=queue)["QueueUrl"]
        wanted = {"MaxNumberOfMessages": 10, "MessageAttributeNames": ["All"], "AttributeNames": ["All"]}
        taken: list[dict[str, Any]] = []
        while found := self.world.call("sqs", "ReceiveMessage", QueueUrl=url, **wanted).get("Messages"):
            taken += found
            for message in found:
                self.world.call("sqs", "DeleteMessage", QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
        return sorted(taken, key=lambda message: int(message["Attributes"]["SentTimestamp"]))

    def bodies(self, queue: str = "orders") -> list[str]:
        """The bodies of all messages of a queue, which is empty afterwards."""
        return [message["Body"] for message in self.take(queue)]

    def sent(self, queue: str = "orders") -> list[str]:
        """When the messages of a queue were sent; it is empty afterwards."""
        return [format_instant(int(message["Attributes"]["SentTimestamp"])) for message in self.take(queue)]

    def letter(self) -> tuple[str, dict[str, str]]:
        """The only dead letter: its body and its attributes."""
        (message,) = self.take("dead")
        attributes = {name: value["StringValue"] for name, value in message.get("MessageAttributes", {}).items()}
        return message["Body"], attributes

    def attempts(self, arn: str) -> list[Any]:
        """The recorded attempts of a schedule."""
        return self.world.store.run(lambda tx: tx.attempts.of_source(arn))


def refused(call: Any, /, **params: Any) -> tuple[str, str, int]:
    """Code, message and HTTP status of the error with which a call fails."""
    with pytest.raises(ClientError) as caught:
        call(**params)
    response: Any = caught.value.response
    return response["Error"]["Code"], response["Error"]["Message"], response["ResponseMetadata"]["HTTPStatusCode"]


@pytest.fixture
def desk() -> Iterator[Desk]:
    desk = Desk()
    yield desk
    desk.world.close()


@pytest.fixture
def new_desk() -> type[Desk]:
    """For tests that need a desk of another kind."""
    return Desk


@pytest.fixture
def refusal() -> Any:
    return refused
