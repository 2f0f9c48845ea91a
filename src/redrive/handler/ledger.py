"""The ledger: which executions have happened, what they returned, and which run may record that.

A key names an execution. A run holds a lease, and a token that fences it: only the latest run may record the end of the
execution. A fence guards the record, never the outside world: for that there is `effects`.
This module defines the interface, not where records are stored (`ledgers`) nor how they change (`transitions`).
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import NamedTuple, Protocol

from redrive.handler.clock import Instant

ATTEMPTS_KEPT = 20  # Older attempts are deleted; their number is kept.
MESSAGE_IDS_KEPT = 100
LEASE_S_DEFAULT = 900  # The longest a Lambda function may run.
KEEP_S_DEFAULT = 30 * 86_400  # More than twice the 14 days that a message may wait in a dead-letter queue.


class Status(enum.StrEnum):
    """The status of an execution, or of an attempt."""

    RUNNING = "RUNNING"
    SUCCESS = "SUCCESS"
    FAILED = "FAILED"


class Token(NamedTuple):
    """One run's right to settle an execution. `place` is the index of the run in the kept history."""

    key: str
    nonce: str
    attempt: int
    place: int


class Attempt(NamedTuple):
    """One run of an execution. If it is RUNNING and not the latest, it was lost: it died or outlived its lease."""

    started_at: Instant
    source: str | None = None
    message_id: str | None = None
    outcome: Status = Status.RUNNING
    ended_at: Instant | None = None
    error: str | None = None


class EffectRecord(NamedTuple):
    """An effect that a run intended (`done_at` None), or performed. `result` is JSON text."""

    name: str
    idempotency_key: str
    first_at: Instant
    done_at: Instant | None = None
    result: str | None = None


class Record(NamedTuple):
    """The record of one execution.

    `function_name` is the owner of the execution; None is unknown: an older record, or another tool's.
    `attempts_made` counts all runs, `attempts` has the latest of them, oldest first. `duplicates` counts deliveries
    that found the execution running or done. A RUNNING record with `lease_ends_at` None was written by another
    tool: no run holds it. `expires_at` None never expires.
    """

    key: str
    status: Status
    token: str | None
    first_at: Instant
    updated_at: Instant
    lease_ends_at: Instant | None
    expires_at: Instant | None
    payload_hash: str | None = None
    result: str | None = None
    attempts_made: int = 0
    attempts: tuple[Attempt, ...] = ()
    duplicates: int = 0
    message_ids: frozenset[str] = frozenset()
    effects: tuple[EffectRecord, ...] = ()
    function_name: str | None = None

    @property
    def reprocessed(self) -> int:
        """How often the execution was run again after its first run."""
        return max(0, self.attempts_made - 1)

    def has_expired(self, now: Instant) -> bool:
        """Whether the record has expired, though it may still exist."""
        return self.expires_at is not None and self.expires_at <= now


class Fresh(NamedTuple):
    """This run holds the execution: do the work. `effects` are those of earlier runs, by name."""

    token: Token
    effects: Mapping[str, EffectRecord]


class Replayed(NamedTuple):
    """The execution succeeded before: return its result."""

    result: object


class InProgress(NamedTuple):
    """Another run holds the execution until this instant."""

    until: Instant


class Mismatch(NamedTuple):
    """The execution was begun with another payload; both hashes."""

    recorded: str
    given: str


class Foreign(NamedTuple):
    """The execution belongs to another function; both names."""

    recorded: str
    given: str


Began = Fresh | Replayed | InProgress | Mismatch | Foreign


class Ledger(Protocol):
    """Stores executions. Each method is atomic, also across processes if they share the storage."""

    def begin(
        self,
        key: str,
        payload_hash: str | None = None,
        lease_s: float = LEASE_S_DEFAULT,
        *,
        keep_s: float = KEEP_S_DEFAULT,
        message_id: str | None = None,
        source: str | None = None,
        function_name: str | None = None,
    ) -> Began:
        """Claim an execution, or return why this run cannot have it. A duplicate is counted in the record.

        `lease_s` is how long the run may take; `keep_s` how long the record is kept, counted from now. `function_name`
        is `<Lambda function>:<name>`, or the name alone, which equals the same name of any Lambda function.
        Errors: KeyRefused for a key with the prefix `redrive:`, which cells use; ValueError for an invalid claim.
        """
        ...

    def finish(self, token: Token, result: object) -> bool:
        """Record success. False, and nothing changes, if another run has taken the execution over.

        Idempotent. Errors: ResultNotStorable.
        """
        ...

    def fail(self, token: Token, error: str) -> bool:
        """Record failure, so that the next delivery runs again. False as with `finish`."""
        ...

    def note_effect(self, token: Token, effect: EffectRecord) -> bool:
        """Record an effect of this run under its name. False as with `finish`."""
        ...

    def read(self, key: str) -> Record | None:
        """The record of an execution, even if it has expired and is not yet deleted."""
        ...
