"""A world with topics, queues that SNS may send to, and functions that SNS may invoke."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cached_property
from typing import Any

import pytest
from botocore.exceptions import ClientError

from redrive.core.clock import parse_instant
from redrive.testing.world import World

ACCOUNT = "000000000000"
HERE = f"us-east-1:{ACCOUNT}"


class TopicDesk:
    """What a user of SNS has at hand."""

    def __init__(self) -> None:
        self.world = World(seed=1, start=parse_instant("2025-01-01T00:00:00Z"))

    @cached_property
    def sns(self) -> Any:
        """A boto3 client of SNS."""
        return self.world.client("sns")

    def topic(self, name: str = "t", **attributes: str) -> str:
        """Make a topic; answers its ARN."""
        fifo = {"FifoTopic": "true"} if name.endswith(".fifo") else {}
        return str(self.sns.create_topic(Name=name, Attributes={**fifo, **attributes})["TopicArn"])

    def queue(self, name: str = "q", *, principal: Any = None, **attributes: str) -> str:
        """Make a queue that SNS may send to; answers its ARN."""
        arn = f"arn:aws:sqs:{HERE}:{name}"
        allowed = {
            "Effect": "Allow", "Principal": principal or {"Service": "sns.amazonaws.com"},
            "Action": "sqs:SendMessage", "Resource": arn,
        }  # fmt: skip
        fifo = {"FifoQueue": "true"} if name.endswith(".fifo") else {}
        policy = json.dumps({"Version": "2012-10-17", "Statement": [allowed]})
        self.world.call("sqs", "CreateQueue", QueueName=name, Attributes={"Policy": policy, **fifo, **attributes})
        return arn

    def subscribe(self, topic: str, endpoint: str, protocol: str = "sqs", **attributes: str) -> str:
        """Subscribe an endpoint; answers the subscription's ARN."""
        asked = {"TopicArn": topic, "Protocol": protocol, "Endpoint": endpoint, "ReturnSubscriptionArn": True}
        return str(self.sns.subscribe(**asked, Attributes=attributes)["SubscriptionArn"])

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

    def received(self, queue: str = "q") -> list[dict[str, Any]]:
        """The envelopes in a queue, which is empty afterwards."""
        return [json.loads(message["Body"]) for message in self.take(queue)]

    def texts(self, queue: str = "q") -> list[str]:
        """The messages in the envelopes in a queue, sorted."""
        return sorted(envelope["Message"] for envelope in self.received(queue))

    def counted(self, name: str, topic: str = "t") -> float:
        """The sum of a metric of a topic over the first month. Moves the clock on by a minute."""
        self.world.advance(minutes=1)
        found = self.world.client("cloudwatch").get_metric_statistics(
            Namespace="AWS/SNS", MetricName=name, StartTime="2025-01-01T00:00:00Z", EndTime="2025-01-31T00:00:00Z",
            Period=86_400, Statistics=["Sum"], Dimensions=[{"Name": "TopicName", "Value": topic}],
        )["Datapoints"]  # fmt: skip
        return float(sum(point["Sum"] for point in found))


def refused(call: Any, /, **params: Any) -> tuple[str, str]:
    """Code and message of the error with which a call fails."""
    with pytest.raises(ClientError) as caught:
        call(**params)
    error: Any = caught.value.response["Error"]
    return error["Code"], error["Message"]


@pytest.fixture
def desk() -> Iterator[TopicDesk]:
    made = TopicDesk()
    yield made
    made.world.close()


@pytest.fixture(name="refused")
def refused_fixture() -> Any:
    return refused
