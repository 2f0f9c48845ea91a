"""The port of queues that event source mappings read: when something can be read, reading, and acknowledging.

A queue gives receipts, which acknowledge items. Streams have a port of their own (`stream_sources`), because reading
takes nothing away from them.
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
    """What to read and how. `timeout_s` bounds a batch's run; `filters` say which items reach the function."""

    source_arn: str
    batch_size: int
    window_s: int
    timeout_s: int
    filters: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Batch:
    """An event, and the receipts of its items by item id."""

    event: bytes
    receipts: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Polled:
    """What a poll read: several batches if the items are too large for one event, and how many items it removed.

    The filters left the removed items out. `hidden_ms` is how long nobody else can read what was read, if the source
    hides it.
    """

    batches: Sequence[Batch] = ()
    filtered: int = 0
    hidden_ms: int = 0


class EventSource(Protocol):
    """One kind of event source. Methods run inside transactions."""

    @property
    def service(self) -> str:
        """The service in the ARNs of these event sources."""
        ...

    def due_at(self, tx: Transaction, reading: Reading) -> Instant | None:
        """When a batch can next be read (now or in the past: at once); None if nothing is expected.

        Code that makes this instant earlier calls `watches.arrived`.
        """
        ...

    def poll(self, tx: Transaction, caller: Caller, reading: Reading) -> Polled:
        """Read as this caller, and acknowledge what the filters leave out.

        Errors: ServiceError.
        """
        ...

    def executions(self, tx: Transaction, receipts: Sequence[str]) -> Sequence[Link]:
        """The executions that a batch's items belong to; empty if items of this event source belong to none."""
        ...

    def acknowledge(self, tx: Transaction, caller: Caller, source_arn: str, receipts: Sequence[str]) -> Sequence[str]:
        """Acknowledge processed items. Returns why some could not be acknowledged. Errors: ServiceError."""
        ...
