"""The same random operations give the same answers and leave the same rows, on SQLite and on PostgreSQL."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from redrive.core.errors import ServiceError
from redrive.testing.world import World
from tests.support.stores import PostgresWorld

OPERATIONS = 250
COLUMNS = {
    "resources": "kind, scope, name, document",
    "timers": "kind, name, at",
    "deliveries": "id, scope, source, source_arn, target_arn, document, policy, place, due_at, first_at, attempts,"
    " failures, fence, leases, function",
    "messages": "queue, message_id, body, body_md5, attributes, system_attributes, sender_id, group_id,"
    " deduplication_id, is_head, sent_at, visible_at, expires_at, receive_count, first_received_at, received_at,"
    " receipt, source_queue_arn, cause, turn",
    "dedup_sends": "queue, scope, id, message_id, expires_at",
    "dedup_receives": "queue, id, receipt, visible_at, expires_at",
    "items": "table_id, slot, hash_key, range_key, size_bytes, expires_at, item",
    "log_events": "log_group, stream, at, ingested_at, message",
    "runs": "delivery_id, scope, kind, source_arn, target_arn, execution_id, cause, state, first_at, ended_at",
    "attempts": "attempt, ended_at, state, code, message, next_at, letter_arn, led_to, why, log_stream",
    "notes": "at, kind, arn, led_to, code, message",
    "links": "execution_id, message_id, receive_count, is_done",
    "moves": "at, execution_id, kind, from_arn, to_arn, message_id, moved_as, receive_count",
    "tokens": "kind, scope, token, digest, answer, expires_at",
    "metrics": "*",
}
"""What is compared: all columns but the numbers of rows, which have gaps on PostgreSQL."""
IDS = {"MessageId", "ReceiptHandle", "SequenceNumber", "eventId", "nextToken", "nextSequenceToken"}
"""Members that hold drawn ids or the numbers of rows. They differ: a step that runs again draws again."""
# An instant of these years has 13 digits, and begins with 17.
_DRAWN = re.compile(
    r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|\b(?!17\d{11}\b)[0-9a-f]{12,}\b|AROA[A-Z0-9]{17}"
)

QUEUES = ["orders", "parcels", "orders.fifo", "letters.fifo"]
ROLE = "arn:aws:iam::000000000000:role/r"

Call = tuple[str, str, dict[str, Any]]
"""Service, operation and parameters; or the seconds by which time moves, as `("advance", "", {"seconds": 5})`."""


class Client:
    """Draws operations. It knows the receipts that its world has answered with; both worlds answer with the same."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.receipts: list[tuple[str, str]] = []
        self._makers: Sequence[Callable[[], Call]] = [
            self.send, self.send, self.send, self.receive, self.receive, self.settle, self.settle, self.queue,
            self.item, self.item, self.item, self.read_items, self.transact, self.schedule, self.schedule, self.log,
            self.read_log, self.purge, self.advance, self.advance,
        ]  # fmt: skip

    def draw(self) -> Call:
        return self.random.choice(self._makers)()

    def send(self) -> Call:
        queue = self.random.choice(QUEUES)
        params: dict[str, Any] = {
            "QueueUrl": queue,
            "MessageBody": self.random.choice(["a", "é", "\U0001f600", "x" * 2000]),
        }
        if queue.endswith(".fifo"):
            params["MessageGroupId"] = self.random.choice("gh")
            params["MessageDeduplicationId"] = str(self.random.randrange(20))
        elif self.random.random() < 0.3:
            params["DelaySeconds"] = self.random.randrange(30)
        return "sqs", "SendMessage", params

    def receive(self) -> Call:
        limit, timeout = self.random.randint(1, 10), self.random.choice([0, 1, 30])
        queue = self.random.choice(QUEUES)
        params = {"QueueUrl": queue, "MaxNumberOfMessages": limit, "VisibilityTimeout": timeout}
        if queue.endswith(".fifo") and self.random.random() < 0.5:
            params["ReceiveRequestAttemptId"] = self.random.choice("rs")
        return "sqs", "ReceiveMessage", params

    def settle(self) -> Call:
        if not self.receipts:
            return self.send()
        queue, receipt = self.random.choice(self.receipts)
        if self.random.random() < 0.7:
            return "sqs", "DeleteMessage", {"QueueUrl": queue, "ReceiptHandle": receipt}
        timeout = self.random.choice([0, 5, 60])
        return "sqs", "ChangeMessageVisibility", {
            "QueueUrl": queue, "ReceiptHandle": receipt, "VisibilityTimeout": timeout,
        }  # fmt: skip

    def queue(self) -> Call:
        queue = self.random.choice(QUEUES)
        if self.random.random() < 0.5:
            return "sqs", "GetQueueAttributes", {"QueueUrl": queue, "AttributeNames": ["All"]}
        attributes = {"VisibilityTimeout": str(self.random.randrange(60))}
        return "sqs", "SetQueueAttributes", {"QueueUrl": queue, "Attributes": attributes}

    def purge(self) -> Call:
        return "sqs", "PurgeQueue", {"QueueUrl": self.random.choice(QUEUES)}

    def _key(self) -> dict[str, Any]:
        return {"h": {"S": self.random.choice("ab")}, "r": {"N": str(self.random.randrange(-4, 4))}}

    def item(self) -> Call:
        kind = self.random.randrange(3)
        if kind == 0:
            value = self.random.choice([{"S": "a\u0000b"}, {"N": "1e100"}, {"B": b"\0"}, {"NULL": True}, {"L": []}])
            params: dict[str, Any] = {"Item": {**self._key(), "v": value}}
            if self.random.random() < 0.5:
                params["ConditionExpression"] = "attribute_not_exists(h)"
            return "dynamodb", "PutItem", {"TableName": "items", **params}
        if kind == 1:
            return "dynamodb", "UpdateItem", {
                "TableName": "items", "Key": self._key(), "UpdateExpression": "ADD n :one", "ReturnValues": "ALL_NEW",
                "ExpressionAttributeValues": {":one": {"N": "1"}},
            }  # fmt: skip
        return "dynamodb", "DeleteItem", {"TableName": "items", "Key": self._key(), "ReturnValues": "ALL_OLD"}

    def read_items(self) -> Call:
        if self.random.random() < 0.3:
            return "dynamodb", "Scan", {"TableName": "items", "Limit": self.random.randint(1, 20)}
        return "dynamodb", "Query", {
            "TableName": "items", "KeyConditionExpression": "h = :h AND r > :r",
            "ExpressionAttributeValues": {":h": {"S": "a"}, ":r": {"N": "-2"}},
            "ScanIndexForward": self.random.random() < 0.5,
        }  # fmt: skip

    def transact(self) -> Call:
        changes = [
            {
                "Update": {
                    "TableName": "items", "Key": key, "UpdateExpression": "ADD n :d",
                    "ConditionExpression": "attribute_exists(h)", "ExpressionAttributeValues": {":d": {"N": "3"}},
                }
            }
            for key in {json.dumps(key): key for key in [self._key(), self._key()]}.values()
        ]  # fmt: skip
        params: dict[str, Any] = {"TransactItems": changes}
        if self.random.random() < 0.5:
            params["ClientRequestToken"] = self.random.choice(["t1", "t2"])
        return "dynamodb", "TransactWriteItems", params

    def schedule(self) -> Call:
        name = self.random.choice("stu")
        if self.random.random() < 0.3:
            return "scheduler", "DeleteSchedule", {"Name": name}
        queue = self.random.choice(["orders", "gone"])
        target = {
            "Arn": f"arn:aws:sqs:us-east-1:000000000000:{queue}", "RoleArn": ROLE, "Input": "{}",
            "RetryPolicy": {"MaximumRetryAttempts": 2},
            "DeadLetterConfig": {"Arn": "arn:aws:sqs:us-east-1:000000000000:parcels"},
        }  # fmt: skip
        return "scheduler", "CreateSchedule", {
            "Name": name, "ScheduleExpression": "rate(1 minutes)", "FlexibleTimeWindow": {"Mode": "OFF"},
            "Target": target,
        }  # fmt: skip

    def log(self) -> Call:
        at = self.random.randrange(10) + 1735689600000
        events = [{"timestamp": at, "message": f"{at} é"}]
        return "logs", "PutLogEvents", {"logGroupName": "g", "logStreamName": "s", "logEvents": events}

    def read_log(self) -> Call:
        return "logs", "FilterLogEvents", {"logGroupName": "g", "limit": self.random.randint(1, 9)}

    def advance(self) -> Call:
        return "advance", "", {"seconds": self.random.choice([0, 1, 7, 61, 400])}


def prepare(world: World) -> None:
    trust = {"Effect": "Allow", "Principal": {"Service": "scheduler.amazonaws.com"}, "Action": "sts:AssumeRole"}
    allowed = {"Effect": "Allow", "Action": "sqs:*", "Resource": "*"}
    trust_text, allowed_text = (json.dumps({"Version": "2012-10-17", "Statement": [one]}) for one in (trust, allowed))
    world.call("iam", "CreateRole", RoleName="r", AssumeRolePolicyDocument=trust_text)
    world.call("iam", "PutRolePolicy", RoleName="r", PolicyName="p", PolicyDocument=allowed_text)
    for queue in QUEUES:
        attributes = {"FifoQueue": "true"} if queue.endswith(".fifo") else {}
        world.call("sqs", "CreateQueue", QueueName=queue, Attributes=attributes)
    for queue, target in (("orders", "parcels"), ("orders.fifo", "letters.fifo")):
        arn = f"arn:aws:sqs:us-east-1:000000000000:{target}"
        policy = json.dumps({"deadLetterTargetArn": arn, "maxReceiveCount": 2})
        world.call("sqs", "SetQueueAttributes", QueueUrl=queue, Attributes={"RedrivePolicy": policy})
    world.call(
        "dynamodb", "CreateTable", TableName="items", BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[
            {"AttributeName": "h", "AttributeType": "S"}, {"AttributeName": "r", "AttributeType": "N"},
        ],
        KeySchema=[{"AttributeName": "h", "KeyType": "HASH"}, {"AttributeName": "r", "KeyType": "RANGE"}],
    )  # fmt: skip
    world.call("logs", "CreateLogGroup", logGroupName="g")
    world.call("logs", "CreateLogStream", logGroupName="g", logStreamName="s")
    world.settle()


def answer(world: World, call: Call) -> object:
    service, operation, params = call
    if service == "advance":
        world.advance(**params)
        return world.now
    try:
        return world.call(service, operation, **params)
    except ServiceError as error:
        text = str(error).replace(str(params.get("ReceiptHandle")), "the receipt")
        return error.code, text


class Likeness:
    """Which ids of one world stand for which ids of the other."""

    def __init__(self) -> None:
        self._there: dict[object, object] = {}
        self._here: dict[object, object] = {}

    def check(self, here: Any, there: Any, member: str = "") -> None:
        """Errors: AssertionError if the answers differ in more than ids, or an id stands for two."""
        if member in IDS:
            assert self._there.setdefault(here, there) == there
            assert self._here.setdefault(there, here) == here
        elif isinstance(here, dict) and isinstance(there, dict):
            assert list(here) == list(there)
            for name, value in here.items():
                self.check(value, there[name], name)
        elif isinstance(here, list) and isinstance(there, list):
            assert len(here) == len(there)
            for one, other in zip(here, there, strict=True):
                self.check(one, other)
        else:
            assert here == there

    def of(self, here: str) -> str:
        """The id of the other world."""
        return str(self._there[here])


def stored(world: World) -> dict[str, list[list[str]]]:
    """The rows of all tables in a defined order, without drawn ids."""
    found = world.store.rows([f"(SELECT {columns} FROM {table}) AS these" for table, columns in COLUMNS.items()])
    plain = [[[_DRAWN.sub("id", str(value)) for value in row] for row in rows] for rows in found]
    return {table: sorted(rows) for table, rows in zip(COLUMNS, plain, strict=True)}


@pytest.mark.parametrize("seed", range(3))
def test_both_stores_answer_alike_and_hold_the_same_rows(seed: int, postgresql_store_url: str) -> None:
    here, there = World(seed=seed), PostgresWorld(postgresql_store_url, seed=seed)
    prepare(here)
    prepare(there)
    client = Client(seed)

    alike = Likeness()
    for _ in range(OPERATIONS):
        call = client.draw()
        service, operation, params = call
        translated = params
        if "ReceiptHandle" in params:
            translated = {**params, "ReceiptHandle": alike.of(params["ReceiptHandle"])}
        answers: list[Any] = [answer(here, call), answer(there, (service, operation, translated))]
        alike.check(*answers)
        if operation == "ReceiveMessage" and isinstance(answers[0], dict):
            found = answers[0].get("Messages", [])
            client.receipts += [(params["QueueUrl"], message["ReceiptHandle"]) for message in found]
    here.advance(hours=1)
    there.advance(hours=1)

    left, right = stored(here), stored(there)
    assert [table for table in COLUMNS if left[table] != right[table]] == []
    here.close()
    there.close()
