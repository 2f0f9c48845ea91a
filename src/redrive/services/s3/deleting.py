"""Deletes objects and versions: what DeleteObject, DeleteObjects and the expiration of objects have in common."""

from __future__ import annotations

from redrive.core.documents import Document
from redrive.core.scope import Caller
from redrive.services.s3.model.bucket import Bucket
from redrive.services.s3.model.conditions import matches
from redrive.services.s3.model.errors import invalid_version_id, precondition_failed
from redrive.services.s3.model.happened import Happened
from redrive.services.s3.model.keys import key_bytes, sequencer_of
from redrive.services.s3.model.owners import new_owner
from redrive.services.s3.protection import on_delete
from redrive.services.s3.telling import tell, tells
from redrive.services.s3.versions import erase_version, find_version, marker, named_version, told_id, write_version
from redrive.services.s3.versions import version_id_of as id_of
from redrive.store.api import Transaction
from redrive.store.tables.objects import ObjectVersion

_MD5_OF_NOTHING = "d41d8cd98f00b204e9800998ecf8427e"
"""Events of delete markers have this ETag."""


def delete_object_version(tx: Transaction, caller: Caller, bucket: Bucket, key: str, params: Document) -> Document:
    """Delete as `params` say: the version `version_id` for good, or else the object as its bucket keeps versions.

    The answer has AWS's members DeleteMarker and VersionId. Errors: InvalidArgument; PreconditionFailed; AccessDenied.
    """
    version_id = params.get("version_id")
    if version_id is not None:
        return _delete_version(tx, caller, bucket, key, version_id, params)
    number, current = tx.objects.begin(bucket.bucket_id, key_bytes(key))
    _check_condition(params, current)
    if not bucket.versioning:
        if current is not None:
            on_delete(tx, caller, bucket, current, params)
            erase_version(tx, bucket, current)
        _tell(tx, caller, bucket, key, number, "", params)
        return {}
    owner = new_owner(bucket, caller.account, params)
    made = write_version(tx, bucket, current, marker(tx, key_bytes(key), number, owner))
    happened = Happened(
        "ObjectRemoved:DeleteMarkerCreated", key, None, _MD5_OF_NOTHING, told_id(tx, made), sequencer_of(number),
        _reason(params), caller.source_ip,
    )  # fmt: skip
    tell(tx, caller, bucket, happened)
    return {"DeleteMarker": True, "VersionId": id_of(tx, made)}


def _delete_version(
    tx: Transaction, caller: Caller, bucket: Bucket, key: str, version_id: str, params: Document
) -> Document:
    named = named_version(tx, bucket, version_id)
    if named is None:
        raise invalid_version_id(version_id)
    encoded = key_bytes(key)
    tx.objects.reserve(bucket.bucket_id, encoded)
    found = find_version(tx, bucket, encoded, named)
    _check_condition(params, found)
    answer: Document = {"VersionId": version_id}
    if found is None:
        return answer
    on_delete(tx, caller, bucket, found, params)
    erase_version(tx, bucket, found)
    _tell(tx, caller, bucket, key, tx.objects.number(), told_id(tx, found), params)
    return {**answer, "DeleteMarker": True} if found.is_marker else answer


def _check_condition(params: Document, found: ObjectVersion | None) -> None:
    """Check If-Match of a deletion: there must be an object, and it must be this one. Errors: PreconditionFailed."""
    given = params.get("if_match")
    if given is None:
        return
    if found is None or found.is_marker or not matches(given, str(found.document["etag"])):
        raise precondition_failed("If-Match")


def _tell(
    tx: Transaction, caller: Caller, bucket: Bucket, key: str, number: int, version_id: str, params: Document
) -> None:
    if not tells(bucket):
        return
    happened = Happened(
        "ObjectRemoved:Delete", key, None, None, version_id, sequencer_of(number), _reason(params), caller.source_ip
    )  # fmt: skip
    tell(tx, caller, bucket, happened)


def _reason(params: Document) -> str:
    """EventBridge's reason: `DeleteObject`, unless another cause deletes (`Lifecycle Expiration`)."""
    return str(params.get("reason", "DeleteObject"))
