"""The items of DynamoDB's tables: bytes under keys of bytes. The order of the bytes is the order of the table.

languages/dynamo defines the bytes: `encode_key` makes keys, `dump_item` items. Items belong to a table's id, so a new
table with an old name begins empty.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from redrive.core.clock import Instant
from redrive.store.database import Database, Params, Row
from redrive.store.earliest import Earliest
from redrive.store.queries import load_queries
from redrive.store.slots import SLOTS, slot_of

_SQL = load_queries("items")

_EXPIRY = "expiry"
"""The only kind in the cache of expiry instants."""

NO_RANGE_KEY = b""
"""The range key of items in tables without one."""

_FIRST_CHUNK_ROWS = 32
_CHUNK_ROWS_MAX = 4_096


class ItemKey(NamedTuple):
    """The key of an item, encoded."""

    hash_key: bytes
    range_key: bytes = NO_RANGE_KEY


class StoredItem(NamedTuple):
    """An item with its key, and its size as DynamoDB counts it. In the order of a row's columns."""

    hash_key: bytes
    range_key: bytes
    size_bytes: int
    item: bytes

    @property
    def key(self) -> ItemKey:
        """The key."""
        return ItemKey(self.hash_key, self.range_key)


class ItemPage(NamedTuple):
    """Items in order. `complete`: no items follow, as far as was read."""

    items: Sequence[StoredItem]
    complete: bool


class RangeKeys(NamedTuple):
    """The range keys from `low` (included) to `high` (excluded). `just_after` can build both."""

    low: bytes = b""
    high: bytes = b"\xff" * 1_025  # After every key: DynamoDB's keys have at most 1,024 bytes.


class ItemTable:
    """The items of all tables."""

    __slots__ = ("_database", "_earliest", "_is_shared", "_reserved")

    def __init__(self, database: Database) -> None:
        self._database = database
        self._is_shared = database.is_shared
        self._earliest = Earliest(database, _SQL["next_expiry"])
        # What the transaction of a shared store has reserved and knows: nobody else can write these items now.
        self._reserved: dict[str, bytes | None] = {}

    def reserve(self, table_id: str, *keys: ItemKey) -> None:
        """Let nobody else write these items until the transaction ends. Call it before reading what will be written."""
        if self._is_shared:
            self._database.reserve(*[_lock_of(table_id, key) for key in keys])

    def reserve_all(self, places: Iterable[tuple[str, ItemKey]]) -> None:
        """As `reserve`, for items of several tables."""
        if self._is_shared:
            self._database.reserve(*[_lock_of(table_id, key) for table_id, key in places])

    def get(self, table_id: str, key: ItemKey) -> bytes | None:
        """The item with this key, or None."""
        if self._is_shared:
            return self._get_beside_others(table_id, key)
        row = self._database.one(_SQL["get"], _place_of(table_id, key))
        return None if row is None else bytes(row[0])

    def put(self, table_id: str, stored: StoredItem, *, expires_at: Instant | None) -> None:
        """Store an item; replaces the item with the same key."""
        self.put_all(table_id, [(stored, expires_at)])

    def put_all(self, table_id: str, items: Sequence[tuple[StoredItem, Instant | None]]) -> None:
        """Store items, each with the instant at which it expires; each replaces the item with the same key."""
        self._earliest.forget()
        if self._is_shared:
            for stored, _ in items:
                self._require(table_id, stored.key, stored.item)
        rows = [_row_of(table_id, stored, expires_at) for stored, expires_at in items]
        self._database.run_many(_SQL["put"], rows)

    def take(self, table_id: str, key: ItemKey) -> bytes | None:
        """Delete the item with this key. Returns the old item, or None."""
        self._earliest.forget()
        if self._is_shared:
            self._require(table_id, key, None)
        row = self._database.one(_SQL["take"], _place_of(table_id, key))
        return None if row is None else bytes(row[0])

    def put_entry(self, index_id: str, stored: StoredItem) -> None:
        """Store an entry of an index under the index's id; replaces the entry with the same key.

        The caller has reserved the item that the entry belongs to, and nobody else writes that item's entries.
        """
        self._database.write(_SQL["put"], _row_of(index_id, stored, None))

    def delete_entry(self, index_id: str, key: ItemKey) -> None:
        """Delete an entry of an index, if there is one. The caller has reserved its item."""
        self._database.write(_SQL["delete_entry"], _place_of(index_id, key))

    def query(
        self, table_id: str, hash_key: bytes, within: RangeKeys, *, forward: bool, limit: int | None, bytes_max: int
    ) -> ItemPage:
        """Items with one hash key, in order of their range keys, or in reverse order.

        The page ends at the `limit`th item, or at the item that brings its size to `bytes_max`. In both cases it is
        unknown whether more items follow.
        """
        sql = _SQL["ascending" if forward else "descending"]
        slot = slot_of(hash_key)

        def chunk(after: ItemKey | None, rows: int) -> list[StoredItem]:
            low, high = within
            if after is not None:
                low, high = (just_after(after.range_key), high) if forward else (low, after.range_key)
            return self._stored(sql, (table_id, slot, hash_key, low, high, rows))

        return _page(chunk, None, limit, bytes_max)

    def scan(
        self, table_id: str, *, after: ItemKey | None, segment: int, segments: int, limit: int | None, bytes_max: int
    ) -> ItemPage:
        """Items of one segment of a table after a key. Hash keys are in the order of their slots.

        The page ends as in `query`.
        """
        begin, end = _slots_of(segment, segments)

        def chunk(after: ItemKey | None, rows: int) -> list[StoredItem]:
            # No key is empty, so an empty key sorts before the first key of its slot.
            start = (
                {"table_id": table_id, "slot": begin, "hash_key": b"", "range_key": b""}
                if after is None
                else _located(table_id, after)
            )
            return self._stored(_SQL["scan"], {**start, "slot_end": end, "limit": rows})

        return _page(chunk, after, limit, bytes_max)

    def totals(self, table_id: str) -> tuple[int, int]:
        """The number of items in a table, and their size in bytes. Reads all of them."""
        row = self._database.one(_SQL["totals"], {"table_id": table_id})
        return (int(row[0]), int(row[1])) if row else (0, 0)

    def copy(self, table_id: str, to_id: str) -> None:
        """Store all items of a table under another id, which has none yet. The copies do not expire.

        The copies are those of one instant, also beside other nodes. Nobody may know the other id yet.
        """
        self._database.write(_SQL["copy"], {"table_id": table_id, "to_id": to_id})

    def collection_size(self, table_id: str, hash_key: bytes) -> int:
        """The size in bytes of the items with one hash key. Reads all of them."""
        place = {"table_id": table_id, "slot": slot_of(hash_key), "hash_key": hash_key}
        row = self._database.one(_SQL["collection_size"], place)
        return int(row[0]) if row else 0

    def drop(self, table_id: str, *, limit: int) -> int:
        """Delete up to `limit` items of a table. Returns how many were deleted."""
        self.forget()
        return self._database.run(_SQL["drop"], {"table_id": table_id, "limit": limit})

    def set_expiries(self, table_id: str, expiry_of: Callable[[bytes], Instant | None], *, bytes_max: int) -> None:
        """Recompute when each item of a table expires. Reads the items in pages of `bytes_max`."""
        self._earliest.forget()
        for stored in self._all(table_id, bytes_max):
            expires_at = expiry_of(stored.item)
            if expires_at is not None:
                self._database.write(
                    _SQL["set_expiry"], {**_located(table_id, stored.key), "expires_at": expires_at}
                )  # fmt: skip

    def forget_expiries(self, table_id: str) -> None:
        """Remove the expiry of all items of a table."""
        self._earliest.forget()
        self._database.write(_SQL["forget_expiries"], {"table_id": table_id})

    def next_expiry(self) -> Instant | None:
        """When the next item of any table expires, or None. The instant may have passed."""
        return self._earliest.of(_EXPIRY)

    def expire(self, before: Instant, *, limit: int) -> int:
        """Delete items that expired at `before` or earlier, earliest first. Returns how many."""
        self.forget()
        return self._database.run(_SQL["expire"], {"before": before, "limit": limit})

    def take_expired(self, before: Instant, *, limit: int) -> Sequence[tuple[str, ItemKey, bytes]]:
        """As `expire`, but returns the deleted items with their tables' ids, those that expired first first."""
        self.forget()
        taken = self._database.all(_SQL["take_expired"], {"before": before, "limit": limit})
        return [
            (str(table_id), ItemKey(bytes(hash_key), bytes(range_key)), bytes(item))
            for expires_at, table_id, hash_key, range_key, item in sorted(taken, key=lambda row: row[:4])
        ]

    def forget(self) -> None:
        """Clear the caches: after a rollback, before a transaction, after a deletion of unknown keys."""
        self._earliest.forget()
        self._reserved.clear()

    def _get_beside_others(self, table_id: str, key: ItemKey) -> bytes | None:
        lock = _lock_of(table_id, key)
        if lock in self._reserved:
            return self._reserved[lock]
        row = self._database.one(_SQL["get"], _place_of(table_id, key))
        item = None if row is None else bytes(row[0])
        if self._database.holds(lock):
            self._reserved[lock] = item
        return item

    def _require(self, table_id: str, key: ItemKey, item: bytes | None) -> None:
        """Make sure that an item may be written beside other nodes. Later steps of the batch need not read it."""
        lock = _lock_of(table_id, key)
        self._database.require(lock)
        self._reserved[lock] = item

    def _all(self, table_id: str, bytes_max: int) -> Iterator[StoredItem]:
        after: ItemKey | None = None
        while True:
            page = self.scan(table_id, after=after, segment=0, segments=1, limit=None, bytes_max=bytes_max)
            yield from page.items
            if page.complete:
                return
            after = page.items[-1].key

    def _stored(self, sql: str, params: Params) -> list[StoredItem]:
        rows = self._database.all(sql, params)
        if self._is_shared:
            return [
                StoredItem(bytes(hash_key), bytes(range_key), int(size), bytes(item))
                for hash_key, range_key, size, item in rows
            ]
        return [StoredItem._make(row) for row in rows]  # SQLite's driver gives the types that were stored.


def just_after(key: bytes) -> bytes:
    """The first key after this one: no key sorts between the two."""
    return key + b"\x00"


def segment_of(key: ItemKey, segments: int) -> int:
    """The segment of a scan that contains an item."""
    return slot_of(key.hash_key) * segments // SLOTS


def _slots_of(segment: int, segments: int) -> tuple[int, int]:
    """The slots of a segment, as (first, first of the next segment): those that `segment_of` maps to it."""
    return -(-segment * SLOTS // segments), -(-(segment + 1) * SLOTS // segments)


def _lock_of(table_id: str, key: ItemKey) -> str:
    return f"item/{table_id}/{key.hash_key.hex()}/{key.range_key.hex()}"


def _place_of(table_id: str, key: ItemKey) -> tuple[str, int, bytes, bytes]:
    return (table_id, slot_of(key.hash_key), key.hash_key, key.range_key)


def _row_of(table_id: str, stored: StoredItem, expires_at: Instant | None) -> Row:
    hash_key, range_key, size_bytes, item = stored
    return (table_id, slot_of(hash_key), hash_key, range_key, size_bytes, expires_at, item)


def _located(table_id: str, key: ItemKey) -> dict[str, object]:
    return {
        "table_id": table_id, "slot": slot_of(key.hash_key), "hash_key": key.hash_key, "range_key": key.range_key,
    }  # fmt: skip


def _page(
    chunk: Callable[[ItemKey | None, int], list[StoredItem]], after: ItemKey | None, limit: int | None, bytes_max: int
) -> ItemPage:
    """Read in chunks until the page is full: few rows first, then an estimate from the sizes so far."""
    items: list[StoredItem] = []
    size, rows = 0, _FIRST_CHUNK_ROWS
    while True:
        asked = rows if limit is None else min(rows, limit - len(items))
        read = chunk(after, asked)
        if not items and len(read) < asked and sum([stored.size_bytes for stored in read]) < bytes_max:
            return ItemPage(read, complete=True)  # As most pages are.
        for stored in read:
            items.append(stored)
            size += stored.size_bytes
            if size >= bytes_max or len(items) == limit:
                return ItemPage(items, complete=False)
        if len(read) < asked:
            return ItemPage(items, complete=True)
        after = items[-1].key
        rows = min(_CHUNK_ROWS_MAX, (bytes_max - size) * len(items) // max(size, 1) + 1)
