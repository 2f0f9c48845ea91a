"""Deleting of objects and of their versions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from redrive.core.clock import Instant
from redrive.core.documents import Document
from redrive.core.errors import ServiceError
from redrive.core.scope import Caller
from redrive.delivery.operation import operation
from redrive.services.s3 import limits
from redrive.services.s3.access import bucket_of
from redrive.services.s3.deleting import delete_object_version
from redrive.services.s3.model.bucket import BUCKETS, Bucket, no_such_bucket
from redrive.services.s3.model.errors import malformed_xml, no_such_version, not_implemented
from redrive.services.s3.model.keys import key_bytes
from redrive.services.s3.model.params import params_of
from redrive.services.s3.versions import named_version
from redrive.store.api import Transaction

_DIRECTORY_CONDITIONS: Mapping[str, str] = {
    "if_match_last_modified_time": "x-amz-if-match-last-modified-time", "if_match_size": "x-amz-if-match-size",
}  # fmt: skip


@operation("DeleteObject")
def delete_object(
    tx: Transaction, caller: Caller, *, bucket: str, key: str,
    mfa: str | None = None, version_id: str | None = None, request_payer: str | None = None,
    bypass_governance_retention: bool | None = None, expected_bucket_owner: str | None = None,
    if_match: str | None = None, if_match_last_modified_time: Instant | None = None, if_match_size: int | None = None,
) -> Document:  # fmt: skip
    """Delete an object, or put a delete marker on top of it; with a version id, delete that version for good.

    Errors: NoSuchBucket; InvalidArgument; PreconditionFailed; NotImplemented; AccessDenied.
    Source: https://docs.aws.amazon.com/AmazonS3/latest/API/API_DeleteObject.html
    """
    params = params_of(locals())
    found = _bucket(tx, caller, bucket, key, params)
    _refuse_conditions(params)
    return delete_object_version(tx, caller, found, key, params)


@operation("DeleteObjects")
def delete_objects(
    tx: Transaction, caller: Caller, *, bucket: str, delete: Document,
    mfa: str | None = None, request_payer: str | None = None, bypass_governance_retention: bool | None = None,
    expected_bucket_owner: str | None = None, checksum_algorithm: str | None = None,
) -> Document:  # fmt: skip
    """Delete up to 1,000 objects. What cannot be deleted is told for each key.

    Errors: NoSuchBucket; MalformedXML.
    Source: https://docs.aws.amazon.com/AmazonS3/latest/API/API_DeleteObjects.html
    """
    params = params_of(locals())
    found = tx.resources.get(Bucket, BUCKETS, bucket)
    if found is None:
        raise no_such_bucket(bucket)
    entries: Sequence[Document] = delete["Objects"]
    if not 0 < len(entries) <= limits.DELETED_KEYS_MAX:
        raise malformed_xml()
    tx.objects.reserve(found.bucket_id, *sorted({key_bytes(str(entry["Key"])) for entry in entries}))
    deleted: list[Document] = []
    errors: list[Document] = []
    for entry in entries:
        try:
            deleted.append(_delete_entry(tx, caller, bucket, entry, params))
        except ServiceError as error:
            errors.append(_entry_error(entry, error))
    answer: Document = {} if delete.get("Quiet") else {"Deleted": deleted}
    return {**answer, "Errors": errors} if errors else answer


def _delete_entry(tx: Transaction, caller: Caller, bucket: str, entry: Document, params: Document) -> Document:
    key, version_id = str(entry["Key"]), entry.get("VersionId")
    conditions = {
        "if_match": entry.get("ETag"), "if_match_last_modified_time": entry.get("LastModifiedTime"),
        "if_match_size": entry.get("Size"), "version_id": version_id,
    }  # fmt: skip
    given = {**params, **{name: value for name, value in conditions.items() if value is not None}}
    found = _bucket(tx, caller, bucket, key, given)
    _refuse_conditions(given)
    if version_id is not None and named_version(tx, found, version_id) is None:
        raise no_such_version(key, version_id)  # A single deletion says InvalidArgument here.
    answer = delete_object_version(tx, caller, found, key, given)
    deleted: Document = {"Key": key}
    if version_id is not None:
        deleted["VersionId"] = version_id
    if answer.get("DeleteMarker"):
        deleted |= {"DeleteMarker": True, "DeleteMarkerVersionId": answer["VersionId"]}
    return deleted


def _entry_error(entry: Document, error: ServiceError) -> Document:
    told: Document = {"Key": entry["Key"], "Code": error.code, "Message": error.message}
    return {**told, "VersionId": entry["VersionId"]} if "VersionId" in entry else told


def _bucket(tx: Transaction, caller: Caller, bucket: str, key: str, params: Document) -> Bucket:
    action = "s3:DeleteObjectVersion" if "version_id" in params else "s3:DeleteObject"
    expected_owner = params.get("expected_bucket_owner")
    return bucket_of(tx, caller, bucket, action, key=key, expected_owner=expected_owner, params=params)


def _refuse_conditions(params: Document) -> None:
    """Refuse what only directory buckets take. Errors: NotImplemented."""
    for name, header in _DIRECTORY_CONDITIONS.items():
        if name in params:
            raise not_implemented(header, "Only directory buckets take this condition")
