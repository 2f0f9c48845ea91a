"""Runs as they are looked for: by state, source, target, time and execution; and what happened to one execution.

`attempts` writes runs; here they are read. Links and moves are what binds messages to executions: which messages a
batch had, and how a message went to another queue.
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
"""A place in a list after all runs: (first_at, run)."""


@dataclass(frozen=True, slots=True)
class RunFilter:
    """Which runs are meant: those of which all that is given is true. A scope or a source or an execution is needed."""

    scope: str = ""
    state: RunState | None = None
    source_arn: str = ""
    target_arn: str = ""
    execution_id: str = ""
    since: Instant = 0
    until: Instant | None = None


class Link(NamedTuple):
    """A message of a batch: its execution, how often it had been received then, and whether it was done with."""

    execution_id: str
    message_id: str
    receive_count: int
    is_done: bool = False


class Move(NamedTuple):
    """A message went from one queue to another. A move task stores it `moved_as` a new message id."""

    at: Instant
    execution_id: str
    kind: str
    from_arn: str
    to_arn: str
    message_id: str
    moved_as: str
    receive_count: int


class TimelineEvent(NamedTuple):
    """One thing that happened to an execution; what its kind does not have is empty.

    `event` is `began`, `received` (a batch had its message `led_to`, and was done with it if `state` is delivered),
    `attempted`, `told` (a destination `arn`) or
    `moved` (message `why`, since then called `led_to`, from `source_arn` to `target_arn`).
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
    """Pages of runs, timelines; links and moves."""

    __slots__ = ("_database", "_is_known", "_oldest")

    def __init__(self, database: Database) -> None:
        self._database = database
        self._oldest: Instant | None = None
        self._is_known = False

    def page(self, wanted: RunFilter, *, before: tuple[Instant, int] = AT_LAST, limit: int) -> list[RunRecord]:
        """So many runs before a place in the list, the latest first."""
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
        """The execution to which a delivery, a request or a message belongs, by its id; or that has this id."""
        row = self._database.one(_SQL["execution_of"], {"id": id})
        return None if row is None else str(row[0])

    def timeline(self, execution_id: str) -> list[TimelineEvent]:
        """All that happened to one execution, first to last."""
        return [TimelineEvent(*row) for row in self._database.all(_SQL["timeline"], {"execution_id": execution_id})]

    def link(self, run: int, links: Sequence[Link]) -> None:
        """Write down which messages a batch had."""
        self._database.run_many(_SQL["link"], [(run, *link) for link in links])

    def move(self, moves: Sequence[Move]) -> None:
        """Write down that messages changed queues."""
        self._database.run_many(_SQL["move"], moves)
        self.forget()

    def oldest_move(self) -> Instant | None:
        """When the oldest move on record happened; None if there is none."""
        if not self._is_known:
            row = self._database.one(_SQL["oldest_move"], {})
            self._oldest = None if row is None or row[0] is None else int(row[0])
            self._is_known = True
        return self._oldest

    def sweep_moves(self, before: Instant, *, limit: int) -> int:
        """Forget so many moves that happened before this instant, the oldest first; answers how many there were."""
        self.forget()
        return self._database.run(_SQL["sweep_moves"], {"before": before, "limit": limit})

    def forget(self) -> None:
        """Drop what is remembered: what was written has been undone."""
        self._oldest, self._is_known = None, False


def _page_of(wanted: RunFilter) -> str:
    if wanted.execution_id:
        return "page_of_execution"
    if wanted.source_arn:
        return "page_of_source"
    if wanted.state not in (None, RunState.DELIVERED):
        return "page_of_state"
    return "page_of_scope"
