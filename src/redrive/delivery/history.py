"""The history of deliveries: the one place where attempts and ends are written down, for all sources.

The delivery worker writes it. A source says how a delivery ended, and tells of nothing else but what it left out and
what went wrong after an end.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass

from redrive.core.clock import Instant
from redrive.core.retry import Delivered, Failed, GiveUp
from redrive.store.api import Transaction
from redrive.store.tables.attempts import AttemptRecord
from redrive.store.tables.deliveries import Delivery

RETRY = "retry"
"""The verdict on an attempt that another one will follow."""

MISSED = "missed"
"""How the verdict begins on work that was never promised. Its record has attempt 0."""


class Ending(enum.Enum):
    """How a delivery can end."""

    DELIVERED = "delivered"
    GAVE_UP = "gave up"
    DEAD_LETTERED = "dead-lettered"
    DROPPED = "dropped"


@dataclass(frozen=True, slots=True)
class End:
    """How a delivery ended. `detail` is the dead-letter queue's ARN, or why there is no dead letter."""

    ending: Ending
    detail: str = ""

    @classmethod
    def of(cls, verdict: Delivered | GiveUp) -> End:
        """The end of a delivery of which no dead letter is written."""
        return cls(Ending.DELIVERED if isinstance(verdict, Delivered) else Ending.GAVE_UP)

    @property
    def verdict(self) -> str:
        """The end as the history has it: `dead-lettered to ARN`, `dropped: why`, `delivered`, `gave up`."""
        match self.ending:
            case Ending.DEAD_LETTERED:
                return f"{self.ending.value} to {self.detail}"
            case Ending.DROPPED:
                return f"{self.ending.value}: {self.detail}"
            case _:
                return str(self.ending.value)


def record_retry(tx: Transaction, delivery: Delivery, failed: Failed | None, at: Instant) -> None:
    """Write down an attempt that another one will follow."""
    _record(tx, delivery, failed, RETRY, at)


def record_end(tx: Transaction, delivery: Delivery, failed: Failed | None, end: End) -> None:
    """Write down the last attempt at a delivery, and how the delivery ended."""
    _record(tx, delivery, failed, end.verdict)


def record_aftermath(tx: Transaction, delivery: Delivery, failed: Failed) -> None:
    """Write down what failed after the last attempt: a destination that was not told, a letter that was not written."""
    _record(tx, delivery, failed, Ending.GAVE_UP.value)


def record_left_out(tx: Transaction, *, delivery_id: str, source_arn: str, span: str, why: str) -> None:
    """Write down what was never promised; `span` says how much it was, and until when."""
    tx.attempts.record(AttemptRecord(delivery_id, source_arn, 0, tx.now, "Missed", span, f"{MISSED}: {why}", None))


def _record(
    tx: Transaction, delivery: Delivery, failed: Failed | None, verdict: str, next_at: Instant | None = None
) -> None:
    code, message = ("", "") if failed is None else (failed.code, failed.message)
    tx.attempts.record(
        AttemptRecord(
            delivery.id, delivery.source_arn, delivery.attempts, tx.now, code, message, verdict, next_at,
        )
    )  # fmt: skip
