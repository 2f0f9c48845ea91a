"""Writing and reading of single objects."""

from __future__ import annotations

from redrive.core.clock import Instant
from redrive.core.documents import Document
from redrive.core.errors import ServiceError
from redrive.core.scope import Caller
from redrive.delivery.bodies import Received
from redrive.delivery.operation import operation
from redrive.services.s3 import bodies
from redrive.services.s3.access import bucket_of
from redrive.services.s3.bodies import Body
from redrive.services.s3.model.bucket import Bucket
from redrive.services.s3.model.checksums import body_checksum
from redrive.services.s3.model.conditions import CONDITIONS, Conditions, check_read
from redrive.services.s3.model.errors import invalid_request, not_implemented
from redrive.services.s3.model.metadata import (
    ARCHIVED,
    DEFAULT_CONTENT_TYPE,
    checked_storage_class,
    overriding_headers,
    shown_metadata,
    system_headers,
    user_metadata,
)
from redrive.services.s3.model.owners import new_owner
from redrive.services.s3.model.params import params_of
from redrive.services.s3.model.ranges import Span, part_span, span_of
from redrive.services.s3.model.record import COMPOSITE, STANDARD, Checksum, Record, record_of
from redrive.services.s3.model.tags import tags_of_header
from redrive.services.s3.protection import READ_MEMBERS, expiration_of, on_body, on_read, on_write
from redrive.services.s3.reading import read_version, shown_version_id
from redrive.services.s3.writing import POST, PUT, begin_write, checksum_members, write_object
from redrive.store.api import Transaction
from redrive.store.tables.objects import ObjectVersion


@operation("PutObject")
def put_object(
    tx: Transaction, caller: Caller, *, bucket: str, key: str, body: Body = None,
    acl: str | None = None, cache_control: str | None = None, content_disposition: str | None = None,
    content_encoding: str | None = None, content_language: str | None = None, content_length: int | None = None,
    content_md5: str | None = None, content_type: str | None = None, checksum_algorithm: str | None = None,
    checksum_crc32: str | None = None, checksum_crc32_c: str | None = None, checksum_crc64_nvme: str | None = None,
    checksum_sha1: str | None = None, checksum_sha256: str | None = None, checksum_sha512: str | None = None,
    checksum_md5: str | None = None, checksum_xxhash64: str | None = None, checksum_xxhash3: str | None = None,
    checksum_xxhash128: str | None = None, expires: Instant | None = None,
    if_match: str | None = None, if_none_match: str | None = None,
    grant_full_control: str | None = None, grant_read: str | None = None, grant_read_acp: str | None = None,
    grant_write_acp: str | None = None, write_offset_bytes: int | None = None, metadata: dict[str, str] | None = None,
    server_side_encryption: str | None = None, storage_class: str | None = None,
    website_redirect_location: str | None = None, sse_customer_algorithm: str | None = None,
    sse_customer_key: str | None = None, sse_customer_key_md5: str | None = None, ssekms_key_id: str | None = None,
    ssekms_encryption_context: str | None = None, bucket_key_enabled: bool | None = None,
    request_payer: str | None = None, tagging: str | None = None, object_lock_mode: str | None = None,
    object_lock_retain_until_date: Instant | None = None, object_lock_legal_hold_status: str | None = None,
    object_lock_event_hold: str | None = None, object_lock_event_hold_duration_days: int | None = None,
    object_lock_event_hold_duration_years: int | None = None, expected_bucket_owner: str | None = None,
) -> Document:  # fmt: skip
    """Store an object.

    Errors: NoSuchBucket; PreconditionFailed; BadDigest; InvalidDigest; InvalidRequest; InvalidStorageClass;
    KeyTooLongError; MetadataTooLarge; InvalidTag; NotImplemented.
    Source: https://docs.aws.amazon.com/AmazonS3/latest/API/API_PutObject.html
    """
    params = params_of(locals())
    found = bucket_of(tx, caller, bucket, "s3:PutObject", key=key, expected_owner=expected_bucket_owner, params=params)
    if write_offset_bytes is not None:
        raise not_implemented("x-amz-write-offset-bytes", "Only directory buckets take an offset of a write")
    received = bodies.received(body)
    record = _new_record(tx, caller, found, key, params, received)
    begun = begin_write(tx, found, key, params)
    cause = POST if received.is_by_form else PUT
    answer = write_object(tx, caller, found, key, begun, record, bodies.taken(tx, received), cause=cause)
    return {"ETag": f'"{record.etag}"', **checksum_members(record), **answer}


@operation("GetObject")
def get_object(
    tx: Transaction, caller: Caller, *, bucket: str, key: str,
    if_match: str | None = None, if_modified_since: Instant | None = None, if_none_match: str | None = None,
    if_unmodified_since: Instant | None = None, range: str | None = None,
    response_cache_control: str | None = None, response_content_disposition: str | None = None,
    response_content_encoding: str | None = None, response_content_language: str | None = None,
    response_content_type: str | None = None, response_expires: Instant | None = None, version_id: str | None = None,
    sse_customer_algorithm: str | None = None, sse_customer_key: str | None = None,
    sse_customer_key_md5: str | None = None, request_payer: str | None = None, part_number: int | None = None,
    expected_bucket_owner: str | None = None, checksum_mode: str | None = None,
) -> Document:  # fmt: skip
    """Return an object with its body, or a part of the body.

    Errors: NoSuchBucket; NoSuchKey; NoSuchVersion; MethodNotAllowed; PreconditionFailed; NotModified; InvalidRange;
    InvalidPartNumber; InvalidRequest; InvalidArgument; InvalidObjectState.
    Source: https://docs.aws.amazon.com/AmazonS3/latest/API/API_GetObject.html
    """
    params = params_of(locals())
    action = "s3:GetObject" if version_id is None else "s3:GetObjectVersion"
    found = bucket_of(tx, caller, bucket, action, key=key, expected_owner=expected_bucket_owner, params=params)
    version = read_version(tx, caller, found, key, version_id, method="GET")
    record = record_of(version.document)
    if record.storage_class in ARCHIVED and "Restore" not in record.members:
        raise _archived(record.storage_class)
    answer, span = _described(tx, caller, found, version, record, params)
    on_body(tx, caller, found, record.members)
    answer["Body"] = bodies.answered(version.body, record.segments, span.first, span.size)
    return answer


@operation("HeadObject")
def head_object(
    tx: Transaction, caller: Caller, *, bucket: str, key: str,
    if_match: str | None = None, if_modified_since: Instant | None = None, if_none_match: str | None = None,
    if_unmodified_since: Instant | None = None, range: str | None = None,
    response_cache_control: str | None = None, response_content_disposition: str | None = None,
    response_content_encoding: str | None = None, response_content_language: str | None = None,
    response_content_type: str | None = None, response_expires: Instant | None = None, version_id: str | None = None,
    sse_customer_algorithm: str | None = None, sse_customer_key: str | None = None,
    sse_customer_key_md5: str | None = None, request_payer: str | None = None, part_number: int | None = None,
    expected_bucket_owner: str | None = None, checksum_mode: str | None = None,
) -> Document:  # fmt: skip
    """Return what is known of an object, without its body.

    Errors: NoSuchBucket; NoSuchKey; NoSuchVersion; MethodNotAllowed; PreconditionFailed; NotModified; InvalidRange;
    InvalidPartNumber; InvalidRequest; InvalidArgument.
    Source: https://docs.aws.amazon.com/AmazonS3/latest/API/API_HeadObject.html
    """
    params = params_of(locals())
    action = "s3:GetObject" if version_id is None else "s3:GetObjectVersion"
    found = bucket_of(tx, caller, bucket, action, key=key, expected_owner=expected_bucket_owner, params=params)
    version = read_version(tx, caller, found, key, version_id, method="HEAD")
    answer, _ = _described(tx, caller, found, version, record_of(version.document), params)
    return answer


def _new_record(tx: Transaction, caller: Caller, bucket: Bucket, key: str, params: Document, body: Received) -> Record:
    """The record of an object that a request brings, if the request is right."""
    checksum = body_checksum(params, lambda algorithm: bodies.digest(tx, body, algorithm))
    tags = tags_of_header(params.get("tagging"))
    if tags:
        bucket_of(tx, caller, bucket.name, "s3:PutObjectTagging", key=key, params=params)
    return Record(
        etag=bodies.digest(tx, body, "MD5").hex(),
        owner=new_owner(bucket, caller.account, params),
        checksum=checksum,
        headers={"ContentType": DEFAULT_CONTENT_TYPE, **system_headers(params)},
        metadata=user_metadata(params.get("metadata")),
        tags=tags,
        storage_class=checked_storage_class(params.get("storage_class")),
        members=on_write(tx, caller, bucket, params),
    )


def _described(
    tx: Transaction, caller: Caller, bucket: Bucket, version: ObjectVersion, record: Record, params: Document
) -> tuple[Document, Span]:
    """The answer without the body, and which bytes the body has. Errors: those of GetObject."""
    on_read(tx, caller, bucket, record.members, params)
    if not CONDITIONS.isdisjoint(params):
        check_read(Conditions.of(params), record.etag, version.modified_at, tx.now)
    span, checksum = _asked(version, record, params)
    answer: Document = {
        "AcceptRanges": "bytes",
        "LastModified": version.modified_at,
        "ContentLength": span.size,
        "ETag": f'"{record.etag}"',
        "Metadata": shown_metadata(record.metadata),
        **record.headers,
        **overriding_headers(params),
    }
    for name, value in record.members.items():
        if name in READ_MEMBERS:
            answer[name] = value
    if checksum is not None and params.get("checksum_mode") == "ENABLED":
        answer |= {checksum.member: checksum.value, "ChecksumType": checksum.kind}
    if "part_number" in params or ("range" in params and span_of(params["range"], version.size) is not None):
        answer["ContentRange"] = span.header
    if "part_number" in params and record.parts:
        answer["PartsCount"] = len(record.parts)
    if bucket.versioning:
        answer["VersionId"] = shown_version_id(tx, bucket, version)
    if record.storage_class != STANDARD:
        answer["StorageClass"] = record.storage_class
    if record.tags:
        answer["TagCount"] = len(record.tags)
    if record.members.get("Restore") is not None:
        answer["Restore"] = record.members["Restore"]
    expiration = None if "version_id" in params else expiration_of(bucket, version)
    if expiration is not None:
        answer["Expiration"] = expiration
    return answer, span


def _asked(version: ObjectVersion, record: Record, params: Document) -> tuple[Span, Checksum | None]:
    """The bytes that a request asks for, and their checksum if there is one."""
    whole = Span(0, version.size, version.size)
    number = params.get("part_number")
    if number is None:
        span = span_of(params["range"], version.size) if "range" in params else None
        return span or whole, record.checksum if span is None or span == whole else None
    if "range" in params:
        raise invalid_request("Cannot specify both Range header and partNumber query parameter")
    span = part_span(number, record.parts, version.size)
    if not record.parts:
        return span, record.checksum
    part = record.parts[number - 1]
    if record.checksum is None or record.checksum.kind != COMPOSITE or not part.checksum:
        return span, None
    return span, Checksum(record.checksum.algorithm, part.checksum, COMPOSITE)


def _archived(storage_class: str) -> ServiceError:
    message = "The operation is not valid for the object's storage class"
    members = {"StorageClass": storage_class}
    return ServiceError("InvalidObjectState", message, http_status=403, members=members)
