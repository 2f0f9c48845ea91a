"""The records of streams: each shard has records, numbered in the order in which they were written.

A shard is named by an id that nothing else has ever had. Its numbers begin with 1 and never go back, because the newest
record of a shard stays until the shard is dropped: it also is the shard's memory of its last number. Who reads a shard
says which records have not expired.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from redrive.core.clock import Instant
from redrive.store.database import Database
from redrive.store.queries import load_queries

_SQL = load_queries("streams")

_FIRST_CHUNK_ROWS = 32
_CHUNK_ROWS_MAX = 4_096


class NewStreamRecord(NamedTuple):
    """A record to write. `partition_key` says which records have to stay in order."""

    partition_key: str
    data: bytes


class Position(NamedTuple):
    """The number of a record, and when it was written. A shard without records ends at (0, 0)."""

    seq: int
    at: Instant


class StreamRecord(NamedTuple):
    """A stored record."""

    seq: int
    at: Instant
    partition_key: str
    data: bytes


_BEGINNING = Position(0, 0)


class StreamTable:
    """The records of all shards."""

    __slots__ = ("_database", "_is_shared", "_last")

    def __init__(self, database: Database) -> None:
        self._database = database
        self._is_shared = database.is_shared
        self._last: dict[str, Position] = {}

    def reserve(self, *shards: str) -> None:
        """Let nobody else write to these shards until the transaction ends. Call it before `append`."""
        if self._is_shared:
            self._database.reserve(*map(_lock_of, shards))

    def announce(self, *shards: str) -> None:
        """Let no other node write to these shards, which this step will reserve later, as late as it can.

        Then steps of one node wait for each other only while one of them writes, and not while they read items.
        """
        if self._is_shared:
            self._database.announce(*map(_lock_of, shards))

    def append(self, shard: str, records: Sequence[NewStreamRecord], *, now: Instant) -> Sequence[Position]:
        """Write records at the end of a shard. Returns their positions.

        A record is never older than the record before, even if the clocks of two nodes differ.
        """
        if self._is_shared:
            self._database.require(_lock_of(shard))
        seq, last_at = self.last(shard)
        at = max(now, last_at)
        positions = [Position(number, at) for number in range(seq + 1, seq + 1 + len(records))]
        rows = [
            (shard, number, at, key, data)
            for (number, at), (key, data) in zip(positions, records, strict=True)
        ]  # fmt: skip
        if len(rows) == 1:
            self._database.write(_SQL["put"], rows[0])
        elif rows:
            self._database.run_many(_SQL["put"], rows)
        if positions:
            self._last[shard] = positions[-1]
        return positions

    def last(self, shard: str) -> Position:
        """The newest record of a shard, which may have expired."""
        known = self._last.get(shard)
        if known is not None:
            return known
        read = self._position("last", shard)
        # While this step waited for the database, another part of it may have written to the shard.
        found = self._last.get(shard, read)
        if not self._is_shared or self._database.holds(_lock_of(shard)):
            self._last[shard] = found
        return found

    def first(self, shard: str) -> Position:
        """The oldest record of a shard, which may have expired."""
        return self._position("first", shard)

    def first_since(self, shard: str, at: Instant) -> Position | None:
        """The oldest record that was written at `at` or later; None if there is none. Reads few records."""
        low, high = self.first(shard), self.last(shard)
        if not high.seq or high.at < at:
            return None
        if low.at >= at:
            return low
        while high.seq - low.seq > 1:
            middle = self._position("from", shard, (low.seq + high.seq) // 2)
            low, high = (low, middle) if middle.at >= at else (middle, high)
        return high

    def written_since(self, shard: str, at: Instant, *, at_most: int) -> tuple[int, int]:
        """How many records were written at `at` or later, and their length in all. Counts the `at_most` newest.

        The length is that of data in bytes, and of partition keys in characters. No statement runs if there are none.
        """
        last = self.last(shard)
        if not last.seq or last.at < at:
            return 0, 0
        row = self._database.one(_SQL["written"], (shard, last.seq - at_most, at))
        return (0, 0) if row is None else (int(row[0]), int(row[1]))

    def page(
        self, shard: str, after: int, *, limit: int, bytes_max: int, seq_last: int | None = None
    ) -> Sequence[StreamRecord]:
        """Up to `limit` records after the one numbered `after`, at most up to `seq_last`.

        The page ends with the record that brings the size of data and partition keys to `bytes_max`.
        """
        return list(self._page(shard, after, limit, bytes_max, self.last(shard).seq if seq_last is None else seq_last))

    def trim(self, shard: str, before: Instant, *, limit: int) -> int:
        """Delete up to `limit` records that were written before an instant, but not the newest. Returns how many."""
        first, last = self.first(shard), self.last(shard)
        if not first.seq or first.at >= before:
            return 0
        kept = self.first_since(shard, before) or last
        return self._database.run(_SQL["delete"], (shard, min(kept.seq - 1, first.seq + limit - 1)))

    def drop(self, shard: str, *, limit: int) -> int:
        """Delete up to `limit` records of a shard that nobody uses any more. Returns how many."""
        self._last.pop(shard, None)
        row = self._database.one(_SQL["nth"], (shard, limit))
        return 0 if row is None or row[0] is None else self._database.run(_SQL["delete"], (shard, int(row[0])))

    def drop_all(self, prefix: str, *, limit: int) -> int:
        """Delete up to `limit` records of all shards whose ids begin so, and which nobody uses. Returns how many."""
        for shard in [shard for shard in self._last if shard.startswith(prefix)]:
            del self._last[shard]
        return self._database.run(_SQL["drop_all"], (prefix, f"{prefix}\U0010ffff", limit))

    def forget(self) -> None:
        """Clear the cache: after a rollback, and when other nodes may have written."""
        self._last.clear()

    def _page(self, shard: str, after: int, limit: int, bytes_max: int, seq_last: int) -> Iterator[StreamRecord]:
        size, found, rows = 0, 0, _FIRST_CHUNK_ROWS
        while found < limit:
            asked = min(rows, limit - found)
            read = self._database.all(
                _SQL["page"], {"shard": shard, "seq": after, "seq_last": seq_last, "limit": asked}
            )  # fmt: skip
            for seq, at, key, data in read:
                record = StreamRecord(int(seq), int(at), key, bytes(data))
                yield record
                found += 1
                size += len(key.encode()) + len(record.data)
                if size >= bytes_max:
                    return
                after = record.seq
            if len(read) < asked:
                return
            rows = min(_CHUNK_ROWS_MAX, (bytes_max - size) * found // max(size, 1) + 1)

    def _position(self, name: str, *params: object) -> Position:
        row = self._database.one(_SQL[name], params)
        return _BEGINNING if row is None else Position(int(row[0]), int(row[1]))


def _lock_of(shard: str) -> str:
    return f"shard/{shard}"
