"""Listings of multipart uploads and of their parts."""

from __future__ import annotations

from collections.abc import Sequence

from redrive.core.documents import Document
from redrive.core.scope import Caller
from redrive.delivery.operation import operation
from redrive.services.s3.access import bucket_of
from redrive.services.s3.listing import Common, Page, Position, begin_at, read_page
from redrive.services.s3.model.bucket import Bucket
from redrive.services.s3.model.errors import invalid_argument
from redrive.services.s3.model.keys import key_bytes, key_text
from redrive.services.s3.model.owners import owner_of
from redrive.services.s3.model.pages import Encode, Grouping, encoder_of, page_size
from redrive.services.s3.model.params import params_of
from redrive.services.s3.model.record import record_of
from redrive.services.s3.model.upload import UploadSettings, part_of, settings_of
from redrive.services.s3.model.version_ids import decode_upload_id
from redrive.services.s3.operations.lists import listed_bucket
from redrive.services.s3.uploads import find_upload, upload_id_of
from redrive.store.api import Transaction
from redrive.store.tables.uploads import FROM_FIRST, Upload


@operation("ListParts")
def list_parts(
    tx: Transaction, caller: Caller, *, bucket: str, key: str, upload_id: str,
    max_parts: int | None = None, part_number_marker: int | None = None, request_payer: str | None = None,
    expected_bucket_owner: str | None = None, sse_customer_algorithm: str | None = None,
    sse_customer_key: str | None = None, sse_customer_key_md5: str | None = None,
) -> Document:  # fmt: skip
    """List the parts of a multipart upload.

    Errors: NoSuchBucket; NoSuchUpload; InvalidArgument.
    Source: https://docs.aws.amazon.com/AmazonS3/latest/API/API_ListParts.html
    """
    params = params_of(locals())
    action = "s3:ListMultipartUploadParts"
    found = bucket_of(tx, caller, bucket, action, key=key, expected_owner=expected_bucket_owner, params=params)
    upload = find_upload(tx, found, key, upload_id, reserved=False)
    size, marker = page_size(max_parts, "max-parts"), part_number_marker or 0
    rows = tx.uploads.parts(upload.number, after=marker, limit=size + 1)
    shown = rows[:size]
    settings = settings_of(upload.document)
    parts = [
        {"LastModified": row.at, **_part(settings, row.part, row.size, row.document)} for row in shown
    ]  # fmt: skip
    answer: Document = {
        "Bucket": bucket, "Key": key, "UploadId": upload_id, "MaxParts": size, "PartNumberMarker": marker,
        "NextPartNumberMarker": shown[-1].part if shown else 0, "IsTruncated": bool(size) and len(rows) > size,
        "Parts": parts, **_who(settings),
    }  # fmt: skip
    return answer


@operation("ListMultipartUploads")
def list_multipart_uploads(
    tx: Transaction, caller: Caller, *, bucket: str,
    delimiter: str | None = None, encoding_type: str | None = None, key_marker: str | None = None,
    max_uploads: int | None = None, prefix: str | None = None, upload_id_marker: str | None = None,
    expected_bucket_owner: str | None = None,
    request_payer: str | None = None,  # noqa: ARG001 - there is no bill.
) -> Document:  # fmt: skip
    """List the multipart uploads to a bucket: keys in order, then uploads in the order of their beginning.

    Errors: NoSuchBucket; InvalidArgument.
    Source: https://docs.aws.amazon.com/AmazonS3/latest/API/API_ListMultipartUploads.html
    """
    action = "s3:ListBucketMultipartUploads"
    found = listed_bucket(tx, caller, bucket, action, prefix, delimiter, None, expected_bucket_owner)
    encode, size = encoder_of(encoding_type), page_size(max_uploads, "max-uploads")
    grouping = Grouping(key_bytes(prefix or ""), key_bytes(delimiter or ""))

    def read(position: Position, before: bytes, limit: int) -> Sequence[Upload]:
        number = position.number if position.number is not None else None if position.is_after else FROM_FIRST
        return tx.uploads.page(found.bucket_id, after=position.key, before=before, limit=limit, after_number=number)

    start = _start(tx, found, grouping, key_marker, upload_id_marker)
    page = read_page(read, grouping, start, size)
    answer: Document = {
        "Bucket": bucket, "Prefix": encode(prefix or ""), "MaxUploads": size, "IsTruncated": page.is_truncated,
        "KeyMarker": encode(key_marker or ""), "UploadIdMarker": upload_id_marker or "" if key_marker else "",
        "Uploads": [_upload(tx, row, encode) for row in page.rows], **_next(tx, page, encode),
    }  # fmt: skip
    if page.prefixes:
        answer["CommonPrefixes"] = [{"Prefix": encode(key_text(one))} for one in page.prefixes]
    if delimiter:
        answer["Delimiter"] = encode(delimiter)
    if encoding_type is not None:
        answer["EncodingType"] = encoding_type
    return answer


def _part(settings: UploadSettings, number: int, size: int, document: Document) -> Document:
    part = part_of(number, size, document)
    shown: Document = {"PartNumber": number, "ETag": f'"{part.etag}"', "Size": size}
    return {**shown, f"Checksum{settings.algorithm}": part.checksum} if settings.algorithm else shown


def _who(settings: UploadSettings) -> Document:
    """Whose upload it is, and what the object will be."""
    record = record_of(settings.record)
    owner = owner_of(record.owner)
    initiator = {**owner, "DisplayName": settings.initiator.rpartition(":")[2].rpartition("/")[2]}
    if not settings.initiator.endswith(":root"):
        initiator["ID"] = settings.initiator
    shown: Document = {"Initiator": initiator, "Owner": owner, "StorageClass": record.storage_class}
    if settings.algorithm:
        shown |= {"ChecksumAlgorithm": settings.algorithm, "ChecksumType": settings.kind}
    return shown


def _upload(tx: Transaction, upload: Upload, encode: Encode) -> Document:
    identity = {"Key": encode(key_text(upload.key)), "UploadId": upload_id_of(tx, upload), "Initiated": upload.at}
    return {**identity, **_who(settings_of(upload.document))}


def _start(
    tx: Transaction, bucket: Bucket, grouping: Grouping, key_marker: str | None, upload_id_marker: str | None
) -> Position:
    """Where the page begins. A marker of an upload counts only beside one of a key. Errors: InvalidArgument."""
    marker = key_bytes(key_marker or "")
    begin = begin_at(grouping.beginning(marker))
    if not key_marker or not upload_id_marker:
        return begin
    number = decode_upload_id(upload_id_marker, tx.facts.secret())
    if number is None or tx.uploads.get(bucket.bucket_id, marker, number) is None:
        raise invalid_argument("Invalid uploadId marker", "upload-id-marker", upload_id_marker)
    if begin.key != marker or not begin.is_after:
        return begin
    return Position(marker, is_after=False, number=number)


def _next(tx: Transaction, page: Page[Upload], encode: Encode) -> Document:
    """The markers of the next page, which S3 always gives; both are empty after a common prefix."""
    last = page.entries[-1] if page.entries else None
    if last is None or isinstance(last, Common):
        return {"NextKeyMarker": "", "NextUploadIdMarker": ""}
    return {"NextKeyMarker": encode(key_text(last.key)), "NextUploadIdMarker": upload_id_of(tx, last)}
