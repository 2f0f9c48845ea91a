"""Pure rules: ids, keywords, windows, targets."""

from __future__ import annotations

import uuid
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redrive.core.clock import DAY_MS, MINUTE_MS
from redrive.delivery.sources.targets import build_request, called_operation, find_target
from redrive.services.scheduler.model.executions import execution_id, misspelt_keywords, retry_policy
from redrive.services.scheduler.model.occurrences import window_offset_ms
from redrive.services.scheduler.model.targets import is_read_only

HERE = "us-east-1:000000000000"
ARN = "arn:aws:scheduler:us-east-1:000000000000:schedule/default/nightly"
instants = st.integers(0, (1 << 48) - 1)


@given(one=instants, other=instants)
def test_execution_ids_sort_as_their_times_do(one: int, other: int) -> None:
    ids = [execution_id(ARN, at, 0) for at in (one, other)]

    assert one == other or (ids[0] < ids[1]) == (one < other)


@given(at=instants, created=instants)
def test_execution_id_is_a_uuid_of_version_7_and_always_the_same(at: int, created: int) -> None:
    found = uuid.UUID(execution_id(ARN, at, created))

    assert str(found) == execution_id(ARN, at, created)
    assert found.version == 7
    assert found.variant == uuid.RFC_4122
    assert found.int >> 80 == at


def test_execution_ids_of_other_schedules_and_of_recreated_ones_differ() -> None:
    ids = {execution_id(arn, 1, created) for arn in (ARN, f"{ARN}2") for created in (0, 1)}

    assert len(ids) == 4


@given(at=instants, minutes=st.integers(1, 1440))
def test_invocation_falls_inside_its_flexible_window(at: int, minutes: int) -> None:
    offset = window_offset_ms(ARN, at, minutes * MINUTE_MS)

    assert 0 <= offset < minutes * MINUTE_MS
    assert offset == window_offset_ms(ARN, at, minutes * MINUTE_MS)


def test_keywords_that_are_none_are_found_once_each() -> None:
    text = (
        "<aws.scheduler.execution-id> <aws.scheduler.execution_id> <aws.scheduler.Attempt-Number> "
        "<aws.scheduler.execution_id> <aws:scheduler:schedule-arn> <aws.events.rule-arn>"
    )

    assert misspelt_keywords(text) == [
        "<aws.scheduler.execution_id>", "<aws.scheduler.Attempt-Number>", "<aws:scheduler:schedule-arn>",
    ]  # fmt: skip


def test_retry_policy_has_the_defaults_of_aws_member_by_member() -> None:
    policy = retry_policy({"RetryPolicy": {"MaximumRetryAttempts": 0}})

    assert (policy.retries_max, policy.age_ms_max) == (0, DAY_MS)
    assert (retry_policy({}).retries_max, retry_policy({}).age_ms_max) == (185, DAY_MS)


# Source: https://docs.aws.amazon.com/scheduler/latest/UserGuide/managing-targets-templated.html
@pytest.mark.parametrize(
    ("arn", "block", "action", "params"),
    [
        (f"sqs:{HERE}:q", {"SqsParameters": {"MessageGroupId": "g"}}, "sqs:sendMessage",
         {"QueueUrl": "https://sqs.us-east-1.amazonaws.com/000000000000/q", "MessageBody": "{}",
          "MessageGroupId": "g"}),
        (f"lambda:{HERE}:function:f:live", {}, "lambda:invoke",
         {"FunctionName": f"arn:aws:lambda:{HERE}:function:f:live", "InvocationType": "Event", "Payload": "{}"}),
        (f"states:{HERE}:stateMachine:m", {}, "sfn:startExecution",
         {"StateMachineArn": f"arn:aws:states:{HERE}:stateMachine:m", "Input": "{}"}),
        (f"events:{HERE}:event-bus/b", {"EventBridgeParameters": {"DetailType": "d", "Source": "s"}},
         "eventbridge:putEvents",
         {"Entries": [{"EventBusName": f"arn:aws:events:{HERE}:event-bus/b", "DetailType": "d", "Source": "s",
                       "Detail": "{}"}]}),
        (f"kinesis:{HERE}:stream/s", {"KinesisParameters": {"PartitionKey": "k"}}, "kinesis:putRecord",
         {"StreamARN": f"arn:aws:kinesis:{HERE}:stream/s", "PartitionKey": "k", "Data": "e30="}),
        (f"firehose:{HERE}:deliverystream/s", {}, "firehose:putRecord",
         {"DeliveryStreamName": "s", "Record": {"Data": "{}"}}),
        (f"ecs:{HERE}:cluster/c", {"EcsParameters": {"TaskDefinitionArn": "t", "LaunchType": "EC2"}}, "ecs:runTask",
         {"Cluster": f"arn:aws:ecs:{HERE}:cluster/c", "TaskDefinition": "t", "Count": 1, "LaunchType": "EC2",
          "Overrides": {}}),
        (f"sagemaker:{HERE}:pipeline/p", {}, "sagemaker:startPipelineExecution",
         {"PipelineName": "p", "PipelineParameters": []}),
        (f"codebuild:{HERE}:project/p", {}, "codebuild:startBuild", {"ProjectName": "p"}),
        (f"codepipeline:{HERE}:p", {}, "codepipeline:startPipelineExecution", {"Name": "p"}),
        (f"inspector:{HERE}:target/t/template/m", {}, "inspector:startAssessmentRun",
         {"AssessmentTemplateArn": f"arn:aws:inspector:{HERE}:target/t/template/m"}),
        (f"sns:{HERE}:t", {}, "sns:publish", {"TopicArn": f"arn:aws:sns:{HERE}:t", "Message": "{}"}),
    ],
)  # fmt: skip
def test_templated_target_stands_for_its_api_call(arn: str, block: Any, action: str, params: Any) -> None:
    request = build_request({"Arn": f"arn:aws:{arn}", "Input": "{}", **block}, "{}")

    assert request.universal_arn == f"arn:aws:scheduler:::aws-sdk:{action}"
    assert request.params == params


def test_universal_target_calls_its_action_with_its_input() -> None:
    target = {"Arn": "arn:aws:scheduler:::aws-sdk:cloudwatchlogs:createLogGroup", "Input": "…"}

    request = build_request(target, '{"LogGroupName":"g"}')

    assert called_operation(request) == called_operation(find_target(target["Arn"])) == ("logs", "CreateLogGroup")
    assert request.params == {"LogGroupName": "g"}


@pytest.mark.parametrize("action", ["getItem", "listQueues", "batchGetItem", "invokeModel", "query", "receiveMessage"])
def test_actions_that_only_read_are_known(action: str) -> None:
    assert is_read_only(action)


@pytest.mark.parametrize("action", ["putItem", "sendMessage", "invoke", "listen", "startQuery"])
def test_actions_that_change_something_are_not_mistaken_for_reading(action: str) -> None:
    assert not is_read_only(action)
