"""Finds the version of an object that a request reads, and refuses as S3 does."""

from __future__ import annotations

from typing import NoReturn

from redrive.core.errors import ServiceError
from redrive.core.scope import Caller
from redrive.services.s3.access import bucket_of
from redrive.services.s3.model.bucket import Bucket
from redrive.services.s3.model.errors import (
    invalid_version_id,
    is_delete_marker,
    no_such_key,
    no_such_version,
)
from redrive.services.s3.model.keys import key_bytes
from redrive.services.s3.versions import find_version, named_version, version_id_of
from redrive.store.api import Transaction
from redrive.store.tables.objects import ObjectVersion


def read_version(
    tx: Transaction, caller: Caller, bucket: Bucket, key: str, version_id: str | None, *, method: str
) -> ObjectVersion:
    """The version of an object that a request names, or the current one. `method` is the request's.

    Errors: NoSuchKey; NoSuchVersion; InvalidArgument; MethodNotAllowed; AccessDenied.
    """
    named = None
    if version_id is not None:
        named = named_version(tx, bucket, version_id)
        if named is None:
            raise invalid_version_id(version_id)
    found = find_version(tx, bucket, key_bytes(key), named)
    if found is None:
        if version_id is not None:
            raise no_such_version(key, version_id)
        refuse_missing(tx, caller, bucket, no_such_key(key))
    if found.is_marker:
        if version_id is not None:
            raise is_delete_marker(method)
        missing = no_such_key(key, is_marker=True, version_id=version_id_of(tx, found))
        refuse_missing(tx, caller, bucket, missing)
    return found


def refuse_missing(tx: Transaction, caller: Caller, bucket: Bucket, missing: ServiceError) -> NoReturn:
    """Say that an object is missing, to those who may list the bucket. Errors: AccessDenied for all others."""
    bucket_of(tx, caller, bucket.name, "s3:ListBucket")
    raise missing


def shown_version_id(tx: Transaction, bucket: Bucket, version: ObjectVersion) -> str | None:
    """The version id in the answer to a read; a bucket that never had versioning shows none."""
    return version_id_of(tx, version) if bucket.versioning else None
