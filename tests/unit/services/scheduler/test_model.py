"""Pure rules: ids, keywords, windows, targets."""

from __future__ import annotations

import uuid
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redrive.core.clock import DAY_MS, MINUTE_MS
from redrive.core.errors import ServiceError
from redrive.services.scheduler.model_executions import execution_id, misspelt_keywords, retry_policy
from redrive.services.scheduler.model_occurrences import window_offset_ms
from redrive.services.scheduler.model_targets import (
    Request,
    build_request,
    call_params,
    called_operation,
    is_read_only,
    target_region,
)

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
        ("sqs:us-east-1:1:q", {"SqsParameters": {"MessageGroupId": "g"}}, "sqs:sendMessage",
         {"QueueUrl": "https://sqs.us-east-1.amazonaws.com/1/q", "MessageBody": "{}", "MessageGroupId": "g"}),
        ("lambda:us-east-1:1:function:f:live", {}, "lambda:invoke",
         {"FunctionName": "arn:aws:lambda:us-east-1:1:function:f:live", "InvocationType": "Event", "Payload": "{}"}),
        ("states:us-east-1:1:stateMachine:m", {}, "sfn:startExecution",
         {"StateMachineArn": "arn:aws:states:us-east-1:1:stateMachine:m", "Input": "{}"}),
        ("events:us-east-1:1:event-bus/b", {"EventBridgeParameters": {"DetailType": "d", "Source": "s"}},
         "eventbridge:putEvents",
         {"Entries": [{"EventBusName": "arn:aws:events:us-east-1:1:event-bus/b", "DetailType": "d", "Source": "s",
                       "Detail": "{}"}]}),
        ("kinesis:us-east-1:1:stream/s", {"KinesisParameters": {"PartitionKey": "k"}}, "kinesis:putRecord",
         {"StreamARN": "arn:aws:kinesis:us-east-1:1:stream/s", "PartitionKey": "k", "Data": "{}"}),
        ("firehose:us-east-1:1:deliverystream/s", {}, "firehose:putRecord",
         {"DeliveryStreamName": "s", "Record": {"Data": "{}"}}),
        ("ecs:us-east-1:1:cluster/c", {"EcsParameters": {"TaskDefinitionArn": "t", "LaunchType": "EC2"}}, "ecs:runTask",
         {"Cluster": "arn:aws:ecs:us-east-1:1:cluster/c", "TaskDefinition": "t", "Count": 1, "LaunchType": "EC2",
          "Overrides": {}}),
        ("sagemaker:us-east-1:1:pipeline/p", {}, "sagemaker:startPipelineExecution",
         {"PipelineName": "p", "PipelineParameters": []}),
        ("codebuild:us-east-1:1:project/p", {}, "codebuild:startBuild", {"ProjectName": "p"}),
        ("codepipeline:us-east-1:1:p", {}, "codepipeline:startPipelineExecution", {"Name": "p"}),
        ("inspector:us-east-1:1:target/t/template/m", {}, "inspector:startAssessmentRun",
         {"AssessmentTemplateArn": "arn:aws:inspector:us-east-1:1:target/t/template/m"}),
        ("sns:us-east-1:1:t", {}, "sns:publish", {"TopicArn": "arn:aws:sns:us-east-1:1:t", "Message": "{}"}),
    ],
)  # fmt: skip
def test_templated_target_stands_for_its_api_call(arn: str, block: Any, action: str, params: Any) -> None:
    request = build_request({"Arn": f"arn:aws:{arn}", "Input": "{}", **block}, "{}")

    assert request.universal_arn == f"arn:aws:scheduler:::aws-sdk:{action}"
    assert request.params == params


def test_universal_target_calls_its_action_with_its_input() -> None:
    target = {"Arn": "arn:aws:scheduler:::aws-sdk:cloudwatchlogs:createLogGroup", "Input": "…"}

    request = build_request(target, '{"LogGroupName":"g"}')

    assert request.service_name == "logs"
    assert called_operation(target) == ("logs", "CreateLogGroup")
    assert request.params == {"LogGroupName": "g"}
    assert target_region(target, "eu-west-1") == "eu-west-1"


def test_parameters_get_the_types_that_operations_take() -> None:
    invoke = Request("lambda", "invoke", {"FunctionName": "f", "Payload": '{"n":1}'})
    put = Request("dynamodb", "putItem", {"Item": {"B": {"S": "text"}, "key": {"B": "aGk="}, "all": {"BS": ["aGk="]}}})
    create = Request("scheduler", "createSchedule", {"StartDate": 1.5, "EndDate": "1970-01-01T00:00:02Z"})

    assert call_params(invoke) == {"FunctionName": "f", "Payload": b'{"n":1}'}
    assert call_params(put) == {"Item": {"B": {"S": "text"}, "key": {"B": b"hi"}, "all": {"BS": [b"hi"]}}}
    assert call_params(create) == {"StartDate": 1_500, "EndDate": 2_000}


def test_blob_that_is_no_base64_cannot_be_called() -> None:
    with pytest.raises(ServiceError, match="SerializationException"):
        call_params(Request("dynamodb", "putItem", {"Item": {"key": {"B": "*"}}}))


@pytest.mark.parametrize("action", ["getItem", "listQueues", "batchGetItem", "invokeModel", "query", "receiveMessage"])
def test_actions_that_only_read_are_known(action: str) -> None:
    assert is_read_only(action)


@pytest.mark.parametrize("action", ["putItem", "sendMessage", "invoke", "listen", "startQuery"])
def test_actions_that_change_something_are_not_mistaken_for_reading(action: str) -> None:
    assert not is_read_only(action)
