"""Receiving: visibility, delays, long polls, retention, the attributes of what is received."""

from __future__ import annotations

import pytest

from redrive.core.errors import ServiceError
from redrive.delivery.operation import Wait
from redrive.services.sqs.limits import IN_FLIGHT_MAX
from redrive.store.tables.messages import NewMessage
from redrive.testing.world import START, World

INVALID = "InvalidParameterValueException"


def bodies(answer) -> list[str]:
    return [message["Body"] for message in answer.get("Messages", ())]


def new_message(world: World, queue_id: str, message_id: str) -> NewMessage:
    return NewMessage(
        queue=queue_id, message_id=message_id, body="x", body_md5="", attributes=None, system_attributes=None,
        sender_id="", group_id=None, sent_at=world.now, visible_at=world.now, expires_at=world.now + 10**9,
    )  # fmt: skip


@pytest.fixture
def queue_id(world: World, queue: str) -> str:
    topics: list[frozenset[str]] = []
    world.store.on_commit(topics.append)
    world.call("sqs", "SendMessage", QueueUrl=queue, MessageBody="to learn the topic")
    world.call("sqs", "PurgeQueue", QueueUrl=queue)
    (topic,) = topics[0]
    return topic.removeprefix("queue:")


def test_received_message_has_what_was_sent(call, queue):
    sent = call("SendMessage", QueueUrl=queue, MessageBody="hello")

    (message,) = call("ReceiveMessage", QueueUrl=queue)["Messages"]

    assert message.keys() == {"MessageId", "ReceiptHandle", "MD5OfBody", "Body"}
    assert (message["MessageId"], message["MD5OfBody"]) == (sent["MessageId"], sent["MD5OfMessageBody"])


def test_empty_queue_answers_without_messages(call, queue):
    assert call("ReceiveMessage", QueueUrl=queue) == {}


def test_one_message_is_received_unless_more_are_asked_for(call, queue):
    for body in "abc":
        call("SendMessage", QueueUrl=queue, MessageBody=body)

    assert bodies(call("ReceiveMessage", QueueUrl=queue)) == ["a"]
    assert bodies(call("ReceiveMessage", QueueUrl=queue, MaxNumberOfMessages=10)) == ["b", "c"]


def test_message_is_visible_again_when_its_timeout_ends(world, call, queue):
    call("SendMessage", QueueUrl=queue, MessageBody="1")
    first = call("ReceiveMessage", QueueUrl=queue)["Messages"][0]
    world.advance(seconds=29.999)
    assert call("ReceiveMessage", QueueUrl=queue) == {}

    world.advance(seconds=0.001)

    second = call("ReceiveMessage", QueueUrl=queue, AttributeNames=["ApproximateReceiveCount"])["Messages"][0]
    assert second["Attributes"] == {"ApproximateReceiveCount": "2"}
    assert second["ReceiptHandle"] != first["ReceiptHandle"]


def test_timeout_of_the_call_goes_before_the_queue_s(world, call, queue):
    call("SendMessage", QueueUrl=queue, MessageBody="1")
    call("ReceiveMessage", QueueUrl=queue, VisibilityTimeout=5)

    world.advance(seconds=5)

    assert bodies(call("ReceiveMessage", QueueUrl=queue)) == ["1"]


def test_timeout_of_zero_leaves_the_message_visible(call, queue):
    call("SendMessage", QueueUrl=queue, MessageBody="1")

    assert bodies(call("ReceiveMessage", QueueUrl=queue, VisibilityTimeout=0, MaxNumberOfMessages=10)) == ["1"]
    assert bodies(call("ReceiveMessage", QueueUrl=queue)) == ["1"]


@pytest.mark.parametrize(
    ("name", "values", "reason"),
    [
        ("MaxNumberOfMessages", (0, 11), "Must be between 1 and 10, if provided."),
        ("WaitTimeSeconds", (-1, 21), "Must be >= 0 and <= 20, if provided."),
        ("VisibilityTimeout", (-1, 43201), "Must be >= 0 and <= 43200, if provided."),
    ],
)
def test_number_outside_its_range_is_refused(refusal, queue, name, values, reason):
    for value in values:
        answer = refusal("ReceiveMessage", QueueUrl=queue, **{name: value})
        assert answer == (INVALID, f"Value {value} for parameter {name} is invalid. Reason: {reason}")


def test_attempt_id_of_fifo_queues_is_refused(refusal, queue):
    assert refusal("ReceiveMessage", QueueUrl=queue, ReceiveRequestAttemptId="x")[0] == INVALID


def test_unknown_system_attribute_name_is_refused(refusal, queue):
    answer = refusal("ReceiveMessage", QueueUrl=queue, MessageSystemAttributeNames=["Colour"])

    assert answer == ("InvalidAttributeName", "Unknown Attribute Colour.")


def test_delay_of_the_message_goes_before_the_queue_s(world, call, queue):
    call("SetQueueAttributes", QueueUrl=queue, Attributes={"DelaySeconds": "10"})
    call("SendMessage", QueueUrl=queue, MessageBody="default")
    call("SendMessage", QueueUrl=queue, MessageBody="own", DelaySeconds=5)
    call("SendMessage", QueueUrl=queue, MessageBody="at once", DelaySeconds=0)

    assert bodies(call("ReceiveMessage", QueueUrl=queue, MaxNumberOfMessages=10)) == ["at once"]
    world.advance(seconds=5)
    assert bodies(call("ReceiveMessage", QueueUrl=queue, MaxNumberOfMessages=10)) == ["own"]
    world.advance(seconds=5)
    assert bodies(call("ReceiveMessage", QueueUrl=queue, MaxNumberOfMessages=10)) == ["default"]


def test_message_past_its_retention_is_not_received(world, call, queue):
    call("SetQueueAttributes", QueueUrl=queue, Attributes={"MessageRetentionPeriod": "60"})
    call("SendMessage", QueueUrl=queue, MessageBody="1")

    world.advance(seconds=59.999)
    assert bodies(call("ReceiveMessage", QueueUrl=queue, VisibilityTimeout=0)) == ["1"]
    world.advance(seconds=0.001)
    assert call("ReceiveMessage", QueueUrl=queue) == {}


def test_all_system_attributes_are_shown_with_all(world, call, queue):
    header = {"AWSTraceHeader": {"DataType": "String", "StringValue": "Root=1"}}
    call("SendMessage", QueueUrl=queue, MessageBody="1", MessageSystemAttributes=header)
    world.advance(seconds=1)

    received = call("ReceiveMessage", QueueUrl=queue, AttributeNames=["All"])["Messages"][0]

    assert received["Attributes"] == {
        "SenderId": "000000000000",
        "SentTimestamp": "1735689600000",
        "ApproximateFirstReceiveTimestamp": "1735689601000",
        "ApproximateReceiveCount": "1",
        "AWSTraceHeader": "Root=1",
    }


def test_message_attributes_are_chosen_by_name_prefix_or_all(call, queue):
    attributes: dict[str, object] = {
        name: {"DataType": "String", "StringValue": name} for name in ("order.id", "order.at", "tenant")
    }
    attributes["raw"] = {"DataType": "Binary", "BinaryValue": b"\x00\xff"}
    call("SendMessage", QueueUrl=queue, MessageBody="1", MessageAttributes=attributes)

    def chosen(*names: str):
        (message,) = call("ReceiveMessage", QueueUrl=queue, VisibilityTimeout=0, MessageAttributeNames=names)[
            "Messages"
        ]
        return message.get("MessageAttributes"), message.get("MD5OfMessageAttributes")

    assert chosen() == chosen("other") == (None, None)
    assert chosen("tenant")[0] == {"tenant": attributes["tenant"]}
    assert chosen("order.*", "raw")[0] == {name: attributes[name] for name in ("order.id", "order.at", "raw")}
    assert chosen("All")[0] == chosen(".*")[0] == attributes
    assert chosen("tenant")[1] != chosen("All")[1]


def test_digest_of_all_attributes_is_that_of_the_send(call, queue):
    attributes = {"b": {"DataType": "Binary.x", "BinaryValue": b"1"}, "a": {"DataType": "Number", "StringValue": "1"}}
    sent = call("SendMessage", QueueUrl=queue, MessageBody="1", MessageAttributes=attributes)

    (message,) = call("ReceiveMessage", QueueUrl=queue, MessageAttributeNames=["All"])["Messages"]

    assert message["MD5OfMessageAttributes"] == sent["MD5OfMessageAttributes"]


def test_long_poll_with_nothing_there_waits_for_the_queue(world, begin, queue, queue_id):
    answer = begin("ReceiveMessage", QueueUrl=queue, WaitTimeSeconds=20)

    assert answer == Wait({}, (f"queue:{queue_id}",), world.now + 20_000, None)


def test_long_poll_with_a_message_there_answers_at_once(call, begin, queue):
    call("SendMessage", QueueUrl=queue, MessageBody="1")

    assert bodies(begin("ReceiveMessage", QueueUrl=queue, WaitTimeSeconds=20)) == ["1"]


def test_wait_time_of_the_call_goes_before_the_queue_s(world, call, begin, queue):
    call("SetQueueAttributes", QueueUrl=queue, Attributes={"ReceiveMessageWaitTimeSeconds": "3"})

    assert begin("ReceiveMessage", QueueUrl=queue).until == world.now + 3_000
    assert begin("ReceiveMessage", QueueUrl=queue, WaitTimeSeconds=0) == {}


@pytest.mark.parametrize(("delay", "again_at"), [(3, START + 3_000), (10, None), (11, None)])
def test_long_poll_looks_again_when_a_delayed_message_becomes_visible(call, begin, queue, delay, again_at):
    """A message that becomes visible before the deadline ends the wait; a later one is nobody's business."""
    call("SendMessage", QueueUrl=queue, MessageBody="1", DelaySeconds=delay)

    answer = begin("ReceiveMessage", QueueUrl=queue, WaitTimeSeconds=10)

    assert answer.again_at == again_at


def test_long_poll_looks_again_when_a_message_in_flight_times_out(world, call, begin, queue):
    call("SendMessage", QueueUrl=queue, MessageBody="1")
    call("ReceiveMessage", QueueUrl=queue, VisibilityTimeout=4)

    assert begin("ReceiveMessage", QueueUrl=queue, WaitTimeSeconds=10).again_at == world.now + 4_000


@pytest.mark.parametrize(("delay", "told"), [(0, 1), (20, 1), (21, 0)])
def test_send_tells_those_whose_wait_may_see_the_message(world, call, queue, delay, told):
    topics: list[frozenset[str]] = []
    world.store.on_commit(topics.append)

    call("SendMessage", QueueUrl=queue, MessageBody="1", DelaySeconds=delay)

    assert len(topics) == told


def test_about_120000_messages_in_flight_refuse_a_short_poll(world, call, begin, queue, queue_id):
    """The count is asked for messages whose id ends in 00; the poll that is refused takes nothing."""
    many = [new_message(world, queue_id, "ff")] * IN_FLIGHT_MAX
    world.store.run(lambda tx: tx.messages.put_many(many))
    hidden_until = world.now + 30_000
    world.store.run(
        lambda tx: tx.messages.claim_visible(
            queue_id, tx.now, visible_at=hidden_until, receipt="r", limit=IN_FLIGHT_MAX
        )
    )
    world.store.run(lambda tx: tx.messages.put_many([new_message(world, queue_id, "00")]))

    with pytest.raises(ServiceError, match="OverLimit"):
        call("ReceiveMessage", QueueUrl=queue)
    waiting = begin("ReceiveMessage", QueueUrl=queue, WaitTimeSeconds=5)

    assert waiting.again_at == world.now + 1_000
    world.advance(seconds=30)
    (kept,) = world.store.run(lambda tx: tx.messages.visible(queue_id, tx.now, limit=1))
    assert (kept.message_id, kept.receive_count) == ("00", 0)


def test_message_that_came_back_is_received_before_those_that_were_sent_after_it(world, call, queue):
    call("SendMessage", QueueUrl=queue, MessageBody="1")
    assert bodies(call("ReceiveMessage", QueueUrl=queue, VisibilityTimeout=10)) == ["1"]
    world.advance(seconds=5)
    for body in "23":
        call("SendMessage", QueueUrl=queue, MessageBody=body)
    world.advance(seconds=5)

    assert bodies(call("ReceiveMessage", QueueUrl=queue, MaxNumberOfMessages=2)) == ["1", "2"]


@pytest.mark.parametrize("name", ["*", ".*", "All"])
def test_all_attributes_are_asked_for_by_each_of_their_signs(call, queue, name):
    attributes = {
        "größe": {"DataType": "Number", "StringValue": "1"},
        "数量.a": {"DataType": "String", "StringValue": "x"},
    }
    call("SendMessage", QueueUrl=queue, MessageBody="1", MessageAttributes=attributes)

    (message,) = call("ReceiveMessage", QueueUrl=queue, MessageAttributeNames=[name])["Messages"]

    assert message["MessageAttributes"] == attributes
