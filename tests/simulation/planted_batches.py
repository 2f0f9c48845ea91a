"""Defects to plant in what a mapping does with batches that it holds."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from typing import Any
from unittest.mock import patch

from redrive.delivery.outside.invocation import Invocation, InvocationResult, InvocationStatus
from redrive.delivery.worker import Attempt
from redrive.services.lambda_ import held_batches
from redrive.services.lambda_.workers import mappings as lambda_workers
from redrive.services.lambda_.workers.mappings import MappingWorker
from redrive.store.api import Transaction
from redrive.store.tables.deliveries import Delivery


def holding_a_throttled_batch_twice() -> AbstractContextManager[object]:
    """A throttled batch is kept in two rows, and so runs twice by one receive."""
    original = held_batches.hold

    def hold(tx: Transaction, row: Delivery, ran: Invocation) -> bool:
        return original(tx, row, ran) and original(tx, row, ran)

    return patch.object(lambda_workers, "hold", hold)


def holding_a_batch_that_has_failed() -> AbstractContextManager[object]:
    """A batch whose function failed is run again without a receive, as if it had been throttled."""
    original: Callable[..., None] = vars(lambda_workers)["_record"]

    def record(tx: Transaction, row: Delivery, left: Any, result: InvocationResult) -> None:
        original(tx, row, left, result)
        if result.status is InvocationStatus.FUNCTION_ERROR:
            held_batches.hold(tx, row, ran[row.id])

    ran: dict[str, Invocation] = {}
    settle = MappingWorker.settle

    def noted(worker: Any, tx: Transaction, attempt: Attempt, result: Any) -> None:
        ran[attempt.key] = attempt.invocation
        settle(worker, tx, attempt, result)

    planted = ExitStack()
    planted.enter_context(patch.object(lambda_workers, "_record", record))
    planted.enter_context(patch.object(MappingWorker, "settle", noted))
    return planted
