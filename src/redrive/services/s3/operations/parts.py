"""Parts of multipart uploads."""

from __future__ import annotations

from redrive.core.clock import Instant
from redrive.core.documents import Document
from redrive.core.scope import Caller
from redrive.delivery.bodies import SMALL_BYTES
from redrive.delivery.operation import Digesting, operation
from redrive.services.s3 import bodies
from redrive.services.s3.access import bucket_of
from redrive.services.s3.bodies import Body, Stored
from redrive.services.s3.copying import Copied, check_size, read_source, source_bucket
from redrive.services.s3.model.bucket import Bucket
from redrive.services.s3.model.checksums import body_checksum, computed, declared_checksum
from redrive.services.s3.model.copy_source import copy_source_of
from redrive.services.s3.model.keys import key_bytes
from redrive.services.s3.model.params import params_of
from redrive.services.s3.model.ranges import Span, copy_span
from redrive.services.s3.model.record import Checksum
from redrive.services.s3.model.upload import (
    UploadSettings,
    check_part_algorithm,
    check_part_number,
    part_document,
    part_of,
    settings_of,
)
from redrive.services.s3.protection import ENCRYPTION_MEMBERS, on_body, on_read
from redrive.services.s3.uploads import find_upload
from redrive.store.api import Transaction
from redrive.store.tables.uploads import Upload, UploadPart


@operation("UploadPart")
def upload_part(
    tx: Transaction, caller: Caller, *, bucket: str, key: str, part_number: int, upload_id: str, body: Body = None,
    content_length: int | None = None, content_md5: str | None = None, checksum_algorithm: str | None = None,
    checksum_crc32: str | None = None, checksum_crc32_c: str | None = None, checksum_crc64_nvme: str | None = None,
    checksum_sha1: str | None = None, checksum_sha256: str | None = None, checksum_sha512: str | None = None,
    checksum_md5: str | None = None, checksum_xxhash64: str | None = None, checksum_xxhash3: str | None = None,
    checksum_xxhash128: str | None = None, sse_customer_algorithm: str | None = None,
    sse_customer_key: str | None = None, sse_customer_key_md5: str | None = None, request_payer: str | None = None,
    expected_bucket_owner: str | None = None,
) -> Document:  # fmt: skip
    """Store a part of a multipart upload; replaces the part with the same number.

    Errors: NoSuchBucket; NoSuchUpload; InvalidArgument; InvalidRequest; BadDigest; InvalidDigest.
    Source: https://docs.aws.amazon.com/AmazonS3/latest/API/API_UploadPart.html
    """
    params = params_of(locals())
    found, upload = _found(tx, caller, params)
    settings = settings_of(upload.document)
    on_read(tx, caller, found, settings.record.get("members", {}), params)
    on_body(tx, caller, found, settings.record.get("members", {}))
    declared = declared_checksum(params)
    check_part_algorithm(settings, declared)
    received = bodies.received(body)

    def digest_of(algorithm: str) -> bytes:
        return bodies.digest(tx, received, algorithm)

    body_checksum(params, digest_of)
    checksum = computed(settings.counted, digest_of)
    etag = digest_of("MD5").hex()
    _put(tx, upload, part_number, etag, checksum, bodies.taken(tx, received))
    answer: Document = {"ETag": f'"{etag}"', **_encryption(settings)}
    return answer if declared is None else {**answer, declared.member: declared.value}


@operation("UploadPartCopy")
def upload_part_copy(
    tx: Transaction, caller: Caller, *, bucket: str, copy_source: str, key: str, part_number: int, upload_id: str,
    copy_source_if_match: str | None = None, copy_source_if_modified_since: Instant | None = None,
    copy_source_if_none_match: str | None = None, copy_source_if_unmodified_since: Instant | None = None,
    copy_source_range: str | None = None, sse_customer_algorithm: str | None = None,
    sse_customer_key: str | None = None, sse_customer_key_md5: str | None = None,
    copy_source_sse_customer_algorithm: str | None = None, copy_source_sse_customer_key: str | None = None,
    copy_source_sse_customer_key_md5: str | None = None, request_payer: str | None = None,
    expected_bucket_owner: str | None = None, expected_source_bucket_owner: str | None = None,
) -> Document | Digesting:  # fmt: skip
    """Store a part of a multipart upload that is a copy of an object, or of a range of it.

    Errors: NoSuchBucket; NoSuchUpload; NoSuchKey; NoSuchVersion; InvalidArgument; InvalidRequest; PreconditionFailed.
    Source: https://docs.aws.amazon.com/AmazonS3/latest/API/API_UploadPartCopy.html
    """
    params = params_of(locals())
    source = copy_source_of(copy_source)
    found, upload = _found(tx, caller, params)
    settings = settings_of(upload.document)
    on_read(tx, caller, found, settings.record.get("members", {}), params)
    on_body(tx, caller, found, settings.record.get("members", {}))
    from_bucket = source_bucket(tx, caller, source, params)
    tx.objects.reserve(from_bucket.bucket_id, key_bytes(source.key))
    copied = read_source(tx, caller, from_bucket, source, params)
    total = copied.version.size
    span = Span(0, total, total) if copy_source_range is None else copy_span(copy_source_range, total)
    check_size(span.size)
    body = _piece(copied, span)
    digests = bodies.digests(tx, body, ("MD5", settings.counted))
    if isinstance(digests, Digesting):
        return digests
    on_body(tx, caller, from_bucket, copied.record.members)
    bodies.share(tx, body.segments)
    etag, checksum = digests["MD5"].hex(), computed(settings.counted, digests.__getitem__)
    _put(tx, upload, part_number, etag, checksum, body)
    result: Document = {"ETag": f'"{etag}"', "LastModified": tx.now}
    if settings.algorithm:
        result[checksum.member] = checksum.value
    return {"CopyPartResult": result, **copied.version_member(tx), **_encryption(settings)}


def _found(tx: Transaction, caller: Caller, params: Document) -> tuple[Bucket, Upload]:
    """The upload that gets a part. Errors: InvalidArgument; NoSuchBucket; NoSuchUpload."""
    check_part_number(int(params["part_number"]))
    key, expected_owner = str(params["key"]), params.get("expected_bucket_owner")
    found = bucket_of(
        tx, caller, params["bucket"], "s3:PutObject", key=key, expected_owner=expected_owner, params=params
    )  # fmt: skip
    return found, find_upload(tx, found, key, str(params["upload_id"]), reserved=True)


def _piece(copied: Copied, span: Span) -> Stored:
    """The bytes of a source that become a part."""
    content = copied.version.body
    if content is not None:
        return Stored(span.size, content[span.first : span.first + span.size])
    segments = bodies.cut(copied.record.segments, span.first, span.size)
    return Stored(span.size, None if segments else b"", segments)


def _put(tx: Transaction, upload: Upload, number: int, etag: str, checksum: Checksum, body: Stored) -> None:
    """Store a part; what the part with the same number had is given back."""
    before = tx.uploads.part(upload.number, number)
    if before is not None:
        bodies.release(tx, part_of(number, before.size, before.document).segments)
    content = body.content
    assert content is None or len(content) <= SMALL_BYTES, "a large part is stored before"
    document = part_document(etag, checksum.value, body.segments)
    tx.uploads.put_part(upload.number, UploadPart(number, tx.now, body.size, document), content)


def _encryption(settings: UploadSettings) -> Document:
    members = settings.record.get("members", {})
    return {name: members[name] for name in ENCRYPTION_MEMBERS if name in members}
