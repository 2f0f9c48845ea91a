"""FIFO queues: in which order messages are received, what keeps them back, what their receipts can do."""

from __future__ import annotations

import json

import pytest

from redrive.testing.world import START, World


@pytest.fixture
def send(call, fifo):
    """Send bodies such as `a1`: the letter is the group."""

    def send(*bodies: str) -> None:
        for body in bodies:
            call("SendMessage", QueueUrl=fifo, MessageBody=body, MessageGroupId=body[0], MessageDeduplicationId=body)

    return send


@pytest.fixture
def receive(call, fifo):
    """Receive up to ten messages: their handles by body, in order."""

    def receive(count: int = 10, **params: object) -> dict[str, str]:
        answer = call("ReceiveMessage", QueueUrl=fifo, MaxNumberOfMessages=count, **params)
        return {message["Body"]: message["ReceiptHandle"] for message in answer.get("Messages", [])}

    return receive


@pytest.fixture
def delete(call, fifo):
    return lambda handle: call("DeleteMessage", QueueUrl=fifo, ReceiptHandle=handle)


def test_group_is_received_in_order(send, receive):
    send("a1", "a2", "a3")

    assert list(receive()) == ["a1", "a2", "a3"]


def test_group_with_a_message_in_flight_gives_nothing_more(send, receive):
    send("a1", "a2", "b1")

    assert list(receive(1)) == ["a1"]
    assert list(receive()) == ["b1"]
    assert receive() == {}


def test_receive_fills_with_one_group_before_it_takes_the_next(send, receive):
    send("a1", "b1", "a2", "b2", "a3")

    assert set(receive(4)) == {"a1", "a2", "a3", "b1"}


def test_messages_of_a_deleted_batch_make_room_for_the_next(send, receive, delete):
    send("a1", "a2", "a3")
    handles = receive(2)
    delete(handles["a1"])
    assert receive() == {}

    delete(handles["a2"])

    assert list(receive()) == ["a3"]


def test_deleting_tells_those_who_wait(world, begin, send, receive, delete):
    send("a1", "a2")
    handles = receive(1)
    wait = begin("ReceiveMessage", QueueUrl="orders.fifo", WaitTimeSeconds=20)
    topics: list[frozenset[str]] = []
    world.store.on_commit(topics.append)

    delete(handles["a1"])

    assert set(wait.topics) <= topics[0]


def test_long_poll_looks_again_when_the_group_is_free(world, fifo, begin, send, receive):
    send("a1", "a2")
    receive(1, VisibilityTimeout=7)

    assert begin("ReceiveMessage", QueueUrl=fifo, WaitTimeSeconds=20).again_at == START + 7_000


def test_group_comes_again_in_order_when_its_timeout_ends(world, send, receive):
    send("a1", "a2")
    receive(VisibilityTimeout=5)
    send("a3")

    world.advance(seconds=5)

    assert list(receive()) == ["a1", "a2", "a3"]


def test_extended_message_hides_itself_and_all_after_it_in_its_group(world, call, fifo, send, receive):
    send("a1", "a2", "a3")
    handles = receive(VisibilityTimeout=5)
    call("ChangeMessageVisibility", QueueUrl=fifo, ReceiptHandle=handles["a2"], VisibilityTimeout=60)

    world.advance(seconds=5)
    assert list(receive(VisibilityTimeout=55)) == ["a1"]

    world.advance(seconds=55)
    assert list(receive()) == ["a1", "a2", "a3"]


def test_message_whose_timeout_is_set_to_zero_comes_at_once(call, fifo, send, receive):
    send("a1", "a2")
    handles = receive()
    call("ChangeMessageVisibility", QueueUrl=fifo, ReceiptHandle=handles["a1"], VisibilityTimeout=0)

    assert list(receive()) == ["a1"]


def test_message_with_a_timeout_of_zero_is_given_once_by_one_receive(send, receive):
    send("a1", "a2", "b1")

    assert set(receive(VisibilityTimeout=0)) == {"a1", "a2", "b1"}


def test_expired_handle_does_not_delete(world, refusal, fifo, send, receive):
    send("a1")
    handle = receive(VisibilityTimeout=5)["a1"]
    world.advance(seconds=5)

    answer = refusal("DeleteMessage", QueueUrl=fifo, ReceiptHandle=handle)

    assert answer == (
        "InvalidParameterValueException",
        f"Value {handle} for parameter ReceiptHandle is invalid. Reason: The receipt handle has expired.",
    )
    assert list(receive()) == ["a1"]


def test_handle_deletes_within_an_extension(world, call, send, receive, delete):
    send("a1")
    handle = receive(VisibilityTimeout=5)["a1"]
    call("ChangeMessageVisibility", QueueUrl="orders.fifo", ReceiptHandle=handle, VisibilityTimeout=10)
    world.advance(seconds=9)

    delete(handle)

    world.advance(seconds=10)
    assert receive() == {}


def test_older_handle_does_not_delete_what_was_received_again(world, refusal, fifo, send, receive):
    send("a1")
    handle = receive(VisibilityTimeout=0)["a1"]
    receive()

    code, message = refusal("DeleteMessage", QueueUrl=fifo, ReceiptHandle=handle)

    assert (code, message[-31:]) == ("InvalidParameterValueException", "The receipt handle has expired.")


def test_deleting_twice_is_no_error(send, receive, delete):
    send("a1")
    handle = receive()["a1"]

    assert delete(handle) == {}
    assert delete(handle) == {}


def test_expired_handle_does_not_change_the_timeout(world, refusal, fifo, send, receive):
    send("a1")
    handle = receive(VisibilityTimeout=5)["a1"]
    world.advance(seconds=5)

    answer = refusal("ChangeMessageVisibility", QueueUrl=fifo, ReceiptHandle=handle, VisibilityTimeout=5)

    assert answer == (
        "InvalidParameterValueException",
        (
            f"Value {handle} for parameter ReceiptHandle is invalid. "
            "Reason: Message does not exist or is not available for visibility timeout change."
        ),
    )


def test_message_past_its_retention_keeps_its_group_back_no_longer(world, call, fifo, send, receive):
    call("SetQueueAttributes", QueueUrl=fifo, Attributes={"MessageRetentionPeriod": "60"})
    send("a1")
    world.advance(seconds=30)
    send("a2")
    receive(1, VisibilityTimeout=3600)

    world.advance(seconds=30)

    assert list(receive()) == ["a2"]


def test_sweep_makes_the_next_message_of_a_group_its_first(world, call, fifo, send, receive):
    call("SetQueueAttributes", QueueUrl=fifo, Attributes={"MessageRetentionPeriod": "60"})
    send("a1")
    world.advance(minutes=59, seconds=30)
    send("a2")
    world.advance(seconds=30)

    assert list(receive()) == ["a2"]


def test_purged_group_begins_anew(call, fifo, send, receive):
    send("a1", "a2")
    receive(1)
    call("PurgeQueue", QueueUrl=fifo)
    send("a3")

    assert list(receive()) == ["a3"]


def test_all_attributes_of_a_fifo_message_are_shown(call, fifo, send):
    send("a1")

    (message,) = call("ReceiveMessage", QueueUrl=fifo, AttributeNames=["All"])["Messages"]

    assert message["Attributes"] == {
        "SenderId": "000000000000",
        "SentTimestamp": str(START),
        "ApproximateFirstReceiveTimestamp": str(START),
        "ApproximateReceiveCount": "1",
        "MessageGroupId": "a",
        "MessageDeduplicationId": "a1",
        "SequenceNumber": "18731952846173905408",
    }


def test_repeated_attempt_gives_the_same_messages_under_the_same_handles(world, send, receive):
    send("a1", "a2", "b1")
    first = receive(2, ReceiveRequestAttemptId="try")
    world.advance(seconds=10)

    assert receive(2, ReceiveRequestAttemptId="try") == first
    assert list(receive()) == ["b1"]


def test_repeated_attempt_hides_its_messages_anew_and_counts_no_receive(world, call, fifo, send, receive):
    send("a1")
    receive(VisibilityTimeout=10, ReceiveRequestAttemptId="try")
    world.advance(seconds=9)
    handle = receive(VisibilityTimeout=10, ReceiveRequestAttemptId="try")["a1"]

    world.advance(seconds=9)
    assert receive() == {}
    world.advance(seconds=1)
    (message,) = call("ReceiveMessage", QueueUrl=fifo, AttributeNames=["ApproximateReceiveCount"])["Messages"]

    assert message["Attributes"] == {"ApproximateReceiveCount": "2"}
    assert message["ReceiptHandle"] != handle


@pytest.mark.parametrize("change", ["DeleteMessage", "ChangeMessageVisibility"])
def test_attempt_whose_messages_have_changed_is_a_receive_like_any_other(call, fifo, send, receive, change):
    send("a1", "a2", "b1")
    handles = receive(2, ReceiveRequestAttemptId="try")
    timeout = {"VisibilityTimeout": 100} if change == "ChangeMessageVisibility" else {}
    call(change, QueueUrl=fifo, ReceiptHandle=handles["a1"], **timeout)

    assert list(receive(2, ReceiveRequestAttemptId="try")) == ["b1"]


def test_attempt_is_remembered_for_five_minutes_from_its_first_receive(world, send, receive):
    send("a1", "b1")
    first = receive(1, VisibilityTimeout=3600, ReceiveRequestAttemptId="try")
    world.advance(seconds=299.999)
    assert receive(1, VisibilityTimeout=3600, ReceiveRequestAttemptId="try") == first

    world.advance(seconds=0.001)

    assert list(receive(1, ReceiveRequestAttemptId="try")) == ["b1"]


def test_attempt_that_found_nothing_is_not_remembered(send, receive):
    assert receive(ReceiveRequestAttemptId="try") == {}
    send("a1")

    assert list(receive(ReceiveRequestAttemptId="try")) == ["a1"]


def test_attempt_id_of_other_characters_is_refused(refusal, fifo):
    code, message = refusal("ReceiveMessage", QueueUrl=fifo, ReceiveRequestAttemptId="a b")

    assert code == "InvalidParameterValueException"
    assert message.startswith("Value a b for parameter ReceiveRequestAttemptId is invalid.")


@pytest.fixture
def dead(call, fifo) -> str:
    """The dead-letter queue of the FIFO queue, which allows one receive."""
    url: str = call("CreateQueue", QueueName="dead.fifo", Attributes={"FifoQueue": "true"})["QueueUrl"]
    policy = {"deadLetterTargetArn": "arn:aws:sqs:us-east-1:000000000000:dead.fifo", "maxReceiveCount": 1}
    call("SetQueueAttributes", QueueUrl=fifo, Attributes={"RedrivePolicy": json.dumps(policy)})
    return url


def test_message_received_too_often_moves_and_frees_its_group(send, receive, call, dead):
    send("a1", "a2")
    receive(1, VisibilityTimeout=0)

    assert list(receive()) == ["a2"]

    (message,) = call("ReceiveMessage", QueueUrl=dead)["Messages"]
    assert message["Body"] == "a1"


def test_dead_letter_of_a_fifo_queue_is_deduplicated_by_its_message_id(world: World, call, send, receive, dead):
    send("a1")
    receive(VisibilityTimeout=0)
    world.advance(seconds=7)
    receive()

    (message,) = call("ReceiveMessage", QueueUrl=dead, AttributeNames=["All"])["Messages"]

    shown = message["Attributes"]
    assert shown["MessageDeduplicationId"] == message["MessageId"]
    assert shown["MessageGroupId"] == "a"
    assert shown["ApproximateReceiveCount"] == "2"
    assert shown["DeadLetterQueueSourceArn"].endswith(":orders.fifo")
    assert shown["SentTimestamp"] == str(START + 7_000)


def test_retention_of_a_fifo_dead_letter_begins_anew(world, call, send, receive, dead):
    """Source: https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-dead-letter-queues.html"""
    call("SetQueueAttributes", QueueUrl=dead, Attributes={"MessageRetentionPeriod": "60"})
    send("a1")
    receive(VisibilityTimeout=0)
    world.advance(seconds=59)
    receive()

    world.advance(seconds=59)

    assert "Messages" in call("ReceiveMessage", QueueUrl=dead)


def test_dead_letters_of_one_group_keep_their_order(send, receive, call, dead):
    send("a1", "a2", "a3")
    receive(VisibilityTimeout=0)
    receive()

    received = call("ReceiveMessage", QueueUrl=dead, MaxNumberOfMessages=10)["Messages"]

    assert [message["Body"] for message in received] == ["a1", "a2", "a3"]


@pytest.mark.parametrize(("source", "target"), [("orders", "dead.fifo"), ("orders.fifo", "dead")])
def test_dead_letter_queue_is_of_the_same_type(call, refusal, source, target):
    for name in (source, target):
        attributes = {"FifoQueue": "true"} if name.endswith(".fifo") else {}
        call("CreateQueue", QueueName=name, Attributes=attributes)
    arn = f"arn:aws:sqs:us-east-1:000000000000:{target}"
    policy = json.dumps({"deadLetterTargetArn": arn, "maxReceiveCount": 1})

    answer = refusal("SetQueueAttributes", QueueUrl=source, Attributes={"RedrivePolicy": policy})

    assert answer == (
        "InvalidParameterValueException",
        (
            f"Value {arn} for parameter RedrivePolicy is invalid. "
            "Reason: Dead-letter queue must be same type of queue as the source."
        ),
    )


def test_group_that_was_received_from_comes_after_the_others_when_it_is_visible_again(world, call, fifo, send, receive):
    """Also within one instant, when the timeout is ended by hand."""
    send("a1", "b1", "c1", "a2")
    (handle,) = receive(1).values()
    call("ChangeMessageVisibility", QueueUrl=fifo, ReceiptHandle=handle, VisibilityTimeout=0)

    assert list(receive(1)) == ["b1"]
    assert list(receive(1)) == ["c1"]
    assert list(receive(1)) == ["a1"]


def test_group_whose_timeout_has_ended_comes_after_the_others(world, send, receive):
    send("a1", "b1")
    assert list(receive(1)) == ["a1"]
    world.advance(minutes=1)

    assert list(receive(1)) == ["b1"]


def test_group_of_a_deleted_message_comes_after_the_others(send, receive, delete):
    send("a1", "a2", "b1")
    delete(receive(1)["a1"])

    assert list(receive(1)) == ["b1"]
    assert list(receive(1)) == ["a2"]
