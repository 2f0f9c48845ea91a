"""Encryption, object lock, access control lists and lifecycle, as the operations on objects ask for them.

`params` has the parameters of the operation by their names in Python, without those that are None. `members` is what is
stored with an object by this module; what AWS's answers show of it is in WRITE_MEMBERS and READ_MEMBERS.
"""

from __future__ import annotations

from redrive.core.documents import Document
from redrive.core.scope import Caller
from redrive.services.s3.model.bucket import Bucket
from redrive.store.api import Transaction
from redrive.store.tables.objects import ObjectVersion

ENCRYPTION_MEMBERS = (
    "ServerSideEncryption", "SSECustomerAlgorithm", "SSECustomerKeyMD5", "SSEKMSKeyId", "BucketKeyEnabled",
)  # fmt: skip
LOCK_MEMBERS = ("ObjectLockMode", "ObjectLockRetainUntilDate", "ObjectLockLegalHoldStatus")
WRITE_MEMBERS = (*ENCRYPTION_MEMBERS, "SSEKMSEncryptionContext")
"""The members that answers to writes show."""
READ_MEMBERS = (*ENCRYPTION_MEMBERS, *LOCK_MEMBERS)
"""The members that GetObject and HeadObject show."""


def on_write(tx: Transaction, caller: Caller, bucket: Bucket, params: Document) -> Document:  # noqa: ARG001
    """The members of an object, a copy or an upload that is about to be written. Errors: ServiceError."""
    return {"ServerSideEncryption": "AES256"}


def on_read(tx: Transaction, caller: Caller, bucket: Bucket, members: Document, params: Document) -> None:
    """Check that an object's body may be read, or that a part may be added. Errors: ServiceError."""


def on_delete(tx: Transaction, caller: Caller, bucket: Bucket, version: ObjectVersion, params: Document) -> None:
    """Check that a version may be deleted for good. Errors: ServiceError AccessDenied."""


def expiration_of(bucket: Bucket, version: ObjectVersion) -> str | None:  # noqa: ARG001
    """The header `x-amz-expiration` of a current version, or None."""
    return None
