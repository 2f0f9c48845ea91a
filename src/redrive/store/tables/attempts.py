"""The history of deliveries as facts: runs, their attempts, and what followed their ends.

A run is one delivery. Values that are the same for all its attempts are stored once. The run's state is that after its
last attempt. Most deliveries succeed at the first attempt: the run's row says all of it, and the attempt has no row.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import NamedTuple

from redrive.core.clock import Instant
from redrive.store.database import Database, Row
from redrive.store.queries import load_queries

_SQL = load_queries("attempts")


class RunState(enum.Enum):
    """The state of a run; for an attempt, the run's state after the attempt."""

    RETRYING = "retrying"
    """Another attempt follows."""
    DELIVERED = "delivered"
    DEAD_LETTERED = "dead-lettered"
    DROPPED = "dropped"
    """Given up; no dead letter could be written."""
    GAVE_UP = "gave up"
    """Given up by a source without dead letters."""
    MISSED = "missed"
    """Never created as a delivery: nothing was attempted."""
    RETURNED = "returned"
    """A batch with messages that went back to their queue."""

    def __init__(self, text: str) -> None:
        self.text = text
        """The value as a plain attribute: reading it takes a tenth of the time."""

    @property
    def word(self) -> str:
        """The state as it is written on a command line: `gave-up`."""
        return str(self.value).replace(" ", "-")


_STATES: dict[str, RunState] = {str(state.value): state for state in RunState}


class RunRecord(NamedTuple):
    """One delivery: a row. `kind` is its kind of source. `execution_id` is the execution that it belongs to.

    `cause` is the id of the delivery that caused it; empty if none did. `left_out` counts the occurrences of a missed
    run, from `first_at` to `left_out_until`.
    """

    delivery_id: str
    scope: str
    kind: str
    source_arn: str
    target_arn: str
    execution_id: str
    cause: str
    state: RunState
    first_at: Instant
    ended_at: Instant | None
    left_out: int | None = None
    left_out_until: Instant | None = None
    run: int = 0


class AttemptRecord(NamedTuple):
    """One attempt that has ended. `code` is empty for a success. `next_at` is set if a retry follows.

    `letter_arn` is the queue for its dead letter. `led_to` is the id of the message that it sent, or of the dead
    letter. `why` says why there is no letter or no attempt. Attempt 0 is no attempt: the run was missed.
    """

    delivery_id: str
    source_arn: str
    attempt: int
    ended_at: Instant
    state: RunState
    code: str = ""
    message: str = ""
    next_at: Instant | None = None
    letter_arn: str = ""
    led_to: str = ""
    why: str = ""
    log_stream: str = ""
    left_out: int | None = None
    left_out_until: Instant | None = None

    @property
    def verdict(self) -> str:
        """The state in words, for people: `retry`, `dead-lettered to ARN`, `dropped: why`."""
        match self.state:
            case RunState.RETRYING:
                return "retry"
            case RunState.DEAD_LETTERED:
                return f"{self.state.value} to {self.letter_arn}"
            case RunState.DROPPED | RunState.MISSED:
                return f"{self.state.value}: {self.why}"
            case _:
                return str(self.state.value)


class NoteRecord(NamedTuple):
    """What followed a run's end: a destination was told (`led_to` is the message or event), or could not be told."""

    at: Instant
    kind: str
    arn: str
    led_to: str
    code: str
    message: str


class AttemptTable:
    """Runs, attempts and notes: insert, read, sweep."""

    __slots__ = ("_database", "_is_known", "_oldest")

    def __init__(self, database: Database) -> None:
        self._database = database
        self._oldest: Instant | None = None
        self._is_known = False

    def record(self, run: RunRecord, attempt: AttemptRecord) -> int:
        """Record an attempt that has ended, and the run's new state. Returns the run's number."""
        if _is_once(attempt):
            number = self._database.insert(_SQL["begin_once"], _once(run, attempt))
            if number is not None:
                self._added(attempt.ended_at)
                return number
        number = self._go_on(run) if attempt.attempt > 1 else self._begin(run)
        if number is None:  # A first attempt is recorded again, or a later attempt's run was deleted.
            number = self._begin(run) if attempt.attempt > 1 else self._go_on(run)
        assert number is not None, f"{run.delivery_id} has no run, and cannot have one"
        self._database.write(
            _SQL["record"],
            (
                number, attempt.attempt, attempt.ended_at, attempt.state.text, attempt.code, attempt.message,
                attempt.next_at, attempt.letter_arn or None, attempt.led_to or None, attempt.why or None,
                attempt.log_stream or None,
            ),
        )  # fmt: skip
        self._added(attempt.ended_at)
        return number

    def record_successes(self, ended: Sequence[tuple[RunRecord, AttemptRecord]]) -> None:
        """Record the first attempts of new deliveries, which have no runs yet, and which all have succeeded."""
        assert all(_is_once(attempt) for _, attempt in ended), "only successes say nothing else"
        if ended:
            self._database.run_many(_SQL["begin_once"], [_once(run, attempt) for run, attempt in ended])
            self._added(min(attempt.ended_at for _, attempt in ended))

    def _begin(self, run: RunRecord) -> int | None:
        """Insert a run. Returns its number, or None if the delivery has a run already."""
        return self._database.insert(
            _SQL["begin_run"],
            (
                run.delivery_id, run.scope, run.kind, run.source_arn, run.target_arn, run.execution_id, run.cause,
                run.state.text, run.first_at, run.ended_at, run.left_out, run.left_out_until,
            ),
        )  # fmt: skip

    def _go_on(self, run: RunRecord) -> int | None:
        """Update a run's state. Returns its number, or None if the delivery has no run."""
        row = self._database.one(_SQL["go_on"], (run.state.text, run.ended_at, run.delivery_id))
        return None if row is None else int(row[0])

    def record_retry(
        self, delivery_id: str, attempt: int, ended_at: Instant, *, code: str, message: str, next_at: Instant,
        log_stream: str = "",
    ) -> bool:  # fmt: skip
        """Record another attempt of a run that is being retried. False if there is no such run yet."""
        self._added(ended_at)
        params = (attempt, ended_at, code, message, next_at, log_stream or None, delivery_id)
        return self._database.run(_SQL["record_retry"], params) > 0

    def note(self, delivery_id: str, note: NoteRecord) -> None:
        """Record what followed the end of a run."""
        self._database.write(
            _SQL["note"],
            {
                "delivery_id": delivery_id, "at": note.at, "kind": note.kind, "arn": note.arn, "led_to": note.led_to,
                "code": note.code, "message": note.message,
            },
        )  # fmt: skip

    def run(self, delivery_id: str) -> RunRecord | None:
        """The run of a delivery, or None."""
        row = self._database.one(_SQL["run"], {"delivery_id": delivery_id})
        return None if row is None else run_from(row)

    def of_delivery(self, delivery_id: str) -> list[AttemptRecord]:
        """The attempts of one delivery, in order."""
        return [_attempt(row) for row in self._database.all(_SQL["of_delivery"], {"delivery_id": delivery_id})]

    def notes_of(self, delivery_id: str) -> list[NoteRecord]:
        """What followed the end of a delivery."""
        return [NoteRecord(*row) for row in self._database.all(_SQL["notes_of"], {"delivery_id": delivery_id})]

    def of_source(self, source_arn: str) -> list[AttemptRecord]:
        """The attempts of all deliveries of one source (a schedule, a function)."""
        return [_attempt(row) for row in self._database.all(_SQL["of_source"], {"source_arn": source_arn})]

    def unattempted(self, source_arn: str) -> list[tuple[RunRecord, str]]:
        """The work of a source that was left out without an attempt, earliest first, with the reasons."""
        rows = self._database.all(_SQL["unattempted"], {"source_arn": source_arn})
        return [(run_from(row[:-1]), str(row[-1])) for row in rows]

    def with_code(self, code: str) -> list[AttemptRecord]:
        """All attempts that failed with this code. Reads the whole table."""
        return [_attempt(row) for row in self._database.all(_SQL["with_code"], {"code": code})]

    def oldest(self) -> Instant | None:
        """When the oldest attempt ended, or an earlier instant; None if there is no attempt."""
        if not self._is_known:
            rows = [self._database.one(_SQL[name], {}) for name in ("oldest", "oldest_once")]
            found = [int(row[0]) for row in rows if row is not None and row[0] is not None]
            self._oldest = min(found, default=None)
            self._is_known = True
        return self._oldest

    def sweep(self, before: Instant, *, limit: int) -> int:
        """Delete up to `limit` attempts that ended before this instant, oldest first. Returns how many were deleted.

        A run is deleted with its last attempt, together with its notes and links.
        """
        self.forget()
        swept = self._database.all(_SQL["sweep"], {"before": before, "limit": limit})
        gone = [run for run in {run for (run,) in swept} if self._database.run(_SQL["sweep_run"], {"run": run})]
        once = self._database.all(_SQL["sweep_once"], {"before": before, "limit": limit - len(swept)})
        for run in (*gone, *(run for (run,) in once)):
            self._database.write(_SQL["sweep_notes"], {"run": run})
            self._database.write(_SQL["sweep_links"], {"run": run})
        return len(swept) + len(once)

    def forget(self) -> None:
        """Clear the cache after a rollback."""
        self._oldest, self._is_known = None, False

    def _added(self, ended_at: Instant) -> None:
        if self._is_known and (self._oldest is None or ended_at < self._oldest):
            self._oldest = ended_at


def _is_once(attempt: AttemptRecord) -> bool:
    """Whether the row of a run can say all of its only attempt."""
    return attempt.attempt == 1 and attempt.state is RunState.DELIVERED and not attempt.code and not attempt.why


def _once(run: RunRecord, attempt: AttemptRecord) -> Row:
    """The parameters of `begin_once`."""
    return (
        run.delivery_id, run.scope, run.kind, run.source_arn, run.target_arn, run.execution_id, run.cause,
        run.state.text, run.first_at, attempt.ended_at, attempt.led_to or None, attempt.log_stream or None,
    )  # fmt: skip


def run_from(row: Row) -> RunRecord:
    """A run from the columns of `runs`, in the order of RunRecord."""
    delivery_id, scope, kind, source_arn, target_arn, execution_id, cause, state, *rest = row
    return RunRecord(
        delivery_id, scope, kind, source_arn, target_arn, execution_id, cause, _STATES[state], *rest
    )  # fmt: skip


def _attempt(row: Row) -> AttemptRecord:
    delivery_id, source_arn, attempt, ended_at, state, *rest = row
    return AttemptRecord(delivery_id, source_arn, attempt, ended_at, _STATES[state], *rest)
