"""What a mapping reads from: a queue, later the shards of a stream.

The port has what all of them share: when there is something to read, reading it, and saying what was done with it. A
queue keeps its place by receipts, which are given back; a stream by a cursor, at which the next poll goes on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from redrive.core.clock import Instant
from redrive.core.scope import Caller
from redrive.store.api import Transaction
from redrive.store.tables.runs import Link


@dataclass(frozen=True, slots=True)
class Reading:
    """What is read, and how: `timeout_s` is how long a batch may be under way, `cursor` where the last one ended."""

    source_arn: str
    batch_size: int
    window_s: int
    timeout_s: int
    cursor: str = ""


@dataclass(frozen=True, slots=True)
class Batch:
    """An event, and the receipt of each of its items by the item's id. `cursor` is where the source goes on then."""

    event: bytes
    receipts: Mapping[str, str]
    cursor: str = ""


class EventSource(Protocol):
    """One kind of thing to read from. Methods run inside transactions."""

    @property
    def service(self) -> str:
        """The service in the ARNs of what is read."""
        ...

    @property
    def is_sequential(self) -> bool:
        """Whether a batch is only read when the one before it is done with."""
        ...

    def due_at(self, tx: Transaction, reading: Reading) -> Instant | None:
        """When a batch may next be read (in the past if now); None if there is nothing to come.

        Whatever makes it earlier than it was answered calls `watches.arrived`.
        """
        ...

    def poll(self, tx: Transaction, caller: Caller, reading: Reading) -> Sequence[Batch]:
        """Read a batch as this caller; several where its items are too large for one event, none if nothing is there.

        Errors: ServiceError.
        """
        ...

    def executions(self, tx: Transaction, receipts: Sequence[str]) -> Sequence[Link]:
        """To which executions the items of a batch belong; empty for a source whose items belong to none."""
        ...

    def acknowledge(self, tx: Transaction, caller: Caller, source_arn: str, receipts: Sequence[str]) -> Sequence[str]:
        """Items are done with; answers why some could not be acknowledged. Errors: ServiceError."""
        ...
