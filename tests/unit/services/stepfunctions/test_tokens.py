"""Tasks that others answer: by their token, and as workers of an activity."""

from __future__ import annotations

import json

import pytest
from botocore.exceptions import ClientError

from tests.unit.services.stepfunctions.conftest import Machines, code_of, message_of


def callback(machines: Machines, **more: object) -> tuple[str, str]:
    """Start an execution that waits for the return of its token; returns its ARN and the token."""
    sqs = machines.world.client("sqs")
    url = sqs.create_queue(QueueName="tokens")["QueueUrl"]
    state = {
        "Type": "Task", "Resource": "arn:aws:states:::sqs:sendMessage.waitForTaskToken",
        "Parameters": {"QueueUrl": url, "MessageBody": {"token.$": "$$.Task.Token"}}, **more,
    }  # fmt: skip
    arn = machines.start(machines.create(state))
    return arn, json.loads(sqs.receive_message(QueueUrl=url)["Messages"][0]["Body"])["token"]


def test_returned_token_ends_the_task_with_exactly_its_output(machines: Machines) -> None:
    arn, token = callback(machines)
    machines.world.advance(days=300)

    machines.sfn.send_task_success(taskToken=token, output='{"paid": true}')

    ran = machines.ran(arn)
    assert (ran.status, ran.output) == ("SUCCEEDED", {"paid": True})
    assert ran.links.endswith("5<4 TaskSubmitted 6<5 TaskSucceeded 7<6 TaskStateExited 8<7 ExecutionSucceeded")


def test_token_is_taken_once(machines: Machines) -> None:
    arn, token = callback(machines)
    machines.sfn.send_task_failure(taskToken=token)

    with pytest.raises(ClientError) as late:
        machines.sfn.send_task_success(taskToken=token, output="{}")
    with pytest.raises(ClientError) as invented:
        machines.sfn.send_task_success(taskToken="nonsense", output="{}")

    assert machines.ran(arn).failure == (None, None)
    assert code_of(late) == "TaskTimedOut"
    assert (code_of(invented), message_of(invented)) == ("InvalidToken", "Invalid Token: 'Invalid token'")


def test_output_that_is_no_json_leaves_the_task_as_it_is(machines: Machines) -> None:
    arn, token = callback(machines)

    with pytest.raises(ClientError) as refused:
        machines.sfn.send_task_success(taskToken=token, output="{")

    assert code_of(refused) == "InvalidOutput"
    assert machines.ran(arn).status == "RUNNING"


def test_heartbeats_keep_a_task_alive_and_a_missed_one_ends_it(machines: Machines) -> None:
    catch = [{"ErrorEquals": ["States.HeartbeatTimeout"], "Next": "B"}]
    sqs = machines.world.client("sqs")
    url = sqs.create_queue(QueueName="tokens")["QueueUrl"]
    state = {
        "Type": "Task", "Resource": "arn:aws:states:::sqs:sendMessage.waitForTaskToken", "HeartbeatSeconds": 10,
        "Parameters": {"QueueUrl": url, "MessageBody.$": "$$.Task.Token"}, "Catch": catch,
    }  # fmt: skip
    arn = machines.start(machines.create(state, {"Type": "Pass"}))
    token = sqs.receive_message(QueueUrl=url)["Messages"][0]["Body"]

    for _ in range(3):
        machines.world.advance(seconds=9)
        machines.sfn.send_task_heartbeat(taskToken=token)
    alive = machines.ran(arn).status
    machines.world.advance(seconds=10)

    ran = machines.ran(arn)
    assert alive == "RUNNING"
    assert ran.output == {"Error": "States.Timeout", "Cause": ""}
    assert [event["type"] for event in ran.events].count("TaskTimedOut") == 1


def test_worker_takes_the_task_of_an_activity_and_answers_it(machines: Machines) -> None:
    activity = machines.sfn.create_activity(name="pack")["activityArn"]
    arn = machines.start(machines.create({"Type": "Task", "Resource": activity}), {"n": 1})

    task = machines.sfn.get_activity_task(activityArn=activity, workerName="hands")
    nothing = machines.sfn.get_activity_task(activityArn=activity)
    machines.sfn.send_task_success(taskToken=task["taskToken"], output='"packed"')

    ran = machines.ran(arn)
    assert (task["input"], nothing.get("taskToken")) == ('{"n":1}', None)
    assert ran.output == "packed"
    assert ran.links == (
        "1<0 ExecutionStarted 2<0 TaskStateEntered 3<2 ActivityScheduled 4<3 ActivityStarted 5<4 ActivitySucceeded "
        "6<5 TaskStateExited 7<6 ExecutionSucceeded"
    )
    assert ran.details(4) == {"workerName": "hands"}


def test_deleted_activity_fails_its_task_before_it_is_scheduled(machines: Machines) -> None:
    activity = machines.sfn.create_activity(name="pack")["activityArn"]
    machine = machines.create({"Type": "Task", "Resource": activity})
    machines.sfn.delete_activity(activityArn=activity)

    ran = machines.ran(machines.start(machine))

    assert ran.links == "1<0 ExecutionStarted 2<0 TaskStateEntered 3<2 ExecutionFailed"
    assert ran.failure[1].endswith("The activity ARN does not exist.")
