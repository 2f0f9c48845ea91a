"""Runs: the history of deliveries, each with its attempts and with what followed its end."""

from __future__ import annotations

from dataclasses import dataclass

from redrive.store.api import Transaction
from redrive.store.tables.attempts import AttemptRecord, NoteRecord, RunRecord, RunState
from redrive.store.tables.runs import AT_LAST, RunFilter


@dataclass(frozen=True, slots=True)
class Run:
    """One delivery: what was tried, first to last, and what followed its end."""

    facts: RunRecord
    records: tuple[AttemptRecord, ...]
    notes: tuple[NoteRecord, ...] = ()

    @property
    def delivery_id(self) -> str:
        """The delivery's id."""
        return self.facts.delivery_id

    @property
    def source_arn(self) -> str:
        """Who made the promise."""
        return self.facts.source_arn

    @property
    def state(self) -> RunState:
        """What became of it so far."""
        return self.facts.state

    @property
    def place(self) -> str:
        """Where it stands in lists of runs: `runs_matching` goes on after it."""
        return f"{self.facts.first_at}.{self.facts.run}"


def runs_matching(tx: Transaction, wanted: RunFilter, *, limit: int, after: str = "") -> list[Run]:
    """A page of runs, the latest first; `after` is the place of the run with which the page before ended.

    Errors: ValueError if `after` is no place.
    """
    before = AT_LAST
    if after:
        first_at, _, run = after.partition(".")
        before = (int(first_at), int(run))
    return [_with_attempts(tx, facts) for facts in tx.runs.page(wanted, before=before, limit=limit)]


def runs_of(tx: Transaction, source_arn: str, *, limit: int, after: str = "") -> list[Run]:
    """A page of a source's runs, the latest first, as `runs_matching`."""
    return runs_matching(tx, RunFilter(source_arn=source_arn), limit=limit, after=after)


def run_of(tx: Transaction, delivery_id: str) -> Run | None:
    """The run of one delivery; None if nothing is known of it, or not any more."""
    facts = tx.attempts.run(delivery_id)
    return None if facts is None else _with_attempts(tx, facts)


def _with_attempts(tx: Transaction, facts: RunRecord) -> Run:
    records, notes = tx.attempts.of_delivery(facts.delivery_id), tx.attempts.notes_of(facts.delivery_id)
    return Run(facts, tuple(records), tuple(notes))
