"""A world with queues that EventBridge may send to, and short words for buses, rules and events."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cached_property
from typing import Any

import pytest
from botocore.exceptions import ClientError

from redrive.core.clock import parse_instant
from redrive.engine.settings import DEFAULTS, Settings
from redrive.testing.world import World

ACCOUNT = "000000000000"
PATTERN = {"source": ["shop"]}


class BusDesk:
    """What a user of EventBridge has at hand."""

    def __init__(self, start: str = "2025-01-01T00:00:00Z", *, settings: Settings = DEFAULTS) -> None:
        self.world = World(seed=1, start=parse_instant(start), settings=settings)

    @cached_property
    def events(self) -> Any:
        """A boto3 client of EventBridge."""
        return self.world.client("events")

    def queue(self, name: str, *, principal: Any = None, **attributes: str) -> str:
        """Make a queue that EventBridge may send to; answers its ARN."""
        arn = f"arn:aws:sqs:us-east-1:{ACCOUNT}:{name}"
        allowed = {
            "Effect": "Allow", "Principal": principal or {"Service": "events.amazonaws.com"},
            "Action": "sqs:SendMessage", "Resource": arn,
        }  # fmt: skip
        policy = json.dumps({"Version": "2012-10-17", "Statement": [allowed]})
        self.world.call("sqs", "CreateQueue", QueueName=name, Attributes={"Policy": policy, **attributes})
        return arn

    def role(self, name: str, *actions: str) -> str:
        """Make a role that EventBridge may assume and that may do these actions on everything; answers its ARN."""
        trust = {"Effect": "Allow", "Principal": {"Service": "events.amazonaws.com"}, "Action": "sts:AssumeRole"}
        document = {"Version": "2012-10-17", "Statement": [trust]}
        self.world.call("iam", "CreateRole", RoleName=name, AssumeRolePolicyDocument=json.dumps(document))
        if actions:
            statement = {"Effect": "Allow", "Action": list(actions), "Resource": "*"}
            policy = json.dumps({"Version": "2012-10-17", "Statement": [statement]})
            self.world.call("iam", "PutRolePolicy", RoleName=name, PolicyName="allowed", PolicyDocument=policy)
        return f"arn:aws:iam::{ACCOUNT}:role/{name}"

    def rule(
        self, *targets: dict[str, Any] | str, name: str = "r", pattern: Any = None, bus: str | None = None, **more: Any
    ) -> str:
        """Make a rule with these targets, which get the ids 1, 2 …; answers its ARN."""
        on_bus = {} if bus is None else {"EventBusName": bus}
        given = more if "ScheduleExpression" in more and pattern is None else {
            "EventPattern": json.dumps(pattern or PATTERN), **more
        }  # fmt: skip
        arn = self.events.put_rule(Name=name, **on_bus, **given)["RuleArn"]
        documents = [
            {"Id": str(number), **({"Arn": one} if isinstance(one, str) else one)}
            for number, one in enumerate(targets, start=1)
        ]
        if documents:
            self.events.put_targets(Rule=name, Targets=documents, **on_bus)
        return str(arn)

    def put(self, detail: Any = None, **more: Any) -> str:
        """Publish an event, and let what is due now happen; answers the event's id."""
        entry = {"Source": "shop", "DetailType": "Order", "Detail": json.dumps(detail or {}), **more}
        (answer,) = self.events.put_events(Entries=[entry])["Entries"]
        self.world.settle()
        return str(answer.get("EventId"))

    def take(self, queue: str = "q") -> list[dict[str, Any]]:
        """Take all messages from a queue."""
        url = self.world.call("sqs", "GetQueueUrl", QueueName=queue)["QueueUrl"]
        wanted = {"MaxNumberOfMessages": 10, "MessageAttributeNames": ["All"], "AttributeNames": ["All"]}
        taken: list[dict[str, Any]] = []
        while found := self.world.call("sqs", "ReceiveMessage", QueueUrl=url, **wanted).get("Messages"):
            taken += found
            for message in found:
                self.world.call("sqs", "DeleteMessage", QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
        return taken

    def bodies(self, queue: str = "q") -> list[str]:
        """The bodies of all messages of a queue, which is empty afterwards."""
        return [message["Body"] for message in self.take(queue)]

    def received(self, queue: str = "q") -> list[dict[str, Any]]:
        """The events in a queue, which is empty afterwards."""
        return [json.loads(body) for body in self.bodies(queue)]

    def letter(self) -> tuple[str, dict[str, str]]:
        """The only message in the queue `dead`: its body and its attributes."""
        (message,) = self.take("dead")
        attributes = {name: value["StringValue"] for name, value in message.get("MessageAttributes", {}).items()}
        return message["Body"], attributes

    def counted(self, name: str, **dimensions: str) -> float:
        """The sum of a metric of EventBridge over the first day."""
        found = self.world.client("cloudwatch").get_metric_statistics(
            Namespace="AWS/Events", MetricName=name, StartTime="2025-01-01T00:00:00Z", EndTime="2025-01-03T00:00:00Z",
            Period=86_400, Statistics=["Sum"],
            Dimensions=[{"Name": key, "Value": value} for key, value in dimensions.items()],
        )["Datapoints"]  # fmt: skip
        return float(sum(point["Sum"] for point in found))


def refused(call: Any, /, **params: Any) -> tuple[str, str]:
    """Code and message of the error with which a call fails."""
    with pytest.raises(ClientError) as caught:
        call(**params)
    response: Any = caught.value.response
    assert response["ResponseMetadata"]["HTTPStatusCode"] == 400
    return response["Error"]["Code"], response["Error"]["Message"]


@pytest.fixture
def bus_desk() -> Iterator[BusDesk]:
    desk = BusDesk()
    yield desk
    desk.world.close()


@pytest.fixture
def new_bus_desk() -> type[BusDesk]:
    """For tests that need a desk of another kind."""
    return BusDesk


@pytest.fixture
def refusal() -> Any:
    return refused
