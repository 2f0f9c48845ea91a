"""Defects to plant in the engine, each the kind that a tired person writes. The simulation must find every one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import partial
from typing import Any
from unittest.mock import patch

from redrive.core.clock import Instant
from redrive.core.retry import RetryPolicy, Verdict, decide
from redrive.core.scope import Scope
from redrive.delivery import deliver
from redrive.delivery.deliver import DeliveryWorker
from redrive.delivery.invocation import InvocationResult
from redrive.delivery.worker import Attempt
from redrive.engine.engine import Engine
from redrive.services.dynamodb import api_items as dynamodb_items
from redrive.services.lambda_ import source as lambda_source
from redrive.services.lambda_ import workers as lambda_workers
from redrive.services.scheduler import source as scheduler_source
from redrive.services.scheduler import workers as scheduler_workers
from redrive.services.scheduler.model import Schedule
from redrive.services.scheduler.model_occurrences import Occurrence, following
from redrive.sim.checkers import Conservation, DeadLetters, EffectsOnce, Receives, Retries, Settlements, Slots
from redrive.sim.checkers_groups import GroupsInOrder
from redrive.sim.checkers_schedules import ScheduledInstants
from redrive.sim.world import NO_DEFECTS
from redrive.store.api import Transaction
from redrive.store.tables.dedup import DedupTable
from redrive.store.tables.deliveries import Delivery, DeliveryTable
from redrive.store.tables.messages import MessageTable, ReceivedMessage

Plant = Callable[[], AbstractContextManager[object]]

FENCES_MAX = 30


def settling_without_a_fence() -> AbstractContextManager[object]:
    """Whoever settles an attempt is believed, however old its lease."""
    original = DeliveryTable.held

    def held(table: DeliveryTable, id: str, fence: int) -> Delivery | None:
        return next((found for each in range(FENCES_MAX) if (found := original(table, id, each))), None)

    return patch.object(DeliveryTable, "held", held)


def settling_the_same_attempt_twice() -> AbstractContextManager[object]:
    """A settled lease passes for one that is still held."""
    original = DeliveryTable.held

    def held(table: DeliveryTable, id: str, fence: int) -> Delivery | None:
        found = original(table, id, fence)
        return None if found is None else replace(found, leases=max(1, found.leases))

    return patch.object(DeliveryTable, "held", held)


def next_occurrence_counted_from_now() -> AbstractContextManager[object]:
    """The next occurrence is looked for after now, in place of after the one that was fired."""

    def from_now(
        schedule: Schedule, scope: Scope, fired: Occurrence, age_ms_max: int, now: Instant
    ) -> tuple[Schedule, Occurrence | None]:
        return following(schedule, scope, Occurrence(now, now), age_ms_max, now)

    return patch.object(scheduler_workers, "following", from_now)


def claiming_more_than_can_start() -> AbstractContextManager[object]:
    """A claim takes whatever is due, whether there is room for it or not."""
    original = DeliveryTable.claim_due

    def claim_due(table: DeliveryTable, place: str, now: Instant, *, lease_ms: int, limit: int) -> list[Delivery]:
        return original(table, place, now, lease_ms=lease_ms, limit=limit + 10)

    return patch.object(DeliveryTable, "claim_due", claim_due)


def removing_the_delivery_before_its_work_is_done() -> AbstractContextManager[object]:
    """A delivery is forgotten when it is claimed, in place of when it is settled."""
    original = DeliveryWorker.claim

    def claim(worker: DeliveryWorker, tx: Transaction, *, free: int) -> Sequence[Attempt]:
        attempts = original(worker, tx, free=free)
        for attempt in attempts:
            tx.deliveries.delete(attempt.key)
        return attempts

    return patch.object(DeliveryWorker, "claim", claim)


def ending_a_delivery_in_two_commits() -> AbstractContextManager[object]:
    """The last word on a delivery is one commit, its removal another."""
    original, delete = Engine.settle, DeliveryTable.delete

    def settle(engine: Engine, attempt: Attempt, result: InvocationResult) -> None:
        ended: list[str] = []
        with patch.object(DeliveryTable, "delete", lambda _, delivery_id: ended.append(delivery_id)):
            original(engine, attempt, result)
        for delivery_id in ended:
            engine.run(partial(_delete, delete, delivery_id))

    return patch.object(Engine, "settle", settle)


def receiving_without_hiding() -> AbstractContextManager[object]:
    """A received message stays visible."""
    original = MessageTable.claim_visible

    def claim_visible(
        table: MessageTable, queue: str, now: Instant, *, visible_at: Instant, receipt: str, limit: int
    ) -> list[ReceivedMessage]:
        return original(table, queue, now, visible_at=now, receipt=receipt, limit=limit)

    return patch.object(MessageTable, "claim_visible", claim_visible)


def one_retry_too_many() -> AbstractContextManager[object]:
    """The first failure is not counted."""

    def lenient(policy: RetryPolicy, **facts: Any) -> Verdict:
        return decide(policy, **{**facts, "failures": max(0, facts["failures"] - 1)})

    return patch.object(deliver, "decide", lenient)


def deleting_what_a_batch_reports_as_failed() -> AbstractContextManager[object]:
    """All messages of a batch are deleted, whatever the function answers."""
    return patch.object(lambda_workers, "messages_left", lambda *_, **__: frozenset())


def writing_without_asking_the_condition() -> AbstractContextManager[object]:
    """A conditional write is made in any case."""
    return patch.object(dynamodb_items, "holds", lambda *_: True)


def forgetting_what_was_sent() -> AbstractContextManager[object]:
    """A FIFO queue does not remember the deduplication ids of what it accepted."""
    return patch.object(DedupTable, "remember_send", lambda *_, **__: None)


def receiving_past_messages_in_flight() -> AbstractContextManager[object]:
    """A FIFO queue gives what is visible, though messages before it are in flight."""

    def claim_in_order(
        table: MessageTable, queue: str, now: Instant, *, visible_at: Instant, receipt: str, limit: int, taken: int = 0
    ) -> list[ReceivedMessage]:
        return table.claim_visible(queue, now, visible_at=visible_at, receipt=receipt, limit=limit)

    return patch.object(MessageTable, "claim_in_order", claim_in_order)


def dead_letters_without_a_reason() -> AbstractContextManager[object]:
    """Lambda's dead letters carry no attributes."""
    return patch.object(lambda_source, "dead_letter_attributes", lambda *_: {})


def calling_a_target_with_what_makes_it_fail() -> AbstractContextManager[object]:
    """A schedule calls its queue with parameters of wrong types, at which the operation fails by a defect of ours."""
    return patch.object(scheduler_source, "call_params", lambda _: {"QueueUrl": 5, "MessageBody": 5})


def _delete(delete: Callable[[DeliveryTable, str], None], delivery_id: str, tx: Transaction) -> None:
    delete(tx.deliveries, delivery_id)


PLANTS: Mapping[Plant, str] = {
    settling_without_a_fence: Settlements.rule,
    settling_the_same_attempt_twice: Settlements.rule,
    ending_a_delivery_in_two_commits: Settlements.rule,
    next_occurrence_counted_from_now: ScheduledInstants.rule,
    claiming_more_than_can_start: Slots.rule,
    removing_the_delivery_before_its_work_is_done: Conservation.rule,
    receiving_without_hiding: Receives.rule,
    receiving_past_messages_in_flight: GroupsInOrder.rule,
    forgetting_what_was_sent: GroupsInOrder.rule,
    one_retry_too_many: Retries.rule,
    deleting_what_a_batch_reports_as_failed: Conservation.rule,
    writing_without_asking_the_condition: EffectsOnce.rule,
    dead_letters_without_a_reason: DeadLetters.rule,
    calling_a_target_with_what_makes_it_fail: NO_DEFECTS,
}
"""Each defect, and the rule that it breaks."""
