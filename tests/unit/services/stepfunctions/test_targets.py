"""State machines as targets: what cannot start is retried or dead-lettered by the class of its error."""

from __future__ import annotations

import json
from typing import Any

import pytest

from redrive.delivery.faults import Fault, add_fault
from tests.unit.services.stepfunctions.conftest import ROLE, Machines

QUEUE = "arn:aws:sqs:us-east-1:000000000000:dead"


def letters(machines: Machines) -> list[dict[str, Any]]:
    url = machines.world.client("sqs").get_queue_url(QueueName="dead")["QueueUrl"]
    found = machines.world.client("sqs").receive_message(
        QueueUrl=url, MessageAttributeNames=["All"], MaxNumberOfMessages=10
    )
    return [
        {name: value["StringValue"] for name, value in one["MessageAttributes"].items()}
        for one in found.get("Messages", [])
    ]


@pytest.mark.parametrize(
    ("break_it", "code"),
    [("machine", "StateMachineDoesNotExist"), ("role", "AccessDeniedException"), ("name", "ExecutionAlreadyExists")],
)
def test_start_that_a_schedule_cannot_make_is_dead_lettered_at_once(
    machines: Machines, break_it: str, code: str
) -> None:
    world = machines.world
    world.client("sqs").create_queue(QueueName="dead")
    machine = machines.create({"Type": "Succeed"})
    machines.start(machine, name="taken")
    given = {"StateMachineArn": machine, "Input": "{}", **({"Name": "taken"} if break_it == "name" else {})}
    target = {
        "Arn": "arn:aws:scheduler:::aws-sdk:sfn:startExecution", "RoleArn": ROLE, "Input": json.dumps(given),
        "DeadLetterConfig": {"Arn": QUEUE},
    }  # fmt: skip
    world.client("scheduler").create_schedule(
        Name="s", ScheduleExpression="rate(1 hour)", FlexibleTimeWindow={"Mode": "OFF"}, Target=target
    )
    if break_it == "machine":
        machines.sfn.delete_state_machine(stateMachineArn=machine)
    elif break_it == "role":
        only_queues = {"Effect": "Allow", "Action": "sqs:*", "Resource": "*"}
        world.client("iam").put_role_policy(
            RoleName="states", PolicyName="all",
            PolicyDocument=json.dumps({"Version": "2012-10-17", "Statement": [only_queues]}),
        )  # fmt: skip

    world.advance(hours=1, minutes=1)

    assert {one["ERROR_CODE"] for one in letters(machines)} == {code}
    assert {one["RETRY_ATTEMPTS"] for one in letters(machines)} <= {"0"}


def test_throttled_start_of_a_rule_is_tried_again_until_it_succeeds(machines: Machines) -> None:
    world = machines.world
    machine = machines.create({"Type": "Succeed"})
    events = world.client("events")
    events.put_rule(Name="r", EventPattern='{"source": ["shop"]}')
    events.put_targets(Rule="r", Targets=[{"Id": "1", "Arn": machine, "RoleArn": ROLE}])
    world.store.run(lambda tx: add_fault(tx, Fault("", machine, "ThrottlingException", times=3)))

    events.put_events(Entries=[{"Source": "shop", "DetailType": "t", "Detail": "{}"}])
    world.settle()
    before = machines.sfn.list_executions(stateMachineArn=machine)["executions"]
    world.advance(minutes=10)

    after = machines.sfn.list_executions(stateMachineArn=machine)["executions"]
    assert (before, [one["status"] for one in after]) == ([], ["SUCCEEDED"])
