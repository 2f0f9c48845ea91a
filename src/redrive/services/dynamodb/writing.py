"""The one way in which items change: every write of an item, from whatever operation, is made here.

What follows the changes of a table (its indexes, its stream) hears of each change in the transaction that makes it.
Only tables that are followed pay for it: then the item as it was before has to be read.
"""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Iterable, Sequence

from redrive.core.clock import Instant
from redrive.core.documents import EncodedDocument
from redrive.languages.dynamo import AttributeValue, Item, dump_item, encoded_item, item_size, load_item
from redrive.services.dynamodb import indexes
from redrive.services.dynamodb.change_log import shards_of_items, write_changes
from redrive.services.dynamodb.item_collections import count_growth, count_place, is_counted
from redrive.services.dynamodb.model.entries import check_index_keys
from redrive.services.dynamodb.model.items import item_expiry
from redrive.services.dynamodb.model.stream_records import Change
from redrive.services.dynamodb.model.table import Table
from redrive.services.dynamodb.replicas import replicas_of
from redrive.store.api import Transaction
from redrive.store.tables.items import ItemKey, StoredItem


def reserve(tx: Transaction, places: Iterable[tuple[Table, ItemKey]]) -> None:
    """Let nobody else write these items until the transaction ends. Call it before reading what will be written."""
    if not tx.is_shared:
        return
    asked = list(places)
    asked += [(replica, key) for table, key in asked for replica in replicas_of(tx, table)]
    counts = {count_place(table, key) for table, key in asked if is_counted(table)}
    tx.items.reserve_all([*((table.id, key) for table, key in asked), *counts])
    if any(table.is_followed for table, _ in asked):
        # One item is written after all is read. Steps with several must not wait for each other in two orders.
        (tx.streams.announce if len(asked) == 1 else tx.streams.reserve)(*shards_of_items(asked))


def find_item(tx: Transaction, table: Table, key: ItemKey) -> dict[str, AttributeValue] | None:
    """Return an item of a table, or None."""
    data = tx.items.get(table.id, key)
    return None if data is None else load_item(data)


def read_item_at(tx: Transaction, table: Table, key: ItemKey) -> EncodedDocument | None:
    """Return an item of a table to be answered as it is, or None."""
    data = tx.items.get(table.id, key)
    return None if data is None else encoded_item(data)


def put(tx: Transaction, table: Table, key: ItemKey, new: Item, size_bytes: int, *, old: Item | None) -> None:
    """Store an item with the given `item_size`; it replaces `old`, the item with the same key.

    `old` may be None although there is an item, if `table.is_followed` is false.
    Errors: ValidationException for a value that cannot be a key of an index; ItemCollectionSizeLimitExceededException.
    """
    if not table.is_followed:
        put_unread(tx, table, [(key, new, size_bytes)])
        return
    if table.indexes:
        check_index_keys(table, new, old)
    stored = StoredItem(*key, size_bytes, dump_item(new))
    tx.items.put(table.id, stored, expires_at=item_expiry(table, new, tx.now))
    _follow(tx, table, [Change(key, old, new, stored.item)])


def put_unread(tx: Transaction, table: Table, items: Sequence[tuple[ItemKey, Item, int]]) -> None:
    """Store items with their `item_size`, whatever is there now, in a table that nothing follows."""
    now = tx.now
    tx.items.put_all(
        table.id,
        [(StoredItem(*key, size, dump_item(new)), item_expiry(table, new, now)) for key, new, size in items],
    )


def delete(tx: Transaction, table: Table, key: ItemKey) -> Item | None:
    """Delete an item. Returns the item, or None if there was none."""
    taken = tx.items.take(table.id, key)
    old = None if taken is None else load_item(taken)
    if table.is_followed and old is not None:
        _follow(tx, table, [Change(key, old, None)])
    return old


def expire(tx: Transaction, before: Instant, *, limit: int) -> None:
    """Delete up to `limit` items of all tables whose time to live ended at `before` or earlier, earliest first."""
    followed = {table.id: table for _, table in tx.resources.everywhere(Table) if table.is_followed}
    if not followed:
        tx.items.expire(before, limit=limit)
        return
    tx.be_alone()
    changes: dict[str, list[Change]] = defaultdict(list)
    seen: set[tuple[str, str, ItemKey]] = set()
    for table_id, key, data in tx.items.take_expired(before, limit=limit):
        table = followed.get(table_id)
        if table is None:
            continue
        place = (table.scope.account, table.name, key)
        # An item expires in one Region; the other replicas lose it as by a write.
        if not table.replicas or place not in seen:
            changes[table_id].append(Change(key, load_item(data), None, is_expiry=True))
            seen.add(place)
    for table_id, gone in changes.items():
        _follow(tx, followed[table_id], gone)


def _follow(tx: Transaction, table: Table, changes: Sequence[Change]) -> None:
    """Tell what follows a table, and its replicas, that its items have changed."""
    _follow_here(tx, table, changes)
    if table.replicas:
        _replicate(tx, table, changes)


def _follow_here(tx: Transaction, table: Table, changes: Sequence[Change]) -> None:
    if table.indexes:
        counts = is_counted(table)
        for change in changes:
            growth_bytes = indexes.follow(tx, table, change.key, change.old, change.new)
            if counts:
                growth_bytes += item_size(change.new or {}) - item_size(change.old or {})
                count_growth(tx, table, change.key, growth_bytes)
    write_changes(tx, table, changes)


def _replicate(tx: Transaction, table: Table, changes: Sequence[Change]) -> None:
    """Make the same changes in the other replicas, whose indexes and streams follow. None replicates further."""
    told = [dataclasses.replace(change, is_expiry=False) for change in changes]
    for replica in replicas_of(tx, table):
        for change in told:
            if change.new is None:
                tx.items.take(replica.id, change.key)
            else:
                stored = StoredItem(*change.key, item_size(change.new), change.new_data or dump_item(change.new))
                tx.items.put(replica.id, stored, expires_at=item_expiry(replica, change.new, tx.now))
        _follow_here(tx, replica, told)
