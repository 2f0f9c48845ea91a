"""Applies the lifecycle rules of a bucket to what is in it, page by page: one look at a bucket at each midnight.

    noncurrent versions ──► current versions and markers ──► uploads ──► the next midnight at which something may be due

Noncurrent versions come first, so that a delete marker is alone in the same look that takes the last version below it.
A page is a step of its own, and the place in the bucket is stored with what the page has done.

Source: https://docs.aws.amazon.com/AmazonS3/latest/userguide/lifecycle-expire-general-considerations.html
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

from redrive.core.clock import DAY_MS, Instant
from redrive.core.documents import Document
from redrive.core.entropy import new_uuid
from redrive.core.scope import Caller
from redrive.services.s3.limits import EXPIRED_PER_CLAIM_MAX
from redrive.services.s3.model.bucket import BUCKETS, Bucket
from redrive.services.s3.model.happened import Happened
from redrive.services.s3.model.keys import sequencer_of
from redrive.services.s3.model.lifecycle import (
    TIMER,
    Subject,
    abort_of,
    expiry_of,
    marker_expiry_of,
    next_midnight,
    noncurrent_expiry_of,
    noncurrent_transition_of,
    rest_days,
    rules_of,
    transition_of,
)
from redrive.services.s3.model.lock import is_kept, needs_bypass
from redrive.services.s3.model.record import record_document, record_of
from redrive.services.s3.telling import tell
from redrive.services.s3.uploads import forget_upload
from redrive.services.s3.versions import erase_version, marker, told_id, write_version
from redrive.store.api import Transaction
from redrive.store.tables.objects import END_OF_KEYS, FROM_NEWEST, ObjectVersion
from redrive.store.tables.uploads import FROM_FIRST

REASON = "Lifecycle Expiration"
_MD5_OF_NOTHING = "d41d8cd98f00b204e9800998ecf8427e"
_NEVER: Instant = 2**62


@dataclass(frozen=True, slots=True)
class Look:
    """How far a look at a bucket has come. `key` is hexadecimal; the others are about the versions of this key.

    `earliest` is the first instant at which something that was seen falls due.
    """

    KIND: ClassVar[str] = "s3.lifecycle_look"
    IS_STATE: ClassVar[bool] = True

    name: str
    bucket_id: str
    stage: int = 0
    key: str = ""
    number: int = FROM_NEWEST
    newer: int = 0
    since: Instant = 0
    earliest: Instant = _NEVER


@dataclass(slots=True)
class _Work:
    """One page of a look."""

    tx: Transaction
    bucket: Bucket
    rules: Sequence[Document]
    look: Look
    caller: Caller = field(init=False)

    def __post_init__(self) -> None:
        self.caller = Caller(self.bucket.scope, new_uuid(self.tx.entropy), service="s3.amazonaws.com")

    @property
    def after(self) -> bytes:
        return bytes.fromhex(self.look.key)

    def is_due(self, at: Instant | None) -> bool:
        """Whether something is due now. What is due later is remembered."""
        if at is None:
            return False
        if at > self.tx.now:
            self.look = replace(self.look, earliest=min(self.look.earliest, at))
        return at <= self.tx.now


def go_on(tx: Transaction, name: str) -> None:
    """Apply the rules of a bucket to the next page of it. At the end, the timer moves to the next midnight."""
    bucket = tx.resources.get(Bucket, BUCKETS, name)
    rules = [] if bucket is None else rules_of(bucket)
    if bucket is None or not rules:
        forget(tx, name)
        return
    look = tx.resources.get(Look, BUCKETS, name)
    if look is None or look.bucket_id != bucket.bucket_id:
        look = Look(name, bucket.bucket_id)
    work = _Work(tx, bucket, rules, look)
    if _STAGES[look.stage](work):
        tx.resources.put(BUCKETS, work.look)
    elif look.stage + 1 < len(_STAGES):
        tx.resources.put(BUCKETS, _next_stage(work.look))
    else:
        tx.resources.delete(Look, BUCKETS, name)
        rested = tx.now // DAY_MS * DAY_MS + rest_days(rules) * DAY_MS
        tx.timers.set(TIMER, name, max(next_midnight(tx.now), min(work.look.earliest, rested)))


def _next_stage(look: Look) -> Look:
    stage = look.stage + 1
    number = FROM_FIRST if stage == _STAGES.index(_uploads) else FROM_NEWEST
    return Look(look.name, look.bucket_id, stage, number=number, earliest=look.earliest)


def forget(tx: Transaction, name: str) -> None:
    """Look at a bucket no longer."""
    tx.resources.delete(Look, BUCKETS, name)
    tx.timers.clear(TIMER, name)


def _noncurrent(work: _Work) -> bool:
    """Expire and move noncurrent versions; returns whether there may be more."""
    tx, look = work.tx, work.look
    found = tx.objects.page(
        work.bucket.bucket_id, is_current=False, after=work.after, after_number=look.number, before=END_OF_KEYS,
        limit=EXPIRED_PER_CLAIM_MAX,
    )  # fmt: skip
    for version in found:
        if version.key.hex() == work.look.key:
            newer, since = work.look.newer, work.look.since
        else:
            current = tx.objects.current(work.bucket.bucket_id, version.key)
            newer, since = 0, version.modified_at if current is None else current.modified_at
        _of_noncurrent(work, version, since, newer)
        work.look = replace(
            work.look, key=version.key.hex(), number=version.number, newer=newer + 1, since=version.modified_at
        )  # fmt: skip
    return len(found) == EXPIRED_PER_CLAIM_MAX


def _of_noncurrent(work: _Work, version: ObjectVersion, since: Instant, newer: int) -> None:
    tx, subject = work.tx, _subject(version)
    if work.is_due(noncurrent_expiry_of(work.rules, subject, since, newer)):
        _erase(work, version)
        return
    _move(work, version, noncurrent_transition_of(work.rules, subject, since, newer, tx.now))


def _current(work: _Work) -> bool:
    """Expire and move current versions, and take markers away that are alone; returns whether there may be more."""
    tx = work.tx
    found = tx.objects.page(
        work.bucket.bucket_id, is_current=True, after=work.after, before=END_OF_KEYS, limit=EXPIRED_PER_CLAIM_MAX
    )
    for version in found:
        work.look = replace(work.look, key=version.key.hex())
        if version.is_marker:
            is_alone = tx.objects.newest_noncurrent(work.bucket.bucket_id, version.key) is None
            if is_alone and work.is_due(marker_expiry_of(work.rules, _subject(version), version.modified_at)):
                _erase(work, version)
            continue
        found_expiry = expiry_of(work.rules, _subject(version), version.modified_at)
        if work.is_due(None if found_expiry is None else found_expiry[0]):
            _expire(work, version)
        else:
            _move(work, version, transition_of(work.rules, _subject(version), version.modified_at, tx.now))
    return len(found) == EXPIRED_PER_CLAIM_MAX


def _uploads(work: _Work) -> bool:
    """Abort uploads that were begun long ago; returns whether there may be more."""
    tx, look = work.tx, work.look
    found = tx.uploads.page(
        work.bucket.bucket_id, after=work.after, after_number=look.number, before=END_OF_KEYS,
        limit=EXPIRED_PER_CLAIM_MAX,
    )  # fmt: skip
    for upload in found:
        work.look = replace(work.look, key=upload.key.hex(), number=upload.number)
        due = abort_of(work.rules, Subject(upload.key.decode()), upload.at)
        if work.is_due(None if due is None else due[0]):
            forget_upload(tx, work.bucket.bucket_id, upload)
    return len(found) == EXPIRED_PER_CLAIM_MAX


_STAGES: Sequence[Callable[[_Work], bool]] = (_noncurrent, _current, _uploads)


def _expire(work: _Work, version: ObjectVersion) -> None:
    """Delete the current version of an object as its bucket keeps versions."""
    tx, bucket = work.tx, work.bucket
    if not bucket.versioning:
        _erase(work, version)
        return
    number, current = tx.objects.begin(bucket.bucket_id, version.key)
    made = write_version(tx, bucket, current, marker(tx, version.key, number, bucket.account))
    name = "LifecycleExpiration:DeleteMarkerCreated"
    _tell(work, Happened(name, version.key.decode(), None, _MD5_OF_NOTHING, told_id(tx, made), sequencer_of(number)))


def _erase(work: _Work, version: ObjectVersion) -> None:
    """Delete a version for good, unless object lock keeps it: then it is looked at again at the next midnight."""
    tx = work.tx
    members: Document = version.document.get("members", {})
    if is_kept(members, tx.now) or needs_bypass(members, tx.now):
        work.look = replace(work.look, earliest=min(work.look.earliest, next_midnight(tx.now)))
        return
    tx.objects.reserve(work.bucket.bucket_id, version.key)
    erase_version(tx, work.bucket, version)
    sequencer = sequencer_of(tx.objects.number())
    name = "LifecycleExpiration:Delete"
    _tell(work, Happened(name, version.key.decode(), None, None, told_id(tx, version), sequencer))


def _move(work: _Work, version: ObjectVersion, storage_class: str | None) -> None:
    """Move a version into a storage class, if it is not there yet."""
    record = record_of(version.document)
    if storage_class is None or version.is_marker or record.storage_class == storage_class:
        return
    tx = work.tx
    tx.objects.reserve(work.bucket.bucket_id, version.key)
    moved = replace(record, storage_class=storage_class)
    tx.objects.set_document(work.bucket.bucket_id, version, record_document(moved))
    happened = Happened(
        "LifecycleTransition", version.key.decode(), version.size, record.etag, told_id(tx, version),
        sequencer_of(tx.objects.number()),
    )  # fmt: skip
    _tell(work, happened)


def _tell(work: _Work, happened: Happened) -> None:
    tell(work.tx, work.caller, work.bucket, replace(happened, reason=REASON))


def _subject(version: ObjectVersion) -> Subject:
    tags: Mapping[str, str] = version.document.get("tags", {})
    return Subject(version.key.decode(), version.size, tags)
