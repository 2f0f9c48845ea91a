"""Finds the key that a request means: by its id, its ARN, an alias or the ARN of an alias."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from redrive.core.arn import Arn
from redrive.core.entropy import new_uuid
from redrive.core.scope import Caller, Scope
from redrive.services.kms import limits
from redrive.services.kms.model.alias import AWS_PREFIX, PREFIX, SERVICES_WITH_KEYS, Alias, alias_arn
from redrive.services.kms.model.key import (
    KEY_TIMER,
    Key,
    Material,
    key_arn,
    managed_policy,
    next_due,
    rotation_after,
)
from redrive.services.kms.model.requests import invalid, not_found
from redrive.services.kms.model.specs import ENCRYPT_DECRYPT, SYMMETRIC
from redrive.store.api import Transaction

_KEY_ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|mrk-[0-9a-f]{32}")
MATERIAL_DIGITS = 64


@dataclass(frozen=True, slots=True)
class Found:
    """A key, and the account and region where it is."""

    scope: Scope
    key: Key

    @property
    def arn(self) -> str:
        return self.key.arn(self.scope)


def find_key(tx: Transaction, caller: Caller, identifier: str) -> Found:
    """Return the key that an id, an alias, or the ARN of either means. Errors: NotFoundException."""
    scope, name = _place(caller, identifier)
    if not name.startswith(PREFIX):
        return _by_id(tx, scope, name)
    alias = tx.resources.get(Alias, scope, name)
    if alias is not None:
        return _by_id(tx, scope, alias.key_id)
    if may_come(caller, scope, name):
        return _managed_key(tx, scope, name)
    raise not_found(f"Alias {alias_arn(scope, name)} is not found.")


def find_by_id(tx: Transaction, caller: Caller, identifier: str) -> Found:
    """Return the key with an id or an ARN, for operations that take no alias. Errors: NotFoundException."""
    scope, name = _place(caller, identifier)
    if name.startswith(PREFIX):
        raise not_found(f"Invalid keyId '{identifier}'")
    return _by_id(tx, scope, name)


def may_come(caller: Caller, scope: Scope, name: str) -> bool:
    """Whether an alias is that of an AWS managed key, which is created when it is first needed."""
    return scope == caller.scope and name.removeprefix(AWS_PREFIX) in SERVICES_WITH_KEYS and AWS_PREFIX in name


def key_anywhere(tx: Transaction, caller: Caller, key_id: str) -> Found | None:
    """Return the key with this id in the caller's account, or in another account of the region."""
    key = tx.resources.get(Key, caller.scope, key_id)
    if key is not None:
        return Found(caller.scope, key)
    for scope, other in tx.resources.everywhere(Key):
        if other.id == key_id and scope.region == caller.region:
            return Found(scope, other)
    return None


def store_key(tx: Transaction, found: Found, **changes: object) -> Found:
    """Store a key with some changes, and set its timer anew."""
    key = replace(found.key, **changes)  # type: ignore[arg-type]
    tx.resources.put(found.scope, key)
    timer = f"{found.scope}/{key.id}"
    due_at = next_due(key)
    if due_at is None:
        tx.timers.clear(KEY_TIMER, timer)
    else:
        tx.timers.set(KEY_TIMER, timer, due_at)
        tx.notify("due")
    return Found(found.scope, key)


def new_material(tx: Transaction, *, on_demand: bool = False) -> Material:
    """Return a new generation of a key's secret."""
    return Material(tx.entropy.hex(MATERIAL_DIGITS), tx.now, on_demand)


def _managed_key(tx: Transaction, scope: Scope, name: str) -> Found:
    """Create an AWS managed key with its alias. Such a key is rotated every year."""
    service = name.removeprefix(AWS_PREFIX)
    key = Key(
        new_uuid(tx.entropy), tx.now, SYMMETRIC, ENCRYPT_DECRYPT, managed_policy(scope, service),
        (new_material(tx),), description=f"Default key that protects my {service} data when no other key is defined",
        managed_by=service, rotation_days=limits.ROTATION_DAYS,
        rotates_at=rotation_after(tx.now, limits.ROTATION_DAYS),
    )  # fmt: skip
    tx.resources.put(scope, Alias(name, key.id, tx.now, tx.now))
    return store_key(tx, Found(scope, key))


def _by_id(tx: Transaction, scope: Scope, key_id: str) -> Found:
    key = tx.resources.get(Key, scope, key_id)
    if key is not None:
        return Found(scope, key)
    if _KEY_ID.fullmatch(key_id) is None:
        raise not_found(f"Invalid keyId '{key_id}'")
    raise not_found(f"Key '{key_arn(scope, key_id)}' does not exist")


def _place(caller: Caller, identifier: str) -> tuple[Scope, str]:
    """Return where the key or the alias is, and its id or name. Errors: NotFoundException; ValidationException."""
    if not identifier.startswith("arn:"):
        return caller.scope, identifier
    try:
        arn = Arn.parse(identifier)
    except ValueError:
        raise invalid(f"Invalid arn {identifier}") from None
    if arn.service != "kms" or not arn.resource.startswith(("key/", PREFIX)):
        raise invalid(f"Invalid arn {identifier}")
    if arn.region != caller.region:
        raise not_found(f"Invalid arn {arn.region}")
    return Scope(arn.account, arn.region), arn.resource.removeprefix("key/")
