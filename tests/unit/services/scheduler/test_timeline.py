"""One execution, one timeline: through every retry layer, dead-letter queues and move tasks."""

from __future__ import annotations

from typing import Any

from redrive.delivery.faults import Fault, add_fault
from redrive.store.tables.attempts import RunState
from redrive.store.tables.runs import RunFilter, TimelineEvent

ONCE = "at(2025-01-01T01:00:00)"


def timeline(desk: Any, id: str) -> list[TimelineEvent]:
    """The timeline of the execution to which something belongs."""
    execution_id = desk.world.store.run(lambda tx: tx.runs.execution_of(id))
    found: list[TimelineEvent] = desk.world.store.run(lambda tx: tx.runs.timeline(execution_id))
    return found


def the_run(desk: Any, arn: str) -> Any:
    (run,) = desk.world.store.run(lambda tx: tx.runs.page(RunFilter(source_arn=arn), limit=2))
    return run


def test_occurrence_and_its_retries_are_one_timeline(desk: Any) -> None:
    desk.world.store.run(lambda tx: add_fault(tx, Fault("", desk.orders, "ThrottlingException", "no", times=1)))
    arn = desk.create(ONCE, Target=desk.target(Input="x"))

    desk.world.advance(hours=2)

    events = timeline(desk, the_run(desk, arn).execution_id)
    assert [(event.event, event.attempt, event.code) for event in events] == [
        ("began", 0, ""), ("attempted", 1, "ThrottlingException"), ("attempted", 2, ""),
    ]  # fmt: skip
    assert events[1].next_at == events[2].at
    assert events[2].state == RunState.DELIVERED.value


def test_message_that_an_execution_sent_leads_to_its_timeline(desk: Any) -> None:
    arn = desk.create(ONCE, Target=desk.target(Input="x"))
    desk.world.advance(hours=2)
    (message,) = desk.take()

    events = timeline(desk, message["MessageId"])

    assert [event.delivery_id for event in events] == [the_run(desk, arn).delivery_id] * 2
    assert events[-1].led_to == message["MessageId"]


def test_dead_letter_keeps_its_execution_when_a_task_moves_it(desk: Any) -> None:
    """The schedule's letter is moved to the queue of orders: a new message id, the same execution."""
    desk.world.store.run(lambda tx: add_fault(tx, Fault("", desk.orders, "AccessDeniedException", "no", times=1)))
    arn = desk.create(ONCE, Target=desk.target(DeadLetterConfig={"Arn": desk.dead}))
    desk.world.advance(hours=2)
    desk.world.call(
        "sqs", "SetQueueAttributes", QueueUrl="orders",
        Attributes={"RedrivePolicy": f'{{"deadLetterTargetArn": "{desk.dead}", "maxReceiveCount": 1}}'},
    )  # fmt: skip

    desk.world.call("sqs", "StartMessageMoveTask", SourceArn=desk.dead, DestinationArn=desk.orders)
    desk.world.advance(minutes=1)

    (message,) = desk.take()
    events = timeline(desk, message["MessageId"])
    assert [(event.event, event.state) for event in events] == [
        ("began", "dead-lettered"), ("attempted", "dead-lettered"), ("moved", ""),
    ]  # fmt: skip
    assert (events[1].arn, events[1].led_to) == (desk.dead, events[2].why)
    assert (events[2].source_arn, events[2].target_arn, events[2].kind) == (desk.dead, desk.orders, "move task")
    assert the_run(desk, arn).state is RunState.DEAD_LETTERED


def test_message_that_is_received_too_often_leaves_a_trace(desk: Any) -> None:
    """Dead-lettered by its queue: under the same message id, with the execution that sent it."""
    desk.world.call(
        "sqs", "SetQueueAttributes", QueueUrl="orders",
        Attributes={"RedrivePolicy": f'{{"deadLetterTargetArn": "{desk.dead}", "maxReceiveCount": 1}}'},
    )  # fmt: skip
    desk.create(ONCE, Target=desk.target(Input="x"))
    desk.world.advance(hours=2)
    (message,) = desk.world.call("sqs", "ReceiveMessage", QueueUrl="orders")["Messages"]
    desk.world.advance(minutes=5)

    assert not desk.world.call("sqs", "ReceiveMessage", QueueUrl="orders").get("Messages")

    moved = timeline(desk, message["MessageId"])[-1]
    assert (moved.event, moved.kind, moved.why, moved.led_to) == (
        "moved", "redrive policy", message["MessageId"], message["MessageId"]
    )  # fmt: skip
    assert moved.receive_count == 1


def test_clients_see_nothing_of_the_execution_that_sent_a_message(desk: Any) -> None:
    """It shows as AWS's own: in the session name of the role that sent the message, and nowhere else."""
    arn = desk.create(ONCE, Target=desk.target(Input="x"))
    desk.world.advance(hours=2)

    (message,) = desk.take()

    sender = message["Attributes"].pop("SenderId")
    execution_id = the_run(desk, arn).execution_id
    assert sender.endswith(f":{execution_id}")
    assert execution_id not in str(message)


def test_what_a_client_sends_after_a_delivery_has_no_cause(desk: Any) -> None:
    desk.create(ONCE, Target=desk.target(Input="x"))
    desk.world.advance(hours=2)

    desk.world.call("sqs", "SendMessage", QueueUrl="orders", MessageBody="by hand")

    causes = desk.world.store.connection.execute("SELECT cause IS NULL FROM messages ORDER BY seq").fetchall()
    assert causes == [(0,), (1,)]
