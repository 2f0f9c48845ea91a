"""The port of what an event source mapping reads: a queue; later also the shards of a stream.

The port has what all event sources share: when something can be read, reading a batch, and acknowledging it. A queue
gives receipts, which acknowledge items. A stream has a cursor, from which the next poll continues.
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
    """What to read and how. `timeout_s` bounds a batch's run; `cursor` is where the last batch ended."""

    source_arn: str
    batch_size: int
    window_s: int
    timeout_s: int
    cursor: str = ""


@dataclass(frozen=True, slots=True)
class Batch:
    """An event, and the receipts of its items by item id. `cursor` is where the next poll continues."""

    event: bytes
    receipts: Mapping[str, str]
    cursor: str = ""


class EventSource(Protocol):
    """One kind of event source. Methods run inside transactions."""

    @property
    def service(self) -> str:
        """The service in the ARNs of these event sources."""
        ...

    @property
    def is_sequential(self) -> bool:
        """Whether the next batch waits until the one before is acknowledged."""
        ...

    def due_at(self, tx: Transaction, reading: Reading) -> Instant | None:
        """When a batch can next be read (now or in the past: at once); None if nothing is expected.

        Code that makes this instant earlier calls `watches.arrived`.
        """
        ...

    def poll(self, tx: Transaction, caller: Caller, reading: Reading) -> Sequence[Batch]:
        """Read batches as this caller: none if nothing is there, several if the items are too large for one event.

        Errors: ServiceError.
        """
        ...

    def executions(self, tx: Transaction, receipts: Sequence[str]) -> Sequence[Link]:
        """The executions that a batch's items belong to; empty if items of this event source belong to none."""
        ...

    def acknowledge(self, tx: Transaction, caller: Caller, source_arn: str, receipts: Sequence[str]) -> Sequence[str]:
        """Acknowledge processed items. Returns why some could not be acknowledged. Errors: ServiceError."""
        ...
