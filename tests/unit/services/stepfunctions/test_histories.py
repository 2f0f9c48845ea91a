"""What executions do and tell: the events of each kind of state, with the links that AWS gives them."""

from __future__ import annotations

from itertools import pairwise

import pytest

from tests.unit.services.stepfunctions.conftest import Machines

QUEUE = {"Type": "Task", "Resource": "arn:aws:states:::sqs:sendMessage"}
ITEMS = {"StartAt": "P", "States": {"P": {"Type": "Pass", "End": True}}}


def test_states_of_one_thread_are_linked_by_their_causes(machines: Machines) -> None:
    choice = {"Type": "Choice", "Choices": [{"Variable": "$.n", "NumericGreaterThan": 1, "Next": "C"}], "Default": "E"}

    ran = machines.run(
        {"Type": "Pass", "Result": {"n": 2}}, choice, {"Type": "Wait", "Seconds": 31_536_00}, {"Type": "Succeed"},
        {"Type": "Fail"}, seconds=31_536_00,
    )  # fmt: skip

    assert (ran.status, ran.output) == ("SUCCEEDED", {"n": 2})
    assert ran.links == (
        "1<0 ExecutionStarted 2<0 PassStateEntered 3<2 PassStateExited 4<3 ChoiceStateEntered 5<4 ChoiceStateExited "
        "6<5 WaitStateEntered 7<6 WaitStateExited 8<7 SucceedStateEntered 9<8 SucceedStateExited "
        "10<9 ExecutionSucceeded"
    )
    assert ran.details(3) == {"name": "A", "output": '{"n":2}', "outputDetails": {"truncated": False}}
    assert (ran.shown["stopDate"] - ran.shown["startDate"]).total_seconds() == 31_536_00


def test_call_of_a_service_is_scheduled_started_and_answered_in_one_step(machines: Machines) -> None:
    url = machines.world.client("sqs").create_queue(QueueName="q")["QueueUrl"]

    ran = machines.run({**QUEUE, "Parameters": {"QueueUrl": url, "MessageBody": {"x.$": "$.x"}}}, value={"x": 1})

    assert ran.links == (
        "1<0 ExecutionStarted 2<0 TaskStateEntered 3<2 TaskScheduled 4<3 TaskStarted 5<4 TaskSucceeded "
        "6<5 TaskStateExited 7<6 ExecutionSucceeded"
    )
    assert machines.world.client("sqs").receive_message(QueueUrl=url)["Messages"][0]["Body"] == '{"x":1}'
    assert ran.output["SdkHttpMetadata"]["HttpStatusCode"] == 200


def test_refused_call_fails_with_the_class_of_the_sdk(machines: Machines) -> None:
    gone = {"TableName": "gone", "Key": {"id": {"S": "1"}}}

    optimized = machines.run({"Type": "Task", "Resource": "arn:aws:states:::dynamodb:getItem", "Parameters": gone})
    sdk = machines.run({"Type": "Task", "Resource": "arn:aws:states:::aws-sdk:dynamodb:getItem", "Parameters": gone})
    unknown = machines.run(
        {"Type": "Task", "Resource": "arn:aws:states:::aws-sdk:dynamodb:getItem", "Parameters": {"Nonsense": 1}}
    )

    assert optimized.failure[0] == "DynamoDB.ResourceNotFoundException"
    assert (
        "(Service: AmazonDynamoDBv2; Status Code: 400; Error Code: ResourceNotFoundException;" in optimized.failure[1]
    )
    assert sdk.failure[0] == "DynamoDb.ResourceNotFoundException"
    assert "(Service: DynamoDb, Status Code: 400, Request ID: " in sdk.failure[1]
    assert unknown.failure[0] == "States.Runtime"
    assert "TaskScheduled" not in unknown.links


def test_function_is_retried_after_its_backoff_and_the_retry_follows_the_failure(machines: Machines) -> None:
    calls: list[int] = []

    def handler(event, context):
        calls.append(machines.world.now)
        if len(calls) < 3:
            raise KeyError("not yet")
        return {"done": event["n"]}

    arn = machines.function("f", handler)
    retry = [{"ErrorEquals": ["KeyError"], "IntervalSeconds": 3, "BackoffRate": 2.0}]
    ran = machines.run({"Type": "Task", "Resource": arn, "Retry": retry}, value={"n": 5}, seconds=60)

    assert (ran.status, ran.output) == ("SUCCEEDED", {"done": 5})
    assert [after - before for before, after in pairwise(calls)] == [3_000, 6_000]
    assert ran.links == (
        "1<0 ExecutionStarted 2<0 TaskStateEntered 3<2 LambdaFunctionScheduled 4<3 LambdaFunctionStarted "
        "5<4 LambdaFunctionFailed 6<5 LambdaFunctionScheduled 7<6 LambdaFunctionStarted 8<7 LambdaFunctionFailed "
        "9<8 LambdaFunctionScheduled 10<9 LambdaFunctionStarted 11<10 LambdaFunctionSucceeded 12<11 TaskStateExited "
        "13<12 ExecutionSucceeded"
    )


def test_error_that_retries_do_not_end_is_caught_with_its_cause(machines: Machines) -> None:
    def handler(event, context):
        raise KeyError("never")

    arn = machines.function("f", handler)
    task = {
        "Type": "Task", "Resource": "arn:aws:states:::lambda:invoke", "Parameters": {"FunctionName": arn},
        "Retry": [{"ErrorEquals": ["States.ALL"], "MaxAttempts": 2}],
        "Catch": [{"ErrorEquals": ["KeyError"], "ResultPath": "$.error", "Next": "B"}],
    }  # fmt: skip

    ran = machines.run(task, {"Type": "Pass"}, value={"n": 1}, seconds=60)

    assert ran.status == "SUCCEEDED"
    assert (ran.output["n"], ran.output["error"]["Error"]) == (1, "KeyError")
    assert [event["type"] for event in ran.events].count("TaskFailed") == 3


def test_task_that_takes_too_long_is_timed_out_and_its_late_answer_counts_nothing(machines: Machines) -> None:
    url = machines.world.client("sqs").create_queue(QueueName="q")["QueueUrl"]
    body = {"QueueUrl": url, "MessageBody": {"token.$": "$$.Task.Token"}}
    task = {**QUEUE, "Resource": QUEUE["Resource"] + ".waitForTaskToken", "Parameters": body, "TimeoutSeconds": 9}

    ran = machines.run(task, seconds=10)

    assert (ran.status, ran.failure) == ("FAILED", ("States.Timeout", ""))
    assert ran.links.endswith("5<4 TaskSubmitted 6<5 TaskTimedOut 7<6 ExecutionFailed")
    assert ran.details(3)["timeoutInSeconds"] == 9


def test_iterations_of_a_map_follow_the_end_of_the_one_before(machines: Machines) -> None:
    ran = machines.run(
        {"Type": "Map", "ItemsPath": "$.i", "MaxConcurrency": 1, "ItemProcessor": ITEMS}, value={"i": ["a", "b"]}
    )

    assert ran.output == ["a", "b"]
    assert ran.links == (
        "1<0 ExecutionStarted 2<0 MapStateEntered 3<2 MapStateStarted 4<3 MapIterationStarted 5<4 PassStateEntered "
        "6<5 PassStateExited 7<6 MapIterationSucceeded 8<6 MapIterationStarted 9<8 PassStateEntered "
        "10<9 PassStateExited 11<10 MapIterationSucceeded 12<11 MapStateSucceeded 13<11 MapStateExited "
        "14<13 ExecutionSucceeded"
    )


def test_map_without_items_succeeds_at_once(machines: Machines) -> None:
    ran = machines.run({"Type": "Map", "ItemProcessor": ITEMS}, value=[])

    assert ran.output == []
    assert "3<2 MapStateStarted 4<3 MapStateSucceeded 5<3 MapStateExited" in ran.links


def test_failed_branch_stops_the_others_and_a_retry_starts_all_again(machines: Machines) -> None:
    branches = [
        {"StartAt": "W", "States": {"W": {"Type": "Wait", "Seconds": 9, "End": True}}},
        {"StartAt": "F", "States": {"F": {"Type": "Fail", "Error": "Broken", "Cause": "of course"}}},
    ]
    state = {"Type": "Parallel", "Branches": branches, "Retry": [{"ErrorEquals": ["Broken"], "MaxAttempts": 1}]}

    ran = machines.run(state, seconds=5)

    assert (ran.status, ran.failure) == ("FAILED", ("Broken", "of course"))
    assert ran.links == (
        "1<0 ExecutionStarted 2<0 ParallelStateEntered 3<2 ParallelStateStarted 4<3 WaitStateEntered "
        "5<3 FailStateEntered 6<5 WaitStateAborted 7<5 ParallelStateStarted 8<7 WaitStateEntered 9<7 FailStateEntered "
        "10<9 WaitStateAborted 11<9 ParallelStateFailed 12<11 ExecutionFailed"
    )


def test_iterations_run_as_many_at_once_as_the_map_allows(machines: Machines) -> None:
    waits = {"StartAt": "W", "States": {"W": {"Type": "Wait", "Seconds": 10, "End": True}}}

    arn = machines.start(machines.create({"Type": "Map", "MaxConcurrency": 2, "ItemProcessor": waits}), [1, 2, 3, 4, 5])
    machines.world.advance(seconds=29)
    before = machines.ran(arn)
    machines.world.advance(seconds=1)

    assert [event["type"] for event in before.events].count("MapIterationStarted") == 5
    assert before.status == "RUNNING"
    assert machines.ran(arn).output == [1, 2, 3, 4, 5]


def test_variables_are_read_by_later_states_and_inside_of_a_map(machines: Machines) -> None:
    inner = {
        "StartAt": "P",
        "States": {"P": {"Type": "Pass", "Parameters": {"v.$": "$name", "i.$": "$$.Map.Item.Index"}, "End": True}},
    }

    ran = machines.run(
        {"Type": "Pass", "Assign": {"name.$": "$.who"}}, {"Type": "Map", "ItemsPath": "$.i", "ItemProcessor": inner},
        value={"who": "x", "i": [0, 0]},
    )  # fmt: skip

    assert ran.output == [{"v": "x", "i": 0}, {"v": "x", "i": 1}]
    assert ran.details(3)["assignedVariables"] == {"name": '"x"'}


def test_path_without_result_fails_the_execution_and_no_catch_sees_it(machines: Machines) -> None:
    task = {**QUEUE, "InputPath": "$.gone", "Parameters": {}, "Catch": [{"ErrorEquals": ["States.ALL"], "Next": "B"}]}

    ran = machines.run(task, {"Type": "Pass"})

    assert ran.links == "1<0 ExecutionStarted 2<0 TaskStateEntered 3<2 ExecutionFailed"
    where = "An error occurred while executing the state 'A' (entered at the event id #2). "
    assert ran.failure == ("States.Runtime", f"{where}Invalid path '$.gone' : No results for path: $['gone']")


def test_jsonata_that_gives_nothing_is_told_before_the_failure(machines: Machines) -> None:
    ran = machines.run({"Type": "Pass", "QueryLanguage": "JSONata", "Output": "{% $states.input.gone %}"})

    assert ran.links == "1<0 ExecutionStarted 2<0 PassStateEntered 3<0 EvaluationFailed 4<3 ExecutionFailed"
    assert ran.failure[0] == "States.QueryEvaluationError"


def test_result_over_the_limit_fails_its_state(machines: Machines) -> None:
    arn = machines.function("f", lambda event, context: "x" * 262_144)
    caught = {"Type": "Task", "Resource": arn, "Catch": [{"ErrorEquals": ["States.DataLimitExceeded"], "Next": "B"}]}

    ran = machines.run(caught, {"Type": "Pass"})

    assert (ran.status, ran.output["Error"]) == ("SUCCEEDED", "States.DataLimitExceeded")
    assert "LambdaFunctionFailed" in ran.links


@pytest.mark.parametrize("reverse", [False, True])
def test_history_is_paged_both_ways(machines: Machines, reverse: bool) -> None:
    passes = [{"Type": "Pass"} for _ in range(20)]
    arn = machines.start(machines.create(*passes))
    pages = machines.sfn.get_paginator("get_execution_history").paginate(
        executionArn=arn, maxResults=7, reverseOrder=reverse
    )

    sizes, numbers = [], []
    for page in pages:
        sizes.append(len(page["events"]))
        numbers += [event["id"] for event in page["events"]]

    assert sizes == [7] * 6
    assert numbers == sorted(range(1, 43), reverse=reverse)


def test_loop_without_end_fails_at_the_limit_of_its_history(machines: Machines) -> None:
    """A task adds several events at once, and none has a number beyond that of the last event."""
    url = machines.world.client("sqs").create_queue(QueueName="q")["QueueUrl"]
    params = {"QueueUrl": url, "MessageBody": "x"}
    task = {"Type": "Task", "Resource": "arn:aws:states:::sqs:sendMessage", "Parameters": params, "ResultPath": None}
    arn = machines.start(machines.create({**task, "Next": "B"}, {"Type": "Pass", "Next": "A"}))

    shown = machines.sfn.describe_execution(executionArn=arn)
    last = machines.sfn.get_execution_history(executionArn=arn, reverseOrder=True, maxResults=1)["events"][0]

    assert (shown["status"], shown["error"]) == ("FAILED", "States.Runtime")
    assert shown["cause"] == "The execution reached the maximum number of history events (25000)."
    assert (last["id"], last["type"]) == (25_000, "ExecutionFailed")


def test_branch_that_could_go_on_when_another_one_failed_is_stopped(machines: Machines) -> None:
    busy = {f"P{n}": {"Type": "Pass", "Next": f"P{n + 1}"} for n in range(9)} | {"P9": {"Type": "Pass", "End": True}}
    branches = [
        {"StartAt": "F", "States": {"F": {"Type": "Fail", "Error": "Bad"}}},
        {"StartAt": "P0", "States": busy},
    ]
    caught = [{"ErrorEquals": ["Bad"], "Next": "B"}]

    ran = machines.run({"Type": "Parallel", "Branches": branches, "Catch": caught}, {"Type": "Pass"})

    assert ran.status == "SUCCEEDED"
