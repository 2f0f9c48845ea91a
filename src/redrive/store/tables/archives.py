"""Archived events, by minute of the events' own time.

An archive is named by its id. A `Place` is a position between two events of an archive, so a replay that continues
there neither repeats nor skips an event, whatever was archived or has expired meanwhile.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from redrive.core.clock import MINUTE_MS, Instant
from redrive.store.database import Database
from redrive.store.queries import load_queries

_SQL = load_queries("archives")


class NewArchivedEvent(NamedTuple):
    """An event to archive: `at` is the event's own time, `size` is in bytes, `event` is the event's JSON."""

    at: Instant
    size: int
    event: str


class Place(NamedTuple):
    """The position just after the event with this minute and number, even if that event does not exist any more."""

    minute: int
    seq: int


class ArchivedEvent(NamedTuple):
    """An archived event."""

    seq: int
    minute: int
    at: Instant
    event: str

    @property
    def after(self) -> Place:
        """The place just after this event."""
        return Place(self.minute, self.seq)


class Content(NamedTuple):
    """How much an archive holds; `size` is in bytes."""

    events: int
    size: int


class ArchiveTable:
    """The events of all archives, and how many each minute has."""

    __slots__ = ("_database",)

    def __init__(self, database: Database) -> None:
        self._database = database

    def reserve(self, archive: str) -> None:
        """Let nobody else archive into this archive until the transaction ends.

        So the numbers of its events are in the order of the commits: who reads on after the latest number that it has
        seen skips nothing.
        """
        self._database.reserve(f"archive/{archive}")

    def put_many(self, archive: str, events: Sequence[NewArchivedEvent], *, now: Instant) -> None:
        """Archive events, in this order."""
        rows = [(archive, minute_of(at), at, now, size, event) for at, size, event in events]
        if len(rows) == 1:
            self._database.write(_SQL["put"], rows[0])
        else:
            self._database.run_many(_SQL["put"], rows)
        self._count(archive, [(minute, size) for _, minute, _, _, size, _ in rows], sign=1)

    def page(
        self, archive: str, place: Place, *, start: Instant, end: Instant, seq_last: int, limit: int
    ) -> list[ArchivedEvent]:
        """Events after a place whose time is in [start, end], and whose number is at most `seq_last`.

        Earlier minutes come first; within a minute, events come in the order in which they were archived.
        """
        params = {
            "archive": archive, "minute": place.minute, "seq": place.seq, "minute_last": minute_of(end),
            "seq_last": seq_last, "start": start, "end": end, "limit": limit,
        }  # fmt: skip
        return [ArchivedEvent(*row) for row in self._database.all(_SQL["page"], params)]

    def last_seq(self) -> int:
        """The number of the event that was archived last, in any archive; 0 if there is none."""
        row = self._database.one(_SQL["last_seq"], ())
        return 0 if row is None or row[0] is None else int(row[0])

    def content(self, archive: str) -> Content:
        """How much an archive holds."""
        row = self._database.one(_SQL["content"], (archive,))
        return Content(0, 0) if row is None or row[0] is None else Content(int(row[0]), int(row[1]))

    def oldest(self, archive: str) -> Instant | None:
        """When the oldest event of an archive was archived, or None."""
        row = self._database.one(_SQL["oldest"], (archive,))
        return None if row is None or row[0] is None else int(row[0])

    def expire(self, archive: str, before: Instant, *, limit: int) -> int:
        """Delete events that were archived before an instant, oldest first. Returns how many."""
        rows = self._database.all(_SQL["expire"], {"archive": archive, "before": before, "limit": limit})
        if rows:
            self._count(archive, [(int(minute), int(size)) for minute, size in rows], sign=-1)
            self._database.write(_SQL["forget_minutes"], {"archive": archive})
        return len(rows)

    def drop_oldest(self, archive: str, *, limit: int) -> None:
        """Delete the events of the earliest minutes."""
        rows = self._database.all(_SQL["drop_oldest"], {"archive": archive, "limit": limit})
        self._count(archive, [(int(minute), int(size)) for minute, size in rows], sign=-1)
        self._database.write(_SQL["forget_minutes"], {"archive": archive})

    def delete(self, archive: str, *, limit: int) -> int:
        """Delete up to `limit` events of an archive, and as many minutes. Returns the larger number of the two."""
        events = self._database.run(_SQL["delete_events"], {"archive": archive, "limit": limit})
        minutes = self._database.run(_SQL["delete_minutes"], {"archive": archive, "limit": limit})
        return max(events, minutes)

    def _count(self, archive: str, changes: Sequence[tuple[int, int]], *, sign: int) -> None:
        """Add events and bytes to their minutes, or subtract them."""
        events: Counter[int] = Counter()
        sizes: Counter[int] = Counter()
        for minute, size in changes:
            events[minute] += sign
            sizes[minute] += sign * size
        for minute, count in events.items():
            self._database.write(_SQL["count"], (archive, minute, count, sizes[minute]))


def minute_of(at: Instant) -> int:
    """The minute of an instant, counted from the Unix epoch."""
    return at // MINUTE_MS
