"""Runs: the history of deliveries, each with its attempts and with what followed its end."""

from __future__ import annotations

from dataclasses import dataclass

from redrive.store.api import Transaction
from redrive.store.tables.attempts import AttemptRecord, NoteRecord, RunRecord, RunState
from redrive.store.tables.runs import AT_LAST, RunFilter


@dataclass(frozen=True, slots=True)
class Run:
    """One delivery: its attempts in order, and the notes on what followed its end."""

    facts: RunRecord
    records: tuple[AttemptRecord, ...]
    notes: tuple[NoteRecord, ...] = ()

    @property
    def delivery_id(self) -> str:
        """The delivery's id."""
        return self.facts.delivery_id

    @property
    def source_arn(self) -> str:
        """The ARN of the delivery's source."""
        return self.facts.source_arn

    @property
    def state(self) -> RunState:
        """The delivery's latest state."""
        return self.facts.state

    @property
    def place(self) -> str:
        """The run's position in lists of runs, for the argument `after` of `runs_matching`."""
        return f"{self.facts.first_at}.{self.facts.run}"


def runs_matching(tx: Transaction, wanted: RunFilter, *, limit: int, after: str = "") -> list[Run]:
    """A page of runs, latest first. `after` is the `place` of the last run of the page before.

    Errors: ValueError if `after` is malformed.
    """
    before = AT_LAST
    if after:
        first_at, _, run = after.partition(".")
        before = (int(first_at), int(run))
    return [_with_attempts(tx, facts) for facts in tx.runs.page(wanted, before=before, limit=limit)]


def runs_of(tx: Transaction, source_arn: str, *, limit: int, after: str = "") -> list[Run]:
    """A page of a source's runs, as `runs_matching`."""
    return runs_matching(tx, RunFilter(source_arn=source_arn), limit=limit, after=after)


def run_of(tx: Transaction, delivery_id: str) -> Run | None:
    """The run of one delivery; None if it never existed or is already deleted."""
    facts = tx.attempts.run(delivery_id)
    return None if facts is None else _with_attempts(tx, facts)


def _with_attempts(tx: Transaction, facts: RunRecord) -> Run:
    records, notes = tx.attempts.of_delivery(facts.delivery_id), tx.attempts.notes_of(facts.delivery_id)
    return Run(facts, tuple(records), tuple(notes))
