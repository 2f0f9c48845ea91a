"""Changes the sub-resources of a bucket, which stand in its `settings`, and those of its objects."""

from __future__ import annotations

from dataclasses import replace

from redrive.core.documents import Document
from redrive.services.s3.model.bucket import BUCKETS, Bucket
from redrive.services.s3.model.record import record_document, record_of
from redrive.store.api import Transaction
from redrive.store.tables.objects import ObjectVersion


def set_setting(tx: Transaction, bucket: Bucket, name: str, document: Document | None) -> None:
    """Store a sub-resource of a bucket, or take it away. Nothing is written where nothing changes."""
    if bucket.settings.get(name) == document:
        return
    others = {other: value for other, value in bucket.settings.items() if other != name}
    tx.resources.put(BUCKETS, replace(bucket, settings=others if document is None else {**others, name: document}))


def change_members(tx: Transaction, bucket: Bucket, version: ObjectVersion, members: Document) -> None:
    """Store other members of protection for a version of an object, whose key the caller has reserved."""
    record = replace(record_of(version.document), members=members)
    tx.objects.set_document(bucket.bucket_id, version, record_document(record))
