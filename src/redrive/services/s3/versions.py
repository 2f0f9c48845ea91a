"""Finds, writes and deletes versions of objects, by the bucket's state of versioning.

           no versioning      Enabled                     Suspended
write      replaces           keeps the current version   replaces the version `null`, keeps others
delete     deletes            adds a delete marker        puts a delete marker in place of the version `null`
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from redrive.services.s3 import bodies
from redrive.services.s3.model.bucket import Bucket
from redrive.services.s3.model.record import record_of
from redrive.services.s3.model.version_ids import NULL, decode_version_id, encode_version_id
from redrive.store.api import Transaction
from redrive.store.tables.objects import ObjectVersion

ENABLED, SUSPENDED = "Enabled", "Suspended"


@dataclass(frozen=True, slots=True)
class Named:
    """The version that a version id names: its number, or 0 for the version `null`."""

    number: int


def named_version(tx: Transaction, bucket: Bucket, version_id: str) -> Named | None:
    """What a version id names; None if no version of the bucket can have it."""
    if version_id == NULL:
        return Named(0)
    if not bucket.versioning:
        return None
    number = decode_version_id(version_id, tx.facts.secret())
    return None if number is None else Named(number)


def version_id_of(tx: Transaction, version: ObjectVersion) -> str:
    """The version id; `null` if the version has no id of its own."""
    return NULL if version.is_null else encode_version_id(version.number, tx.facts.secret())


def told_id(tx: Transaction, version: ObjectVersion) -> str:
    """The version id as events have it: empty for the version `null`."""
    return "" if version.is_null else version_id_of(tx, version)


def find_version(tx: Transaction, bucket: Bucket, key: bytes, named: Named | None) -> ObjectVersion | None:
    """A version with its body, or the current one if none is named."""
    if named is None:
        return tx.objects.current(bucket.bucket_id, key)
    if not named.number:
        return tx.objects.null_version(bucket.bucket_id, key)
    return tx.objects.version(bucket.bucket_id, key, named.number)


def write_version(tx: Transaction, bucket: Bucket, current: ObjectVersion | None, new: ObjectVersion) -> ObjectVersion:
    """Make `new` the current version of its key. `current` is what `tx.objects.begin` gave."""
    owner = bucket.bucket_id
    is_enabled = bucket.versioning == ENABLED
    if new.is_null is is_enabled:
        new = new._replace(is_null=not is_enabled)
    if current is None:
        tx.objects.put(owner, new)
    elif current.is_null and not is_enabled:
        _release(tx, current)
        tx.objects.replace(owner, current, new)
    else:
        if not is_enabled:
            old = tx.objects.noncurrent_null(owner, new.key)
            if old is not None:
                _release(tx, old)
                tx.objects.delete(owner, old)
        tx.objects.move(owner, current)
        tx.objects.put(owner, new)
    return new


def erase_version(tx: Transaction, bucket: Bucket, version: ObjectVersion) -> None:
    """Delete a version for good. The newest one before it becomes the current version, if it was that."""
    _release(tx, version)
    tx.objects.delete(bucket.bucket_id, version)
    if version.is_current and bucket.versioning:
        before = tx.objects.newest_noncurrent(bucket.bucket_id, version.key)
        if before is not None:
            tx.objects.move(bucket.bucket_id, before)


def marker(tx: Transaction, key: bytes, number: int, owner: str) -> ObjectVersion:
    """A new delete marker."""
    return ObjectVersion(
        key, number, is_current=True, is_null=False, is_marker=True, modified_at=tx.now, size=0,
        document={"owner": owner},
    )  # fmt: skip


def state_changed(bucket: Bucket, status: str) -> Bucket:
    """The bucket with another state of versioning."""
    return replace(bucket, versioning=status)


def _release(tx: Transaction, version: ObjectVersion) -> None:
    if "segments" in version.document:
        bodies.release(tx, record_of(version.document).segments)
