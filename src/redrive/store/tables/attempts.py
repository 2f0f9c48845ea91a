"""The history of attempts: what became of each, and what was to follow.

A run is all attempts at one delivery. Its texts are stored once.
"""

from __future__ import annotations

from dataclasses import dataclass

from redrive.core.clock import Instant
from redrive.store.database import Database
from redrive.store.queries import load_queries

_SQL = load_queries("attempts")


@dataclass(frozen=True, slots=True)
class AttemptRecord:
    """One attempt that has ended. `code` is empty for a success; `next_at` is set where a retry follows.

    Attempt 0 is none: the record says why there was not even a delivery.
    """

    delivery_id: str
    source_arn: str
    attempt: int
    ended_at: Instant
    code: str
    message: str
    verdict: str
    next_at: Instant | None


class AttemptTable:
    """Append, read, sweep."""

    __slots__ = ("_database",)

    def __init__(self, database: Database) -> None:
        self._database = database

    def record(self, record: AttemptRecord) -> None:
        """Write down an attempt that has ended."""
        ended = {
            "attempt": record.attempt, "ended_at": record.ended_at, "code": record.code, "message": record.message,
            "verdict": record.verdict, "next_at": record.next_at,
        }  # fmt: skip
        if record.attempt > 1 and self._database.run(_SQL["record"], {**ended, "delivery_id": record.delivery_id}):
            return
        run = self._database.one(
            _SQL["begin_run"], {"delivery_id": record.delivery_id, "source_arn": record.source_arn}
        )
        assert run is not None
        self._database.run(_SQL["record_first"], {**ended, "run": run[0]})

    def of_delivery(self, delivery_id: str) -> list[AttemptRecord]:
        """The attempts of one delivery, first to last."""
        return [AttemptRecord(*row) for row in self._database.all(_SQL["of_delivery"], {"delivery_id": delivery_id})]

    def of_source(self, source_arn: str) -> list[AttemptRecord]:
        """The attempts of all deliveries of one source (a schedule, a function)."""
        return [AttemptRecord(*row) for row in self._database.all(_SQL["of_source"], {"source_arn": source_arn})]

    def page_of_source(self, source_arn: str, *, before: str, limit: int) -> list[AttemptRecord]:
        """The attempts of so many deliveries of a source: those with the greatest ids below `before`, downwards."""
        rows = self._database.all(_SQL["page_of_source"], {"source_arn": source_arn, "before": before, "limit": limit})
        return [AttemptRecord(*row) for row in rows]

    def unattempted(self, source_arn: str) -> list[AttemptRecord]:
        """What was left out of a source without an attempt, in order of delivery id."""
        return [AttemptRecord(*row) for row in self._database.all(_SQL["unattempted"], {"source_arn": source_arn})]

    def delivery_ending(self, ending: str, *, since: Instant) -> str | None:
        """The id, with this ending, of a delivery that was attempted at this instant or later."""
        row = self._database.one(_SQL["delivery_ending"], {"ending": ending, "since": since})
        return None if row is None else str(row[0])

    def with_code(self, code: str) -> list[AttemptRecord]:
        """The attempts of all deliveries that failed with this code. Reads the whole table."""
        return [AttemptRecord(*row) for row in self._database.all(_SQL["with_code"], {"code": code})]

    def sweep(self, before: Instant, *, limit: int) -> int:
        """Forget so many attempts that ended before this instant, the oldest first; answers how many there were."""
        swept = self._database.all(_SQL["sweep"], {"before": before, "limit": limit})
        for run in {run for (run,) in swept}:
            self._database.run(_SQL["sweep_run"], {"run": run})
        return len(swept)
