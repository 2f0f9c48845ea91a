"""The worker of deleted secrets: it forgets those whose recovery window has ended."""

from __future__ import annotations

from collections.abc import Sequence

from redrive.core.clock import Instant
from redrive.core.errors import Bug
from redrive.core.scope import Scope
from redrive.delivery.outside.errand import Result
from redrive.delivery.worker import Attempt, FreeSlots
from redrive.services.secretsmanager.model.secret import (
    DELETION_TIMER,
    ROTATION_TIMER,
    Secret,
    Value,
    value_key,
)
from redrive.store.api import Transaction

_PER_CLAIM = 100


class SecretDeletionWorker:
    """Forgets deleted secrets, with their values."""

    name = DELETION_TIMER
    timer = DELETION_TIMER
    upkeep = False

    def next_due(self, tx: Transaction, *, free: FreeSlots) -> Instant | None:
        return tx.timers.next(DELETION_TIMER)

    def claim(self, tx: Transaction, *, free: FreeSlots) -> Sequence[Attempt]:
        for timer, _ in tx.timers.due(DELETION_TIMER, tx.now, _PER_CLAIM):
            account, region, name = timer.split("/", 2)
            scope = Scope(account, region)
            secret = tx.resources.get(Secret, scope, name)
            if secret is not None and secret.deletion_at is not None:
                for version in secret.versions:
                    tx.resources.delete(Value, scope, value_key(secret.uid, version.id))
                tx.resources.delete(Secret, scope, name)
                tx.timers.clear(ROTATION_TIMER, timer)
            tx.timers.clear(DELETION_TIMER, timer)
        return ()

    def settle(self, tx: Transaction, attempt: Attempt, result: Result) -> None:
        raise Bug("secrets are deleted inside the store: no attempts are made")
