"""Executions of state machines, their histories in pieces, and the tasks that activities offer.

An execution's row has a document that never changes, and a position from which its next transition begins. A piece of
history holds the events of one transaction. So a page of a history costs the same at its beginning and at its end.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import NamedTuple

from redrive.core.clock import Instant
from redrive.core.documents import Document
from redrive.store.database import Database, Row
from redrive.store.documents import document_from, document_text
from redrive.store.queries import load_queries

_SQL = load_queries("executions")

PIECE_EVENTS_MAX = 50
"""How many events a piece of history has at most."""

_LONG_INTEGER = re.compile(r"[0-9]{19}")
_END = (1 << 62, "\U0010ffff")


class ExecutionRow(NamedTuple):
    """An execution. `owner` is the ARN of its machine or map run; `events` is the number of its last event."""

    arn: str
    id: str
    owner: str
    status: str
    started_at: Instant
    stopped_at: Instant | None
    events: int
    document: Document
    position: Document


class StoppedExecution(NamedTuple):
    """An execution that has ended, as the sweep sees it."""

    arn: str
    id: str
    owner: str
    document: Document


class ExecutionTable:
    """All executions."""

    __slots__ = ("_database", "_oldest")

    def __init__(self, database: Database) -> None:
        self._database = database
        self._oldest: tuple[Instant | None] | None = None

    def reserve(self, arn: str) -> None:
        """Let no other step change this execution until the transaction ends. Call it before `get`."""
        self._database.reserve(_lock_of(arn))

    def put(self, row: ExecutionRow) -> bool:
        """Store a new execution. False if its ARN exists already."""
        params = (
            row.arn, row.id, row.owner, row.status, row.started_at, row.stopped_at, row.events,
            document_text(row.document), document_text(row.position),
        )  # fmt: skip
        if row.stopped_at is not None:
            self._oldest = None
        return self._database.run(_SQL["put"], params) > 0

    def get(self, arn: str) -> ExecutionRow | None:
        """The execution with this ARN, or None."""
        row = self._database.one(_SQL["get"], (arn,))
        return None if row is None else _execution(row)

    def save(self, row: ExecutionRow) -> None:
        """Store what has changed: status, end, last event, position."""
        if row.stopped_at is not None:
            self._oldest = None
        params = (row.status, row.stopped_at, row.events, document_text(row.position), row.arn)
        self._database.write_one(_SQL["save"], params)

    def delete(self, arn: str, id: str) -> None:
        """Delete an execution and its history."""
        self._oldest = None
        self._database.write(_SQL["delete"], (arn,))
        self._database.write(_SQL["forget_events"], (id,))

    def page(
        self, owner: str, *, limit: int, status: str | None = None, before: tuple[Instant, str] = _END
    ) -> list[ExecutionRow]:  # fmt: skip
        """Executions of an owner, newest first, that stand behind the pair (started_at, arn)."""
        params = {"owner": owner, "before": before[0], "arn": before[1], "limit": limit}
        if status is None:
            rows = self._database.all(_SQL["page"], params)
        else:
            rows = self._database.all(_SQL["page_of_status"], {**params, "status": status})
        return [_execution(row) for row in rows]

    def count(self, owner: str, status: str) -> int:
        """How many executions of an owner have a status. Reads as many entries of an index."""
        row = self._database.one(_SQL["count_of_status"], (owner, status))
        return int(row[0]) if row else 0

    def has_any(self, owner: str) -> bool:
        """Whether an owner has executions."""
        return self._database.one(_SQL["any_of_owner"], (owner,)) is not None

    def oldest_stopped(self) -> Instant | None:
        """When the execution that ended first has ended; None if none has. Runs no statement if that is remembered."""
        if self._oldest is None:
            row = self._database.one(_SQL["oldest_stopped"], ())
            self._oldest = (None if row is None or row[0] is None else int(row[0]),)
        return self._oldest[0]

    def stopped_before(self, instant: Instant, *, limit: int) -> list[StoppedExecution]:
        """Executions that ended before an instant, the earliest first."""
        rows = self._database.all(_SQL["stopped_before"], (instant, limit))
        return [StoppedExecution(arn, key, owner, document_from(text)) for arn, key, owner, text in rows]

    def append(self, id: str, first: int, events: Sequence[object]) -> None:
        """Append events to a history. `first` is the number of the first of them; numbers have no gaps."""
        for at in range(0, len(events), PIECE_EVENTS_MAX):
            piece = {"e": events[at : at + PIECE_EVENTS_MAX]}
            self._database.write(_SQL["append"], (id, first + at, document_text(piece)))

    def events(self, id: str, *, first: int, last: int, reverse: bool = False) -> list[list[object]]:
        """The events with the numbers `first` to `last`, as they were appended, in their order or backwards."""
        params = {"execution": id, "first": first, "last": last}
        rows = self._database.all(_SQL["pieces_back" if reverse else "pieces"], params)
        found = [event for (text,) in rows for event in _ordered(document_from(text)["e"], reverse=reverse)]
        return [event for event in found if first <= int(str(event[0])) <= last]

    def offer(self, activity: str, id: str, document: Document) -> None:
        """Offer a task to the workers of an activity. Ids are taken in their order."""
        self._database.write(_SQL["offer"], (activity, id, document_text(document)))

    def take(self, activity: str) -> Document | None:
        """Take the first task that an activity offers, or None."""
        self._database.reserve(_lock_of(activity))
        row = self._database.one(_SQL["next_task"], (activity,))
        if row is None:
            return None
        self._database.write(_SQL["take_task"], (activity, row[0]))
        return document_from(row[1])

    def drop_tasks(self, activity: str) -> None:
        """Delete the tasks that an activity offers."""
        self._database.write(_SQL["drop_tasks"], (activity,))

    def forget(self) -> None:
        """Clear the cache: after a rollback, and when other nodes may have written."""
        self._oldest = None


def _execution(row: Row) -> ExecutionRow:
    arn, key, owner, status, started_at, stopped_at, events, document, position = row
    return ExecutionRow(
        arn, key, owner, status, started_at, stopped_at, events, document_from(document), _value(position)
    )  # fmt: skip


def _value(text: str) -> Document:
    """A position. The fast parser reads integers of 64 bits at most; users may have longer ones."""
    return dict(json.loads(text)) if _LONG_INTEGER.search(text) else document_from(text)


def _ordered(events: Sequence[list[object]], *, reverse: bool) -> Sequence[list[object]]:
    return events[::-1] if reverse else events


def _lock_of(arn: str) -> str:
    return f"execution/{arn}"
