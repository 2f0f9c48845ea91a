"""Log events, in order of time, within a stream and within a group.

A `Place` is a position between two events: after all events up to (at, seq). Pages begin at places, so late events do
not shift pages.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import starmap
from typing import NamedTuple, cast

from redrive.core.clock import Instant
from redrive.store.database import Database
from redrive.store.queries import load_queries

_SQL = load_queries("log_events")

END_OF_TIME = 10**18
"""Later than any event."""


class NewLogEvent(NamedTuple):
    """An event to store: a row. `log_group` is the group's id."""

    log_group: str
    stream: str
    at: Instant
    ingested_at: Instant
    message: str


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """The position just after the event with this time and number, even if that event does not exist."""

    at: Instant
    seq: int


@dataclass(frozen=True, slots=True)
class LogEvent:
    """A stored event. Only `until` of a whole group reads what a transformer has made of it."""

    seq: int
    stream: str
    at: Instant
    ingested_at: Instant
    message: str
    transformed: str | None = None

    @property
    def after(self) -> Place:
        """The place just after this event."""
        return Place(self.at, self.seq)

    @property
    def before(self) -> Place:
        """The place just before this event."""
        return Place(self.at, self.seq - 1)


LogRow = tuple[int, str, Instant, Instant, str, str | None]
"""The number, stream, time, time of ingestion and message of an event, and what a transformer has made of it."""


class LogEventTable:
    """The events of all log groups."""

    __slots__ = ("_database",)

    def __init__(self, database: Database) -> None:
        self._database = database

    def put_many(self, events: Sequence[NewLogEvent]) -> None:
        """Store events, in this order."""
        self._database.run_many(_SQL["put"], events)

    def put_transformed(self, events: Sequence[NewLogEvent], made: Sequence[str | None]) -> None:
        """Store events, in this order, each with what a transformer has made of it."""
        rows = [(*event, text) for event, text in zip(events, made, strict=True)]
        self._database.run_many(_SQL["put_transformed"], rows)

    def after(
        self, log_group: str, place: Place, *, stream: str | None = None, end: Instant = END_OF_TIME, limit: int
    ) -> Iterator[LogEvent]:
        """Events after a place and before the instant `end`, oldest first: of one stream, or of the whole group.

        Rows are read one by one, so a caller that stops early has held only one.
        """
        name = "group_after" if stream is None else "stream_after"
        rows = self._database.each(_SQL[name], {**_scope(log_group, stream, place, limit), "end": end})
        return starmap(LogEvent, rows)

    def until(
        self, log_group: str, place: Place, *, stream: str | None = None, start: Instant = 0, limit: int
    ) -> Iterator[LogEvent]:
        """Events up to a place and from the instant `start` on, newest first: of one stream, or of the whole group.

        Rows are read one by one, as in `after`.
        """
        name = "group_until" if stream is None else "stream_until"
        rows = self._database.each(_SQL[name], {**_scope(log_group, stream, place, limit), "start": start})
        return starmap(LogEvent, rows)

    def page_until(self, log_group: str, place: Place, *, start: Instant, limit: int, characters: int) -> list[LogRow]:
        """Events of a group as rows, as in `until`: up to `limit`, and no more once they have so many characters."""
        params = {**_scope(log_group, None, place, limit), "start": start}
        rows = cast("Iterator[LogRow]", self._database.each(_SQL["group_until"], params))
        found: list[LogRow] = []
        for row in rows:
            found.append(row)
            characters -= len(row[4]) if row[5] is None else len(row[4]) + len(row[5])
            if characters <= 0:
                break
        return found

    def arrived(self, log_group: str, seq: int, *, limit: int) -> list[LogEvent]:
        """Events of a group that were stored after the event with this number, in the order in which they were."""
        params = {"log_group": log_group, "seq": seq, "limit": limit}
        return list(starmap(LogEvent, self._database.all(_SQL["arrived"], params)))

    def last_seq(self) -> int:
        """The number of the event that was stored last, in any group; 0 without one."""
        row = self._database.one(_SQL["last"], {})
        return 0 if row is None or row[0] is None else int(row[0])

    def first_at(self, log_group: str, stream: str) -> Instant | None:
        """The time of a stream's oldest event, or None."""
        row = self._database.one(_SQL["first_at"], {"log_group": log_group, "stream": stream})
        return None if row is None or row[0] is None else int(row[0])

    def oldest(self, log_group: str) -> Instant | None:
        """The time of a group's oldest event, or None."""
        row = self._database.one(_SQL["oldest"], (log_group,))
        return None if row is None or row[0] is None else int(row[0])

    def expire(self, log_group: str, before: Instant, *, limit: int) -> list[tuple[str, str]]:
        """Delete a group's events from before an instant, oldest first. Returns stream and message of each."""
        rows = self._database.all(_SQL["expire"], {"log_group": log_group, "before": before, "limit": limit})
        return [(stream, message) for stream, message in rows]

    def delete_stream(self, log_group: str, stream: str) -> None:
        """Delete all events of a stream."""
        self._database.write(_SQL["delete_stream"], {"log_group": log_group, "stream": stream})

    def delete_group(self, log_group: str, *, limit: int) -> int:
        """Delete up to `limit` events of a group. Returns how many were deleted."""
        return self._database.run(_SQL["delete_group"], {"log_group": log_group, "limit": limit})


def _scope(log_group: str, stream: str | None, place: Place, limit: int) -> dict[str, object]:
    params: dict[str, object] = {"log_group": log_group, "at": place.at, "seq": place.seq, "limit": limit}
    return params if stream is None else {**params, "stream": stream}
