"""The entries of indexes follow the items: each change of an item changes its entries in the same transaction.

On a shared store, whoever holds the lock of an item may write the item's entries.
"""

from __future__ import annotations

import dataclasses
from typing import ClassVar

from redrive.core.scope import Scope
from redrive.delivery.upkeep.cleaning import forget_rows
from redrive.languages.dynamo import Item, dump_item, item_size, load_item
from redrive.services.dynamodb import limits
from redrive.services.dynamodb.model.entries import Entry, entry_of
from redrive.services.dynamodb.model.index import Index
from redrive.services.dynamodb.model.table import Table
from redrive.store.api import Transaction
from redrive.store.tables.items import ItemKey, StoredItem

BACKFILLS = "dynamodb.backfills"
"""The kind of the timers of indexes that are being filled, and the name of their worker."""


@dataclasses.dataclass(frozen=True, slots=True)
class Backfill:
    """How far an index is filled: up to the item with this key, in hexadecimal digits. `name` is the index's id."""

    KIND: ClassVar[str] = "dynamodb.backfill"
    IS_STATE: ClassVar[bool] = True

    name: str
    table_name: str
    hash_key: str
    range_key: str


def follow(tx: Transaction, table: Table, key: ItemKey, old: Item | None, new: Item | None) -> int:
    """Change the entries of an item that was created (`old` is None), changed, or deleted (`new` is None).

    Returns by how many bytes its entries in local indexes have grown.
    """
    growth_bytes = 0
    for index in table.indexes:
        before = None if old is None else entry_of(table, index, key, old)
        after = None if new is None else entry_of(table, index, key, new)
        if before == after:
            continue
        if before is not None and (after is None or after.key != before.key):
            tx.items.delete_entry(index.id, before.key)
        if after is not None:
            _put(tx, index, after)
        if not index.is_global:
            growth_bytes += _size_of(after) - _size_of(before)
    return growth_bytes


def begin_filling(tx: Transaction, table: Table, index: Index) -> Table:
    """Fill a new index of a table. Returns the table as it is then.

    A small table's index is complete at once. Otherwise a worker fills it in pieces; meanwhile each write of an item
    also writes its entry. The caller stores the table.
    """
    reached = _fill(tx, table, index, None, limits.ITEMS_FILLED_AT_ONCE_MAX)
    if reached is None:
        return _filled(table, index)
    tx.resources.put(table.scope, _backfill(table, index, reached))
    tx.timers.set(BACKFILLS, f"{table.scope}/{index.id}", tx.now)
    tx.notify("due")
    return table


def go_on_filling(tx: Transaction, timer_name: str, items_max: int) -> None:
    """Fill an index with the next items of its table. The name is that of a due timer."""
    account, region, index_id = timer_name.split("/", 2)
    scope = Scope(account, region)
    backfill = tx.resources.get(Backfill, scope, index_id)
    table = None if backfill is None else tx.resources.get(Table, scope, backfill.table_name)
    index = None if table is None else next((one for one in table.indexes if one.id == index_id), None)
    if backfill is None or table is None or index is None:
        _end_filling(tx, scope, index_id)
        return
    after = ItemKey(bytes.fromhex(backfill.hash_key), bytes.fromhex(backfill.range_key))
    reached = _fill(tx, table, index, after, items_max)
    if reached is None:
        tx.resources.put(scope, _filled(table, index))
        _end_filling(tx, scope, index_id)
    else:
        tx.resources.put(scope, _backfill(table, index, reached))


def forget_index(tx: Transaction, table: Table, index: Index) -> None:
    """Delete the entries of an index that the table does not have any more."""
    if index.is_filling:
        _end_filling(tx, table.scope, index.id)
    forget_rows(tx, "items", index.id)


def _fill(tx: Transaction, table: Table, index: Index, after: ItemKey | None, items_max: int) -> ItemKey | None:
    """Write the entries of the next items. Returns the key of the last one, or None if no items are left.

    The items are read, reserved and read again, because another node may have written them before they were reserved.
    An item that was created in between is left out: its writer knows the index.
    """
    found = tx.items.scan(
        table.id, after=after, segment=0, segments=1, limit=items_max, bytes_max=limits.PAGE_BYTES_MAX
    )  # fmt: skip
    keys = {stored.key for stored in found.items}
    tx.items.reserve(table.id, *keys)
    page = tx.items.scan(
        table.id, after=after, segment=0, segments=1, limit=items_max, bytes_max=limits.PAGE_BYTES_MAX
    )  # fmt: skip
    for stored in page.items:
        if stored.key not in keys:
            continue
        entry = entry_of(table, index, stored.key, load_item(stored.item))
        if entry is not None:
            _put(tx, index, entry)
    return None if found.complete else found.items[-1].key


def _put(tx: Transaction, index: Index, entry: Entry) -> None:
    tx.items.put_entry(index.id, StoredItem(*entry.key, item_size(entry.item), dump_item(entry.item)))


def _size_of(entry: Entry | None) -> int:
    return 0 if entry is None else item_size(entry.item)


def _filled(table: Table, index: Index) -> Table:
    """Return the table with the index complete."""
    filled = dataclasses.replace(index, is_filling=False)
    return dataclasses.replace(table, indexes=tuple(filled if one.id == index.id else one for one in table.indexes))


def _backfill(table: Table, index: Index, reached: ItemKey) -> Backfill:
    return Backfill(index.id, table.name, reached.hash_key.hex(), reached.range_key.hex())


def _end_filling(tx: Transaction, scope: Scope, index_id: str) -> None:
    tx.resources.delete(Backfill, scope, index_id)
    tx.timers.clear(BACKFILLS, f"{scope}/{index_id}")
