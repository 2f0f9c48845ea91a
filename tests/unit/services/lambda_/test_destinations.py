"""Destinations of events: a bus, with the record as AWS puts it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from botocore.exceptions import ClientError

from redrive.testing.world import World
from tests.unit.services.lambda_.functions import ARN, ROLE, archive
from tests.unit.services.lambda_.test_wire import TRUST

BUS = "arn:aws:events:us-east-1:000000000000:event-bus/results"
QUEUE = "arn:aws:sqs:us-east-1:000000000000:seen"
CODE = "def handler(event, context):\n    if event.get('fail'):\n        raise ValueError('no')\n    return {'ok': 1}\n"


@pytest.fixture(scope="module")
def shared() -> Iterator[World]:
    """A function, and a bus whose rule sends everything to a queue."""
    world = World(seed=1)
    world.client("iam").create_role(RoleName="worker", AssumeRolePolicyDocument=json.dumps(TRUST))
    world.call(
        "lambda", "CreateFunction", FunctionName="worker", Runtime="python3.12", Role=ROLE, Handler="app.handler",
        Code={"ZipFile": archive(CODE)},
    )  # fmt: skip
    world.call("events", "CreateEventBus", Name="results")
    statement = {
        "Effect": "Allow", "Principal": {"Service": "events.amazonaws.com"}, "Action": "sqs:SendMessage",
        "Resource": QUEUE,
    }  # fmt: skip
    policy = json.dumps({"Version": "2012-10-17", "Statement": [statement]})
    world.call("sqs", "CreateQueue", QueueName="seen", Attributes={"Policy": policy})
    world.call("events", "PutRule", Name="all", EventBusName="results", EventPattern='{"source": ["lambda"]}')
    world.call("events", "PutTargets", Rule="all", EventBusName="results", Targets=[{"Id": "1", "Arn": QUEUE}])
    yield world
    world.close()


@pytest.fixture
def world(shared: World) -> World:
    """The world, with a role that may put events."""
    allow(shared, "events:PutEvents")
    return shared


def allow(world: World, action: str) -> None:
    statement = {"Effect": "Allow", "Action": action, "Resource": "*"}
    policy = json.dumps({"Version": "2012-10-17", "Statement": [statement]})
    world.call("iam", "PutRolePolicy", RoleName="worker", PolicyName="work", PolicyDocument=policy)


def configure(world: World) -> None:
    to_bus = {"Destination": BUS}
    world.call(
        "lambda", "PutFunctionEventInvokeConfig", FunctionName="worker", MaximumRetryAttempts=0,
        DestinationConfig={"OnSuccess": to_bus, "OnFailure": to_bus},
    )  # fmt: skip


def seen(world: World) -> list[dict[str, Any]]:
    """The events that came to the queue."""
    url = "https://sqs.us-east-1.amazonaws.com/000000000000/seen"
    found = world.call("sqs", "ReceiveMessage", QueueUrl=url, MaxNumberOfMessages=10).get("Messages") or []
    for message in found:
        world.call("sqs", "DeleteMessage", QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
    return [json.loads(message["Body"]) for message in found]


@pytest.mark.parametrize(("event", "kind"), [({}, "Success"), ({"fail": 1}, "Failure")])
def test_record_is_put_on_the_bus(world: World, event: dict[str, int], kind: str) -> None:
    configure(world)

    world.client("lambda").invoke(FunctionName="worker", InvocationType="Event", Payload=json.dumps(event))
    world.settle()

    (found,) = seen(world)
    assert (found["source"], found["detail-type"]) == ("lambda", f"Lambda Function Invocation Result - {kind}")
    assert found["resources"] == [BUS, f"{ARN}worker:$LATEST"]
    assert found["detail"]["requestPayload"] == event
    assert found["detail"]["responseContext"]["executedVersion"] == "$LATEST"


def test_bus_that_the_role_may_not_write_is_refused(world: World) -> None:
    allow(world, "sqs:SendMessage")

    with pytest.raises(ClientError, match="does not have permissions to call PutEvents on") as refused:
        _configure_by_client(world, BUS)

    assert refused.value.response["Error"]["Code"] == "InvalidParameterValueException"


def test_bus_that_is_not_there_is_refused(world: World) -> None:
    with pytest.raises(ClientError, match=r"The destination ARN .*gone is invalid"):
        _configure_by_client(world, BUS.replace("results", "gone"))


def _configure_by_client(world: World, arn: str) -> None:
    world.client("lambda").put_function_event_invoke_config(
        FunctionName="worker", DestinationConfig={"OnSuccess": {"Destination": arn}}
    )
