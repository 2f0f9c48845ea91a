"""The worker of keys: deletes those whose waiting period has ended, and rotates those that ask for it."""

from __future__ import annotations

from collections.abc import Sequence

from redrive.core.clock import Instant
from redrive.core.errors import Bug
from redrive.core.scope import Scope
from redrive.delivery.outside.errand import Result
from redrive.delivery.worker import Attempt, FreeSlots
from redrive.services.kms.lookup import Found, new_material, store_key
from redrive.services.kms.model.alias import Alias
from redrive.services.kms.model.grant import Grant
from redrive.services.kms.model.key import KEY_TIMER, Key, rotation_after
from redrive.store.api import Transaction

_PER_CLAIM = 100


class KeyWorker:
    """Deletes keys, with their aliases and grants, and rotates keys."""

    name = KEY_TIMER
    timer = KEY_TIMER
    upkeep = False

    def next_due(self, tx: Transaction, *, free: FreeSlots) -> Instant | None:
        return tx.timers.next(KEY_TIMER)

    def claim(self, tx: Transaction, *, free: FreeSlots) -> Sequence[Attempt]:
        for timer, _ in tx.timers.due(KEY_TIMER, tx.now, _PER_CLAIM):
            account, region, key_id = timer.split("/", 2)
            scope = Scope(account, region)
            key = tx.resources.get(Key, scope, key_id)
            if key is None:
                tx.timers.clear(KEY_TIMER, timer)
            elif key.deletion_at is not None:
                _delete(tx, scope, key)
            else:
                _rotate(tx, Found(scope, key))
        return ()

    def settle(self, tx: Transaction, attempt: Attempt, result: Result) -> None:
        raise Bug("keys are deleted and rotated inside the store: no attempts are made")


def _delete(tx: Transaction, scope: Scope, key: Key) -> None:
    for alias in tx.resources.list(Alias, scope):
        if alias.key_id == key.id:
            tx.resources.delete(Alias, scope, alias.name)
    for grant in tx.resources.list(Grant, scope, prefix=f"{key.id}/"):
        tx.resources.delete(Grant, scope, grant.name)
    tx.resources.delete(Key, scope, key.id)
    tx.timers.clear(KEY_TIMER, f"{scope}/{key.id}")


def _rotate(tx: Transaction, found: Found) -> None:
    """Rotate a key. One that is disabled is not rotated, and asked again a period later."""
    days = found.key.rotation_days
    assert days is not None, "only keys that are rotated or deleted have a timer"
    materials = found.key.materials
    if found.key.state.value == "Enabled":
        materials = (*materials, new_material(tx))
    store_key(tx, found, materials=materials, rotates_at=rotation_after(tx.now, days))
