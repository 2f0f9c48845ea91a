"""Tags of objects."""

from __future__ import annotations

from dataclasses import replace

from redrive.core.documents import Document
from redrive.core.scope import Caller
from redrive.delivery.operation import operation
from redrive.services.s3.access import bucket_of
from redrive.services.s3.model.bucket import Bucket
from redrive.services.s3.model.happened import Happened
from redrive.services.s3.model.keys import key_bytes
from redrive.services.s3.model.params import params_of
from redrive.services.s3.model.record import record_document, record_of
from redrive.services.s3.model.tags import tag_set, tags_of_set
from redrive.services.s3.reading import read_version, shown_version_id
from redrive.services.s3.telling import tell
from redrive.services.s3.versions import told_id
from redrive.store.api import Transaction
from redrive.store.tables.objects import ObjectVersion


@operation("GetObjectTagging")
def get_object_tagging(
    tx: Transaction, caller: Caller, *, bucket: str, key: str,
    version_id: str | None = None, expected_bucket_owner: str | None = None, request_payer: str | None = None,
) -> Document:  # fmt: skip
    """Return the tags of an object.

    Errors: NoSuchBucket; NoSuchKey; NoSuchVersion; MethodNotAllowed.
    Source: https://docs.aws.amazon.com/AmazonS3/latest/API/API_GetObjectTagging.html
    """
    found, version = _found(tx, caller, "Get", params_of(locals()))
    tags = tag_set(record_of(version.document).tags)
    return {"TagSet": tags, **_version_member(tx, found, version)}


@operation("PutObjectTagging")
def put_object_tagging(
    tx: Transaction, caller: Caller, *, bucket: str, key: str, tagging: Document,
    version_id: str | None = None, content_md5: str | None = None, checksum_algorithm: str | None = None,
    expected_bucket_owner: str | None = None, request_payer: str | None = None,
) -> Document:  # fmt: skip
    """Replace the tags of an object.

    Errors: NoSuchBucket; NoSuchKey; NoSuchVersion; MethodNotAllowed; InvalidTag; BadRequest.
    Source: https://docs.aws.amazon.com/AmazonS3/latest/API/API_PutObjectTagging.html
    """
    params = params_of(locals())
    tags = tags_of_set(tagging["TagSet"])
    return _change(tx, caller, tags, "Put", params)


@operation("DeleteObjectTagging")
def delete_object_tagging(
    tx: Transaction, caller: Caller, *, bucket: str, key: str,
    version_id: str | None = None, expected_bucket_owner: str | None = None,
) -> Document:  # fmt: skip
    """Remove all tags of an object.

    Errors: NoSuchBucket; NoSuchKey; NoSuchVersion; MethodNotAllowed.
    Source: https://docs.aws.amazon.com/AmazonS3/latest/API/API_DeleteObjectTagging.html
    """
    return _change(tx, caller, {}, "Delete", params_of(locals()))


def _change(tx: Transaction, caller: Caller, tags: dict[str, str], verb: str, params: Document) -> Document:
    """Store other tags, and tell of them: events of tags have neither a size nor a sequencer."""
    found, version = _found(tx, caller, verb, params)
    record = replace(record_of(version.document), tags=tags)
    tx.objects.set_document(found.bucket_id, version, record_document(record))
    happened = Happened(
        f"ObjectTagging:{verb}", params["key"], None, record.etag, told_id(tx, version), None, f"{verb}ObjectTagging",
        caller.source_ip,
    )  # fmt: skip
    tell(tx, caller, found, happened)
    return _version_member(tx, found, version)


def _found(tx: Transaction, caller: Caller, verb: str, params: Document) -> tuple[Bucket, ObjectVersion]:
    action = f"s3:{verb}ObjectTagging" if "version_id" not in params else f"s3:{verb}ObjectVersionTagging"
    key, expected_owner = str(params["key"]), params.get("expected_bucket_owner")
    found = bucket_of(tx, caller, params["bucket"], action, key=key, expected_owner=expected_owner, params=params)
    if verb != "Get":
        tx.objects.reserve(found.bucket_id, key_bytes(key))
    method = {"Get": "GET", "Put": "PUT", "Delete": "DELETE"}[verb]
    return found, read_version(tx, caller, found, key, params.get("version_id"), method=method)


def _version_member(tx: Transaction, bucket: Bucket, version: ObjectVersion) -> Document:
    version_id = shown_version_id(tx, bucket, version)
    return {} if version_id is None else {"VersionId": version_id}
