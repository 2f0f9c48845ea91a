"""Starting, listing and stopping executions, and what other services see of them."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from botocore.exceptions import ClientError

from tests.unit.services.stepfunctions.conftest import ROLE, Machines, code_of, message_of

WAITS = {"Type": "Wait", "Seconds": 60}
PASSES = json.dumps({"StartAt": "A", "States": {"A": {"Type": "Pass", "End": True}}})


def test_second_start_with_name_and_input_of_one_that_runs_answers_as_the_first(machines: Machines) -> None:
    machine = machines.create(WAITS)
    first = machines.sfn.start_execution(stateMachineArn=machine, name="n", input='{"a": 1}')
    machines.world.advance(seconds=1)

    second = machines.sfn.start_execution(stateMachineArn=machine, name="n", input='{"a": 1}')
    with pytest.raises(ClientError) as other:
        machines.sfn.start_execution(stateMachineArn=machine, name="n", input="{}")
    machines.world.advance(seconds=60)
    with pytest.raises(ClientError) as ended:
        machines.sfn.start_execution(stateMachineArn=machine, name="n", input='{"a": 1}')

    assert (first["executionArn"], first["startDate"]) == (second["executionArn"], second["startDate"])
    assert message_of(other) == f"Execution Already Exists: '{first['executionArn']}'"
    assert code_of(other) == code_of(ended) == "ExecutionAlreadyExists"


def test_name_is_free_again_ninety_days_after_the_end(machines: Machines) -> None:
    machine = machines.create({"Type": "Succeed"})
    arn = machines.start(machine)
    machines.world.advance(days=91)

    again = machines.start(machine)

    assert arn == again
    assert len(machines.ran(arn).events) == 4


@pytest.mark.parametrize(
    ("params", "code"),
    [
        ({"name": "a b"}, "InvalidName"), ({"input": "abc"}, "InvalidExecutionInput"),
        ({"input": ""}, "InvalidExecutionInput"), ({"stateMachineArn": "m1"}, "InvalidArn"),
        ({"stateMachineArn": "arn:aws:states:us-east-1:000000000000:stateMachine:gone"}, "StateMachineDoesNotExist"),
        ({"stateMachineArn": "arn:aws:states:us-east-1:000000000000:stateMachine:m1:7"}, "StateMachineDoesNotExist"),
    ],
)  # fmt: skip
def test_bad_start_is_refused_and_starts_nothing(machines: Machines, params: dict[str, str], code: str) -> None:
    machine = machines.create(WAITS)

    with pytest.raises(ClientError) as refused:
        machines.sfn.start_execution(**{"stateMachineArn": machine, **params})

    assert code_of(refused) == code
    assert machines.sfn.list_executions(stateMachineArn=machine)["executions"] == []


def test_executions_are_listed_newest_first_by_status_and_in_pages(machines: Machines) -> None:
    machine = machines.create(WAITS)
    for name in "abcde":
        machines.start(machine, name=name)
        machines.world.advance(seconds=1)
    machines.sfn.stop_execution(executionArn=machines.start(machine, name="f"))

    pages = machines.sfn.get_paginator("list_executions").paginate(stateMachineArn=machine, maxResults=4)
    listed = [[one["name"] for one in page["executions"]] for page in pages]
    running = machines.sfn.list_executions(stateMachineArn=machine, statusFilter="RUNNING")["executions"]

    assert listed == [["f", "e", "d", "c"], ["b", "a"]]
    assert [one["name"] for one in running] == ["e", "d", "c", "b", "a"]


def test_machine_timeout_ends_the_execution_and_no_catch_sees_it(machines: Machines) -> None:
    inner = {"StartAt": "W", "States": {"W": {**WAITS, "End": True}}}
    catch = [{"ErrorEquals": ["States.ALL"], "Next": "Z"}]
    states = {
        "P": {"Type": "Parallel", "Branches": [inner], "Catch": catch, "End": True}, "Z": {"Type": "Pass", "End": True},
    }  # fmt: skip
    definition = json.dumps({"StartAt": "P", "States": states, "TimeoutSeconds": 10})
    machine = machines.sfn.create_state_machine(name="t", definition=definition, roleArn=ROLE)["stateMachineArn"]

    arn = machines.start(machine)
    machines.world.advance(seconds=10)

    ran = machines.ran(arn)
    assert ran.status == "TIMED_OUT"
    assert ran.events[-1]["type"] == "ExecutionTimedOut"


def test_deleted_machine_ends_its_executions_at_their_next_transition(machines: Machines) -> None:
    arn = machines.start(machines.create(WAITS, {"Type": "Pass"}))
    machines.sfn.delete_state_machine(stateMachineArn=machines.arns[0])

    before = machines.ran(arn).status
    machines.world.advance(seconds=60)

    assert (before, machines.ran(arn).status) == ("RUNNING", "ABORTED")


@pytest.mark.parametrize("kind", ["STANDARD", "EXPRESS"])
def test_machine_with_running_executions_is_deleting_until_the_last_has_ended(machines: Machines, kind: str) -> None:
    machine = machines.create(WAITS, {"Type": "Pass"}, type=kind)
    machines.start(machine, name="one")
    machines.start(machine, name="two")

    machines.sfn.delete_state_machine(stateMachineArn=machine)
    shown = machines.sfn.describe_state_machine(stateMachineArn=machine)
    listed = machines.sfn.list_state_machines()["stateMachines"]
    machines.world.advance(seconds=60)

    assert shown["status"] == "DELETING"
    assert [one["name"] for one in listed] == ["m1"]
    assert machines.sfn.list_state_machines()["stateMachines"] == []
    assert machines.create({"Type": "Pass"}, name="m1") == machine


def test_stop_of_the_last_execution_ends_the_deletion_of_its_machine(machines: Machines) -> None:
    machine = machines.create(WAITS)
    arn = machines.start(machine)
    machines.sfn.delete_state_machine(stateMachineArn=machine)

    machines.sfn.stop_execution(executionArn=arn)

    assert machines.sfn.list_state_machines()["stateMachines"] == []


def test_machine_that_is_being_deleted_takes_nothing_new(machines: Machines) -> None:
    machine = machines.create(WAITS)
    machines.start(machine)
    version = machines.sfn.publish_state_machine_version(stateMachineArn=machine)["stateMachineVersionArn"]
    machines.sfn.delete_state_machine(stateMachineArn=machine)
    route = {"stateMachineVersionArn": version, "weight": 100}
    calls: list[Callable[[], object]] = [
        lambda: machines.start(machine, name="more"),
        lambda: machines.sfn.update_state_machine(stateMachineArn=machine, definition=PASSES),
        lambda: machines.create(WAITS, name="m1"),
        lambda: machines.sfn.publish_state_machine_version(stateMachineArn=machine),
        lambda: machines.sfn.create_state_machine_alias(name="live", routingConfiguration=[route]),
        lambda: machines.sfn.list_state_machine_aliases(stateMachineArn=machine),
    ]

    codes = [refusal(call) for call in calls]

    assert codes == ["StateMachineDeleting"] * len(calls)


def refusal(call: Callable[[], object]) -> str:
    """The code of a call that is refused."""
    with pytest.raises(ClientError) as failed:
        call()
    return code_of(failed)


def test_input_over_the_limit_starts_nothing(machines: Machines) -> None:
    """262,144 bytes of UTF-8 fit, one more does not."""
    machine = machines.create({"Type": "Pass", "Result": 1})
    fits = json.dumps("é" * 131_071, ensure_ascii=False)

    machines.sfn.start_execution(stateMachineArn=machine, input=fits, name="fits")
    code = refusal(lambda: machines.sfn.start_execution(stateMachineArn=machine, input=f"{fits} ", name="more"))

    assert (len(fits.encode()), code) == (262_144, "InvalidExecutionInput")
    assert [one["name"] for one in machines.sfn.list_executions(stateMachineArn=machine)["executions"]] == ["fits"]


def test_output_of_a_token_over_the_limit_leaves_its_task_as_it_is(machines: Machines) -> None:
    activity = machines.sfn.create_activity(name="work")["activityArn"]
    arn = machines.start(machines.create({"Type": "Task", "Resource": activity}))
    token = machines.sfn.get_activity_task(activityArn=activity)["taskToken"]

    code = refusal(
        lambda: machines.sfn.send_task_success(taskToken=token, output=json.dumps("é" * 200_000, ensure_ascii=False))
    )
    before = machines.ran(arn).status
    machines.sfn.send_task_success(taskToken=token, output="{}")
    machines.world.settle()

    assert (code, before, machines.ran(arn).status) == ("InvalidOutput", "RUNNING", "SUCCEEDED")


def test_role_that_vanishes_while_an_execution_waits_fails_its_next_task(machines: Machines) -> None:
    url = machines.world.client("sqs").create_queue(QueueName="q")["QueueUrl"]
    sends = {
        "Type": "Task", "Resource": "arn:aws:states:::sqs:sendMessage",
        "Parameters": {"QueueUrl": url, "MessageBody": "x"},
    }  # fmt: skip
    arn = machines.start(machines.create(WAITS, sends))
    machines.world.client("iam").delete_role_policy(RoleName="states", PolicyName="all")
    machines.world.client("iam").delete_role(RoleName="states")

    machines.world.advance(seconds=60)

    ran = machines.ran(arn)
    assert (ran.status, ran.failure[0]) == ("FAILED", "SQS.AmazonSQSException")
    assert machines.world.client("sqs").receive_message(QueueUrl=url).get("Messages", []) == []


def test_tasks_are_counted_with_their_times(machines: Machines) -> None:
    """By function, by activity and by integration, under the names of AWS's page."""
    function = machines.function("f", lambda event, _: event)
    activity = machines.sfn.create_activity(name="work")["activityArn"]
    url = machines.world.client("sqs").create_queue(QueueName="q")["QueueUrl"]
    sends = {
        "Type": "Task", "Resource": "arn:aws:states:::sqs:sendMessage",
        "Parameters": {"QueueUrl": url, "MessageBody": "x"},
    }  # fmt: skip
    refused = {**sends, "Parameters": {"QueueUrl": f"{url}-gone", "MessageBody": "x"}}
    caught = {"Catch": [{"ErrorEquals": ["States.ALL"], "Next": "Last"}]}
    machines.start(
        machines.create(
            {"Type": "Task", "Resource": function}, sends, {"Type": "Task", "Resource": activity},
            {**refused, **caught}, {"Type": "Pass", "Name": "Last"},
        )
    )  # fmt: skip
    machines.world.advance(seconds=5)
    taken = machines.sfn.get_activity_task(activityArn=activity)
    machines.world.advance(seconds=7)
    machines.sfn.send_task_success(taskToken=taken["taskToken"], output="{}")
    machines.world.advance(minutes=2)

    assert counted(machines, "LambdaFunctionArn", function) == {
        "LambdaFunctionRunTime": 0, "LambdaFunctionScheduleTime": 0, "LambdaFunctionTime": 0,
        "LambdaFunctionsScheduled": 1, "LambdaFunctionsStarted": 1, "LambdaFunctionsSucceeded": 1,
    }  # fmt: skip
    assert counted(machines, "ActivityArn", activity) == {
        "ActivityScheduleTime": 5_000, "ActivityRunTime": 7_000, "ActivityTime": 12_000,
        "ActivitiesScheduled": 1, "ActivitiesStarted": 1, "ActivitiesSucceeded": 1,
    }  # fmt: skip
    sent = counted(machines, "ServiceIntegrationResourceArn", "arn:aws:states:::sqs:sendMessage")
    assert (sent["ServiceIntegrationsScheduled"], sent["ServiceIntegrationsStarted"]) == (2, 2)
    assert (sent["ServiceIntegrationsSucceeded"], sent["ServiceIntegrationsFailed"]) == (1, 1)


def counted(machines: Machines, dimension: str, value: str) -> dict[str, float]:
    """The sums of the metrics with this dimension."""
    cloudwatch, now_s = machines.world.client("cloudwatch"), machines.world.clock.now() // 1000
    dimensions = [{"Name": dimension, "Value": value}]
    names = [one["MetricName"] for one in cloudwatch.list_metrics(Dimensions=dimensions)["Metrics"]]
    points = {
        name: cloudwatch.get_metric_statistics(
            Namespace="AWS/States", MetricName=name, Dimensions=dimensions, StartTime=now_s - 3_600, EndTime=now_s,
            Period=3_600, Statistics=["Sum"],
        )["Datapoints"]
        for name in names
    }  # fmt: skip
    return {name: sum(point["Sum"] for point in found) for name, found in points.items()}


def test_missed_heartbeat_is_counted_beside_the_timeout(machines: Machines) -> None:
    activity = machines.sfn.create_activity(name="work")["activityArn"]
    machines.start(machines.create({"Type": "Task", "Resource": activity, "HeartbeatSeconds": 10}))
    machines.sfn.get_activity_task(activityArn=activity)
    machines.world.advance(minutes=2)

    found = counted(machines, "ActivityArn", activity)

    assert (found["ActivitiesTimedOut"], found["ActivitiesHeartbeatTimedOut"]) == (1, 1)


def test_running_execution_keeps_the_definition_it_was_started_with(machines: Machines) -> None:
    machine = machines.create(WAITS, {"Type": "Pass", "Result": "old"})
    arn = machines.start(machine)
    new = json.dumps({"StartAt": "A", "States": {"A": {"Type": "Pass", "Result": "new", "End": True}}})
    machines.sfn.update_state_machine(stateMachineArn=machine, definition=new)
    machines.world.advance(seconds=60)

    assert machines.ran(arn).output == "old"
    assert machines.ran(machines.start(machine, name="later")).output == "new"
    assert machines.sfn.describe_state_machine_for_execution(executionArn=arn)["definition"] != new


@pytest.mark.parametrize(("suffix", "output"), [(".sync", '{"n":1}'), (".sync:2", {"n": 1})])
def test_execution_awaits_the_end_of_another(machines: Machines, suffix: str, output: object) -> None:
    child = machines.create(WAITS)
    resource = f"arn:aws:states:::states:startExecution{suffix}"
    parent = machines.start(
        machines.create(
            {"Type": "Task", "Resource": resource, "Parameters": {"StateMachineArn": child, "Input.$": "$"}}
        ),
        {"n": 1},
    )
    machines.world.advance(seconds=60)

    ran = machines.ran(parent)
    assert ran.status == "SUCCEEDED"
    assert (ran.output["Status"], ran.output["Output"]) == ("SUCCEEDED", output)
    assert "5<4 TaskSubmitted 6<5 TaskSucceeded" in ran.links


def test_child_that_fails_fails_the_task_that_awaits_it(machines: Machines) -> None:
    child = machines.create({"Type": "Fail", "Error": "E", "Cause": "c"})
    resource = "arn:aws:states:::states:startExecution.sync:2"

    ran = machines.run({"Type": "Task", "Resource": resource, "Parameters": {"StateMachineArn": child}})

    assert (ran.status, ran.failure[0]) == ("FAILED", "States.TaskFailed")
    assert json.loads(ran.failure[1])["Error"] == "E"


def test_rule_hears_of_each_status(machines: Machines) -> None:
    world = machines.world
    events, sqs = world.client("events"), world.client("sqs")
    url = sqs.create_queue(QueueName="heard")["QueueUrl"]
    queue = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
    allow = {"Effect": "Allow", "Principal": "*", "Action": "sqs:SendMessage", "Resource": queue}
    sqs.set_queue_attributes(
        QueueUrl=url, Attributes={"Policy": json.dumps({"Version": "2012-10-17", "Statement": [allow]})}
    )
    pattern = {"source": ["aws.states"], "detail-type": ["Step Functions Execution Status Change"]}
    events.put_rule(Name="r", EventPattern=json.dumps(pattern))
    events.put_targets(Rule="r", Targets=[{"Id": "1", "Arn": queue}])

    arn = machines.start(machines.create({"Type": "Pass"}), {"n": 1})

    heard = [json.loads(one["Body"]) for one in sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10)["Messages"]]
    assert [one["detail"]["status"] for one in heard] == ["RUNNING", "SUCCEEDED"]
    assert heard[1]["detail"]["output"] == '{"n": 1}' or heard[1]["detail"]["output"] == '{"n":1}'
    assert heard[0]["resources"] == [arn]


def test_role_that_is_gone_fails_the_task(machines: Machines) -> None:
    machine = machines.create({"Type": "Task", "Resource": "arn:aws:states:::aws-sdk:sqs:listQueues", "Parameters": {}})
    iam = machines.world.client("iam")
    iam.delete_role_policy(RoleName="states", PolicyName="all")

    ran = machines.ran(machines.start(machine))

    assert (ran.status, ran.failure[0]) == ("FAILED", "Sqs.SqsException")
    assert "is not authorized to perform: sqs:ListQueues" in ran.failure[1]


@pytest.mark.sqlite("statements are counted")
def test_execution_that_does_not_wait_costs_few_statements_however_many_transitions_it_makes(
    machines: Machines,
) -> None:
    """A lookup of its name, its row, and a row of history for each 50 events."""
    machine = machines.create(*[{"Type": "Pass"} for _ in range(20)])
    machines.start(machine, name="warm")
    seen: list[str] = []
    machines.world.store.connection.set_trace_callback(seen.append)

    machines.sfn.start_execution(stateMachineArn=machine, name="counted")
    machines.world.store.connection.set_trace_callback(None)

    written = [one for one in seen if one.startswith(("INSERT", "UPDATE", "DELETE"))]
    assert len([one for one in written if "executions" in one]) == 1
    assert len([one for one in written if "execution_events" in one]) == 1
    assert len(written) <= 3


@pytest.mark.parametrize(
    ("level", "kinds"),
    [("ALL", ["ExecutionStarted", "FailStateEntered", "ExecutionFailed"]), ("FATAL", ["ExecutionFailed"]), ("OFF", [])],
)
def test_events_are_logged_at_the_level_that_the_machine_asks_for(
    machines: Machines, level: str, kinds: list[str]
) -> None:
    logs = machines.world.client("logs")
    logs.create_log_group(logGroupName="/aws/states/m")
    group = {"cloudWatchLogsLogGroup": {"logGroupArn": "arn:aws:logs:us-east-1:000000000000:log-group:/aws/states/m:*"}}
    configuration = {"level": level, "includeExecutionData": False, "destinations": [group]}
    machine = machines.create({"Type": "Fail", "Error": "E"}, type="EXPRESS", loggingConfiguration=configuration)

    machines.start(machine, {"secret": 1})

    told = [json.loads(one["message"]) for one in logs.filter_log_events(logGroupName="/aws/states/m")["events"]]
    assert [one["type"] for one in told] == kinds
    assert "secret" not in json.dumps(told)
