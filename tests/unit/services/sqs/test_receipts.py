"""What a receipt handle may do: delete, hide longer, show again; and when it is too old to."""

from __future__ import annotations

import base64

import pytest

INVALID = "InvalidParameterValueException"


@pytest.fixture
def receive(call, queue):
    """Receive one message; answers its handle."""
    return lambda **params: call("ReceiveMessage", QueueUrl=queue, **params)["Messages"][0]["ReceiptHandle"]


@pytest.fixture
def handle(call, queue, receive):
    """The handle of a message that has just been received."""
    call("SendMessage", QueueUrl=queue, MessageBody="1")
    return receive()


def test_deleted_message_never_comes_back(world, call, queue, handle):
    call("DeleteMessage", QueueUrl=queue, ReceiptHandle=handle)

    world.advance(minutes=1)
    assert call("ReceiveMessage", QueueUrl=queue) == {}


def test_deleting_twice_is_no_error(call, queue, handle):
    call("DeleteMessage", QueueUrl=queue, ReceiptHandle=handle)

    assert call("DeleteMessage", QueueUrl=queue, ReceiptHandle=handle) == {}


def test_handle_deletes_after_its_timeout_until_a_newer_receive(world, call, queue, handle):
    world.advance(minutes=1)

    call("DeleteMessage", QueueUrl=queue, ReceiptHandle=handle)

    assert call("ReceiveMessage", QueueUrl=queue) == {}


def test_older_handle_succeeds_and_deletes_nothing(world, call, queue, handle, receive):
    world.advance(minutes=1)
    receive()

    assert call("DeleteMessage", QueueUrl=queue, ReceiptHandle=handle) == {}

    world.advance(minutes=1)
    assert receive()


def reencoded(handle: str, old: bytes, new: bytes) -> str:
    return base64.b64encode(base64.b64decode(handle).replace(old, new)).decode()


@pytest.mark.parametrize(
    "forged", ["x", "AAAA", "ä", base64.b64encode(b"a:b:c").decode(), base64.b64encode(b"a:1").decode()]
)
@pytest.mark.parametrize("operation", ["DeleteMessage", "ChangeMessageVisibility"])
def test_text_that_no_receive_gave_is_refused(refusal, queue, operation, forged):
    more = {"VisibilityTimeout": 1} if operation == "ChangeMessageVisibility" else {}

    answer = refusal(operation, QueueUrl=queue, ReceiptHandle=forged, **more)

    assert answer == ("ReceiptHandleIsInvalid", f'The input receipt handle "{forged}" is not a valid receipt handle.')


@pytest.mark.parametrize("seq", [b":0:", b":-1:", b":9223372036854775808:"])
def test_handle_with_an_impossible_number_is_refused(refusal, queue, handle, seq):
    forged = reencoded(handle, b":1:", seq)

    assert refusal("DeleteMessage", QueueUrl=queue, ReceiptHandle=forged)[0] == "ReceiptHandleIsInvalid"


def test_handle_of_another_queue_is_refused(call, refusal, handle):
    other = call("CreateQueue", QueueName="other")["QueueUrl"]

    assert refusal("DeleteMessage", QueueUrl=other, ReceiptHandle=handle) == (
        "ReceiptHandleIsInvalid",
        f'The receipt handle "{handle}" is not valid for this queue.',
    )


def test_empty_handle_is_a_missing_parameter(refusal, queue):
    answer = refusal("DeleteMessage", QueueUrl=queue, ReceiptHandle="")

    assert answer == ("MissingRequiredParameterException", "The request must contain the parameter ReceiptHandle.")


def test_changed_timeout_counts_from_the_change(world, call, queue, handle):
    world.advance(seconds=15)
    call("ChangeMessageVisibility", QueueUrl=queue, ReceiptHandle=handle, VisibilityTimeout=60)

    world.advance(seconds=59.999)
    assert call("ReceiveMessage", QueueUrl=queue) == {}
    world.advance(seconds=0.001)
    assert "Messages" in call("ReceiveMessage", QueueUrl=queue)


def test_changed_timeout_is_not_remembered_by_the_next_receive(world, call, queue, handle, receive):
    call("ChangeMessageVisibility", QueueUrl=queue, ReceiptHandle=handle, VisibilityTimeout=0)
    receive()

    world.advance(seconds=30)

    assert "Messages" in call("ReceiveMessage", QueueUrl=queue)


def test_timeout_of_zero_shows_the_message_and_tells_those_who_wait(world, call, queue, handle):
    topics: list[frozenset[str]] = []
    world.store.on_commit(topics.append)

    call("ChangeMessageVisibility", QueueUrl=queue, ReceiptHandle=handle, VisibilityTimeout=0)

    assert len(topics) == 1
    assert "Messages" in call("ReceiveMessage", QueueUrl=queue)


def test_expired_handle_hides_the_message_again(world, call, queue, handle):
    world.advance(minutes=1)

    call("ChangeMessageVisibility", QueueUrl=queue, ReceiptHandle=handle, VisibilityTimeout=10)

    assert call("ReceiveMessage", QueueUrl=queue) == {}


@pytest.mark.parametrize("timeout", [-1, 43201])
def test_timeout_outside_its_range_is_refused(refusal, queue, handle, timeout):
    answer = refusal("ChangeMessageVisibility", QueueUrl=queue, ReceiptHandle=handle, VisibilityTimeout=timeout)

    assert answer == (
        INVALID,
        (
            f"Value {timeout} for parameter VisibilityTimeout is invalid. Reason: "
            "VisibilityTimeout must be an integer between 0 and 43200."
        ),
    )


def test_twelve_hours_from_the_receive_are_the_end(world, call, refusal, queue, handle):
    call("ChangeMessageVisibility", QueueUrl=queue, ReceiptHandle=handle, VisibilityTimeout=43200)
    world.advance(seconds=1)

    answer = refusal("ChangeMessageVisibility", QueueUrl=queue, ReceiptHandle=handle, VisibilityTimeout=43200)

    assert answer == (
        INVALID,
        (
            "Value 43200 for parameter VisibilityTimeout is invalid. "
            "Reason: Total VisibilityTimeout for the message is beyond the limit [43200 seconds]"
        ),
    )


def test_timeout_of_a_deleted_message_cannot_be_changed(call, refusal, queue, handle):
    call("DeleteMessage", QueueUrl=queue, ReceiptHandle=handle)

    answer = refusal("ChangeMessageVisibility", QueueUrl=queue, ReceiptHandle=handle, VisibilityTimeout=1)

    assert answer == (
        INVALID,
        (
            f"Value {handle} for parameter ReceiptHandle is invalid. "
            "Reason: Message does not exist or is not available for visibility timeout change."
        ),
    )


def test_older_handle_changes_the_timeout_of_a_newer_receive(world, call, handle, receive):
    world.advance(minutes=1)
    receive()

    call("ChangeMessageVisibility", QueueUrl="orders", ReceiptHandle=handle, VisibilityTimeout=0)

    assert len(call("ReceiveMessage", QueueUrl="orders")["Messages"]) == 1


def test_older_handle_in_a_fifo_queue_changes_no_timeout(world, call, refusal, fifo):
    call("SendMessage", QueueUrl=fifo, MessageBody="1", MessageGroupId="g", MessageDeduplicationId="1")
    older = call("ReceiveMessage", QueueUrl=fifo)["Messages"][0]["ReceiptHandle"]
    world.advance(minutes=1)
    call("ReceiveMessage", QueueUrl=fifo)

    assert refusal("ChangeMessageVisibility", QueueUrl=fifo, ReceiptHandle=older, VisibilityTimeout=0)[0] == INVALID


def test_batch_deletes_what_it_can(call, queue, handle):
    entries = [{"Id": "good", "ReceiptHandle": handle}, {"Id": "bad", "ReceiptHandle": "x"}]

    assert call("DeleteMessageBatch", QueueUrl=queue, Entries=entries) == {
        "Successful": [{"Id": "good"}],
        "Failed": [
            {
                "Id": "bad",
                "SenderFault": True,
                "Code": "ReceiptHandleIsInvalid",
                "Message": 'The input receipt handle "x" is not a valid receipt handle.',
            }
        ],
    }


def test_batch_changes_timeouts_and_takes_none_for_zero(call, queue, handle):
    entries = [{"Id": "good", "ReceiptHandle": handle}, {"Id": "bad", "ReceiptHandle": handle, "VisibilityTimeout": -1}]

    answer = call("ChangeMessageVisibilityBatch", QueueUrl=queue, Entries=entries)

    assert answer["Successful"] == [{"Id": "good"}]
    assert [entry["Code"] for entry in answer["Failed"]] == ["InvalidParameterValue"]
    assert "Messages" in call("ReceiveMessage", QueueUrl=queue)


@pytest.mark.parametrize("operation", ["DeleteMessageBatch", "ChangeMessageVisibilityBatch"])
def test_batch_of_receipts_is_checked_as_a_whole(refusal, queue, operation):
    assert refusal(operation, QueueUrl=queue, Entries=[]) == (
        "EmptyBatchRequest",
        f"There should be at least one {operation}RequestEntry in the request.",
    )
    assert refusal(operation, QueueUrl=queue, Entries=[{"Id": "a"}]) == (
        "MissingRequiredParameterException",
        f"The request must contain the parameter {operation}RequestEntry.1.ReceiptHandle.",
    )
