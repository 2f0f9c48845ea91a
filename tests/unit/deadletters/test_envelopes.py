"""Envelopes of dead letters, as AWS's pages show them; and messages of any kind."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redrive.core.clock import parse_instant
from redrive.deadletters.envelopes import read_letter, read_text
from redrive.deadletters.letter import Batch, Form, Origin, Pointer

SCHEDULE = "arn:aws:scheduler:us-west-2:123456789012:schedule/myScheduleGroup/mySchedule"
FUNCTION = "arn:aws:lambda:us-east-2:123456789012:function:my-function:$LATEST"
TOPIC = "arn:aws:sns:us-east-2:123456789012:failed"
STREAM = "arn:aws:kinesis:us-east-2:123456789012:stream/mystream"
INVOCATION = {
    "version": "1.0",
    "timestamp": "2019-11-14T18:16:05.568Z",
    "requestContext": {
        "requestId": "e4b46cbf-b738-xmpl-8880-a18cdf61200e", "functionArn": FUNCTION, "condition": "RetriesExhausted",
        "approximateInvokeCount": 3,
    },
    "requestPayload": {"ORDER_IDS": ["9e07af03-ce31-4ff3-xmpl-36dce652cb4f"]},
    "responseContext": {"statusCode": 200, "executedVersion": "$LATEST", "functionError": "Unhandled"},
    "responsePayload": {
        "errorMessage": "no such order", "errorType": "KeyError", "stackTrace": ['  File "/var/task/app.py", line 4'],
    },
}  # fmt: skip
BATCH = {
    "requestContext": {
        "requestId": "c9b8fa9f-5a7f-xmpl-af9c-0c604cde93a5", "functionArn": FUNCTION.removesuffix(":$LATEST"),
        "condition": "RetryAttemptsExhausted", "approximateInvokeCount": 1,
    },
    "responseContext": {"statusCode": 200, "executedVersion": "$LATEST", "functionError": "Unhandled"},
    "version": "1.0",
    "timestamp": "2019-11-14T00:38:06.021Z",
    "KinesisBatchInfo": {
        "shardId": "shardId-000000000001",
        "startSequenceNumber": "49601189658422359378836298521827638475320189012309704722",
        "endSequenceNumber": "49601189658422359378836298522902373528957594348623495186",
        "approximateArrivalOfFirstRecord": "2019-11-14T00:38:04.835Z",
        "approximateArrivalOfLastRecord": "2019-11-14T00:38:05.580Z",
        "batchSize": 500,
        "streamArn": STREAM,
    },
}  # fmt: skip


def message(body: object, system: dict[str, str] | None = None, **attributes: str) -> dict[str, Any]:
    return {
        "MessageId": "m-1", "ReceiptHandle": "r-1", "Body": body if isinstance(body, str) else json.dumps(body),
        "Attributes": {"SentTimestamp": "1000", "ApproximateReceiveCount": "1", **(system or {})},
        "MessageAttributes": {
            name: {"StringValue": value, "DataType": "String"} for name, value in attributes.items()
        },
    }  # fmt: skip


def notification(text: str, **attributes: str) -> dict[str, Any]:
    return {
        "Type": "Notification", "MessageId": "n-1", "TopicArn": TOPIC, "Message": text,
        "MessageAttributes": {name: {"Type": "String", "Value": value} for name, value in attributes.items()},
    }  # fmt: skip


def test_letter_of_a_schedule_has_its_execution_and_the_request_of_the_target() -> None:
    letter = read_letter(
        message(
            {"MessageBody": "Hello, world!", "QueueUrl": "https://sqs.us-west-2.amazonaws.com/1/does-not-exist"},
            ERROR_CODE="AWS.SimpleQueueService.NonExistentQueue", ERROR_MESSAGE="The specified queue does not exist.",
            EXECUTION_ID="ad06616e51cdf74a", EXHAUSTED_RETRY_CONDITION="MaximumEventAgeInSeconds",
            IS_PAYLOAD_TRUNCATED="false", RETRY_ATTEMPTS="0", SCHEDULED_TIME="2022-05-14T01:12:00Z",
            SCHEDULE_ARN=SCHEDULE, TARGET_ARN="arn:aws:scheduler:::aws-sdk:sqs:sendMessage",
        )
    )  # fmt: skip

    assert (letter.origin, letter.source_arn, letter.work.id) == (Origin.SCHEDULE, SCHEDULE, "ad06616e51cdf74a")
    assert (letter.work.form, letter.work.due_at) == (Form.REQUEST, parse_instant("2022-05-14T01:12:00Z"))
    assert (letter.failure.condition, letter.failure.attempts) == ("MaximumEventAgeInSeconds", 1)
    assert not letter.work.is_cut


def test_letter_of_a_rule_has_the_event_and_its_id() -> None:
    event = {"version": "0", "id": "e-1", "detail-type": "Order", "source": "shop", "detail": {"id": 1}}
    rule = "arn:aws:events:us-east-1:123456789012:rule/orders"

    letter = read_letter(
        message(event, RULE_ARN=rule, TARGET_ARN=TOPIC, ERROR_CODE="NO_PERMISSIONS", ERROR_MESSAGE="no")
    )

    assert (letter.origin, letter.source_arn) == (Origin.RULE, rule)
    assert (letter.work.form, letter.work.id, letter.work.target_arn) == (Form.EVENT, "e-1", TOPIC)
    assert (letter.failure.code, letter.failure.condition, letter.failure.attempts) == ("NO_PERMISSIONS", "", 0)


def test_letter_of_a_function_is_its_event_with_three_attributes() -> None:
    letter = read_letter(message({"id": 1}, RequestID="q-1", ErrorCode="200", ErrorMessage="'id'"))

    assert (letter.origin, letter.work.id, letter.work.text) == (Origin.FUNCTION, "q-1", '{"id": 1}')
    assert (letter.failure.code, letter.failure.message) == ("200", "'id'")


def test_record_of_an_invocation_has_the_event_and_the_traceback() -> None:
    letter = read_letter(message(INVOCATION))

    assert (letter.origin, letter.source_arn) == (Origin.DESTINATION, FUNCTION)
    assert letter.work.text == '{"ORDER_IDS":["9e07af03-ce31-4ff3-xmpl-36dce652cb4f"]}'
    assert (letter.failure.code, letter.failure.message, letter.failure.attempts) == ("KeyError", "no such order", 3)
    assert letter.failure.trace == ('  File "/var/task/app.py", line 4',)


def test_record_of_an_event_that_was_never_run_has_the_condition_alone() -> None:
    never = {name: value for name, value in INVOCATION.items() if not name.startswith("response")}

    letter = read_letter(message(never))

    assert (letter.failure.code, letter.failure.condition) == ("", "RetriesExhausted")


def test_record_of_a_batch_says_where_its_records_are() -> None:
    letter = read_letter(message(BATCH))

    arrived = parse_instant("2019-11-14T00:38:04Z") + 835
    first, last = (BATCH["KinesisBatchInfo"][name] for name in ("startSequenceNumber", "endSequenceNumber"))  # type: ignore[index]
    assert (letter.origin, letter.source_arn, letter.work.text) == (Origin.STREAM, STREAM, "")
    assert letter.work.batch == Batch(STREAM, "shardId-000000000001", first, last, 500, arrived)


def test_record_of_a_batch_in_an_object_has_its_records() -> None:
    letter = read_text(json.dumps(BATCH | {"payload": {"Records": [{"kinesis": {}}]}}))

    assert letter.work.text == '{"Records":[{"kinesis":{}}]}'


def test_letter_of_a_pipe_is_a_batch_without_a_function() -> None:
    pipe = "arn:aws:pipes:us-east-1:123456789012:pipe/orders"
    body = {
        "context": {"partnerResourceArn": pipe, "condition": "RetryAttemptsExhausted"}, "version": "1.0",
        "DDBStreamBatchInfo": {"shardId": "s", "streamArn": "arn:aws:dynamodb:us-east-1:1:table/t/stream/x"},
    }  # fmt: skip

    letter = read_letter(message(body))

    assert (letter.origin, letter.work.target_arn) == (Origin.STREAM, pipe)


def test_letter_of_a_subscriber_says_the_bus_and_the_first_event() -> None:
    body = {
        "version": "1.0", "busArn": "b", "subscriberArn": "s", "targetArn": FUNCTION, "errorCode": "THROTTLING",
        "errorMessage": "slow", "exhaustedRetryCondition": "MaximumRetryAttempts", "retryAttempts": 5,
        "failedMessages": [{"eventId": "e-1"}],
    }  # fmt: skip

    by_body = read_letter(message(body))
    by_both = read_letter(message(body, SUBSCRIBER_ARN="s", TARGET_ARN=FUNCTION, ERROR_CODE="THROTTLING"))

    assert by_body.origin is by_both.origin is Origin.SUBSCRIBER
    assert (by_body.work.id, by_body.failure.attempts) == ("e-1", 6)


@pytest.mark.parametrize(
    ("held", "attributes", "origin"),
    [
        (json.dumps(INVOCATION), {}, Origin.DESTINATION),
        (json.dumps(BATCH), {}, Origin.STREAM),
        ('{"id": 1}', {"RequestID": "q-1", "ErrorCode": "200"}, Origin.FUNCTION),
        ("hello", {}, Origin.SUBSCRIPTION),
    ],
)
def test_notification_is_opened_if_a_letter_is_in_it(held: str, attributes: dict[str, str], origin: Origin) -> None:
    letter = read_letter(message(notification(held, **attributes)))

    assert letter.origin is origin
    assert letter.wraps == (() if origin is Origin.SUBSCRIPTION else (Form.NOTIFICATION,))


def test_record_that_a_bus_and_a_topic_have_passed_on_is_opened_twice() -> None:
    event = {
        "version": "0", "id": "e-1", "source": "lambda", "detail": INVOCATION,
        "detail-type": "Lambda Function Invocation Result - Failure",
    }  # fmt: skip

    letter = read_letter(message(notification(json.dumps(event))))

    assert (letter.origin, letter.wraps) == (Origin.DESTINATION, (Form.NOTIFICATION, Form.EVENT))


def test_message_that_a_redrive_policy_moved_is_the_work_itself() -> None:
    source = "arn:aws:sqs:us-east-1:123456789012:orders"

    letter = read_letter(
        message(notification("hello"), {"DeadLetterQueueSourceArn": source, "ApproximateReceiveCount": "4"})
    )

    assert (letter.origin, letter.source_arn, letter.work.target_arn) == (Origin.QUEUE, source, source)
    assert (letter.work.form, letter.work.text) == (Form.NOTIFICATION, letter.body)
    assert letter.failure.attempts == 3


def test_body_that_stands_in_s3_is_a_pointer() -> None:
    body = ["software.amazon.payloadoffloading.PayloadS3Pointer", {"s3BucketName": "b", "s3Key": "k"}]

    letter = read_letter(message(body))

    assert (letter.work.form, letter.work.pointer) == (Form.POINTER, Pointer("b", "k"))


JSON = st.recursive(st.none() | st.booleans() | st.integers() | st.text(), lambda one: st.lists(one) | st.dictionaries(
    st.sampled_from(["Type", "Message", "TopicArn", "Records", "s3", "requestContext", "requestPayload", "detail",
                     "functionArn", "KinesisBatchInfo", "detail-type", "source", "failedMessages", "subscriberArn"])
    | st.text(), one))  # fmt: skip
BODIES = st.text() | JSON.map(json.dumps)
ATTRIBUTES = st.dictionaries(
    st.sampled_from(["ERROR_CODE", "SCHEDULE_ARN", "RULE_ARN", "RETRY_ATTEMPTS", "SCHEDULED_TIME", "RequestID"]),
    st.text(),
)


@given(BODIES, ATTRIBUTES, st.dictionaries(st.sampled_from(["DeadLetterQueueSourceArn", "SentTimestamp"]), st.text()))
def test_every_message_is_read_and_nothing_of_its_body_is_lost(
    body: str, attributes: dict[str, str], system: dict[str, str]
) -> None:
    letter = read_letter(message(body, system, **attributes))

    assert letter.body == body
    is_opened = bool(letter.wraps) or letter.origin in {Origin.DESTINATION, Origin.STREAM}
    assert is_opened or letter.work.text == body
