"""Queues of other accounts, read from and written to by functions: their policies decide, together with the role's."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from redrive.core.errors import ServiceError
from redrive.testing.world import World
from tests.unit.services.lambda_.functions import archive

STRANGER = "111111111111"
ELSEWHERE = f"arn:aws:sqs:us-east-1:{STRANGER}:elsewhere"
ROLE = "arn:aws:iam::000000000000:role/worker"
POLLING = ["sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueAttributes"]

Open = Callable[..., None]


@pytest.fixture
def world() -> Iterator[World]:
    """A world with a function whose role may do everything in SQS, and a queue of another account."""
    world = World(seed=1)
    trust = {"Effect": "Allow", "Principal": {"Service": "lambda.amazonaws.com"}, "Action": "sts:AssumeRole"}
    own = {"Effect": "Allow", "Action": ["sqs:*", "logs:*"], "Resource": "*"}
    world.call(
        "iam", "CreateRole", RoleName="worker",
        AssumeRolePolicyDocument=json.dumps({"Version": "2012-10-17", "Statement": trust}),
    )  # fmt: skip
    policy = json.dumps({"Version": "2012-10-17", "Statement": own})
    world.call("iam", "PutRolePolicy", RoleName="worker", PolicyName="own", PolicyDocument=policy)
    world.call(
        "lambda", "CreateFunction", FunctionName="worker", Role=ROLE, Runtime="python3.12", Handler="app.handler",
        Code={"ZipFile": archive()},
    )  # fmt: skip
    world.engine.call(world.caller(account=STRANGER), "sqs", "CreateQueue", {"QueueName": "elsewhere"})
    yield world
    world.close()


@pytest.fixture
def call(world: World) -> Callable[..., Any]:
    """Run an operation on the other account's queue, as its owner."""
    owner = world.caller(account=STRANGER)
    return lambda operation, **params: world.engine.call(owner, "sqs", operation, {"QueueUrl": "elsewhere", **params})


@pytest.fixture
def open_queue(call: Callable[..., Any]) -> Open:
    """Let the function's role do these actions on the other account's queue."""

    def open_queue(*actions: str) -> None:
        statement = {"Effect": "Allow", "Principal": {"AWS": ROLE}, "Action": list(actions), "Resource": ELSEWHERE}
        policy = json.dumps({"Version": "2012-10-17", "Statement": statement})
        call("SetQueueAttributes", Attributes={"Policy": policy})

    return open_queue


def refusal(world: World, operation: str, **params: object) -> str:
    """The sentence with which Lambda refuses a call, or nothing."""
    try:
        world.call("lambda", operation, FunctionName="worker", **params)
    except ServiceError as error:
        return error.message
    return ""


def test_messages_of_another_account_reach_a_function_if_the_queue_allows_it(world, call, open_queue):
    seen: list[str] = []
    world.functions.register("worker", lambda event, _: seen.extend(one["body"] for one in event["Records"]))
    open_queue(*POLLING)
    call("SendMessage", MessageBody="hello")

    refused = refusal(world, "CreateEventSourceMapping", EventSourceArn=ELSEWHERE)
    world.advance(seconds=30)

    assert refused == ""
    assert seen == ["hello"]
    assert call("GetQueueAttributes", AttributeNames=["All"])["Attributes"]["ApproximateNumberOfMessages"] == "0"


@pytest.mark.parametrize("missing", POLLING)
def test_mapping_needs_all_that_polling_takes_from_the_queue_too(world, open_queue, missing):
    open_queue(*(action for action in POLLING if action != missing))

    refused = refusal(world, "CreateEventSourceMapping", EventSourceArn=ELSEWHERE)

    verb = missing.partition(":")[2]
    assert refused == f"The provided execution role does not have permissions to call {verb} on SQS"


def test_policy_that_is_taken_off_stops_the_mapping(world, call, open_queue):
    open_queue(*POLLING)
    refusal(world, "CreateEventSourceMapping", EventSourceArn=ELSEWHERE)
    call("SetQueueAttributes", Attributes={"Policy": ""})
    call("SendMessage", MessageBody="hello")

    world.advance(minutes=2)

    assert call("GetQueueAttributes", AttributeNames=["All"])["Attributes"]["ApproximateNumberOfMessages"] == "1"


@pytest.mark.parametrize(
    ("operation", "params"),
    [
        ("UpdateFunctionConfiguration", {"DeadLetterConfig": {"TargetArn": ELSEWHERE}}),
        ("PutFunctionEventInvokeConfig", {"DestinationConfig": {"OnFailure": {"Destination": ELSEWHERE}}}),
    ],
)
def test_failed_events_go_to_another_account_if_the_queue_allows_it(world, call, open_queue, operation, params):
    def fail(event: Any, context: Any) -> None:
        raise ValueError("no")

    world.functions.register("worker", fail)
    before = refusal(world, operation, **params)
    open_queue("sqs:SendMessage")

    after = refusal(world, operation, **params)
    world.call("lambda", "Invoke", FunctionName="worker", InvocationType="Event", Payload=b"{}")
    world.advance(minutes=10)

    assert "SendMessage" in before
    assert after == ""
    assert len(call("ReceiveMessage")["Messages"]) == 1
