"""Queries on runs: by state, source, target, time and execution; and the timeline of one execution.

`attempts` writes runs; this module reads them. Links and moves connect messages with executions: the messages of a
batch, and messages that went to another queue.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from redrive.core.clock import Instant
from redrive.store.database import Database
from redrive.store.queries import load_queries
from redrive.store.tables.attempts import RunRecord, RunState, run_from

_SQL = load_queries("runs")

AT_LAST = (1 << 62, 1 << 62)
"""The position after all runs, in lists of (first_at, run)."""


@dataclass(frozen=True, slots=True)
class RunFilter:
    """A filter for runs: all fields that are set must match. A scope, a source or an execution is required."""

    scope: str = ""
    state: RunState | None = None
    source_arn: str = ""
    target_arn: str = ""
    execution_id: str = ""
    since: Instant = 0
    until: Instant | None = None


class Link(NamedTuple):
    """A message of a batch: its execution, its receive count at that time, and whether the batch finished it."""

    execution_id: str
    message_id: str
    receive_count: int
    is_done: bool = False


class Move(NamedTuple):
    """A message that went from one queue to another. A move task gives it the new message id `moved_as`.

    A redrive sends a dead letter anywhere; `moved_as` is the id that it has there. Its kind ends with the plan's name.
    """

    at: Instant
    execution_id: str
    kind: str
    from_arn: str
    to_arn: str
    message_id: str
    moved_as: str
    receive_count: int


REDRIVE = "redrive by "
"""How the kind of a redrive begins; the name of its plan follows."""


class TimelineEvent(NamedTuple):
    """One event of an execution. Fields that its kind does not have are empty.

    `event` is `began`; `received` (a batch had the message `led_to`, and finished it if `state` is delivered);
    `attempted`; `told` (a destination `arn`); or `moved` (message `why`, now named `led_to`, from `source_arn` to
    `target_arn`).
    """

    at: Instant
    event: str
    kind: str
    delivery_id: str
    source_arn: str
    target_arn: str
    attempt: int
    state: str
    code: str
    message: str
    next_at: Instant | None
    arn: str
    led_to: str
    why: str
    log_stream: str
    receive_count: int
    cause: str


class RunTable:
    """Pages of runs, timelines, links and moves."""

    __slots__ = ("_database", "_is_known", "_oldest")

    def __init__(self, database: Database) -> None:
        self._database = database
        self._oldest: Instant | None = None
        self._is_known = False

    def page(self, wanted: RunFilter, *, before: tuple[Instant, int] = AT_LAST, limit: int) -> list[RunRecord]:
        """Up to `limit` runs before a position in the list, latest first."""
        before_at, before_run = before
        if wanted.until is not None and wanted.until < before_at:
            before_at, before_run = wanted.until + 1, 0
        state = "" if wanted.state is None else wanted.state.value
        params = {
            "scope": wanted.scope, "state": state, "source_arn": wanted.source_arn, "target_arn": wanted.target_arn,
            "execution_id": wanted.execution_id, "since": wanted.since, "before_at": before_at,
            "before_run": before_run, "limit": limit,
        }  # fmt: skip
        return [run_from(row) for row in self._database.all(_SQL[_page_of(wanted)], params)]

    def execution_of(self, id: str) -> str | None:
        """The execution of a delivery, a request or a message, by the latter's id; or the execution with this id."""
        row = self._database.one(_SQL["execution_of"], {"id": id})
        return None if row is None else str(row[0])

    def timeline(self, execution_id: str) -> list[TimelineEvent]:
        """All events of one execution, in order."""
        return [TimelineEvent(*row) for row in self._database.all(_SQL["timeline"], {"execution_id": execution_id})]

    def link(self, run: int, links: Sequence[Link]) -> None:
        """Record the messages of a batch."""
        self._database.run_many(_SQL["link"], [(run, *link) for link in links])

    def move(self, moves: Sequence[Move]) -> None:
        """Record that messages went to another queue."""
        self._database.run_many(_SQL["move"], moves)
        self.forget()

    def is_redriven(self, message_id: str, sent_as: str) -> bool:
        """Whether it is recorded that a dead letter was sent again under this id."""
        return self._database.one(_SQL["is_redriven"], {"message_id": message_id, "sent_as": sent_as}) is not None

    def oldest_move(self) -> Instant | None:
        """When the oldest recorded move happened, or None."""
        if not self._is_known:
            row = self._database.one(_SQL["oldest_move"], {})
            self._oldest = None if row is None or row[0] is None else int(row[0])
            self._is_known = True
        return self._oldest

    def sweep_moves(self, before: Instant, *, limit: int) -> int:
        """Delete up to `limit` moves before this instant, oldest first. Returns how many were deleted."""
        self.forget()
        return self._database.run(_SQL["sweep_moves"], {"before": before, "limit": limit})

    def forget(self) -> None:
        """Clear the cache after a rollback."""
        self._oldest, self._is_known = None, False


def _page_of(wanted: RunFilter) -> str:
    if wanted.execution_id:
        return "page_of_execution"
    if wanted.source_arn:
        return "page_of_source"
    if wanted.state not in (None, RunState.DELIVERED):
        return "page_of_state"
    return "page_of_scope"
