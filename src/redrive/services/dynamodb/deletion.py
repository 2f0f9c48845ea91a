"""The end of a table: what is stored of it is deleted, and its items are forgotten in pieces."""

from __future__ import annotations

from redrive.delivery.upkeep.cleaning import forget_rows
from redrive.services.dynamodb.indexes import forget_index
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
    forget_rows(tx, "items", table.id)
    forget_settings(tx, table)
    for index in table.indexes:
        forget_index(tx, table, index)
    tx.resources.delete(Table, table.scope, table.name)
