"""A server with state machines that is killed: no recorded transition is lost or made again."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import ServerProcess

Start = Callable[..., ServerProcess]

STARTED = 25


def definition(url: str) -> str:
    send = {"Type": "Task", "Resource": "arn:aws:states:::sqs:sendMessage", "ResultPath": None}
    body = {"name.$": "$$.Execution.Name", "step.$": "$$.State.Name"}
    states: dict[str, Any] = {}
    for number in range(4):
        states[f"Send{number}"] = {
            **send, "Parameters": {"QueueUrl": url, "MessageBody": body}, "Next": f"Wait{number}",
        }  # fmt: skip
        after = {"Next": f"Send{number + 1}"} if number < 3 else {"End": True}
        states[f"Wait{number}"] = {"Type": "Wait", "Seconds": 1, **after}
    return json.dumps({"StartAt": "Send0", "States": states})


def everything(sqs: Any, url: str) -> list[tuple[str, str]]:
    found = []
    while messages := sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10, VisibilityTimeout=600).get("Messages"):
        found += [(body["name"], body["step"]) for body in (json.loads(one["Body"]) for one in messages)]
    return found


@pytest.mark.parametrize("kills", [2])
def test_each_message_is_sent_once_though_the_server_is_killed(start: Start, tmp_path: Path, kills: int) -> None:
    options = ("--data", str(tmp_path / "data"))
    server = start(*options)
    statement = {"Effect": "Allow", "Principal": {"Service": "states.amazonaws.com"}, "Action": "sts:AssumeRole"}
    iam, sqs = server.client("iam"), server.client("sqs")
    role = iam.create_role(
        RoleName="r", AssumeRolePolicyDocument=json.dumps({"Version": "2012-10-17", "Statement": [statement]})
    )["Role"]["Arn"]
    allow = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "sqs:*", "Resource": "*"}]}
    iam.put_role_policy(RoleName="r", PolicyName="p", PolicyDocument=json.dumps(allow))
    url = sqs.create_queue(QueueName="sent")["QueueUrl"]
    sfn = server.client("stepfunctions")
    machine = sfn.create_state_machine(name="m", definition=definition(url), roleArn=role)["stateMachineArn"]
    arns = [sfn.start_execution(stateMachineArn=machine, name=f"e{n}")["executionArn"] for n in range(STARTED)]

    for number in range(kills):
        while len(
            seen := server.client("sqs").get_queue_attributes(
                QueueUrl=url, AttributeNames=["ApproximateNumberOfMessages"]
            )["Attributes"]
        ) and int(seen["ApproximateNumberOfMessages"]) <= STARTED * (number + 1):
            pass
        server.kill()
        server = start(*options)
    sfn = server.client("stepfunctions")
    while any(sfn.describe_execution(executionArn=arn)["status"] == "RUNNING" for arn in arns):
        pass

    sent = Counter(everything(server.client("sqs"), url))
    assert set(sent.values()) == {1}
    assert len(sent) == 4 * STARTED
    for arn in arns:
        events = sfn.get_execution_history(executionArn=arn)["events"]
        assert [event["id"] for event in events] == list(range(1, 31))
