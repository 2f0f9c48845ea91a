"""FIFO queues: what may be sent to them, and how often it arrives."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest

from redrive.testing.world import World

TWELVE_ZEROS = "0" * 12
NO_DEDUPLICATION_ID = (
    "InvalidParameterValueException",
    "The queue should either have ContentBasedDeduplication enabled or MessageDeduplicationId provided explicitly",
)


@pytest.fixture
def send(call, fifo):
    """Send to the FIFO queue: `send("body", "group", "id")`."""
    return lambda body, group="g", dedup=None: call(
        "SendMessage", QueueUrl=fifo, MessageBody=body, MessageGroupId=group, MessageDeduplicationId=dedup or body
    )


def bodies(answer: dict[str, Any]) -> list[str]:
    return [message["Body"] for message in answer.get("Messages", [])]


def receive_all(call, queue: str) -> list[str]:
    return bodies(call("ReceiveMessage", QueueUrl=queue, MaxNumberOfMessages=10))


def test_message_without_a_group_is_refused(refusal, fifo):
    answer = refusal("SendMessage", QueueUrl=fifo, MessageBody="1", MessageDeduplicationId="1")

    assert answer == ("MissingRequiredParameterException", "The request must contain the parameter MessageGroupId.")


def test_batch_with_an_entry_without_a_group_is_refused_whole(call, refusal, fifo):
    entries = [
        {"Id": "a", "MessageBody": "1", "MessageGroupId": "g", "MessageDeduplicationId": "1"},
        {"Id": "b", "MessageBody": "2", "MessageDeduplicationId": "2"},
    ]

    answer = refusal("SendMessageBatch", QueueUrl=fifo, Entries=entries)

    assert answer == ("InvalidParameterValueException", "The request must contain the parameter MessageGroupId.")
    assert receive_all(call, fifo) == []


def test_message_needs_a_deduplication_id_unless_its_content_is_one(refusal, fifo):
    assert refusal("SendMessage", QueueUrl=fifo, MessageBody="1", MessageGroupId="g") == NO_DEDUPLICATION_ID
    entries = [{"Id": "a", "MessageBody": "1", "MessageGroupId": "g"}]
    assert refusal("SendMessageBatch", QueueUrl=fifo, Entries=entries) == NO_DEDUPLICATION_ID


@pytest.mark.parametrize("parameter", ["MessageGroupId", "MessageDeduplicationId"])
@pytest.mark.parametrize("value", ["", "a b", "ä", "x" * 129])
def test_id_of_other_characters_or_too_long_is_refused(refusal, fifo, parameter, value):
    ids = {"MessageGroupId": "g", "MessageDeduplicationId": "d", parameter: value}

    answer = refusal("SendMessage", QueueUrl=fifo, MessageBody="1", **ids)

    assert answer == (
        "InvalidParameterValueException",
        (
            f"Value {value} for parameter {parameter} is invalid. "
            f"Reason: {parameter} can only include alphanumeric and punctuation characters. 1 to 128 in length."
        ),
    )


def test_delay_of_a_single_message_is_refused_but_zero(call, refusal, fifo):
    params = {"QueueUrl": fifo, "MessageBody": "1", "MessageGroupId": "g", "MessageDeduplicationId": "1"}

    answer = refusal("SendMessage", **params, DelaySeconds=2)

    assert answer == (
        "InvalidParameterValueException",
        (
            "Value 2 for parameter DelaySeconds is invalid. "
            "Reason: The request include parameter that is not valid for this queue type."
        ),
    )
    assert call("SendMessage", **params, DelaySeconds=0)["SequenceNumber"]


def test_delay_of_zero_means_that_of_the_queue(world, call, fifo, send):
    call("SetQueueAttributes", QueueUrl=fifo, Attributes={"DelaySeconds": "5"})
    call("SendMessage", QueueUrl=fifo, MessageBody="1", MessageGroupId="g", MessageDeduplicationId="1", DelaySeconds=0)

    assert receive_all(call, fifo) == []
    world.advance(seconds=5)
    assert receive_all(call, fifo) == ["1"]


def test_changed_delay_counts_for_messages_that_are_there(world, call, fifo, send):
    """Source: https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_SetQueueAttributes.html"""
    send("1")
    call("SetQueueAttributes", QueueUrl=fifo, Attributes={"DelaySeconds": "5"})

    assert receive_all(call, fifo) == []
    world.advance(seconds=5)
    assert receive_all(call, fifo) == ["1"]


def test_sequence_numbers_have_20_digits_and_grow(send):
    numbers = [send(str(number))["SequenceNumber"] for number in range(3)]

    assert numbers == sorted(set(numbers))
    assert {len(number) for number in numbers} == {20}


def test_duplicate_answers_as_the_first_and_adds_nothing(call, fifo, send):
    first = send("body", dedup="same")

    second = send("other", dedup="same")

    assert second["MessageId"] == first["MessageId"]
    assert second["SequenceNumber"] == first["SequenceNumber"]
    assert second["MD5OfMessageBody"] == hashlib.md5(b"other", usedforsecurity=False).hexdigest()
    assert receive_all(call, fifo) == ["body"]


def test_duplicate_is_known_after_its_message_was_deleted(call, fifo, send):
    send("1")
    (message,) = call("ReceiveMessage", QueueUrl=fifo)["Messages"]
    call("DeleteMessage", QueueUrl=fifo, ReceiptHandle=message["ReceiptHandle"])

    assert send("1")["MessageId"] == message["MessageId"]
    assert receive_all(call, fifo) == []


def test_deduplication_lasts_five_minutes_from_the_first_send(world, call, fifo, send):
    send("1")
    world.advance(minutes=4)
    send("1")
    world.advance(seconds=59.999)
    send("1")
    assert call("GetQueueAttributes", QueueUrl=fifo, AttributeNames=["ApproximateNumberOfMessages"])["Attributes"] == {
        "ApproximateNumberOfMessages": "1"
    }

    world.advance(seconds=0.001)
    send("1")

    assert receive_all(call, fifo) == ["1", "1"]


def test_duplicates_of_other_groups_count_in_a_queue_of_queue_scope(call, fifo, send):
    send("1", "a")
    send("1", "b")

    assert receive_all(call, fifo) == ["1"]


def test_duplicates_count_within_their_group_in_a_queue_of_group_scope(call, fifo, send):
    call("SetQueueAttributes", QueueUrl=fifo, Attributes={"DeduplicationScope": "messageGroup"})
    send("1", "a")
    send("1", "b")
    send("1", "b")

    assert receive_all(call, fifo) == ["1", "1"]


def test_content_is_the_deduplication_id_where_the_queue_says_so(call, fifo):
    call("SetQueueAttributes", QueueUrl=fifo, Attributes={"ContentBasedDeduplication": "true"})
    attribute = {"x": {"DataType": "String", "StringValue": "y"}}
    call("SendMessage", QueueUrl=fifo, MessageBody="1", MessageGroupId="g")
    call("SendMessage", QueueUrl=fifo, MessageBody="1", MessageGroupId="g", MessageAttributes=attribute)
    call("SendMessage", QueueUrl=fifo, MessageBody="1", MessageGroupId="g", MessageDeduplicationId="own")
    digest = hashlib.sha256(b"1").hexdigest()
    call("SendMessage", QueueUrl=fifo, MessageBody="2", MessageGroupId="g", MessageDeduplicationId=digest)

    received = call("ReceiveMessage", QueueUrl=fifo, MaxNumberOfMessages=10, AttributeNames=["All"])["Messages"]

    ids = [message["Attributes"]["MessageDeduplicationId"] for message in received]
    assert ids == [digest, "own"]


def test_batch_deduplicates_within_itself(call, fifo):
    entries = [
        {"Id": entry_id, "MessageBody": entry_id, "MessageGroupId": "g", "MessageDeduplicationId": "same"}
        for entry_id in "ab"
    ]

    first, second = call("SendMessageBatch", QueueUrl=fifo, Entries=entries)["Successful"]

    assert first["MessageId"] == second["MessageId"]
    assert first["SequenceNumber"] == second["SequenceNumber"]
    assert receive_all(call, fifo) == ["a"]


def test_purge_forgets_deduplication_ids(call, fifo, send):
    send("1")
    call("PurgeQueue", QueueUrl=fifo)
    send("1")
    send("1")

    assert receive_all(call, fifo) == ["1"]


def test_sweep_forgets_sends_and_receives_that_are_over(world: World, call, fifo, send):
    send("1")
    call("ReceiveMessage", QueueUrl=fifo, ReceiveRequestAttemptId="a")

    world.advance(hours=1)

    assert world.store.rows(["dedup_sends", "dedup_receives"]) == [[], []]


def test_default_attributes_of_a_fifo_queue(call, fifo):
    shown = call("GetQueueAttributes", QueueUrl=fifo, AttributeNames=["All"])["Attributes"]

    names = ("FifoQueue", "ContentBasedDeduplication", "DeduplicationScope", "FifoThroughputLimit")
    assert [shown[name] for name in names] == ["true", "false", "queue", "perQueue"]


def test_type_of_a_queue_cannot_be_changed(call, refusal, fifo):
    answer = refusal("SetQueueAttributes", QueueUrl=fifo, Attributes={"FifoQueue": "false"})

    assert answer == (
        "InvalidAttributeValue",
        "Invalid value for the parameter FifoQueue. Reason: Modifying queue type is not supported.",
    )
    assert call("SetQueueAttributes", QueueUrl=fifo, Attributes={"FifoQueue": "true"}) == {}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("FifoQueue", "yes"), ("ContentBasedDeduplication", "yes"), ("DeduplicationScope", "group"),
        ("FifoThroughputLimit", "none"),
    ],
)  # fmt: skip
def test_attribute_of_fifo_queues_takes_its_own_values(refusal, fifo, name, value):
    answer = refusal("SetQueueAttributes", QueueUrl=fifo, Attributes={name: value})

    assert answer == ("InvalidAttributeValue", f"Invalid value for the parameter {name}.")


def test_throughput_per_group_needs_deduplication_per_group(call, refusal, fifo):
    high = {"FifoThroughputLimit": "perMessageGroupId"}

    code, message = refusal("SetQueueAttributes", QueueUrl=fifo, Attributes=high)

    assert code == "InvalidAttributeValue"
    assert "DeduplicationScope is messageGroup" in message
    call("SetQueueAttributes", QueueUrl=fifo, Attributes={**high, "DeduplicationScope": "messageGroup"})


def test_creating_a_fifo_queue_again_with_other_attributes_names_the_first(call, refusal, fifo):
    attributes = {"FifoQueue": "true", "ContentBasedDeduplication": "true"}

    code, message = refusal("CreateQueue", QueueName="orders.fifo", Attributes=attributes)

    assert (code, message.split()[-1]) == ("QueueNameExists", "ContentBasedDeduplication")
    assert call("CreateQueue", QueueName="orders.fifo", Attributes={"FifoQueue": "true"})["QueueUrl"] == fifo


def test_sequence_numbers_do_not_read_as_an_account(send):
    """Twelve digits of one kind are what tools that blacken accounts look for."""
    numbers = [send(str(number))["SequenceNumber"] for number in range(50)]

    assert [number for number in numbers if TWELVE_ZEROS in number] == []
    assert numbers == sorted(set(numbers))
