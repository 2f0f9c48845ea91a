"""Copying of objects."""

from __future__ import annotations

from redrive.core.clock import Instant
from redrive.core.documents import Document
from redrive.core.scope import Caller
from redrive.delivery.operation import Digesting, operation
from redrive.services.s3 import bodies
from redrive.services.s3.access import bucket_of
from redrive.services.s3.bodies import Stored
from redrive.services.s3.copying import Copied, check_size, read_source, source_bucket
from redrive.services.s3.model.bucket import Bucket
from redrive.services.s3.model.checksums import DEFAULT_ALGORITHM, checked_algorithm, computed
from redrive.services.s3.model.copy_source import CopySource, copy_source_of
from redrive.services.s3.model.errors import invalid_argument, invalid_request
from redrive.services.s3.model.keys import key_bytes, new_key
from redrive.services.s3.model.metadata import (
    DEFAULT_CONTENT_TYPE,
    checked_storage_class,
    system_headers,
    user_metadata,
)
from redrive.services.s3.model.owners import new_owner
from redrive.services.s3.model.params import params_of
from redrive.services.s3.model.record import Checksum, Record
from redrive.services.s3.model.tags import tags_of_header
from redrive.services.s3.protection import on_body, on_write
from redrive.services.s3.writing import COPY as COPIED
from redrive.services.s3.writing import begin_write, checksum_members, write_object
from redrive.store.api import Transaction

_COPY, _REPLACE = "COPY", "REPLACE"
_REDIRECT = "WebsiteRedirectLocation"
_CHANGES = (
    "storage_class", "server_side_encryption", "sse_customer_algorithm", "ssekms_key_id", "website_redirect_location",
)  # fmt: skip
"""The parameters with which an object may be copied onto itself."""
_ENCRYPTION = "ServerSideEncryptionConfiguration"


@operation("CopyObject")
def copy_object(
    tx: Transaction, caller: Caller, *, bucket: str, copy_source: str, key: str,
    acl: str | None = None, cache_control: str | None = None, checksum_algorithm: str | None = None,
    content_disposition: str | None = None, content_encoding: str | None = None, content_language: str | None = None,
    content_type: str | None = None, copy_source_if_match: str | None = None,
    copy_source_if_modified_since: Instant | None = None, copy_source_if_none_match: str | None = None,
    copy_source_if_unmodified_since: Instant | None = None, expires: Instant | None = None,
    grant_full_control: str | None = None, grant_read: str | None = None, grant_read_acp: str | None = None,
    grant_write_acp: str | None = None, if_match: str | None = None, if_none_match: str | None = None,
    metadata: dict[str, str] | None = None, metadata_directive: str | None = None,
    tagging_directive: str | None = None, annotation_directive: str | None = None,
    server_side_encryption: str | None = None, storage_class: str | None = None,
    website_redirect_location: str | None = None, sse_customer_algorithm: str | None = None,
    sse_customer_key: str | None = None, sse_customer_key_md5: str | None = None, ssekms_key_id: str | None = None,
    ssekms_encryption_context: str | None = None, bucket_key_enabled: bool | None = None,
    copy_source_sse_customer_algorithm: str | None = None, copy_source_sse_customer_key: str | None = None,
    copy_source_sse_customer_key_md5: str | None = None, request_payer: str | None = None, tagging: str | None = None,
    object_lock_mode: str | None = None, object_lock_retain_until_date: Instant | None = None,
    object_lock_legal_hold_status: str | None = None, object_lock_event_hold: str | None = None,
    object_lock_event_hold_duration_days: int | None = None, object_lock_event_hold_duration_years: int | None = None,
    expected_bucket_owner: str | None = None, expected_source_bucket_owner: str | None = None,
) -> Document | Digesting:  # fmt: skip
    """Store a copy of an object; a large body is shared with the source, and digested before if its digests change.

    Errors: NoSuchBucket; NoSuchKey; NoSuchVersion; InvalidArgument; InvalidRequest; PreconditionFailed; NotImplemented;
    InvalidStorageClass; MetadataTooLarge; InvalidTag.
    Source: https://docs.aws.amazon.com/AmazonS3/latest/API/API_CopyObject.html
    """
    params = params_of(locals())
    source = copy_source_of(copy_source)
    found = bucket_of(
        tx, caller, bucket, "s3:PutObject", key=key, expected_owner=expected_bucket_owner, params=params
    )  # fmt: skip
    from_bucket = source_bucket(tx, caller, source, params)
    places = [(from_bucket.bucket_id, key_bytes(source.key)), (found.bucket_id, new_key(key))]
    tx.objects.reserve_all(places)
    copied = read_source(tx, caller, from_bucket, source, params)
    check_size(copied.version.size)
    _check_in_place(found, key, source, params)
    digests = _digests(tx, copied, params)
    if isinstance(digests, Digesting):
        return digests
    on_body(tx, caller, from_bucket, copied.record.members)
    record = _record(tx, caller, found, copied, params, *digests)
    begun = begin_write(tx, found, key, params)
    body = Stored(copied.version.size, copied.version.body, copied.record.segments)
    bodies.share(tx, body.segments)
    answer = write_object(tx, caller, found, key, begun, record, body, cause=COPIED)
    result = {"ETag": f'"{record.etag}"', "LastModified": tx.now, **checksum_members(record)}
    return {"CopyObjectResult": result, **copied.version_member(tx), **answer}


def _check_in_place(bucket: Bucket, key: str, source: CopySource, params: Document) -> None:
    """Refuse to copy an object onto itself without a change. Errors: InvalidRequest."""
    if (source.bucket, source.key, source.version_id) != (bucket.name, key, None):
        return
    changes = params.get("metadata_directive") == _REPLACE or any(name in params for name in _CHANGES)
    if not changes and _ENCRYPTION not in bucket.settings:
        message = (
            "This copy request is illegal because it is trying to copy an object to itself without changing the "
            "object's metadata, storage class, website redirect location or encryption attributes."
        )
        raise invalid_request(message)


def _record(
    tx: Transaction, caller: Caller, bucket: Bucket, copied: Copied, params: Document, etag: str,
    checksum: Checksum,
) -> Record:  # fmt: skip
    """The record of the copy. Access control, object lock, storage class and encryption are not the source's."""
    source = copied.record
    given = system_headers(params)
    if _directive(params, "metadata_directive") == _REPLACE:
        headers = {"ContentType": DEFAULT_CONTENT_TYPE, **given}
        metadata = user_metadata(params.get("metadata"))
    else:
        headers = {name: value for name, value in source.headers.items() if name != _REDIRECT}
        headers |= {name: value for name, value in given.items() if name == _REDIRECT}
        metadata = dict(source.metadata)
    replaces_tags = _directive(params, "tagging_directive") == _REPLACE
    tags = tags_of_header(params.get("tagging")) if replaces_tags else dict(source.tags)
    if tags:
        bucket_of(tx, caller, bucket.name, "s3:PutObjectTagging", key=str(params["key"]))
    return Record(
        etag, new_owner(bucket, caller.account, params), checksum, headers, metadata, tags,
        checked_storage_class(params.get("storage_class")), on_write(tx, caller, bucket, params),
    )  # fmt: skip


def _directive(params: Document, name: str) -> str:
    """Whether a copy has what the source has, or what the request gives. Errors: InvalidArgument."""
    directive = str(params.get(name, _COPY))
    if directive not in {_COPY, _REPLACE}:
        what = "metadata" if name.startswith("metadata") else "tagging"
        raise invalid_argument(f"Unknown {what} directive.", f"x-amz-{what}-directive", directive)
    return directive


def _digests(tx: Transaction, copied: Copied, params: Document) -> tuple[str, Checksum] | Digesting:
    """The ETag and the checksum of a copy: a copy of an object of parts has none, so its body is read once."""
    source = copied.record
    wanted = checked_algorithm(params["checksum_algorithm"]) if "checksum_algorithm" in params else None
    known = DEFAULT_ALGORITHM if source.checksum is None else source.checksum.algorithm
    algorithm = wanted or known
    if not source.parts and source.checksum is not None and algorithm == known:
        return source.etag, source.checksum
    body = Stored(copied.version.size, copied.version.body, source.segments)
    digests = bodies.digests(tx, body, ("MD5", algorithm))
    if isinstance(digests, Digesting):
        return digests
    return digests["MD5"].hex(), computed(algorithm, digests.__getitem__)
