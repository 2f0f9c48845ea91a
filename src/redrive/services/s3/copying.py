"""Reads the source of a copy: what CopyObject and UploadPartCopy have in common."""

from __future__ import annotations

from dataclasses import dataclass

from redrive.core.documents import Document
from redrive.core.scope import Caller
from redrive.services.s3 import limits
from redrive.services.s3.access import bucket_of
from redrive.services.s3.model.bucket import Bucket
from redrive.services.s3.model.conditions import Conditions, check_source
from redrive.services.s3.model.copy_source import CopySource
from redrive.services.s3.model.errors import invalid_request
from redrive.services.s3.model.keys import key_bytes
from redrive.services.s3.model.record import Record, record_of
from redrive.services.s3.protection import on_read
from redrive.services.s3.reading import read_version, shown_version_id
from redrive.services.s3.versions import find_version, named_version
from redrive.store.api import Transaction
from redrive.store.tables.objects import ObjectVersion

_PREFIX = "copy_source_"


@dataclass(frozen=True, slots=True)
class Copied:
    """A source that may be copied."""

    bucket: Bucket
    version: ObjectVersion
    record: Record

    def version_member(self, tx: Transaction) -> Document:
        """The member of the answer that names the source's version."""
        version_id = shown_version_id(tx, self.bucket, self.version)
        return {} if version_id is None else {"CopySourceVersionId": version_id}


def source_bucket(tx: Transaction, caller: Caller, source: CopySource, params: Document) -> Bucket:
    """The bucket of a source that the caller may read. Errors: NoSuchBucket; AccessDenied."""
    action = "s3:GetObject" if source.version_id is None else "s3:GetObjectVersion"
    expected_owner = params.get("expected_source_bucket_owner")
    given = {} if source.version_id is None else {"version_id": source.version_id}
    return bucket_of(tx, caller, source.bucket, action, key=source.key, expected_owner=expected_owner, params=given)


def read_source(tx: Transaction, caller: Caller, bucket: Bucket, source: CopySource, params: Document) -> Copied:
    """The version that is copied. The caller has reserved its key, and asks KMS for its body by `on_body`.

    KMS is asked after the digests are known: what is asked for is recorded, and this function may run twice.
    Errors: NoSuchKey; NoSuchVersion; InvalidArgument; InvalidRequest; PreconditionFailed.
    """
    _refuse_marker(tx, bucket, source)
    version = read_version(tx, caller, bucket, source.key, source.version_id, method="GET")
    record = record_of(version.document)
    own = {name.removeprefix(_PREFIX): value for name, value in params.items() if name.startswith(_PREFIX)}
    on_read(tx, caller, bucket, record.members, own)
    check_source(Conditions.of(params, _PREFIX), record.etag, version.modified_at, tx.now)
    return Copied(bucket, version, record)


def check_size(size: int) -> None:
    """Refuse to copy too much at once. Errors: InvalidRequest."""
    if size > limits.COPY_BYTES_MAX:
        message = (
            "The specified copy source is larger than the maximum allowable size for a copy source: "
            f"{limits.COPY_BYTES_MAX}"
        )
        raise invalid_request(message)


def _refuse_marker(tx: Transaction, bucket: Bucket, source: CopySource) -> None:
    if source.version_id is None:
        return
    named = named_version(tx, bucket, source.version_id)
    if named is None:
        return
    found = find_version(tx, bucket, key_bytes(source.key), named)
    if found is not None and found.is_marker:
        message = "The source of a copy request may not specifically refer to a delete marker by version id."
        raise invalid_request(message)
