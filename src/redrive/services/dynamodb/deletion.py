"""The end of a table: what is stored of it is deleted, and its items are forgotten in pieces."""

from __future__ import annotations

from redrive.core.entropy import new_uuid
from redrive.delivery.upkeep.cleaning import forget_rows
from redrive.delivery.upkeep.worker import will_age
from redrive.services.dynamodb import limits
from redrive.services.dynamodb.change_log import RETENTION
from redrive.services.dynamodb.indexes import forget_index
from redrive.services.dynamodb.item_collections import forget_counts
from redrive.services.dynamodb.model.backup import Backup, backup_id
from redrive.services.dynamodb.model.settings import Recovery
from redrive.services.dynamodb.model.table import Table
from redrive.services.dynamodb.policies import forget_settings
from redrive.services.dynamodb.recovery import drop_log
from redrive.services.dynamodb.streams import end_stream
from redrive.store.api import Transaction


def drop_table(tx: Transaction, table: Table) -> None:
    """Delete a table with its items, indexes and settings. Its stream can be read for another day."""
    if table.has_stream:
        end_stream(tx, table)
    drop_log(tx, table)
    if tx.resources.get(Recovery, table.scope, table.name) is None:
        forget_rows(tx, "items", table.id)
    else:
        _back_up(tx, table)
    forget_settings(tx, table)
    forget_counts(tx, table)
    for index in table.indexes:
        forget_index(tx, table, index)
    tx.resources.delete(Table, table.scope, table.name)


def _back_up(tx: Transaction, table: Table) -> None:
    """Make the backup that a table with point-in-time recovery leaves behind. It takes the items over as they are.

    Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/pointintimerecovery_beforeyoubegin.html
    """
    item_count, size_bytes = tx.items.totals(table.id)
    backup = Backup(
        id=backup_id(tx.now, new_uuid(tx.entropy)[:8]), backup_name=f"{table.name}$DeletedTableBackup", table=table,
        items_id=table.id, item_count=item_count, size_bytes=size_bytes, created_at=tx.now,
        expires_at=tx.now + limits.SYSTEM_BACKUP_MS,
    )  # fmt: skip
    tx.resources.put(table.scope, backup)
    tx.items.forget_expiries(table.id)
    will_age(tx, RETENTION, tx.now + limits.SYSTEM_BACKUP_MS)
