"""Batches whose function was throttled: held by their mapping, and tried again while their messages are hidden.

A held batch is a row in the table of deliveries, in a place of its own; `due_at` is the next attempt. A retry receives
nothing, so that it does not bring the messages closer to a dead-letter queue. After the visibility timeout the messages
are in their queue again, and the batch is dropped.

Source: https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-errorhandling.html
"""

from __future__ import annotations

from collections.abc import Iterator

from redrive.core.clock import Instant
from redrive.core.entropy import new_row_id
from redrive.delivery.outside.invocation import Invocation
from redrive.services.lambda_.limits import (
    HELD_BATCHES_PER_CLAIM_MAX,
    HELD_FIRST_MS,
    HELD_MAX_MS,
)
from redrive.store.api import Transaction
from redrive.store.tables.deliveries import Delivery

HELD = "held batch"
"""The place of throttled batches between two attempts."""


def hold(tx: Transaction, row: Delivery, ran: Invocation) -> bool:
    """Keep a throttled batch, whose row has ended, for another attempt; False if its messages are visible before."""
    attempts = int(row.document.get("Throttled", 0))
    retry_at = tx.now + min(HELD_FIRST_MS << attempts, HELD_MAX_MS)
    if retry_at >= row.document.get("HiddenUntil", 0):
        return False
    document = {**row.document, "Event": ran.payload.decode(), "Throttled": attempts + 1}
    held = row._replace(id=new_row_id(tx.entropy, tx.now), document=document, place=HELD, due_at=retry_at, fence=0)
    tx.deliveries.put(held)
    return True


def next_retry(tx: Transaction) -> Instant | None:
    """When the next held batch is tried again."""
    return tx.deliveries.next((HELD,))


def held_batches_due(tx: Transaction) -> Iterator[Delivery]:
    """The held batches that are due. Delete or `wait` for each in this step."""
    due_at = next_retry(tx)
    if due_at is not None and due_at <= tx.now:
        yield from tx.deliveries.claim_due(HELD, tx.now, lease_ms=0, limit=HELD_BATCHES_PER_CLAIM_MAX)


def is_over(row: Delivery, now: Instant) -> bool:
    """Whether the messages of a held batch are in their queue again."""
    return now >= int(row.document["HiddenUntil"])


def wait(tx: Transaction, row: Delivery) -> None:
    """Try a due batch again later: now there is no slot for its function."""
    due_at = min(tx.now + HELD_FIRST_MS, int(row.document["HiddenUntil"]))
    tx.deliveries.release(row, place=HELD, due_at=due_at, counted=False)
