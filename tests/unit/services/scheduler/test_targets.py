"""Targets: which are refused when a schedule is made, and what universal ones do with their Input.

Where a test names it, AWS's answer was recorded in us-east-1 on 2026-09-07 by
https://github.com/badmintoncryer/cdk-preflight (rules/scheduler).
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from functools import partial
from typing import Any

import pytest

from redrive.delivery.faults import Fault, add_fault, all_faults, count_of_strikes

QUEUE = "arn:aws:sqs:us-east-1:000000000000"
FUNCTION = "arn:aws:lambda:us-east-1:000000000000:function:dummy"
CLUSTER = "arn:aws:ecs:us-east-1:000000000000:cluster/c"
UNIVERSAL = "arn:aws:scheduler:::aws-sdk"
SEND = f"{UNIVERSAL}:sqs:sendMessage"
ORDERS_URL = "https://sqs.us-east-1.amazonaws.com/000000000000/orders"
NOT_AN_ARN = "Provided Arn is not in correct format."
NO_JSON = "JSON syntax error in input for the target"


def sent(**params: Any) -> str:
    """The Input of a universal target that sends a message to the queue of orders."""
    return json.dumps({"QueueUrl": ORDERS_URL, "MessageBody": "hello", **params})


@pytest.mark.parametrize(
    ("arn", "message"),
    [
        ("nonsense", NOT_AN_ARN),
        ("arn:aws:lambda:us-east-1:000000000000:layer:x", NOT_AN_ARN),
        ("arn:aws:sqs:::orders", NOT_AN_ARN),
        ("arn:aws:sqs:us-east-1::orders", NOT_AN_ARN),
        ("arn:aws:sqs:us-east-1:123:orders", NOT_AN_ARN),
        ("arn:aws:sqs::000000000000:orders", NOT_AN_ARN),
        (f"{UNIVERSAL}:sqs", NOT_AN_ARN),
        (f"{UNIVERSAL}:sqs:SendMessage", NOT_AN_ARN),
        ("arn:aws:s3:::bucket", "s3 is not a supported service for a target"),
        (
            "arn:aws:scheduler:us-east-1:000000000000:aws-sdk:sqs:sendMessage",
            "scheduler is not a supported service for a target",
        ),
    ],
)
def test_arn_that_is_no_target_is_refused(desk: Any, refusal: Any, arn: str, message: str) -> None:
    """The last of them is recorded.

    Source: https://docs.aws.amazon.com/scheduler/latest/UserGuide/troubleshooting.html
    """
    params = desk.params(Target=desk.target(arn, Input=sent()))

    assert refusal(desk.scheduler.create_schedule, **params) == ("ValidationException", message, 400)


def test_templated_target_of_another_region_is_refused(desk: Any, refusal: Any) -> None:
    """Recorded for functions and for event buses."""
    far = FUNCTION.replace("us-east-1", "eu-west-1")

    assert refusal(desk.scheduler.create_schedule, **desk.params(Target=desk.target(far))) == (
        "ValidationException", "The target ARN provided does not match the current region us-east-1.", 400,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("arn", "more", "message"),
    [
        (FUNCTION, {"KinesisParameters": {"PartitionKey": "k"}},
         "Parameters KinesisParameters not supported for the target."),
        (SEND, {"Input": sent(), "SqsParameters": {}}, "Parameters SqsParameters not supported for the target."),
        (f"{QUEUE}:orders.fifo", {}, "Parameters SqsParameters must be specified"),
        (f"{QUEUE}:orders.fifo", {"SqsParameters": {}}, "Parameters SqsParameters must be specified"),
        (f"{QUEUE}:orders", {"SqsParameters": {"MessageGroupId": "g"}},
         "Parameters MessageGroupId not valid for the target"),
        ("arn:aws:kinesis:us-east-1:000000000000:stream/s", {}, "Parameters KinesisParameters must be specified"),
        ("arn:aws:events:us-east-1:000000000000:event-bus/b", {}, "Parameters EventBridgeParameters must be specified"),
        (CLUSTER, {}, "Parameters EcsParameters must be specified"),
        (CLUSTER, {"EcsParameters": {"TaskDefinitionArn": "t", "LaunchType": "FARGATE"}},
         "Parameter NetworkConfiguration must be specified for the target when launch type is FARGATE"),
    ],
)  # fmt: skip
def test_parameter_block_that_does_not_suit_the_target_is_refused(
    desk: Any, refusal: Any, arn: str, more: dict[str, Any], message: str
) -> None:
    """Recorded but for universal targets, empty blocks, and the blocks that other targets than FIFO queues lack."""
    params = desk.params(Target=desk.target(arn, **more))

    assert refusal(desk.scheduler.create_schedule, **params) == ("ValidationException", message, 400)


def test_parameter_blocks_that_suit_their_targets_are_accepted(desk: Any) -> None:
    network = {"awsvpcConfiguration": {"Subnets": ["subnet-1"]}}
    fargate = {"TaskDefinitionArn": "t", "LaunchType": "FARGATE", "NetworkConfiguration": network}
    desk.create(Name="fargate", Target=desk.target(CLUSTER, EcsParameters=fargate))
    desk.create(Name="ec2", Target=desk.target(CLUSTER, EcsParameters={"TaskDefinitionArn": "t", "LaunchType": "EC2"}))
    desk.create(Name="fifo", Target=desk.target(f"{QUEUE}:o.fifo", SqsParameters={"MessageGroupId": "g"}))

    assert desk.names() == ["ec2", "fargate", "fifo"]


@pytest.mark.parametrize("arn", [FUNCTION, SEND])
@pytest.mark.parametrize(
    "text",
    [
        "{not json", "NaN", '{"a": Infinity}', "[1e999]", '{"a": "\\ud800"}', '{"\\udfff": 1}',
        "[" * 100_000 + "]" * 100_000, '{"a":' * 900 + "1" + "}" * 900, "9" * 5_000,
    ],
    ids=["broken", "NaN", "Infinity", "huge", "half a pair", "half a pair as a key", "deepest", "deep", "digits"],
)  # fmt: skip
def test_input_that_is_no_json_is_refused(desk: Any, refusal: Any, arn: str, text: str) -> None:
    """The sentence is recorded, for the first of them."""
    params = desk.params(Target=desk.target(arn, Input=text))

    assert refusal(desk.scheduler.create_schedule, **params) == ("ValidationException", NO_JSON, 400)
    assert desk.names() == []


def test_input_of_a_queue_is_any_text(desk: Any) -> None:
    desk.create(Target=desk.target(Input='{"a": "\\ud800", NaN'))

    desk.world.settle()

    assert desk.bodies() == ['{"a": "\\ud800", NaN']


def test_input_is_at_most_256_kib(desk: Any, refusal: Any) -> None:
    _, message, _ = refusal(desk.scheduler.create_schedule, **desk.params(Target=desk.target(Input="x" * 262_145)))

    assert "262144 bytes" in message


@pytest.mark.parametrize(
    ("action", "input", "message"),
    [
        ("sqs:listQueues", "{}", "listQueues API is not supported."),
        ("sqs:fooBar", "{}", "fooBar API is not supported."),
        ("lambda:invoke", None, "You must provide an input to set this target for your schedule"),
        ("dynamodb:putItem", "{}", "TableName, Item."),
        ("sqs:sendMessage", '{"queueUrl":"u","messageBody":"b"}', "QueueUrl, MessageBody."),
        ("sqs:sendMessage", '{"QueueUrl":"u","MessageBody":null}', "MessageBody."),
        ("cloudwatchlogs:createLogGroup", '{"logGroupName":"g"}', "LogGroupName."),
    ],
)
def test_universal_target_that_nothing_can_be_called_with_is_refused(
    desk: Any, refusal: Any, action: str, input: str | None, message: str
) -> None:
    """An action that only reads, a missing Input: recorded. Missing members: as users report."""
    missing = "Invalid RequestJson provided. Reason Request payload is missing the following field(s): "
    more = {} if input is None else {"Input": input}
    params = desk.params(Target=desk.target(f"{UNIVERSAL}:{action}", **more))

    code, found, _ = refusal(desk.scheduler.create_schedule, **params)

    assert (code, found.removeprefix(missing)) == ("ValidationException", message)


def test_universal_input_that_is_no_object_is_refused(desk: Any, refusal: Any) -> None:
    _, message, _ = refusal(desk.scheduler.create_schedule, **desk.params(Target=desk.target(SEND, Input="[]")))

    assert "JSON object" in message


@pytest.mark.parametrize("action", ["glue:startJobRun", "nosuch:fooBar"])
def test_universal_target_of_a_service_that_is_not_here_is_taken_on_trust(desk: Any, action: str) -> None:
    desk.create(Target=desk.target(f"{UNIVERSAL}:{action}", Input="{}"))

    assert desk.names() == ["nightly"]


@pytest.mark.parametrize(
    ("action", "params"),
    [
        ("sqs:sendMessage", {"QueueUrl": ORDERS_URL, "MessageBody": 5}),
        ("sqs:sendMessage", {"QueueUrl": ORDERS_URL, "MessageBody": ["x"]}),
        ("sqs:sendMessage", {"QueueUrl": 5, "MessageBody": "x"}),
        ("sqs:sendMessage", {"QueueUrl": ORDERS_URL, "MessageBody": "x", "MessageAttributes": "foo"}),
        ("sqs:sendMessage", {"QueueUrl": ORDERS_URL, "MessageBody": "x", "DelaySeconds": 1.5}),
        ("sqs:sendMessage", {"QueueUrl": ORDERS_URL, "MessageBody": "x", "Foo": 1}),
        ("dynamodb:updateItem", {"TableName": "t", "Key": {"k": {"S": "a"}}, "UpdateExpression": 5}),
        ("dynamodb:putItem", {"TableName": "t", "Item": {"k": {"B": "*"}}}),
        ("lambda:invoke", {"FunctionName": "f", "Payload": {"n": 1}}),
    ],
)
def test_parameters_of_a_wrong_type_fail_for_good_at_the_first_attempt(
    desk: Any, action: str, params: dict[str, Any]
) -> None:
    target = desk.target(f"{UNIVERSAL}:{action}", Input=json.dumps(params), DeadLetterConfig={"Arn": desk.dead})
    arn = desk.create("at(2025-01-01T00:01:00)", Target=target)

    desk.world.advance(days=2)

    (attempt,) = desk.attempts(arn)
    body, attributes = desk.letter()
    assert (attempt.code, attributes["ERROR_CODE"]) == ("SerializationException", "SerializationException")
    assert json.loads(body) == params
    assert desk.bodies() == []


def test_fault_strikes_a_universal_target_by_its_own_arn_and_not_by_the_queues(desk: Any) -> None:
    for target in (desk.orders, SEND):
        fault = Fault("", target, "AccessDeniedException", times=1)
        desk.world.store.run(partial(add_fault, fault=fault))
    arn = desk.create("at(2025-01-01T00:01:00)", Target=desk.target(SEND, Input=sent()))

    desk.world.advance(minutes=2)

    struck = desk.world.store.run(lambda tx: [count_of_strikes(tx, fault) for fault in all_faults(tx).faults])
    assert struck == [0, 1]
    assert [attempt.code for attempt in desk.attempts(arn)] == ["AccessDeniedException"]


def test_input_is_read_by_the_model_of_the_operation(desk: Any) -> None:
    """Blobs are base64, timestamps are seconds or ISO 8601, members are named as in AWS's SDKs."""
    desk.role = desk.make_role("all", "*")
    desk.world.call(
        "dynamodb", "CreateTable", TableName="things", KeySchema=[{"AttributeName": "k", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "k", "AttributeType": "S"}], BillingMode="PAY_PER_REQUEST",
    )  # fmt: skip
    datum = {"MetricName": "m", "Value": 1, "Timestamp": "2025-01-01T00:00:30Z"}
    binary = {"b": {"DataType": "Binary", "BinaryValue": "aGk="}}
    inputs = {
        "cloudwatch:putMetricData": {"Namespace": "App", "MetricData": [datum]},
        "cloudwatchlogs:createLogGroup": {"LogGroupName": "g"},
        "dynamodb:putItem": {"TableName": "things", "Item": {"k": {"S": "a"}, "B": {"B": "aGk="}}},
        "sqs:createQueue": {"QueueName": "tagged", "Tags": {"a": "1"}},
        "sqs:sendMessage": json.loads(sent(MessageAttributes=binary, DelaySeconds=1.0)),
    }
    arns = [
        desk.create(
            "at(2025-01-01T00:01:00)", Name=action.replace(":", "-"),
            Target=desk.target(f"{UNIVERSAL}:{action}", Input=json.dumps(params)),
        )
        for action, params in inputs.items()
    ]  # fmt: skip

    desk.world.advance(minutes=2)

    assert [[attempt.verdict for attempt in desk.attempts(arn)] for arn in arns] == [["delivered"]] * 5
    item = desk.world.client("dynamodb").get_item(TableName="things", Key={"k": {"S": "a"}})["Item"]
    (message,) = desk.take()
    assert item["B"] == {"B": b"hi"}
    assert message["MessageAttributes"]["b"]["BinaryValue"] == b"hi"
    counted = desk.world.client("cloudwatch").get_metric_statistics(
        Namespace="App", MetricName="m", Period=60, Statistics=["Sum"], StartTime=datetime(2025, 1, 1, tzinfo=UTC),
        EndTime=datetime(2025, 1, 1, 0, 1, tzinfo=UTC),
    )["Datapoints"]  # fmt: skip
    assert [point["Sum"] for point in counted] == [1.0]
