"""When mappings are looked at: never in vain for long, never too late, and at no cost while nothing arrives."""

from __future__ import annotations

import contextlib
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from redrive.core.documents import Document
from redrive.core.errors import ServiceError
from redrive.delivery.sources.watches import Reader, Watch, arrived, unwatch, watch
from redrive.delivery.worker import ONE, FreeSlots
from redrive.services.lambda_.model.function import Function
from redrive.services.lambda_.model.mapping import EventSourceMapping
from redrive.services.lambda_.paces import NAME, is_full
from redrive.services.lambda_.watches import paused_until
from redrive.services.sqs.retention import MessageSweep
from redrive.services.sqs.visibility import next_visible
from redrive.services.sqs.workers.move_tasks import MoveTaskWorker
from redrive.store.api import Transaction
from redrive.store.migrate import migrations
from tests.unit.services.lambda_.functions import QUEUE_ARN, ROLE, SCOPE, START, Rig, raised

FRAME = ("BEGIN", "COMMIT", "SAVEPOINT", "RELEASE", "ROLLBACK")


def map_queue(rig: Rig, name: str = "orders", **params: object) -> str:
    """A queue that is mapped to the function; answers the mapping's UUID."""
    rig.create_queue(name)
    given = {"EventSourceArn": f"{QUEUE_ARN}{name}", "FunctionName": "worker", **params}
    return str(rig.call("CreateEventSourceMapping", **given)["UUID"])


def statements(rig: Rig, work: Callable[[], object]) -> list[str]:
    """What the database is asked meanwhile, without what frames transactions."""
    seen: list[str] = []
    rig.store.connection.set_trace_callback(seen.append)
    work()
    rig.store.connection.set_trace_callback(None)
    return [one for one in seen if not one.startswith(FRAME)]


def look(rig: Rig) -> object:
    return rig.store.run(lambda tx: (rig.mappings.next_due(tx, free=ONE), rig.mappings.claim(tx, free=ONE)))


def send(rig: Rig, queue: str = "orders") -> object:
    order = {"MessageGroupId": "g", "MessageDeduplicationId": rig.entropy.hex(8)} if queue.endswith(".fifo") else {}
    return rig.sqs("SendMessage", QueueUrl=queue, MessageBody="1", **order)


def due(rig: Rig) -> int | None:
    """When the worker is due, in milliseconds from now."""
    at = rig.store.run(lambda tx: rig.mappings.next_due(tx, free=ONE))
    return None if at is None else at - rig.clock.now()


def receive_before_the_mapping(rig: Rig, queue: str, **attributes: str) -> str:
    """Somebody else receives the first of two messages, and the mapping finds nothing; answers the handle."""
    rig.create_function()
    is_fifo = queue.endswith(".fifo")
    rig.create_queue(queue, **attributes, **({"FifoQueue": "true"} if is_fifo else {}))
    rig.call("CreateEventSourceMapping", EventSourceArn=f"{QUEUE_ARN}{queue}", FunctionName="worker")
    for _ in range(1 + is_fifo):
        send(rig, queue)
    answer = rig.sqs("ReceiveMessage", QueueUrl=queue, VisibilityTimeout=500)
    look(rig)
    assert due(rig) == 500_000
    return str(answer["Messages"][0]["ReceiptHandle"])


@pytest.mark.parametrize("mappings", [1, 50])
def test_look_at_idle_mappings_costs_no_statement_whatever_their_number(rig: Rig, mappings: int) -> None:
    rig.create_function()
    for number in range(mappings):
        map_queue(rig, f"queue-{number}")
    rig.advance(0)
    look(rig)

    assert statements(rig, lambda: look(rig)) == []


def test_message_for_one_of_fifty_mappings_is_looked_for_in_its_queue_alone(rig: Rig) -> None:
    rig.create_function()
    for number in range(50):
        map_queue(rig, f"queue-{number}")
    rig.advance(0)
    send(rig, "queue-7")

    ran = statements(rig, lambda: look(rig))

    assert len(ran) <= 12


def test_send_to_a_queue_that_nobody_reads_costs_what_it_did(rig: Rig) -> None:
    rig.create_queue("plain")
    rig.create_function()
    map_queue(rig)

    assert len(statements(rig, lambda: send(rig, "plain"))) == 1


def test_send_to_a_queue_that_a_mapping_reads_costs_one_statement_more_only_when_it_was_empty(rig: Rig) -> None:
    rig.create_function()
    map_queue(rig)
    rig.advance(0)

    costs = [len(statements(rig, lambda: send(rig))) for _ in range(3)]

    assert costs == [2, 1, 1]


def test_send_to_a_mapping_without_room_costs_nothing_more(rig: Rig) -> None:
    rig.create_function()
    map_queue(rig)
    rig.call("PutFunctionConcurrency", FunctionName="worker", ReservedConcurrentExecutions=0)
    send(rig)
    rig.advance(0)

    assert len(statements(rig, lambda: send(rig))) == 1
    assert rig.store.run(lambda tx: rig.mappings.next_due(tx, free=ONE)) is None


@pytest.mark.parametrize(
    ("operation", "params"),
    [("DeleteFunctionConcurrency", {}), ("PutFunctionConcurrency", {"ReservedConcurrentExecutions": 1})],
)
def test_mapping_goes_on_when_its_function_gets_concurrency_again(
    operation: str, params: dict[str, int], rig: Rig
) -> None:
    rig.create_function()
    map_queue(rig)
    rig.call("PutFunctionConcurrency", FunctionName="worker", ReservedConcurrentExecutions=0)
    send(rig)
    rig.advance(0)

    rig.call(operation, FunctionName="worker", **params)
    rig.advance(0)

    assert len(rig.invoker.events) == 1


def test_mapping_goes_on_when_its_function_is_made_again(rig: Rig) -> None:
    rig.create_function()
    map_queue(rig)
    rig.call("DeleteFunction", FunctionName="worker")
    send(rig)
    rig.advance(0)

    rig.create_function()
    rig.advance(0)

    assert len(rig.invoker.events) == 1


def test_mapping_reads_from_a_queue_that_was_made_again(rig: Rig) -> None:
    rig.create_function()
    map_queue(rig)
    rig.sqs("DeleteQueue", QueueUrl="orders")
    rig.advance(100)
    rig.create_queue("orders")

    send(rig)
    rig.advance(0)

    assert len(rig.invoker.events) == 1


def test_message_that_comes_to_a_dead_letter_queue_is_looked_for_there(rig: Rig) -> None:
    rig.create_function()
    map_queue(rig, "dead")
    policy = f'{{"deadLetterTargetArn":"{QUEUE_ARN}dead","maxReceiveCount":"1"}}'
    rig.create_queue("orders", RedrivePolicy=policy)
    rig.advance(0)
    send(rig)
    for _ in range(2):
        rig.sqs("ReceiveMessage", QueueUrl="orders", VisibilityTimeout=0)

    rig.advance(0)

    assert len(rig.invoker.events) == 1


def test_message_that_its_receiver_shows_again_is_looked_for_at_once(rig: Rig) -> None:
    handle = receive_before_the_mapping(rig, "orders")

    rig.sqs("ChangeMessageVisibility", QueueUrl="orders", ReceiptHandle=handle, VisibilityTimeout=0)

    assert due(rig) == 0


def test_group_whose_head_is_deleted_is_looked_for_at_once(rig: Rig) -> None:
    handle = receive_before_the_mapping(rig, "orders.fifo")

    rig.sqs("DeleteMessage", QueueUrl="orders.fifo", ReceiptHandle=handle)

    assert due(rig) == 0


def test_group_whose_head_expires_is_looked_for_when_it_is_swept(rig: Rig) -> None:
    receive_before_the_mapping(rig, "orders.fifo", MessageRetentionPeriod="60")
    rig.clock.move_to(START + 30_000)
    send(rig, "orders.fifo")
    look(rig)
    rig.clock.move_to(START + 60_000)

    rig.store.run(lambda tx: MessageSweep().sweep(tx, limit=10))

    assert due(rig) == 0


def test_group_whose_head_expires_is_looked_for_when_somebody_receives(rig: Rig) -> None:
    receive_before_the_mapping(rig, "orders.fifo", MessageRetentionPeriod="60")
    rig.clock.move_to(START + 30_000)
    send(rig, "orders.fifo")
    look(rig)
    rig.clock.move_to(START + 60_000)

    rig.sqs("ReceiveMessage", QueueUrl="orders.fifo", VisibilityTimeout=0)

    assert due(rig) == 0


def test_message_that_a_longer_retention_saves_is_looked_for_at_once(rig: Rig) -> None:
    rig.create_function()
    map_queue(rig)
    rig.sqs("SetQueueAttributes", QueueUrl="orders", Attributes={"MessageRetentionPeriod": "60"})
    send(rig)
    rig.clock.move_to(START + 60_000)
    look(rig)
    assert due(rig) is None

    rig.sqs("SetQueueAttributes", QueueUrl="orders", Attributes={"MessageRetentionPeriod": "120"})

    assert due(rig) == 0


def test_messages_that_a_shorter_delay_shows_are_looked_for_at_once(rig: Rig) -> None:
    rig.create_function()
    rig.create_queue("orders.fifo", FifoQueue="true", DelaySeconds="900")
    rig.call("CreateEventSourceMapping", EventSourceArn=f"{QUEUE_ARN}orders.fifo", FunctionName="worker")
    send(rig, "orders.fifo")
    look(rig)
    assert due(rig) == 900_000

    rig.sqs("SetQueueAttributes", QueueUrl="orders.fifo", Attributes={"DelaySeconds": "0"})

    assert due(rig) == 0


def test_message_that_a_task_moves_is_looked_for_where_it_is_moved_to(rig: Rig) -> None:
    rig.create_function()
    map_queue(rig)
    dead, orders = rig.create_queue("dead"), f"{QUEUE_ARN}orders"
    policy = f'{{"deadLetterTargetArn":"{dead}","maxReceiveCount":"1"}}'
    rig.create_queue("others", RedrivePolicy=policy)
    send(rig, "dead")
    rig.sqs("StartMessageMoveTask", SourceArn=dead, DestinationArn=orders)
    look(rig)
    assert due(rig) is None

    rig.store.run(lambda tx: MoveTaskWorker().claim(tx, free=FreeSlots(0)))

    assert due(rig) == 0


def test_mapping_goes_on_when_the_lease_of_a_batch_that_filled_it_ends(rig: Rig) -> None:
    rig.create_function()
    map_queue(rig, BatchSize=1)
    rig.call("PutFunctionConcurrency", FunctionName="worker", ReservedConcurrentExecutions=1)
    send(rig)
    send(rig)
    (unheard,) = rig.store.run(lambda tx: rig.mappings.claim(tx, free=FreeSlots(5)))

    rig.advance(600)

    assert unheard.invocation not in rig.invoker.invocations
    assert len(rig.invoker.events) >= 2
    assert rig.count("orders") == 0


def test_mapping_of_an_older_store_is_looked_at_and_watches_from_then_on(rig: Rig) -> None:
    """The migration sets a timer for each mapping, and takes what was the end of a pause for one."""
    rig.create_function()
    uuid = map_queue(rig)
    rig.advance(0)
    ((_, sql),) = [one for one in migrations() if one[0] == 12]
    rig.store.run(lambda tx: unwatch(tx, f"{QUEUE_ARN}orders", Reader(NAME, f"{SCOPE}/{uuid}")))
    rig.store.run(lambda tx: tx.timers.set(NAME, f"{SCOPE}/{uuid}", START + 1_000_000))

    rig.store.connection.executescript(sql)
    rig.store.run(lambda tx: tx.timers.forget())
    rig.advance(0)
    send(rig)
    rig.advance(0)

    assert len(rig.invoker.events) == 1


def test_defect_in_settling_a_batch_is_told_and_the_mapping_goes_on(rig: Rig) -> None:
    """Its messages come back by their visibility timeout; nothing is left half done."""
    rig.create_function()
    uuid = map_queue(rig)
    send(rig)
    (attempt,) = rig.store.run(lambda tx: rig.mappings.claim(tx, free=ONE))
    rig.around.groups = None  # type: ignore[assignment]

    rig.store.run(lambda tx: rig.mappings.settle(tx, attempt, raised("broken")))

    told = rig.call("GetEventSourceMapping", UUID=uuid)["LastProcessingResult"]
    assert told == "PROBLEM: redrive failed to settle the batch"
    rig.around.groups = {}
    rig.advance(30)
    assert len(rig.invoker.events) == 1
    assert rig.count("orders") == 0


ACTS = some.sampled_from(
    "send send-late receive show hide delete purge stop go disable enable batch work pause retain".split()
)


@settings(max_examples=100, deadline=None)
@given(acts=some.lists(some.tuples(ACTS, some.integers(0, 20_000)), max_size=25), is_fifo=some.booleans())
def test_mapping_is_looked_at_no_later_than_something_may_be_read(acts: list[tuple[str, int]], is_fifo: bool) -> None:
    """Whatever is done to queue, function and mapping: it is no later than what asking the queue would answer."""
    rig = Rig()
    bench = Bench(rig, is_fifo=is_fifo)
    for act, ms in acts:
        with contextlib.suppress(ServiceError):  # What is refused changes nothing.
            bench.act(act)
        rig.clock.move_to(rig.clock.now() + ms)

        wanted, due = bench.asked(), rig.store.run(lambda tx: rig.mappings.next_due(tx, free=ONE))

        assert wanted is None or (due is not None and due <= max(wanted, rig.clock.now()))
    rig.store.close()


class Bench:
    """A mapped queue, and what can be done to it."""

    def __init__(self, rig: Rig, *, is_fifo: bool) -> None:
        self.rig = rig
        self.queue = "orders.fifo" if is_fifo else "orders"
        self.is_fifo = is_fifo
        self.handles: list[str] = []
        self.sent = 0
        rig.create_function()
        attributes = {"FifoQueue": "true"} if is_fifo else {}
        rig.create_queue(self.queue, **attributes)
        source = f"{QUEUE_ARN}{self.queue}"
        self.uuid = rig.call("CreateEventSourceMapping", EventSourceArn=source, FunctionName="worker")["UUID"]

    def act(self, name: str) -> None:
        """Do one thing."""
        rig, url = self.rig, self.queue
        match name:
            case "send" | "send-late":
                self.sent += 1
                late = {"DelaySeconds": 9} if name == "send-late" and not self.is_fifo else {}
                order = {"MessageGroupId": f"g{self.sent % 2}", "MessageDeduplicationId": str(self.sent)}
                rig.sqs("SendMessage", QueueUrl=url, MessageBody="1", **(order if self.is_fifo else late))
            case "receive":
                found = rig.sqs("ReceiveMessage", QueueUrl=url, VisibilityTimeout=15).get("Messages", [])
                self.handles += [message["ReceiptHandle"] for message in found]
            case "show" | "hide" | "delete":
                self._use_a_handle(name)
            case "purge":
                rig.sqs("PurgeQueue", QueueUrl=url) if not self._is_purged() else None
            case "stop":
                rig.call("PutFunctionConcurrency", FunctionName="worker", ReservedConcurrentExecutions=0)
            case "go":
                rig.call("PutFunctionConcurrency", FunctionName="worker", ReservedConcurrentExecutions=2)
            case "disable" | "enable":
                rig.call("UpdateEventSourceMapping", UUID=self.uuid, Enabled=name == "enable")
            case "batch":
                rig.store.run(lambda tx: rig.mappings.claim(tx, free=ONE))
            case "work":
                for attempt in rig.store.run(lambda tx: rig.mappings.claim(tx, free=FreeSlots(3))):
                    result = raised("broken") if self.sent % 3 == 0 else rig.invoker.answer(attempt.invocation)
                    rig.store.run(lambda tx, one=attempt, of=result: rig.mappings.settle(tx, one, of))  # type: ignore[misc]
            case "pause":
                rig.around.roles_refused ^= {ROLE}
            case "retain":
                period = "60" if self.sent % 2 else "345600"
                rig.sqs("SetQueueAttributes", QueueUrl=url, Attributes={"MessageRetentionPeriod": period})

    def asked(self) -> int | None:
        """When a batch could be read, by asking the queue and everybody else; None if none could."""

        def ask(tx: Transaction) -> int | None:
            mapping = tx.resources.get(EventSourceMapping, SCOPE, self.uuid)
            function = tx.resources.get(Function, SCOPE, "worker")
            assert mapping is not None
            assert function is not None
            visible_at = next_visible(tx, mapping.source_arn)
            if not mapping.enabled or is_full(tx, SCOPE, mapping, function) or visible_at is None:
                return None
            return max(visible_at, paused_until(tx, SCOPE, mapping))

        return self.rig.store.run(ask)

    def _use_a_handle(self, name: str) -> None:
        if not self.handles:
            return
        given = {"QueueUrl": self.queue, "ReceiptHandle": self.handles[0]}
        try:
            if name == "delete":
                self.rig.sqs("DeleteMessage", **given)
            else:
                self.rig.sqs("ChangeMessageVisibility", VisibilityTimeout=0 if name == "show" else 40, **given)
        except ServiceError:
            self.handles.pop(0)

    def _is_purged(self) -> bool:
        """Whether there was a purge within a minute: a second one is refused."""
        now = self.rig.clock.now()
        recent = getattr(self, "purged_at", -60_000_000)
        if now - recent < 60_000:
            return True
        self.purged_at = now
        return False


def test_readers_of_the_same_thing_are_each_told_and_each_forgotten(rig: Rig) -> None:
    first, second = Reader("kind", "first"), Reader("kind", "second")

    def told(*readers: Reader) -> Document:
        def step(tx: Transaction) -> Document:
            for reader in (first, second):
                tx.timers.clear("kind", reader.timer)
                (watch if reader in readers else unwatch)(tx, "arn:thing", reader)
            arrived(tx, "arn:thing", 7)
            return dict(tx.timers.due("kind", 10, 9))

        return rig.store.run(step)

    assert told(first, second) == {"first": 7, "second": 7}
    assert told(second) == {"second": 7}
    assert told() == {}
    assert rig.store.run(lambda tx: tx.resources.everywhere(Watch)) == []
