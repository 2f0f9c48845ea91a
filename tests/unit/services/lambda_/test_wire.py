"""Lambda through boto3, with real roles, real logs and functions that really run."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from typing import Any

import pytest
from botocore.exceptions import ClientError

from redrive.testing.world import World
from tests.unit.services.lambda_.functions import ARN, ROLE, archive

TRUST = {
    "Version": "2012-10-17",
    "Statement": [
        {"Effect": "Allow", "Principal": {"Service": "lambda.amazonaws.com"}, "Action": "sts:AssumeRole"},
    ],
}
HANDLER = """
import os

def handler(event, context):
    print("hello", context.aws_request_id)
    if event.get("fail"):
        raise ValueError("broken")
    return {"event": event, "key": os.environ["KEY"], "arn": context.invoked_function_arn}
"""


@pytest.fixture(scope="module")
def shared() -> Iterator[World]:
    """One world for all tests of this module, because clients of boto3 are slow to make."""
    world = World(seed=1)
    world.client("iam").create_role(RoleName="worker", AssumeRolePolicyDocument=json.dumps(TRUST))
    yield world
    world.close()


@pytest.fixture(scope="module")
def client(shared: World) -> Any:
    return shared.client("lambda")


@pytest.fixture
def world(shared: World) -> Iterator[World]:
    """The world, with a role that may write logs and messages; afterwards without functions and their logs."""
    statement = {"Effect": "Allow", "Action": ["logs:*", "sqs:*"], "Resource": "*"}
    policy = {"Version": "2012-10-17", "Statement": [statement]}
    shared.call("iam", "PutRolePolicy", RoleName="worker", PolicyName="work", PolicyDocument=json.dumps(policy))
    yield shared
    for function in shared.call("lambda", "ListFunctions")["Functions"]:
        shared.call("lambda", "DeleteFunction", FunctionName=function["FunctionName"])
    for group in shared.call("logs", "DescribeLogGroups")["logGroups"]:
        shared.call("logs", "DeleteLogGroup", logGroupName=group["logGroupName"])


def create(client: Any, **params: Any) -> Any:
    """A function that greets, fails if asked to, and answers what it was given."""
    given = {
        "FunctionName": "worker", "Runtime": "python3.12", "Role": ROLE, "Handler": "app.handler",
        "Code": {"ZipFile": archive(HANDLER)}, "Environment": {"Variables": {"KEY": "1"}}, **params,
    }  # fmt: skip
    return client.create_function(**given)


def test_operations_are_found_by_the_names_of_the_model(world: World) -> None:
    registry = world.engine.registry
    operations = registry.services["lambda"]

    entries = [registry.entry("lambda", operation) for operation in operations]

    assert len(entries) == 70


def test_function_is_created_invoked_and_deleted(world: World, client: Any) -> None:
    created = create(client)
    client.get_waiter("function_active_v2").wait(FunctionName="worker")

    answer = client.invoke(FunctionName="worker", Payload=b'{"n": 1}', LogType="Tail")
    deleted = client.delete_function(FunctionName="worker")

    assert created["ResponseMetadata"]["HTTPStatusCode"] == 201
    assert json.loads(answer["Payload"].read()) == {"event": {"n": 1}, "key": "1", "arn": f"{ARN}worker"}
    assert (answer["StatusCode"], answer["ExecutedVersion"]) == (200, "$LATEST")
    assert "FunctionError" not in answer
    assert "hello" in base64.b64decode(answer["LogResult"]).decode()
    assert deleted["ResponseMetadata"]["HTTPStatusCode"] == 204


def test_lines_of_a_run_are_in_cloudwatch_logs(world: World, client: Any) -> None:
    create(client)

    client.invoke(FunctionName="worker")

    events = world.client("logs").filter_log_events(logGroupName="/aws/lambda/worker")["events"]
    assert [event["message"].split()[0] for event in events] == ["START", "hello", "END", "REPORT"]


def test_role_that_may_not_log_leaves_no_group(world: World, client: Any) -> None:
    world.client("iam").delete_role_policy(RoleName="worker", PolicyName="work")
    create(client)

    client.invoke(FunctionName="worker")

    assert world.client("logs").describe_log_groups()["logGroups"] == []


def test_error_of_the_function_is_named_in_the_answer(world: World, client: Any) -> None:
    create(client)

    answer = client.invoke(FunctionName="worker", Payload=b'{"fail": true}')

    document = json.loads(answer["Payload"].read())
    assert (answer["StatusCode"], answer["FunctionError"]) == (200, "Unhandled")
    assert (document["errorMessage"], document["errorType"]) == ("broken", "ValueError")


def test_event_is_run_retried_and_dead_lettered(world: World, client: Any) -> None:
    sqs = world.client("sqs")
    url = sqs.create_queue(QueueName="dead")["QueueUrl"]
    create(client, DeadLetterConfig={"TargetArn": "arn:aws:sqs:us-east-1:000000000000:dead"})

    answer = client.invoke(FunctionName="worker", InvocationType="Event", Payload=b'{"fail": true}')
    world.advance(minutes=3)

    (message,) = sqs.receive_message(QueueUrl=url, MessageAttributeNames=["All"])["Messages"]
    assert answer["StatusCode"] == 202
    assert message["Body"] == '{"fail": true}'
    assert message["MessageAttributes"]["ErrorMessage"]["StringValue"] == "broken"
    assert message["MessageAttributes"]["RequestID"]["StringValue"] == answer["ResponseMetadata"]["RequestId"]


@pytest.mark.parametrize(
    ("call", "params", "status", "code"),
    [
        ("get_function", {"FunctionName": "ghost"}, 404, "ResourceNotFoundException"),
        ("invoke", {"FunctionName": "worker", "Payload": b"{"}, 400, "InvalidRequestContentException"),
        ("invoke", {"FunctionName": "worker", "Payload": b" " * 6_291_457}, 413, "RequestTooLargeException"),
        ("update_function_code", {"FunctionName": "worker", "ZipFile": b"x"}, 400, "InvalidParameterValueException"),
        (
            "update_function_configuration",
            {"FunctionName": "worker", "RevisionId": "other"},
            412,
            "PreconditionFailedException",
        ),
    ],
)
@pytest.mark.usefixtures("world")
def test_errors_have_the_status_and_code_of_aws(
    client: Any, call: str, params: dict[str, Any], status: int, code: str
) -> None:
    create(client)

    with pytest.raises(ClientError) as caught:
        getattr(client, call)(**params)

    response: Any = caught.value.response
    assert (response["ResponseMetadata"]["HTTPStatusCode"], response["Error"]["Code"]) == (status, code)
    assert response["Type"] == "User"


def test_throttled_call_is_429_with_its_reason(world: World, client: Any) -> None:
    create(client)
    client.put_function_concurrency(FunctionName="worker", ReservedConcurrentExecutions=0)

    with pytest.raises(client.exceptions.TooManyRequestsException) as caught:
        client.invoke(FunctionName="worker")

    assert caught.value.response["Reason"] == "ReservedFunctionConcurrentInvocationLimitExceeded"
    assert caught.value.response["ResponseMetadata"]["HTTPStatusCode"] == 429


def test_role_that_nobody_may_assume_is_refused(world: World, client: Any) -> None:
    with pytest.raises(ClientError, match=r"The role defined for the function cannot be assumed by Lambda\."):
        create(client, Role="arn:aws:iam::000000000000:role/ghost")


def test_function_has_no_code_signing_configuration(world: World, client: Any) -> None:
    """Tools that keep functions in a state file ask for it after each change."""
    create(client)

    shown = client.get_function_code_signing_config(FunctionName="worker")

    assert (shown["FunctionName"], shown["CodeSigningConfigArn"]) == ("worker", "")
    with pytest.raises(client.exceptions.ResourceNotFoundException):
        client.get_function_code_signing_config(FunctionName="ghost")


def test_pages_of_functions_are_followed_by_the_paginator(world: World, client: Any) -> None:
    for number in range(3):
        create(client, FunctionName=f"f{number}")

    pages = client.get_paginator("list_functions").paginate(PaginationConfig={"PageSize": 2})

    assert [[one["FunctionName"] for one in page["Functions"]] for page in pages] == [["f0", "f1"], ["f2"]]


def test_queue_mapping_is_made_and_read_through_the_wire(world: World, client: Any) -> None:
    world.client("sqs").create_queue(QueueName="orders")
    create(client)

    created = client.create_event_source_mapping(
        EventSourceArn="arn:aws:sqs:us-east-1:000000000000:orders", FunctionName="worker"
    )

    found = client.get_event_source_mapping(UUID=created["UUID"])
    assert created["ResponseMetadata"]["HTTPStatusCode"] == 202
    assert (created["State"], found["State"]) == ("Creating", "Enabled")
    assert found["LastModified"].year == 2025
