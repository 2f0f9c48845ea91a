"""Point-in-time recovery inside transactions: its log begins and ends, and changes since an instant are undone."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

from redrive.core.clock import Instant
from redrive.core.entropy import new_uuid
from redrive.delivery.upkeep.cleaning import forget_rows
from redrive.delivery.upkeep.worker import wake_sweep
from redrive.languages.dynamo import Item, dump_item, item_size
from redrive.services.dynamodb import limits
from redrive.services.dynamodb.change_log import RETENTION
from redrive.services.dynamodb.model.items import key_of_item
from redrive.services.dynamodb.model.recovery_log import RecoveryLog
from redrive.services.dynamodb.model.stream_records import record_images
from redrive.services.dynamodb.model.table import Table
from redrive.store.api import Transaction
from redrive.store.tables.items import StoredItem


def keep_log(tx: Transaction, table: Table, period_days: int) -> None:
    """Begin the log of a table, or change how long its records are kept."""
    log = table.log
    if log is None:
        log = RecoveryLog(
            new_uuid(tx.entropy), min(table.billing.partitions, limits.STREAM_PARTITIONS_MAX), period_days
        )
    tx.resources.put(
        table.scope, dataclasses.replace(table, log=dataclasses.replace(log, period_days=period_days))
    )  # fmt: skip
    wake_sweep(tx, RETENTION)


def drop_log(tx: Transaction, table: Table) -> Table:
    """Forget the log of a table, if it has one. Returns the table to store."""
    if table.log is not None:
        for shard in table.log.stored_shards:
            forget_rows(tx, "stream_records", shard)
    return dataclasses.replace(table, log=None)


def undo_changes(tx: Transaction, source: Table, copy_id: str, since: Instant) -> None:
    """Undo, in a copy of a table's present items, what has changed in the table after an instant.

    An item is at that instant what it was before the first change after it.
    """
    seen: set[tuple[bytes, bytes]] = set()
    for key_item, old in _changes_after(tx, source, since):
        key = key_of_item(source, key_item)
        if key in seen:
            continue
        seen.add(key)
        if old is None:
            tx.items.take(copy_id, key)
        else:
            tx.items.put(copy_id, StoredItem(*key, item_size(old), dump_item(old)), expires_at=None)


def _changes_after(tx: Transaction, source: Table, at: Instant) -> Iterator[tuple[Item, Item | None]]:
    """The key, and the item as it was before, of each change after an instant; those of an item in their order."""
    assert source.log is not None, "only a table with a log comes here"
    for shard in source.log.stored_shards:
        first = tx.streams.first_since(shard, at + 1)
        after = None if first is None else first.seq - 1
        while after is not None:
            page = tx.streams.page(
                shard, after, limit=limits.GET_RECORDS_MAX, bytes_max=limits.GET_RECORDS_BYTES_MAX
            )  # fmt: skip
            yield from map(record_images, page)
            after = page[-1].seq if page else None
