"""Writes an object: what PutObject, CopyObject and CompleteMultipartUpload have in common."""

from __future__ import annotations

from dataclasses import dataclass, replace

from redrive.core.documents import Document
from redrive.core.scope import Caller
from redrive.services.s3.bodies import Stored
from redrive.services.s3.model.bucket import Bucket
from redrive.services.s3.model.conditions import check_write
from redrive.services.s3.model.happened import Happened
from redrive.services.s3.model.keys import new_key, sequencer_of
from redrive.services.s3.model.record import Record, record_document
from redrive.services.s3.protection import WRITE_MEMBERS, expiration_of
from redrive.services.s3.telling import tell, tells
from redrive.services.s3.versions import ENABLED, told_id, write_version
from redrive.store.api import Transaction
from redrive.store.tables.objects import ObjectVersion


@dataclass(frozen=True, slots=True)
class Beginning:
    """A write that has begun: the key is reserved, and its conditions hold."""

    key: bytes
    number: int
    current: ObjectVersion | None


@dataclass(frozen=True, slots=True)
class Cause:
    """The call that writes, as events name it: `Put` of `ObjectCreated:Put`, and EventBridge's reason."""

    event: str
    reason: str


PUT = Cause("Put", "PutObject")
POST = Cause("Post", "POST Object")
COPY = Cause("Copy", "CopyObject")
COMPLETED = Cause("CompleteMultipartUpload", "CompleteMultipartUpload")


def begin_write(tx: Transaction, bucket: Bucket, key: str, params: Document) -> Beginning:
    """Reserve a key and check the conditions of the write.

    Errors: KeyTooLongError; PreconditionFailed; NoSuchKey; NotImplemented.
    """
    encoded = new_key(key)
    number, current = tx.objects.begin(bucket.bucket_id, encoded)
    if "if_match" in params or "if_none_match" in params:
        exists = current is not None and not current.is_marker
        check_write(params, key, str(current.document["etag"]) if current is not None and exists else None)
    return Beginning(encoded, number, current)


def write_object(
    tx: Transaction, caller: Caller, bucket: Bucket, key: str, begun: Beginning, record: Record, body: Stored, *,
    cause: Cause,
) -> Document:  # fmt: skip
    """Store a new version of a key, tell of it, and return the members that all answers to writes have."""
    if body.segments:
        record = replace(record, segments=body.segments)
    is_enabled = bucket.versioning == ENABLED
    new = ObjectVersion(
        begun.key, begun.number, is_current=True, is_null=not is_enabled, is_marker=False, modified_at=tx.now,
        size=body.size, document=record_document(record), body=body.content,
    )  # fmt: skip
    write_version(tx, bucket, begun.current, new)
    version_id = told_id(tx, new)
    if tells(bucket):
        happened = Happened(
            f"ObjectCreated:{cause.event}", key, body.size, record.etag, version_id, sequencer_of(begun.number),
            cause.reason, caller.source_ip,
        )  # fmt: skip
        tell(tx, caller, bucket, happened)
    answer: Document = {name: record.members[name] for name in WRITE_MEMBERS if name in record.members}
    if is_enabled:
        answer["VersionId"] = version_id
    expiration = expiration_of(bucket, new)
    if expiration is not None:
        answer["Expiration"] = expiration
    return answer


def checksum_members(record: Record) -> Document:
    """The checksum of an object as answers have it."""
    checksum = record.checksum
    return {} if checksum is None else {checksum.member: checksum.value, "ChecksumType": checksum.kind}
