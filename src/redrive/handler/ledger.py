"""The ledger: which executions have happened, what they returned, and who may say so.

An execution is named by its key. A run of it holds a lease, and a token that fences it: only the run that began last
may record how it ended. A fence guards the record, never the world outside: for that there is `effects`.
This module knows the words, not where records are kept (`ledgers`) nor how they change (`transitions`).
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import NamedTuple, Protocol

from redrive.handler.clock import Instant

ATTEMPTS_KEPT = 20  # Older attempts are forgotten; their number is not.
MESSAGE_IDS_KEPT = 100
LEASE_S_DEFAULT = 900  # The longest a Lambda function may run.
KEEP_S_DEFAULT = 30 * 86_400  # Longer than the 14 days that a message may lie in a dead-letter queue, twice over.


class Status(enum.StrEnum):
    """Where an execution stands, or how an attempt ended."""

    RUNNING = "RUNNING"
    SUCCESS = "SUCCESS"
    FAILED = "FAILED"


class Token(NamedTuple):
    """One run's right to settle an execution. `place` is where the run stands in the kept history."""

    key: str
    nonce: str
    attempt: int
    place: int


class Attempt(NamedTuple):
    """One run of an execution. One that stays RUNNING with another after it was lost: it died or outlived its lease."""

    started_at: Instant
    source: str | None = None
    message_id: str | None = None
    outcome: Status = Status.RUNNING
    ended_at: Instant | None = None
    error: str | None = None


class EffectRecord(NamedTuple):
    """An effect that a run meant to have (`done_at` None), or had. `result` is JSON text."""

    name: str
    idempotency_key: str
    first_at: Instant
    done_at: Instant | None = None
    result: str | None = None


class Record(NamedTuple):
    """All that a ledger knows of one execution.

    `function_name` says whose execution it is; None is unknown: an older record, or another tool's.
    `attempts_made` counts all runs, `attempts` holds the latest of them, oldest first. `duplicates` counts deliveries
    that found the execution running or done. `lease_ends_at` None while RUNNING is a record that another tool wrote:
    nobody holds it. `expires_at` None never expires.
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
        """Whether the record counts as forgotten, though it may still be there."""
        return self.expires_at is not None and self.expires_at <= now


class Fresh(NamedTuple):
    """The execution is this run's: do the work. `effects` are those of earlier runs, by name."""

    token: Token
    effects: Mapping[str, EffectRecord]


class Replayed(NamedTuple):
    """The execution succeeded before: answer with its result."""

    result: object


class InProgress(NamedTuple):
    """Another run holds the execution until this instant."""

    until: Instant


class Mismatch(NamedTuple):
    """The execution was begun with another payload; both hashes."""

    recorded: str
    given: str


class Foreign(NamedTuple):
    """The execution is another function's; both names."""

    recorded: str
    given: str


Began = Fresh | Replayed | InProgress | Mismatch | Foreign


class Ledger(Protocol):
    """A place where executions are recorded. Each method is atomic, across processes where the place is shared."""

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
        """Take an execution, or learn why not. A duplicate is noted in the record.

        `lease_s` is how long the run may take; `keep_s` how long the record is kept, counted from now. `function_name`
        is `<Lambda function>:<name>`, or the name alone, which agrees with the same one of any Lambda function.
        Errors: KeyRefused for a key that begins with `redrive:`, where cells are kept; ValueError for a claim that
        makes no sense.
        """
        ...

    def finish(self, token: Token, result: object) -> bool:
        """Record success. False, and nothing changes, if the execution is no longer this run's.

        Saying it twice is saying it once. Errors: ResultNotStorable.
        """
        ...

    def fail(self, token: Token, error: str) -> bool:
        """Record failure, so that the next delivery runs again. False as with `finish`."""
        ...

    def note_effect(self, token: Token, effect: EffectRecord) -> bool:
        """Record an effect of this run under its name. False as with `finish`."""
        ...

    def read(self, key: str) -> Record | None:
        """What is known of an execution, even if it has expired and is not yet deleted."""
        ...
