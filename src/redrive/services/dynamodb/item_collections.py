"""Item collections: the items of one hash key in a table with local indexes, together with their entries."""

from __future__ import annotations

from collections.abc import Iterable

from redrive.core.documents import Document
from redrive.languages.dynamo import AttributeValue, Item, encode_key
from redrive.services.dynamodb import limits
from redrive.services.dynamodb.model.table import Table
from redrive.store.api import Transaction


def collection_metrics(tx: Transaction, table: Table, asked: str | None, written: Item) -> Document:
    """Return the ItemCollectionMetrics of a write; empty if not requested, or if the table has no local index.

    `written` is the item or its key.
    """
    if asked != "SIZE" or not _has_collections(table):
        return {}
    return {"ItemCollectionMetrics": _metrics(tx, table, written[table.hash_key])}


def batch_collection_metrics(tx: Transaction, asked: str | None, written: Iterable[tuple[Table, Item]]) -> Document:
    """Return the ItemCollectionMetrics of several writes, by the names of the tables; one for each collection."""
    if asked != "SIZE":
        return {}
    found: dict[str, dict[bytes, Document]] = {}
    for table, item in written:
        if _has_collections(table):
            value = item[table.hash_key]
            found.setdefault(table.name, {})[encode_key(value)] = _metrics(tx, table, value)
    return {"ItemCollectionMetrics": {name: list(metrics.values()) for name, metrics in found.items()}}


def _has_collections(table: Table) -> bool:
    return any(not index.is_global for index in table.indexes)


def _metrics(tx: Transaction, table: Table, value: AttributeValue) -> Document:
    """Return the size of a collection as whole gigabytes below and above it."""
    ids = [table.id, *(index.id for index in table.indexes if not index.is_global)]
    size_bytes = sum(tx.items.collection_size(each, encode_key(value)) for each in ids)
    low = size_bytes // limits.GIGABYTE
    return {"ItemCollectionKey": {table.hash_key: value}, "SizeEstimateRangeGB": [float(low), float(low + 1)]}
