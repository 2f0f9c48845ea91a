"""Defects to plant in the engine, each the kind that a tired person writes. The simulation must find every one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import partial
from unittest.mock import patch

from redrive.core.clock import Instant
from redrive.core.scope import Scope
from redrive.delivery.deliver import DeliveryWorker
from redrive.delivery.invocation import InvocationResult
from redrive.delivery.worker import Attempt
from redrive.engine.engine import Engine
from redrive.services.lambda_ import source as lambda_source
from redrive.services.scheduler import workers as scheduler_workers
from redrive.services.scheduler.model import Schedule
from redrive.services.scheduler.model_occurrences import Occurrence, following
from redrive.store.api import Transaction
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
        with patch.object(DeliveryTable, "delete", lambda _, id: ended.append(id)):
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


def dead_letters_without_a_reason() -> AbstractContextManager[object]:
    """Lambda's dead letters carry no attributes."""
    return patch.object(lambda_source, "dead_letter_attributes", lambda *_: {})


def _delete(delete: Callable[[DeliveryTable, str], None], delivery_id: str, tx: Transaction) -> None:
    delete(tx.deliveries, delivery_id)


PLANTS: tuple[Plant, ...] = (
    settling_without_a_fence,
    settling_the_same_attempt_twice,
    next_occurrence_counted_from_now,
    claiming_more_than_can_start,
    removing_the_delivery_before_its_work_is_done,
    ending_a_delivery_in_two_commits,
    receiving_without_hiding,
    dead_letters_without_a_reason,
)
