"""`redrive queues`: what is in them, and whose dead letters they take."""

from __future__ import annotations

import io
import json
import zipfile
from typing import Any

import pytest

from redrive.cli.output import span
from tests.unit.cli.conftest import Terminal

ARN = "arn:aws:sqs:us-east-1:000000000000"


def queue(terminal: Terminal, name: str, **attributes: str) -> str:
    url: str = terminal.client("sqs").create_queue(QueueName=name, Attributes=attributes)["QueueUrl"]
    return url


def role(terminal: Terminal, service: str) -> str:
    trust = {"Effect": "Allow", "Principal": {"Service": f"{service}.amazonaws.com"}, "Action": "sts:AssumeRole"}
    document = json.dumps({"Version": "2012-10-17", "Statement": [trust]})
    made = terminal.client("iam").create_role(RoleName=service, AssumeRolePolicyDocument=document)
    arn: str = made["Role"]["Arn"]
    return arn


def archive() -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as package:
        package.writestr("index.py", "def handler(event, context): pass")
    return content.getvalue()


def by_name(told: Any) -> dict[str, Any]:
    return {one["name"]: one for one in told["queues"]}


def test_messages_are_counted_by_where_they_are_with_the_age_of_the_oldest(terminal: Terminal) -> None:
    sqs, url = terminal.client("sqs"), queue(terminal, "orders")
    for delay in (0, 0, 600):
        sqs.send_message(QueueUrl=url, MessageBody="x", DelaySeconds=delay)
    sqs.receive_message(QueueUrl=url, VisibilityTimeout=3600)
    terminal.advance(180)

    (orders,) = terminal.json("queues")["queues"]

    assert [orders[name] for name in ("waiting", "in_flight", "delayed")] == [1, 1, 1]
    assert 120 <= orders["oldest_s"] <= 180


def test_queue_names_everything_whose_dead_letters_it_takes(terminal: Terminal) -> None:
    queue(terminal, "dead")
    policy = json.dumps({"deadLetterTargetArn": f"{ARN}:dead", "maxReceiveCount": 3})
    queue(terminal, "orders", RedrivePolicy=policy)
    terminal.client("scheduler").create_schedule(
        Name="nightly", ScheduleExpression="rate(1 day)", FlexibleTimeWindow={"Mode": "OFF"},
        Target={
            "Arn": f"{ARN}:orders", "RoleArn": role(terminal, "scheduler"),
            "DeadLetterConfig": {"Arn": f"{ARN}:dead"},
        },
    )  # fmt: skip

    told = by_name(terminal.json("queues"))

    assert [(one["kind"], one["name"]) for one in told["dead"]["dead_letters_of"]] == [
        ("queue", "orders"), ("schedule", "nightly"),
    ]  # fmt: skip
    assert (told["orders"]["dead_letters_to"], told["orders"]["max_receive_count"]) == (f"{ARN}:dead", 3)


def test_queue_takes_the_dead_letters_of_rules_of_all_buses(terminal: Terminal) -> None:
    queue(terminal, "dead")
    events = terminal.client("events")
    events.create_event_bus(Name="shop")
    for bus in ("default", "shop"):
        events.put_rule(Name="orders", EventPattern='{"source":["shop"]}', EventBusName=bus)
        target = {"Id": "1", "Arn": f"{ARN}:orders", "DeadLetterConfig": {"Arn": f"{ARN}:dead"}}
        events.put_targets(Rule="orders", EventBusName=bus, Targets=[target])

    told = by_name(terminal.json("queues"))

    assert [(one["kind"], one["name"]) for one in told["dead"]["dead_letters_of"]] == [
        ("rule", "orders"), ("rule", "shop/orders"),
    ]  # fmt: skip


def test_queue_takes_the_dead_letters_of_functions_and_of_their_failures(terminal: Terminal) -> None:
    """By a function's dead-letter configuration, and by its destination on failure."""
    functions = terminal.client("lambda")
    queue(terminal, "dead")
    queue(terminal, "failures")
    arn = role(terminal, "lambda")
    allowed = {"Effect": "Allow", "Action": "sqs:SendMessage", "Resource": "*"}
    document = json.dumps({"Version": "2012-10-17", "Statement": [allowed]})
    terminal.client("iam").put_role_policy(RoleName="lambda", PolicyName="send", PolicyDocument=document)
    functions.create_function(
        FunctionName="report", Runtime="python3.11", Handler="index.handler", Role=arn,
        Code={"ZipFile": archive()}, DeadLetterConfig={"TargetArn": f"{ARN}:dead"},
    )  # fmt: skip
    failures = {"OnFailure": {"Destination": f"{ARN}:failures"}}
    functions.put_function_event_invoke_config(FunctionName="report", DestinationConfig=failures)

    told = by_name(terminal.json("queues"))

    for name in ("dead", "failures"):
        assert [(one["kind"], one["name"]) for one in told[name]["dead_letters_of"]] == [("function", "report")]


def test_beginning_of_a_name_is_enough_and_sources_are_found_beside_it(terminal: Terminal) -> None:
    url = queue(terminal, "dead")
    queue(terminal, "orders", RedrivePolicy=json.dumps({"deadLetterTargetArn": f"{ARN}:dead", "maxReceiveCount": 3}))
    terminal.client("sqs").send_message(QueueUrl=url, MessageBody="x")

    (dead,) = terminal.json("queues", "dea")["queues"]

    assert dead["waiting"] == 1
    assert dead["dead_letters_of"] == [{"kind": "queue", "name": "orders", "arn": f"{ARN}:orders"}]


def test_name_that_no_queue_begins_with_is_refused(terminal: Terminal) -> None:
    queue(terminal, "orders")

    done = terminal.run("queues", "nothing")

    assert done.exit_code == 2
    assert "No queue of us-east-1 has a name that begins with nothing." in done.stderr


@pytest.mark.parametrize(
    ("milliseconds", "told"),
    [
        (-1, "0s"), (0, "0s"), (59_999, "59s"), (60_000, "1m"), (61_000, "1m 1s"), (3_600_000, "1h"),
        (3_660_000, "1h 1m"), (90_000_000, "1d 1h"), (86_400_000 * 14, "14d"),
    ],
)  # fmt: skip
def test_span_is_told_by_its_two_largest_units(milliseconds: int, told: str) -> None:
    assert span(milliseconds) == told
