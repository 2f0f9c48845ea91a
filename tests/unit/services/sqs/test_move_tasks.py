"""Message move tasks: dead letters on their way back, at a rate, one task at a time."""

from __future__ import annotations

import json

import pytest

from redrive.core.clock import HOUR_MS
from redrive.core.errors import ServiceError
from redrive.core.limits import Limits
from redrive.core.scope import Caller, Scope
from redrive.delivery.worker import FreeSlots
from redrive.services.sqs.limits import ACTIVE_TASKS_MAX, MOVED_PER_STEP_MAX
from redrive.services.sqs.model.move_tasks import MoveStatus, MoveTask, movable, next_move_at
from redrive.services.sqs.workers.move_tasks import MoveTaskWorker
from redrive.testing.world import START
from tests.unit.services.sqs.conftest import refused

DLQ_ARN = "arn:aws:sqs:us-east-1:000000000000:dead"


def arn(name: str) -> str:
    return f"arn:aws:sqs:us-east-1:000000000000:{name}"


def make_source(call, name: str, dlq: str = "dead", **attributes: str) -> str:
    """A queue that gives a message once before it goes to the dead-letter queue."""
    policy = json.dumps({"deadLetterTargetArn": arn(dlq), "maxReceiveCount": 1})
    url: str = call("CreateQueue", QueueName=name, Attributes={"RedrivePolicy": policy, **attributes})["QueueUrl"]
    return url


def kill(call, queue: str, *bodies: str) -> None:
    """Have messages go to the dead-letter queue of a queue."""
    for body in bodies:
        call("SendMessage", QueueUrl=queue, MessageBody=body)
    call("ReceiveMessage", QueueUrl=queue, VisibilityTimeout=0, MaxNumberOfMessages=10)
    call("ReceiveMessage", QueueUrl=queue, VisibilityTimeout=0, MaxNumberOfMessages=10)


def bodies(call, queue: str) -> list[str]:
    received = call("ReceiveMessage", QueueUrl=queue, MaxNumberOfMessages=10, VisibilityTimeout=0)
    return [message["Body"] for message in received.get("Messages", [])]


@pytest.fixture
def dead(call) -> str:
    url: str = call("CreateQueue", QueueName="dead")["QueueUrl"]
    return url


@pytest.fixture
def source(call, dead) -> str:
    return make_source(call, "source")


@pytest.fixture
def latest(call):
    """The latest task of the dead-letter queue."""
    return lambda: call("ListMessageMoveTasks", SourceArn=DLQ_ARN)["Results"][0]


def test_messages_go_back_each_to_the_queue_it_came_from(world, call, source):
    other = make_source(call, "other")
    kill(call, source, "1", "2")
    kill(call, other, "3")

    call("StartMessageMoveTask", SourceArn=DLQ_ARN)
    world.settle()

    assert bodies(call, source) == ["1", "2"]
    assert bodies(call, other) == ["3"]


def test_moved_message_is_as_if_it_were_sent_now(world, call, source, dead):
    """Source: https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-configure-dead-letter-queue-redrive.html"""
    attributes = {"x": {"DataType": "String", "StringValue": "y"}}
    sent = call("SendMessage", QueueUrl=source, MessageBody="1", MessageAttributes=attributes)
    kill(call, source)
    world.advance(hours=1)

    call("StartMessageMoveTask", SourceArn=DLQ_ARN)
    world.settle()

    (message,) = call("ReceiveMessage", QueueUrl=source, AttributeNames=["All"], MessageAttributeNames=["All"])[
        "Messages"
    ]
    assert message["MessageId"] != sent["MessageId"]
    assert message["MessageAttributes"] == attributes
    assert message["Attributes"] == {
        "SenderId": "000000000000",
        "SentTimestamp": str(START + HOUR_MS),
        "ApproximateFirstReceiveTimestamp": str(START + HOUR_MS),
        "ApproximateReceiveCount": "1",
    }


def test_messages_go_to_the_destination_if_there_is_one(world, call, source, dead, latest):
    place = call("CreateQueue", QueueName="place")["QueueUrl"]
    call("SendMessage", QueueUrl=dead, MessageBody="sent here")
    kill(call, source, "1")

    call("StartMessageMoveTask", SourceArn=DLQ_ARN, DestinationArn=arn("place"))
    world.settle()

    assert bodies(call, place) == ["sent here", "1"]
    assert latest()["DestinationArn"] == arn("place")


def test_task_is_shown_while_it_runs_and_when_it_is_complete(world, call, source, latest):
    kill(call, source, "1")
    handle = call("StartMessageMoveTask", SourceArn=DLQ_ARN)["TaskHandle"]
    assert {key: value for key, value in latest().items() if value is not None} == {
        "TaskHandle": handle,
        "Status": "RUNNING",
        "SourceArn": DLQ_ARN,
        "ApproximateNumberOfMessagesMoved": 0,
        "ApproximateNumberOfMessagesToMove": 1,
        "StartedTimestamp": START,
    }

    world.settle()

    assert {key: value for key, value in latest().items() if value is not None} == {
        "Status": "COMPLETED",
        "SourceArn": DLQ_ARN,
        "ApproximateNumberOfMessagesMoved": 1,
        "ApproximateNumberOfMessagesToMove": 1,
        "StartedTimestamp": START,
    }


def test_messages_move_at_their_rate(world, call, source, latest):
    kill(call, source, *"12345")
    call("StartMessageMoveTask", SourceArn=DLQ_ARN, MaxNumberOfMessagesPerSecond=2)

    moved = []
    world.settle()
    for _ in range(5):
        moved.append(latest()["ApproximateNumberOfMessagesMoved"])
        world.advance(seconds=0.5)

    assert moved == [1, 2, 3, 4, 5]
    assert latest()["Status"] == "COMPLETED"


def test_slow_worker_catches_up_and_moves_no_more_than_the_rate(call):
    task = MoveTask("id", "queue", DLQ_ARN, None, rate=50, started_at=START, to_move=1_000)

    assert movable(task, START) == 1
    assert movable(task, START + 1_000) == 51
    assert movable(task, START + 60_000) == MOVED_PER_STEP_MAX
    assert next_move_at(task, START) == START + 100


def test_message_that_came_after_the_start_stays(world, call, source, dead, latest):
    kill(call, source, "1")
    call("StartMessageMoveTask", SourceArn=DLQ_ARN)
    call("SendMessage", QueueUrl=dead, MessageBody="late")

    world.settle()

    assert latest()["ApproximateNumberOfMessagesToMove"] == 1
    assert bodies(call, dead) == ["late"]


def test_task_ends_when_others_have_taken_the_messages(world, call, source, dead, latest):
    kill(call, source, "1", "2")
    call("ReceiveMessage", QueueUrl=dead, VisibilityTimeout=100)
    call("StartMessageMoveTask", SourceArn=DLQ_ARN, MaxNumberOfMessagesPerSecond=1)
    call("ReceiveMessage", QueueUrl=dead, VisibilityTimeout=100)

    world.settle()

    assert (latest()["Status"], latest()["ApproximateNumberOfMessagesMoved"]) == ("COMPLETED", 0)


def test_cancelled_task_moves_no_more(world, call, source, dead, latest):
    kill(call, source, "1", "2", "3")
    handle = call("StartMessageMoveTask", SourceArn=DLQ_ARN, MaxNumberOfMessagesPerSecond=1)["TaskHandle"]
    world.advance(seconds=1)

    assert call("CancelMessageMoveTask", TaskHandle=handle) == {"ApproximateNumberOfMessagesMoved": 2}

    world.advance(hours=1)
    assert latest()["Status"] == "CANCELLED"
    assert bodies(call, dead) == ["3"]


def test_only_a_running_task_can_be_cancelled(world, call, refusal, source):
    handle = call("StartMessageMoveTask", SourceArn=DLQ_ARN)["TaskHandle"]
    world.settle()

    assert refusal("CancelMessageMoveTask", TaskHandle=handle) == (
        "InvalidParameterValueException",
        "Only active tasks can be cancelled.",
    )


def test_handle_of_no_task_is_refused(world, call, refusal, source, dead):
    assert refusal("CancelMessageMoveTask", TaskHandle="x") == (
        "InvalidParameterValueException",
        "Value for parameter TaskHandle is invalid.",
    )
    handle = call("StartMessageMoveTask", SourceArn=DLQ_ARN)["TaskHandle"]
    call("DeleteQueue", QueueUrl=dead)
    call("CreateQueue", QueueName="dead")
    assert refusal("CancelMessageMoveTask", TaskHandle=handle) == (
        "ResourceNotFoundException",
        "Task does not exist.",
    )


def test_source_must_be_a_dead_letter_queue(call, refusal, queue):
    assert refusal("StartMessageMoveTask", SourceArn=arn("orders")) == (
        "InvalidParameterValueException",
        "Source queue must be configured as a Dead Letter Queue.",
    )


@pytest.mark.parametrize("operation", ["StartMessageMoveTask", "ListMessageMoveTasks"])
def test_source_of_a_task_must_exist(refusal, operation):
    assert refusal(operation, SourceArn=arn("nothing")) == (
        "ResourceNotFoundException",
        "The resource that you specified for the SourceArn parameter doesn't exist.",
    )
    assert refusal(operation, SourceArn="nothing")[0] == "InvalidParameterValueException"


def test_destination_of_a_task_must_exist(refusal, source):
    assert refusal("StartMessageMoveTask", SourceArn=DLQ_ARN, DestinationArn=arn("nothing")) == (
        "ResourceNotFoundException",
        "The resource that you specified for the DestinationArn parameter doesn't exist.",
    )


def test_destination_is_another_queue_of_the_same_type(call, refusal, source):
    call("CreateQueue", QueueName="other.fifo", Attributes={"FifoQueue": "true"})

    for destination in (DLQ_ARN, arn("other.fifo")):
        answer = refusal("StartMessageMoveTask", SourceArn=DLQ_ARN, DestinationArn=destination)
        assert answer[0] == "InvalidParameterValueException"


def test_second_task_of_a_source_is_refused_while_the_first_runs(world, call, refusal, source):
    call("StartMessageMoveTask", SourceArn=DLQ_ARN)

    assert refusal("StartMessageMoveTask", SourceArn=DLQ_ARN) == (
        "InvalidParameterValueException",
        "There is already a task running. Only one active task is allowed for a source queue arn at a given time.",
    )
    world.settle()
    call("StartMessageMoveTask", SourceArn=DLQ_ARN)


@pytest.mark.parametrize("rate", [0, 501])
def test_rate_outside_its_range_is_refused(refusal, source, rate):
    code, message = refusal("StartMessageMoveTask", SourceArn=DLQ_ARN, MaxNumberOfMessagesPerSecond=rate)

    assert code == "InvalidParameterValueException"
    assert message.startswith(f"Value {rate} for parameter MaxNumberOfMessagesPerSecond is invalid.")


def test_task_fails_where_the_origin_of_a_message_is_not_known(world, call, source, dead, latest):
    kill(call, source, "1")
    call("SendMessage", QueueUrl=dead, MessageBody="sent here")

    call("StartMessageMoveTask", SourceArn=DLQ_ARN)
    world.settle()

    assert latest()["FailureReason"] == "CouldNotDetermineMessageSource"
    assert (latest()["Status"], latest()["ApproximateNumberOfMessagesMoved"]) == ("FAILED", 1)
    assert bodies(call, dead) == ["sent here"]


@pytest.mark.parametrize("gone", ["source", "dead", "place"])
def test_task_fails_when_a_queue_is_gone(world, call, source, gone):
    place = {"DestinationArn": arn("place")} if gone == "place" else {}
    call("CreateQueue", QueueName="place")
    kill(call, source, "1", "2")
    call("StartMessageMoveTask", SourceArn=DLQ_ARN, MaxNumberOfMessagesPerSecond=1, **place)
    world.settle()
    call("DeleteQueue", QueueUrl=gone)
    world.advance(seconds=1)

    (scope_and_task,) = world.store.run(lambda tx: tx.resources.everywhere(MoveTask))

    assert scope_and_task[1].status is MoveStatus.FAILED
    assert scope_and_task[1].failure_reason == "AWS.SimpleQueueService.NonExistentQueue"


def test_task_fails_after_36_hours(world, call, source, dead, latest):
    kill(call, source, "1", "2")
    call("StartMessageMoveTask", SourceArn=DLQ_ARN, MaxNumberOfMessagesPerSecond=1)
    world.settle()
    world.clock.move_to(START + 36 * HOUR_MS)

    world.settle()

    assert (latest()["Status"], latest()["ApproximateNumberOfMessagesMoved"]) == ("FAILED", 1)
    assert bodies(call, dead) == ["2"]


def test_latest_task_is_listed_unless_more_are_asked_for(world, call, source):
    for _ in range(12):
        call("StartMessageMoveTask", SourceArn=DLQ_ARN)
        world.advance(seconds=1)

    latest = call("ListMessageMoveTasks", SourceArn=DLQ_ARN)["Results"]
    all_of_them = call("ListMessageMoveTasks", SourceArn=DLQ_ARN, MaxResults=10)["Results"]

    assert [task["StartedTimestamp"] for task in latest] == [START + 11_000]
    assert [task["StartedTimestamp"] for task in all_of_them] == [START + n * 1_000 for n in range(11, 1, -1)]


@pytest.mark.parametrize("count", [0, 11])
def test_listing_more_than_ten_tasks_is_refused(refusal, source, count):
    assert refusal("ListMessageMoveTasks", SourceArn=DLQ_ARN, MaxResults=count)[0] == "InvalidParameterValueException"


@pytest.mark.parametrize(("limits", "code"), [(Limits.STRICT, "OverLimit"), (Limits.RELAXED, None)])
def test_account_has_at_most_100_active_tasks(call_under, limits, code):
    call = call_under(limits)
    for number in range(ACTIVE_TASKS_MAX + 1):
        call("CreateQueue", QueueName=f"dead{number}")
        make_source(call, f"source{number}", f"dead{number}")

    for number in range(ACTIVE_TASKS_MAX):
        call("StartMessageMoveTask", SourceArn=arn(f"dead{number}"))

    assert refused(call, "StartMessageMoveTask", SourceArn=arn(f"dead{ACTIVE_TASKS_MAX}")) == code


def test_more_messages_than_one_step_moves_are_moved_in_steps(world, call, dead, source):
    place = call("CreateQueue", QueueName="place")["QueueUrl"]
    for _ in range(MOVED_PER_STEP_MAX + 1):
        call("SendMessage", QueueUrl=dead, MessageBody="1")

    call("StartMessageMoveTask", SourceArn=DLQ_ARN, DestinationArn=arn("place"))
    world.settle()

    shown = call("GetQueueAttributes", QueueUrl=place, AttributeNames=["ApproximateNumberOfMessages"])
    assert shown["Attributes"] == {"ApproximateNumberOfMessages": str(MOVED_PER_STEP_MAX + 1)}


def test_step_that_is_undone_moves_nothing_and_is_done_again(world, call, source, dead, latest):
    """A crash before the commit neither loses a message nor moves it twice."""
    kill(call, source, "1", "2")
    call("StartMessageMoveTask", SourceArn=DLQ_ARN)

    def crash(tx) -> None:
        MoveTaskWorker().claim(tx, free=FreeSlots(1))
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        world.store.run(crash)
    assert latest()["ApproximateNumberOfMessagesMoved"] == 0
    assert bodies(call, dead) == ["1", "2"]
    world.settle()

    assert latest()["ApproximateNumberOfMessagesMoved"] == 2
    assert (bodies(call, dead), bodies(call, source)) == ([], ["1", "2"])


def test_fifo_messages_go_back_in_order(world, call):
    dead = call("CreateQueue", QueueName="dead.fifo", Attributes={"FifoQueue": "true"})["QueueUrl"]
    source = make_source(call, "source.fifo", "dead.fifo", FifoQueue="true")
    for body in ("a1", "a2", "b1"):
        call("SendMessage", QueueUrl=source, MessageBody=body, MessageGroupId=body[0], MessageDeduplicationId=body)
    for _ in range(2):
        call("ReceiveMessage", QueueUrl=source, VisibilityTimeout=0, MaxNumberOfMessages=10)
    assert bodies(call, dead) == ["a1", "a2", "b1"]

    call("StartMessageMoveTask", SourceArn=arn("dead.fifo"))
    world.settle()

    received = call("ReceiveMessage", QueueUrl=source, MaxNumberOfMessages=10, AttributeNames=["All"])["Messages"]
    assert [message["Body"] for message in received if message["Body"][0] == "a"] == ["a1", "a2"]
    assert all(message["Attributes"]["MessageDeduplicationId"] == message["MessageId"] for message in received)
    assert bodies(call, dead) == []


def test_source_that_is_not_there_is_404_and_so_is_a_task_of_another_account(world, call, dead):
    source = make_source(call, "source")
    kill(call, source, "1")
    handle = call("StartMessageMoveTask", SourceArn=DLQ_ARN)["TaskHandle"]
    stranger = Caller(Scope("111111111111", "us-east-1"), "r")

    with pytest.raises(ServiceError) as missing:
        call("StartMessageMoveTask", SourceArn=arn("missing"))
    with pytest.raises(ServiceError) as foreign:
        world.engine.call(stranger, "sqs", "CancelMessageMoveTask", {"TaskHandle": handle})

    answers = [(error.value.code, error.value.http_status) for error in (missing, foreign)]
    assert answers == [("ResourceNotFoundException", 404)] * 2
