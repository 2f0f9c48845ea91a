"""A world with a bucket that tells, and with destinations that S3 may call."""

from __future__ import annotations

import json
from functools import partial
from typing import Any

import pytest

from redrive.core.clock import parse_instant
from redrive.core.errors import ServiceError
from redrive.core.scope import Caller
from redrive.delivery.faults import Fault, add_fault
from redrive.services.s3.model.bucket import BUCKETS, Bucket
from redrive.services.s3.model.happened import Happened
from redrive.services.s3.telling import tell
from redrive.store.api import Transaction
from redrive.testing.world import World

HERE = "us-east-1:000000000000"
S3 = {"Service": "s3.amazonaws.com"}
PUT = Happened("ObjectCreated:Put", "in/a.csv", 5, "e1", "", "0000000000000000A1", "PutObject", "192.0.2.7")
FOR_BUCKET = {
    "ArnLike": {"aws:SourceArn": "arn:aws:s3:*:*:uploads"},
    "StringEquals": {"aws:SourceAccount": "000000000000"},
}
"""The condition that AWS's guide recommends for the policy of a destination."""


class Uploads:
    """What a user of notifications has at hand: the bucket `uploads`."""

    def __init__(self) -> None:
        self.world = World(seed=1, start=parse_instant("2025-01-01T00:00:00.123Z"))
        self.call("CreateBucket", Bucket="uploads")

    def call(self, operation: str, service: str = "s3", **params: object) -> Any:
        """Run an operation."""
        return self.world.call(service, operation, **params)

    def refusal(self, operation: str, **params: Any) -> tuple[str, str, Any]:
        """Code, message and members of the error that an operation of S3 answers."""
        with pytest.raises(ServiceError) as caught:
            self.call(operation, **params)
        return caught.value.code, caught.value.message, caught.value.members

    def configure(self, **configuration: object) -> Any:
        """Replace the bucket's configuration; answers what is stored."""
        self.call("PutBucketNotificationConfiguration", Bucket="uploads", NotificationConfiguration=configuration)
        return self.call("GetBucketNotificationConfiguration", Bucket="uploads")

    def refused(self, **configuration: object) -> tuple[str, str, Any]:
        """The error for a configuration."""
        return self.refusal(
            "PutBucketNotificationConfiguration", Bucket="uploads", NotificationConfiguration=configuration
        )

    def queue(self, name: str = "q", *, principal: Any = None, condition: Any = None) -> str:
        """Make a queue that S3 may send to; answers its ARN."""
        arn = f"arn:aws:sqs:{HERE}:{name}"
        allowed = {"Effect": "Allow", "Principal": principal or S3, "Action": "sqs:SendMessage", "Resource": arn}
        policy = {"Statement": [{**allowed, "Condition": condition or FOR_BUCKET}]}
        self.call("CreateQueue", "sqs", QueueName=name, Attributes={"Policy": json.dumps(policy)})
        return arn

    def topic(self, name: str = "t", **statement: object) -> str:
        """Make a topic that S3 may publish to, which sends to the queue of its name; answers its ARN."""
        arn = str(self.call("CreateTopic", "sns", Name=name)["TopicArn"])
        allowed = {"Effect": "Allow", "Principal": S3, "Action": "sns:Publish", "Resource": arn, **statement}
        policy = json.dumps({"Statement": [{**allowed, "Condition": FOR_BUCKET}]})
        self.call("SetTopicAttributes", "sns", TopicArn=arn, AttributeName="Policy", AttributeValue=policy)
        queue = self.queue(f"of-{name}", principal={"Service": "sns.amazonaws.com"}, condition={"Null": {"x": "true"}})
        self.call("Subscribe", "sns", TopicArn=arn, Protocol="sqs", Endpoint=queue)
        return arn

    def happen(self, *events: Happened, caller: Caller | None = None) -> None:
        """Tell of events, each as a change of an object does."""
        for happened in events:
            self.world.store.run(partial(_tell, caller or self.world.caller(), happened))

    def disturb(self, s3: str, *, latency_ms: int = 0, target: str = "arn:aws:s3:::uploads/*", **given: Any) -> None:
        """Order a fault of what S3 tells; it strikes always, or as `times` and `rate` say."""
        fault = Fault("", target, latency_ms=latency_ms, s3=s3, **({"rate": 1.0} | given))
        self.world.store.run(lambda tx: add_fault(tx, fault))

    def bodies(self, queue: str = "q") -> list[Any]:
        """The bodies of the messages in a queue, which is empty afterwards, in the order in which they were sent."""
        url = self.call("GetQueueUrl", "sqs", QueueName=queue)["QueueUrl"]
        taken: list[Any] = []
        asked = {"MaxNumberOfMessages": 10, "AttributeNames": ["All"]}
        while found := self.call("ReceiveMessage", "sqs", QueueUrl=url, **asked).get("Messages"):
            taken += found
            for message in found:
                self.call("DeleteMessage", "sqs", QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
        taken.sort(key=lambda message: int(message["Attributes"]["SentTimestamp"]))
        return [json.loads(message["Body"]) for message in taken]

    def keys(self, queue: str = "q") -> list[str]:
        """The keys of the objects that a queue was told of."""
        return [body["Records"][0]["s3"]["object"]["key"] for body in self.bodies(queue)]


def _tell(caller: Caller, happened: Happened, tx: Transaction) -> None:
    bucket = tx.resources.get(Bucket, BUCKETS, "uploads")
    assert bucket is not None
    tell(tx, caller, bucket, happened)


def on(arn: str, *events: str, id: str = "all", prefix: str | None = None, suffix: str | None = None) -> Any:
    """A configuration for a destination: of these events, all created objects by default."""
    member = {"sqs": "QueueArn", "sns": "TopicArn", "lambda": "LambdaFunctionArn"}[arn.split(":")[2]]
    made: dict[str, Any] = {"Id": id, member: arn, "Events": list(events) or ["s3:ObjectCreated:*"]}
    rules = [{"Name": name, "Value": value} for name, value in (("prefix", prefix), ("suffix", suffix)) if value]
    return made | ({"Filter": {"Key": {"FilterRules": rules}}} if rules else {})
