"""What PutEvents delivers itself, and what it leaves to the delivery worker."""

from __future__ import annotations

import json
from typing import Any

import pytest

from redrive.delivery.faults import Fault, add_fault, clear_faults
from redrive.delivery.history.runs import Run, run_of
from redrive.services.events import at_once
from redrive.services.events.limits import AT_ONCE_MAX
from redrive.store.api import Transaction
from redrive.store.tables.attempts import RunState

QUEUE = "arn:aws:sqs:us-east-1:000000000000:q"
FRAME = ("BEGIN", "COMMIT", "SAVEPOINT", "RELEASE")


def publish(bus_desk: Any, count: int, **more: Any) -> list[str]:
    """Publish events in one call, and let nothing else happen; answers their ids."""
    entries = [
        {"Source": "shop", "DetailType": "Order", "Detail": json.dumps({"number": number}), **more}
        for number in range(count)
    ]
    return [answer["EventId"] for answer in bus_desk.events.put_events(Entries=entries)["Entries"]]


def promised(bus_desk: Any) -> int:
    """How many deliveries wait for the worker."""
    return int(bus_desk.world.store.run(lambda tx: len(tx.deliveries.due("inside", tx.now, limit=1_000))))


def test_messages_are_in_the_queue_when_the_call_is_answered(bus_desk: Any) -> None:
    bus_desk.rule(bus_desk.queue("q"))

    ids = publish(bus_desk, 3)

    assert promised(bus_desk) == 0
    assert sorted(event["id"] for event in bus_desk.received()) == sorted(ids)


def test_messages_of_a_call_belong_to_the_executions_of_their_own_events(bus_desk: Any) -> None:
    bus_desk.rule(bus_desk.queue("q"))

    ids = publish(bus_desk, 3)

    def recorded(tx: Transaction) -> list[Run]:
        return [run for one in ids if (run := run_of(tx, f"{one}/r/1")) is not None]

    runs = bus_desk.world.store.run(recorded)
    assert [(run.facts.execution_id, run.state, run.records[0].attempt) for run in runs] == [
        (one, RunState.DELIVERED, 1) for one in ids
    ]
    bodies = {message["MessageId"]: json.loads(message["Body"])["id"] for message in bus_desk.take()}
    assert [bodies[run.records[0].led_to] for run in runs] == ids


def test_messages_of_a_call_are_caused_by_their_own_events(bus_desk: Any) -> None:
    bus_desk.rule(bus_desk.queue("q"))

    ids = publish(bus_desk, 3)

    causes = bus_desk.world.store.connection.execute("SELECT cause FROM messages").fetchall()
    assert sorted(cause for (cause,) in causes) == sorted(ids)


def test_queue_that_refuses_leaves_a_promise_and_its_dead_letter(bus_desk: Any) -> None:
    dead = bus_desk.queue("dead")
    closed = bus_desk.queue("q", principal={"Service": "sns.amazonaws.com"})
    bus_desk.rule({"Arn": closed, "DeadLetterConfig": {"Arn": dead}})

    publish(bus_desk, 1)

    assert promised(bus_desk) == 1
    bus_desk.world.settle()
    assert bus_desk.letter()[1]["RETRY_ATTEMPTS"] == "0"


def test_queue_that_refuses_does_not_keep_another_from_its_message(bus_desk: Any) -> None:
    closed = bus_desk.queue("closed", principal={"Service": "sns.amazonaws.com"})
    bus_desk.rule(closed, bus_desk.queue("q"))

    publish(bus_desk, 2)

    assert promised(bus_desk) == 2
    assert len(bus_desk.bodies()) == 2


def test_entry_that_a_queue_refuses_leaves_the_other_entries_delivered(bus_desk: Any) -> None:
    """A queue takes messages of up to 1,024 bytes: the event with the long detail is promised alone."""
    bus_desk.rule(bus_desk.queue("q", MaximumMessageSize="1024"))
    entries = [
        {"Source": "shop", "DetailType": "Order", "Detail": json.dumps({"note": "x" * length})} for length in (1, 2_000)
    ]

    bus_desk.events.put_events(Entries=entries)

    assert promised(bus_desk) == 1
    assert len(bus_desk.bodies()) == 1


def test_fault_strikes_a_delivery_that_could_be_made_at_once(bus_desk: Any) -> None:
    bus_desk.rule(bus_desk.queue("q"))
    bus_desk.world.store.run(lambda tx: add_fault(tx, Fault("", QUEUE, "ThrottlingException", times=1)))

    publish(bus_desk, 1)
    bus_desk.world.settle()
    before = len(bus_desk.bodies())
    bus_desk.world.store.run(clear_faults)
    bus_desk.world.advance(minutes=10)

    assert (before, len(bus_desk.bodies())) == (0, 1)


def test_deliveries_beyond_the_limit_of_a_call_are_promised(bus_desk: Any) -> None:
    queue = bus_desk.queue("q")
    for number in range(AT_ONCE_MAX // 10 + 1):
        bus_desk.rule(queue, name=f"r{number}")

    publish(bus_desk, 10)

    assert promised(bus_desk) == 10
    bus_desk.world.settle()
    assert len(bus_desk.bodies()) == AT_ONCE_MAX + 10


def test_fifo_queue_gets_the_events_of_a_call_in_their_order(bus_desk: Any) -> None:
    arn = bus_desk.queue("q.fifo", FifoQueue="true", ContentBasedDeduplication="true")
    bus_desk.rule({"Arn": arn, "SqsParameters": {"MessageGroupId": "g"}})

    publish(bus_desk, 10)

    assert [event["detail"]["number"] for event in bus_desk.received("q.fifo")] == list(range(10))


def test_events_into_a_queue_cost_two_statements_each(bus_desk: Any) -> None:
    """The message, and the run with its attempt; no row for the promise, none for what rule or policy say."""
    bus_desk.rule(bus_desk.queue("q"))
    publish(bus_desk, 1)
    seen: list[str] = []
    bus_desk.world.store.connection.set_trace_callback(lambda sql: None if sql.startswith(FRAME) else seen.append(sql))

    publish(bus_desk, 10)

    assert len(seen) == 20


def test_fifty_rules_that_do_not_match_cost_no_statement(bus_desk: Any) -> None:
    queue = bus_desk.queue("q")
    bus_desk.rule(queue)
    for number in range(50):
        bus_desk.rule(queue, name=f"other-{number}", pattern={"source": [f"other-{number}"]})
    publish(bus_desk, 1)
    seen: list[str] = []
    bus_desk.world.store.connection.set_trace_callback(lambda sql: None if sql.startswith(FRAME) else seen.append(sql))

    publish(bus_desk, 10)

    assert len(seen) == 20


@pytest.mark.parametrize("at_once_max", [AT_ONCE_MAX, 0])
def test_fifo_queue_gets_the_events_of_a_call_in_the_order_of_the_entries(
    at_once_max: int, bus_desk: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By PutEvents itself, and by the worker: first attempts keep the order."""
    monkeypatch.setattr(at_once, "AT_ONCE_MAX", at_once_max)
    queue = bus_desk.queue("q.fifo", FifoQueue="true", ContentBasedDeduplication="true")
    bus_desk.rule({"Arn": queue, "SqsParameters": {"MessageGroupId": "g"}})

    ids = publish(bus_desk, 10)
    bus_desk.world.settle()
    ids += publish(bus_desk, 10)
    bus_desk.world.settle()

    assert [event["id"] for event in bus_desk.received("q.fifo")] == ids
