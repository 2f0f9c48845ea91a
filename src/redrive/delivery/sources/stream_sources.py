"""The port of streams that event source mappings read: the shards of Kinesis and of DynamoDB streams.

A stream differs from a queue: reading takes nothing away. Each reader has its own position in each shard, reads on
from there, and stores the position when a batch is done. A shard that was split or merged ends; its children are read
after it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Protocol

from redrive.core.clock import Instant
from redrive.core.documents import Document
from redrive.core.scope import Caller
from redrive.store.api import Transaction


class StartingPoint(Enum):
    """Where a new reader begins. DynamoDB streams have no AT_TIMESTAMP."""

    TRIM_HORIZON = "TRIM_HORIZON"
    LATEST = "LATEST"
    AT_TIMESTAMP = "AT_TIMESTAMP"


@dataclass(frozen=True, slots=True)
class StreamShard:
    """A shard that still can be read. `parents` may have expired. A closed shard gets no new records."""

    id: str
    parents: Sequence[str] = ()
    is_closed: bool = False


@dataclass(frozen=True, slots=True)
class StreamItem:
    """A record. `seq` is its number in the shard; `document` is the record as functions see it.

    Records with the same `partition_key` are to be processed in order.
    """

    seq: int
    at: Instant
    partition_key: str
    sequence_number: str
    document: Document


@dataclass(frozen=True, slots=True)
class StreamPage:
    """Records after a position, in order. `is_end`: the shard is closed, and no record follows this page."""

    items: Sequence[StreamItem]
    is_end: bool


class StreamSource(Protocol):
    """One kind of stream. Methods run inside transactions.

    Whoever writes a record, or changes the shards, calls `watches.arrived` with the stream's ARN.
    """

    @property
    def service(self) -> str:
        """The service in the ARNs of these streams: `kinesis`, `dynamodb`."""
        ...

    def shards(self, tx: Transaction, caller: Caller, stream_arn: str) -> Sequence[StreamShard]:
        """The shards of a stream, as this caller sees them, parents before their children.

        Errors: ServiceError (the stream does not exist, the caller may not read it).
        """
        ...

    def position(
        self, tx: Transaction, stream_arn: str, shard_id: str, start: StartingPoint, at: Instant | None
    ) -> int:
        """The number after which a new reader goes on. `at` is the instant for AT_TIMESTAMP."""
        ...

    def read(
        self, tx: Transaction, caller: Caller, stream_arn: str, shard_id: str, after: int, *, limit: int, bytes_max: int
    ) -> StreamPage:
        """Records after a number that have not expired; the page ends with the record that reaches `bytes_max`.

        Errors: ServiceError (the stream or the shard does not exist, the caller may not read it).
        """
        ...
