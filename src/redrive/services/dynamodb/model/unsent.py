"""Records that a Kinesis data stream has refused: those of one item wait together, in their order. Pure."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from redrive.core.clock import SECOND_MS, Instant
from redrive.core.retry import Backoff, RetryPolicy
from redrive.services.dynamodb import limits

SOURCE = "dynamodb"
"""The name of the source of deliveries."""

POLICY = RetryPolicy(
    retries_max=limits.UNSENT_RETRIES_MAX, age_ms_max=limits.UNSENT_MS,
    backoff=Backoff(first_ms=SECOND_MS, cap_ms=limits.UNSENT_WAIT_MS_MAX),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Refused:
    """The data of a record, and when its change was made."""

    data: str
    at: Instant


@dataclass(frozen=True, slots=True)
class Unsent:
    """The records of one item that a stream still has to get, the oldest first. `name` is `unsent_name`'s."""

    KIND: ClassVar[str] = "dynamodb.unsent"
    IS_STATE: ClassVar[bool] = True

    name: str
    table_name: str
    stream_arn: str
    partition_key: str
    records: tuple[Refused, ...]

    def with_record(self, record: Refused) -> Unsent:
        """Return these records with a newer one behind them."""
        return replace(self, records=(*self.records, record))

    def without_oldest(self, count: int) -> Unsent:
        """Return what is left without some of the oldest records."""
        return replace(self, records=self.records[count:])

    def too_old(self, now: Instant) -> int:
        """How many of the oldest records have waited for as long as they may."""
        return sum(now >= record.at + limits.UNSENT_MS for record in self.records)


def unsent_name(table_id: str, stream_arn: str, partition_key: str) -> str:
    """The name of what one item of a table has not sent to a stream."""
    return f"{table_id}/{stream_arn.rpartition('/')[2]}/{partition_key}"
