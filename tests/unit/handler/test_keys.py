"""Keys are found where the work has them, and refused where they would not tell executions apart."""

from __future__ import annotations

import hashlib
import json

import pytest

from redrive.handler import (
    KeyRefused,
    event_id,
    path,
    s3_object,
    s3_object_at_time,
    schedule_occurrence,
    scheduler_context,
    stream_sequence,
)
from redrive.handler.keys import KEY_BYTES_MAX, checked

ARN = "arn:aws:scheduler:us-east-1:000000000000:schedule/default/hourly"
CONTEXT = {"execution_id": "5068e532-bca5", "schedule_arn": ARN, "scheduled_time": "2025-10-07T15:33:16Z"}
WORK = {
    "context": CONTEXT,
    "payload": {"lines": [{"id": 7}]},
}
RECORD = {"messageId": "m-1", "body": json.dumps(WORK), "eventSourceARN": "arn:aws:sqs:us-east-1:000000000000:jobs"}
MESSAGE_ID = "059f36b4-87a3-44ab-83d2-661975830a7d"
DELIVERY = {
    "messageId": MESSAGE_ID,
    "receiptHandle": "AQEBwJnKyrHigUMZj6rYigCgxlaS3SLy0a0eJzT7kV1mAAAB",
    "body": "{}",
    "eventSourceARN": "arn:aws:sqs:us-east-1:000000000000:jobs",
    "awsRegion": "us-east-1",
    "attributes": {
        "SenderId": "AIDAIENQZJOLO23YVJ4VO",
        "ApproximateReceiveCount": "1",
        "SentTimestamp": "1545082649183",
        "ApproximateFirstReceiveTimestamp": "1545082649185",
    },
}
NOTIFICATION = {
    "eventSource": "aws:s3",
    "eventTime": "2025-10-07T15:33:16.123Z",
    "s3": {"bucket": {"name": "b"}, "object": {"key": "in/a+b%C3%BC.csv", "sequencer": "0055AED6DCD90281E5"}},
}
OBJECT_EVENT = {
    "id": "event-1",
    "time": "2025-10-07T15:33:16Z",
    "source": "aws.s3",
    "detail": {"bucket": {"name": "b"}, "object": {"key": "in/a bü.csv", "sequencer": "0055AED6DCD90281E5"}},
}


def queued(work: object) -> dict[str, str]:
    return {"messageId": "m-1", "body": json.dumps(work)}


@pytest.mark.parametrize("event", [WORK, RECORD, {"Records": [RECORD]}])
def test_execution_id_is_found_in_the_input_however_it_came(event: object) -> None:
    assert scheduler_context()(event, None) == "5068e532-bca5"


def test_execution_id_may_stand_elsewhere() -> None:
    assert scheduler_context(at="meta.run")(queued({"meta": {"run": "x"}})) == "x"


@pytest.mark.parametrize(
    "text",
    [
        "<aws.scheduler.execution_id>",
        "<aws.scheduler.execution-id>",
        "<aws.scheduler.executionId>",
        "a-<aws.scheduler.x",
    ],
)
@pytest.mark.parametrize("source", [scheduler_context(), path("context.execution_id")])
def test_placeholder_that_nobody_replaced_is_refused_with_the_right_spelling(source, text: str) -> None:
    """One letter wrong, and all executions would share one key: the second would never run."""
    with pytest.raises(KeyRefused, match=r"<aws\.scheduler\.execution-id>"):
        source({"context": {"execution_id": text}})


@pytest.mark.parametrize(
    "work", [{}, {"context": {}}, {"context": {"execution_id": ""}}, {"context": {"execution_id": None}}, [], "text"]
)
def test_work_without_an_execution_id_is_refused(work: object) -> None:
    with pytest.raises(KeyRefused):
        scheduler_context()(queued(work))


def test_event_of_several_messages_has_no_one_key() -> None:
    with pytest.raises(KeyRefused, match="sqs_batch"):
        scheduler_context()({"Records": [RECORD, RECORD]})


def test_body_that_is_no_json_is_refused() -> None:
    with pytest.raises(KeyRefused, match="no JSON"):
        scheduler_context()({"messageId": "m-1", "body": "hello"})


def test_occurrence_is_the_schedule_and_the_time_it_was_due() -> None:
    assert schedule_occurrence()(RECORD) == f"{ARN}@2025-10-07T15:33:16Z"


def test_scheduled_event_of_a_rule_has_an_occurrence_too() -> None:
    rule = "arn:aws:events:us-east-1:000000000000:rule/hourly"
    event = {"id": "1", "detail-type": "Scheduled Event", "resources": [rule], "time": "2025-10-07T15:00:00Z"}

    assert schedule_occurrence()(event) == f"{rule}@2025-10-07T15:00:00Z"


@pytest.mark.parametrize("member", ["schedule_arn", "scheduled_time"])
def test_occurrence_of_a_placeholder_is_refused(member: str) -> None:
    work = {"context": CONTEXT | {member: f"<aws.scheduler.{member}>"}}

    with pytest.raises(KeyRefused, match=r"<aws\.scheduler\.scheduled-time>"):
        schedule_occurrence()(work)


def test_event_id_is_that_of_the_event() -> None:
    assert event_id()(OBJECT_EVENT, None) == event_id()(queued(OBJECT_EVENT)) == "event-1"


@pytest.mark.parametrize(
    "event",
    [
        OBJECT_EVENT,
        queued(OBJECT_EVENT),
        NOTIFICATION,
        {"Records": [NOTIFICATION]},
        queued({"Records": [NOTIFICATION]}),
    ],
)
def test_object_has_one_key_by_notification_and_by_event(event: object) -> None:
    """Notifications encode the object's key as a URL does, and events do not."""
    assert s3_object()(event) == "b#in/a bü.csv#0055AED6DCD90281E5"


def test_object_event_without_a_sequencer_is_refused() -> None:
    event = {"detail": {"bucket": {"name": "b"}, "object": {"key": "k"}}}

    with pytest.raises(KeyRefused, match="event_id"):
        s3_object()(event)


def test_object_at_a_time_is_the_hash_of_bucket_key_and_time() -> None:
    event = {"detail": {"bucket": {"name": "b"}, "object": {"key": "k"}, "eventTime": "2025-10-07T15:33:16Z"}}

    assert s3_object_at_time()(event) == hashlib.sha256(b"b#k#2025-10-07T15:33:16Z").hexdigest()
    assert len(s3_object_at_time()(NOTIFICATION)) == len(s3_object_at_time()(OBJECT_EVENT)) == 64


def test_stream_records_are_told_apart_across_the_shards_of_a_stream() -> None:
    """Sequence numbers of DynamoDB's streams are those of a shard; two shards may have the same one."""
    kinesis = {"eventSourceARN": "arn:k", "eventID": "shardId-0:495", "kinesis": {"sequenceNumber": "495"}}
    dynamodb = {"eventSourceARN": "arn:d", "eventID": "x", "dynamodb": {"SequenceNumber": "111"}}
    of_other_shard = dynamodb | {"eventID": "y"}

    assert stream_sequence()(kinesis) == "arn:k#shardId-0#495"
    assert stream_sequence()({"Records": [dynamodb]}) == "arn:d#x"
    assert stream_sequence()(of_other_shard) == "arn:d#y"
    for event in (RECORD, {"eventSourceARN": "arn:d", "dynamodb": {"SequenceNumber": "111"}}):
        with pytest.raises(KeyRefused):
            stream_sequence()(event)


def test_path_goes_through_lists_and_texts_of_json() -> None:
    assert path("Records.0.body.payload.lines.0.id")({"Records": [RECORD]}) == "7"


@pytest.mark.parametrize("at", ["", "a..b", ".a", "a."])
def test_path_with_an_empty_step_is_refused(at: str) -> None:
    with pytest.raises(KeyRefused):
        path(at)


@pytest.mark.parametrize("member", ["messageId", "receiptHandle"])
def test_path_that_can_only_lead_to_a_delivery_is_refused_at_once(member: str) -> None:
    with pytest.raises(KeyRefused, match=member):
        path(f"Records.0.{member}")


@pytest.mark.parametrize(
    "at",
    [
        "messageId",
        "receiptHandle",
        "attributes.ApproximateReceiveCount",
        "attributes.SentTimestamp",
        "attributes.SenderId",
        "eventSourceARN",
        "Records.0.awsRegion",
        "Records.0.attributes.ApproximateFirstReceiveTimestamp",
    ],
)
def test_what_sqs_says_of_a_delivery_is_no_key(at: str) -> None:
    event = {"Records": [DELIVERY]} if at.startswith("Records") else DELIVERY

    with pytest.raises(KeyRefused, match=at.rpartition(".")[2]):
        path(at)(event)


@pytest.mark.parametrize(
    "event", [{"messageId": "p-1"}, {"messageId": MESSAGE_ID, "body": json.dumps({"messageId": "p-1"})}]
)
def test_message_id_of_the_producer_is_a_key(event: dict[str, str]) -> None:
    at = "body.messageId" if "body" in event else "messageId"

    assert checked(path(at)(event), event) == "p-1"


@pytest.mark.parametrize(
    "key",
    [
        MESSAGE_ID,
        f"pre-{MESSAGE_ID}",
        f"order{MESSAGE_ID}x",
        DELIVERY["receiptHandle"],
        f"{DELIVERY['receiptHandle']}1",
    ],
)
def test_key_of_a_users_function_holds_nothing_of_the_delivery(key: str) -> None:
    """Such a key is new with each delivery, so that every one of them would run."""
    with pytest.raises(KeyRefused, match="so each would run"):
        checked(key, DELIVERY)
    with pytest.raises(KeyRefused, match="so each would run"):
        checked(key, {"Records": [DELIVERY]})


@pytest.mark.parametrize(("id", "key"), [("1", "order-1"), ("mid1", "Kmid1"), ("m-1", "a"), ("", "a")])
def test_id_that_a_test_made_up_may_stand_in_other_texts(id: str, key: str) -> None:
    assert checked(key, {"messageId": id, "body": "{}"}) == key


def test_id_that_a_test_made_up_is_no_key_by_itself() -> None:
    for key in ("mid1", "pre-mid1"):
        with pytest.raises(KeyRefused):
            checked(key, {"messageId": "mid1", "body": "{}"})
    with pytest.raises(KeyRefused):
        checked("1", {"messageId": "1", "body": "{}"})


def test_prefix_counts_to_the_bytes_of_a_key() -> None:
    assert len(checked("x" * 8, None, "p" * (KEY_BYTES_MAX - 8))) == KEY_BYTES_MAX
    with pytest.raises(KeyRefused, match="2,049 bytes"):
        checked("x" * 9, None, "p" * (KEY_BYTES_MAX - 8))
    with pytest.raises(KeyRefused, match="2,049 bytes"):
        checked("x" * 7, None, "ü" * (KEY_BYTES_MAX // 2 - 3))


@pytest.mark.parametrize("value", [True, 1.5, None, [], {}])
def test_what_is_neither_text_nor_whole_number_is_no_key(value: object) -> None:
    with pytest.raises(KeyRefused):
        path("id")({"id": value})


@pytest.mark.parametrize("key", ["", None, 7, "x" * (KEY_BYTES_MAX + 1), "half \ud800", "<aws.scheduler.execution_id>"])
def test_key_of_a_users_function_is_checked_too(key: object) -> None:
    with pytest.raises(KeyRefused):
        checked(key, None)


def test_refusal_shows_the_members_of_an_event_and_no_contents() -> None:
    with pytest.raises(KeyRefused) as refused:
        path("order.id")({"secret": "hunter2"})

    assert "secret" in str(refused.value)
    assert "hunter2" not in str(refused.value)
