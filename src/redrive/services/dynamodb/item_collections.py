"""Item collections: the items of one hash key in a table with local indexes, together with their entries.

Each collection's size is counted as it changes. The count lies beside the items, under an id of its own, as the entries
of an index do. A collection without a count, of a store from before there were counts or of a restored table, is
measured at its next change.
"""

from __future__ import annotations

from collections.abc import Iterable

from redrive.core.documents import Document
from redrive.core.errors import ServiceError
from redrive.delivery.upkeep.cleaning import forget_rows
from redrive.languages.dynamo import AttributeValue, Item, encode_key
from redrive.services.dynamodb import limits
from redrive.services.dynamodb.model.table import Table
from redrive.store.api import Transaction
from redrive.store.tables.items import ItemKey, StoredItem

EXCEEDED = "ItemCollectionSizeLimitExceededException"


def count_place(table: Table, key: ItemKey) -> tuple[str, ItemKey]:
    """The id and the key under which the size of an item's collection is stored."""
    return f"{table.id}/collections", ItemKey(key.hash_key)


def is_counted(table: Table) -> bool:
    """Whether the collections of a table are counted: not before its local indexes are filled."""
    return _has_collections(table) and not any(index.is_filling and not index.is_global for index in table.indexes)


def count_growth(tx: Transaction, table: Table, key: ItemKey, growth_bytes: int) -> None:
    """Count a change of an item and its local entries, which has been made. Its reserver has reserved the count, too.

    Errors: ItemCollectionSizeLimitExceededException if the collection has grown beyond 10 GB.
    Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/LSI.html#LSI.ItemCollections.SizeLimit
    """
    if growth_bytes == 0:
        return
    place, known_as = count_place(table, key)
    known = tx.items.get(place, known_as)
    size_bytes = _measured(tx, table, key.hash_key) if known is None else int(known) + growth_bytes
    if growth_bytes > 0 and size_bytes > limits.ITEM_COLLECTION_BYTES_MAX:
        raise ServiceError(EXCEEDED, "Collection size exceeded.")
    if size_bytes > 0:
        tx.items.put(place, StoredItem(*known_as, 0, b"%d" % size_bytes), expires_at=None)
    elif known is not None:
        tx.items.take(place, known_as)


def forget_counts(tx: Transaction, table: Table) -> None:
    """Delete the counts of a table that is deleted."""
    if _has_collections(table):
        forget_rows(tx, "items", count_place(table, ItemKey(b""))[0])


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
    key = ItemKey(encode_key(value))
    known = tx.items.get(*count_place(table, key)) if is_counted(table) else None
    size_bytes = _measured(tx, table, key.hash_key) if known is None else int(known)
    low = size_bytes // limits.GIGABYTE
    return {"ItemCollectionKey": {table.hash_key: value}, "SizeEstimateRangeGB": [float(low), float(low + 1)]}


def _measured(tx: Transaction, table: Table, hash_key: bytes) -> int:
    """Return the size of a collection. Reads all of it."""
    ids = [table.id, *(index.id for index in table.indexes if not index.is_global)]
    return sum(tx.items.collection_size(each, hash_key) for each in ids)
