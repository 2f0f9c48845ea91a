"""Runs: the history of a source's deliveries, each with its attempts, as the records of attempts tell it."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby

from redrive.store.api import Transaction
from redrive.store.tables.attempts import AttemptRecord

_AFTER_ALL = "\U0010ffff"
_STATES = {"retry": "retrying"}


@dataclass(frozen=True, slots=True)
class Run:
    """One delivery: what was tried, first to last. There is at least one record."""

    delivery_id: str
    records: tuple[AttemptRecord, ...]

    @property
    def source_arn(self) -> str:
        """Who made the promise."""
        return self.records[0].source_arn

    @property
    def state(self) -> str:
        """What became of it so far: `delivered`, `retrying`, `dead-lettered`, `dropped`, `gave up` or `missed`."""
        verdict = self.records[-1].verdict.partition(":")[0].partition(" to ")[0]
        return _STATES.get(verdict, verdict)


def runs_of(tx: Transaction, source_arn: str, *, limit: int, after: str = "") -> list[Run]:
    """A page of a source's runs, greatest delivery id first, which for a schedule is latest first.

    `after` is the delivery id with which the page before ended.
    """
    records = tx.attempts.page_of_source(source_arn, before=after or _AFTER_ALL, limit=limit)
    return [Run(key, tuple(group)) for key, group in groupby(records, key=lambda record: record.delivery_id)]


def run_of(tx: Transaction, delivery_id: str) -> Run | None:
    """The run of one delivery; None if nothing is known of it, or not any more."""
    records = tx.attempts.of_delivery(delivery_id)
    return Run(delivery_id, tuple(records)) if records else None
