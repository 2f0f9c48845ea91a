"""The beginning and the end of multipart uploads."""

from __future__ import annotations

from dataclasses import replace
from urllib.parse import quote

from redrive.core.clock import Instant
from redrive.core.documents import Document
from redrive.core.scope import Caller
from redrive.delivery.bodies import SMALL_BYTES, Segment
from redrive.delivery.operation import operation
from redrive.services.s3 import bodies
from redrive.services.s3.access import bucket_of
from redrive.services.s3.bodies import Stored
from redrive.services.s3.model.bucket import Bucket
from redrive.services.s3.model.checksums import declared_checksum, upload_checksum
from redrive.services.s3.model.errors import conditional_conflict, not_implemented
from redrive.services.s3.model.keys import new_key
from redrive.services.s3.model.metadata import (
    DEFAULT_CONTENT_TYPE,
    checked_storage_class,
    system_headers,
    user_metadata,
)
from redrive.services.s3.model.owners import new_owner
from redrive.services.s3.model.params import params_of
from redrive.services.s3.model.record import COMPOSITE, Checksum, Part, Record, record_document, record_of
from redrive.services.s3.model.tags import tags_of_header
from redrive.services.s3.model.upload import (
    UploadedPart,
    UploadSettings,
    check_completion,
    checksum_of,
    chosen_parts,
    etag_of,
    settings_document,
    settings_of,
)
from redrive.services.s3.protection import WRITE_MEMBERS, on_read, on_write
from redrive.services.s3.uploads import all_parts, find_upload, forget_upload, upload_id_of
from redrive.services.s3.writing import COMPLETED, Beginning, begin_write, checksum_members, write_object
from redrive.store.api import Transaction
from redrive.store.tables.uploads import Upload


@operation("CreateMultipartUpload")
def create_multipart_upload(
    tx: Transaction, caller: Caller, *, bucket: str, key: str,
    acl: str | None = None, cache_control: str | None = None, content_disposition: str | None = None,
    content_encoding: str | None = None, content_language: str | None = None, content_type: str | None = None,
    expires: Instant | None = None, grant_full_control: str | None = None, grant_read: str | None = None,
    grant_read_acp: str | None = None, grant_write_acp: str | None = None, metadata: dict[str, str] | None = None,
    server_side_encryption: str | None = None, storage_class: str | None = None,
    website_redirect_location: str | None = None, sse_customer_algorithm: str | None = None,
    sse_customer_key: str | None = None, sse_customer_key_md5: str | None = None, ssekms_key_id: str | None = None,
    ssekms_encryption_context: str | None = None, bucket_key_enabled: bool | None = None,
    request_payer: str | None = None, tagging: str | None = None, object_lock_mode: str | None = None,
    object_lock_retain_until_date: Instant | None = None, object_lock_legal_hold_status: str | None = None,
    object_lock_event_hold: str | None = None, object_lock_event_hold_duration_days: int | None = None,
    object_lock_event_hold_duration_years: int | None = None, expected_bucket_owner: str | None = None,
    checksum_algorithm: str | None = None, checksum_type: str | None = None,
) -> Document:  # fmt: skip
    """Begin a multipart upload. Everything but the parts is fixed now.

    Errors: NoSuchBucket; InvalidRequest; InvalidStorageClass; KeyTooLongError; MetadataTooLarge; InvalidTag.
    Source: https://docs.aws.amazon.com/AmazonS3/latest/API/API_CreateMultipartUpload.html
    """
    params = params_of(locals())
    found = bucket_of(
        tx, caller, bucket, "s3:PutObject", key=key, expected_owner=expected_bucket_owner, params=params
    )  # fmt: skip
    algorithm, kind = upload_checksum(checksum_algorithm, checksum_type)
    record = _record(tx, caller, found, key, params)
    number, current = tx.objects.begin(found.bucket_id, new_key(key))
    replaces = 0 if current is None or current.is_marker else current.number
    settings = UploadSettings(record_document(record), caller.principal_arn, algorithm, kind, replaces)
    upload = Upload(new_key(key), number, tx.now, settings_document(settings))
    tx.uploads.put(found.bucket_id, upload)
    answer: Document = {"Bucket": bucket, "Key": key, "UploadId": upload_id_of(tx, upload)}
    if algorithm:
        answer |= {"ChecksumAlgorithm": algorithm, "ChecksumType": kind}
    return answer | {name: record.members[name] for name in WRITE_MEMBERS if name in record.members}


@operation("CompleteMultipartUpload")
def complete_multipart_upload(
    tx: Transaction, caller: Caller, *, bucket: str, key: str, upload_id: str,
    multipart_upload: Document | None = None,
    checksum_crc32: str | None = None, checksum_crc32_c: str | None = None, checksum_crc64_nvme: str | None = None,
    checksum_sha1: str | None = None, checksum_sha256: str | None = None, checksum_sha512: str | None = None,
    checksum_md5: str | None = None, checksum_xxhash64: str | None = None, checksum_xxhash3: str | None = None,
    checksum_xxhash128: str | None = None, checksum_type: str | None = None, mpu_object_size: int | None = None,
    request_payer: str | None = None, expected_bucket_owner: str | None = None, if_match: str | None = None,
    if_none_match: str | None = None, sse_customer_algorithm: str | None = None, sse_customer_key: str | None = None,
    sse_customer_key_md5: str | None = None,
) -> Document:  # fmt: skip
    """Make an object of the parts.

    Errors: NoSuchBucket; NoSuchUpload; InvalidRequest; InvalidPart; InvalidPartOrder; EntityTooSmall; BadDigest;
    PreconditionFailed; ConditionalRequestConflict; NoSuchKey; NotImplemented.
    Source: https://docs.aws.amazon.com/AmazonS3/latest/API/API_CompleteMultipartUpload.html
    """
    params = params_of(locals())
    found = bucket_of(
        tx, caller, bucket, "s3:PutObject", key=key, expected_owner=expected_bucket_owner, params=params
    )  # fmt: skip
    upload = find_upload(tx, found, key, upload_id, reserved=True)
    settings = settings_of(upload.document)
    on_read(tx, caller, found, settings.record.get("members", {}), params)
    uploaded = all_parts(tx, upload)
    given = (multipart_upload or {}).get("Parts") or []
    parts = chosen_parts(given, {part.number: part for part in uploaded}, settings, upload_id)
    size = sum(part.size for part in parts)
    declared = declared_checksum(params)
    check_completion(settings, size, declared, checksum_type, mpu_object_size)
    record = _completed(settings, parts, checksum_of(settings, parts, declared))
    begun = begin_write(tx, found, key, params)
    _check_overtaken(settings, begun, key, params)
    body = _body(tx, upload, parts, size)
    # The references of the object's parts become those of the object.
    kept = {part.number for part in parts} if body.segments else frozenset()
    for part in uploaded:
        if part.number not in kept:
            bodies.release(tx, part.segments)
    tx.uploads.delete(found.bucket_id, upload)
    answer = write_object(tx, caller, found, key, begun, record, body, cause=COMPLETED)
    location = f"http://{caller.host}/{bucket}/{quote(key)}"
    return {
        "Location": location, "Bucket": bucket, "Key": key, "ETag": f'"{record.etag}"',
        **checksum_members(record), **answer,
    }  # fmt: skip


@operation("AbortMultipartUpload")
def abort_multipart_upload(
    tx: Transaction, caller: Caller, *, bucket: str, key: str, upload_id: str,
    request_payer: str | None = None, expected_bucket_owner: str | None = None,
    if_match_initiated_time: Instant | None = None,
) -> Document:  # fmt: skip
    """Give a multipart upload up, and delete its parts.

    Errors: NoSuchBucket; NoSuchUpload; NotImplemented.
    Source: https://docs.aws.amazon.com/AmazonS3/latest/API/API_AbortMultipartUpload.html
    """
    params = params_of(locals())
    action = "s3:AbortMultipartUpload"
    found = bucket_of(tx, caller, bucket, action, key=key, expected_owner=expected_bucket_owner, params=params)
    if if_match_initiated_time is not None:
        header = "x-amz-if-match-initiated-time"
        raise not_implemented(header, "Only directory buckets take this condition")
    forget_upload(tx, found.bucket_id, find_upload(tx, found, key, upload_id, reserved=True))
    return {}


def _record(tx: Transaction, caller: Caller, bucket: Bucket, key: str, params: Document) -> Record:
    """The record of the object to be, which has no digests yet."""
    tags = tags_of_header(params.get("tagging"))
    if tags:
        bucket_of(tx, caller, bucket.name, "s3:PutObjectTagging", key=key)
    return Record(
        etag="",
        owner=new_owner(bucket, caller.account, params),
        headers={"ContentType": DEFAULT_CONTENT_TYPE, **system_headers(params)},
        metadata=user_metadata(params.get("metadata")),
        tags=tags,
        storage_class=checked_storage_class(params.get("storage_class")),
        members=on_write(tx, caller, bucket, params),
    )


def _completed(settings: UploadSettings, parts: list[UploadedPart], checksum: Checksum) -> Record:
    shows_checksums = settings.kind == COMPOSITE
    return replace(
        record_of(settings.record),
        etag=etag_of(parts),
        checksum=checksum,
        parts=tuple(
            Part(place, part.size, part.checksum if shows_checksums else "") for place, part in enumerate(parts, 1)
        ),
    )


def _check_overtaken(settings: UploadSettings, begun: Beginning, key: str, params: Document) -> None:
    """Refuse a conditional completion if the key has changed since the upload began.

    Errors: ConditionalRequestConflict.
    """
    current = begun.current
    now = 0 if current is None or current.is_marker else current.number
    if "if_match" in params and now != settings.replaces:
        raise conditional_conflict("If-Match", key)
    if "if_none_match" in params and settings.replaces:
        raise conditional_conflict("If-None-Match", key)


def _body(tx: Transaction, upload: Upload, parts: list[UploadedPart], size: int) -> Stored:
    """The body of the object. It needs the references of the parts to their bodies; a small one stands in its row."""
    if size <= SMALL_BYTES:
        content = [
            piece
            for part in parts
            for piece in bodies.pieces(
                tx, None if part.segments else tx.uploads.body(upload.number, part.number), part.segments
            )
        ]
        return Stored(size, b"".join(content))
    segments: list[Segment] = []
    for part in parts:
        if part.segments:
            segments += part.segments
        elif part.size:
            segments.append(bodies.put(tx, tx.uploads.body(upload.number, part.number)))
    return Stored(size, None, tuple(segments))
