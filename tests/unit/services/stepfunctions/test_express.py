"""Express machines: executions without a history that anybody can ask for, and answers at their end."""

from __future__ import annotations

import json

import pytest
from botocore.exceptions import ClientError

from tests.unit.services.stepfunctions.conftest import Machines, code_of, message_of


def test_synchronous_start_answers_at_the_end_with_the_output(machines: Machines) -> None:
    arn = machines.function("f", lambda event, context: {"twice": 2 * event["n"]})
    machine = machines.create({"Type": "Task", "Resource": arn}, {"Type": "Pass"}, type="EXPRESS")

    answer = machines.sfn.start_sync_execution(stateMachineArn=machine, input='{"n": 4}', name="x")

    assert (answer["status"], answer["output"], answer["name"]) == ("SUCCEEDED", '{"twice":8}', "x")
    assert ":express:m1:x:" in answer["executionArn"]
    assert answer["billingDetails"] == {"billedDurationInMilliseconds": 100, "billedMemoryUsedInMB": 64}


def test_synchronous_start_answers_a_failure_too(machines: Machines) -> None:
    machine = machines.create({"Type": "Fail", "Error": "E", "Cause": "c"}, type="EXPRESS")

    answer = machines.sfn.start_sync_execution(stateMachineArn=machine)

    assert (answer["status"], answer["error"], answer["cause"]) == ("FAILED", "E", "c")
    assert "output" not in answer


def test_each_type_of_machine_refuses_what_it_does_not_have(machines: Machines) -> None:
    standard, express = machines.create({"Type": "Succeed"}), machines.create({"Type": "Succeed"}, type="EXPRESS")
    started = machines.sfn.start_execution(stateMachineArn=express)["executionArn"]

    with pytest.raises(ClientError) as sync:
        machines.sfn.start_sync_execution(stateMachineArn=standard)
    with pytest.raises(ClientError) as listed:
        machines.sfn.list_executions(stateMachineArn=express)
    with pytest.raises(ClientError) as described:
        machines.sfn.describe_execution(executionArn=started)

    assert code_of(sync) == code_of(listed) == "StateMachineTypeNotSupported"
    assert message_of(described) == "Invalid Arn: 'Resource type not valid in this context: express'"


def test_asynchronous_execution_ends_after_five_minutes_at_the_latest(machines: Machines) -> None:
    machine = machines.create({"Type": "Wait", "Seconds": 600}, type="EXPRESS")
    machines.sfn.start_execution(stateMachineArn=machine, name="same")
    machines.sfn.start_execution(stateMachineArn=machine, name="same")

    machines.world.advance(minutes=6)

    assert machines.world.call(
        "cloudwatch", "GetMetricStatistics", Namespace="AWS/States", MetricName="ExecutionsTimedOut", Period=60,
        StartTime=machines.world.now - 600_000, EndTime=machines.world.now + 60_000, Statistics=["Sum"],
        Dimensions=[{"Name": "StateMachineArn", "Value": machine}],
    )["Datapoints"][0]["Sum"] == 2  # fmt: skip


def test_task_awaits_the_answer_of_an_express_execution(machines: Machines) -> None:
    express = machines.create({"Type": "Wait", "Seconds": 2}, type="EXPRESS")
    task = {
        "Type": "Task", "Resource": "arn:aws:states:::aws-sdk:sfn:startSyncExecution",
        "Parameters": {"StateMachineArn": express, "Input.$": "States.JsonToString($)"},
    }  # fmt: skip

    ran = machines.run(task, value={"n": 1}, seconds=2)

    assert (ran.status, ran.output["Status"]) == ("SUCCEEDED", "SUCCEEDED")
    assert json.loads(ran.output["Output"]) == {"n": 1}
