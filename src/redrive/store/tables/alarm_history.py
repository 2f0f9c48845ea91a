"""The history of alarms: one row for each item. Rows outlive their alarms, until a sweep deletes them."""

from __future__ import annotations

from typing import NamedTuple

from redrive.core.clock import Instant
from redrive.store.database import Database
from redrive.store.queries import load_queries

_SQL = load_queries("alarm_history")

ITEMS_MAX = 100_000
"""How many items one read returns at most: those of a flapping alarm in two months."""


class HistoryItem(NamedTuple):
    """One thing that happened to an alarm. `id` is unique; `data` is a JSON text."""

    alarm: str
    at: Instant
    id: str
    alarm_type: str
    type: str
    summary: str
    data: str


class AlarmHistoryTable:
    """Items of history, by scope and time."""

    __slots__ = ("_database",)

    def __init__(self, database: Database) -> None:
        self._database = database

    def put(self, scope: str, item: HistoryItem) -> None:
        """Store an item. Its id is stored behind its number among the items of its instant, which keeps their order."""
        row = self._database.one(_SQL["count"], {"scope": scope, "at": item.at})
        number = 0 if row is None else int(row[0])
        self._database.write(_SQL["put"], {"scope": scope, **item._asdict(), "id": f"{number:06d}-{item.id}"})

    def between(self, scope: str, start: Instant, end: Instant, *, alarm: str | None = None) -> list[HistoryItem]:
        """The items of a scope, or of one alarm, in [start, end), oldest first."""
        params = {"scope": scope, "start": start, "end": end, "limit": ITEMS_MAX}
        if alarm is None:
            rows = self._database.all(_SQL["of_scope"], params)
        else:
            rows = self._database.all(_SQL["of_alarm"], {**params, "alarm": alarm})
        return [HistoryItem(*row) for row in rows]

    def oldest(self) -> Instant | None:
        """When the oldest item was stored; None if there is none."""
        row = self._database.one(_SQL["oldest"], ())
        return None if row is None or row[0] is None else int(row[0])

    def sweep(self, before: Instant, *, limit: int) -> int:
        """Delete up to `limit` items from before this instant, oldest first. Returns how many were deleted."""
        return self._database.run(_SQL["sweep"], {"before": before, "limit": limit})
