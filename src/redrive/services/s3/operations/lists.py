"""Listings of current objects."""

from __future__ import annotations

from collections.abc import Sequence

from redrive.core.documents import Document
from redrive.core.scope import Caller
from redrive.delivery.operation import operation
from redrive.services.s3.access import bucket_of
from redrive.services.s3.listing import Common, Page, Position, begin_at, read_page
from redrive.services.s3.model.bucket import Bucket
from redrive.services.s3.model.keys import key_bytes, key_text
from redrive.services.s3.model.owners import owner_of
from redrive.services.s3.model.pages import Grouping, decode_token, encode_token, encoder_of, page_size
from redrive.services.s3.model.record import STANDARD
from redrive.store.api import Transaction
from redrive.store.tables.objects import FROM_NEWEST, ObjectVersion


@operation("ListObjects")
def list_objects(
    tx: Transaction, caller: Caller, *, bucket: str,
    delimiter: str | None = None, encoding_type: str | None = None, marker: str | None = None,
    max_keys: int | None = None, prefix: str | None = None,
    request_payer: str | None = None,  # noqa: ARG001 - there is no bill.
    expected_bucket_owner: str | None = None, optional_object_attributes: list[str] | None = None,  # noqa: ARG001
) -> Document:  # fmt: skip
    """List objects in the order of their keys, after a marker.

    Errors: NoSuchBucket; InvalidArgument.
    Source: https://docs.aws.amazon.com/AmazonS3/latest/API/API_ListObjects.html
    """
    found = listed_bucket(tx, caller, bucket, "s3:ListBucket", prefix, delimiter, max_keys, expected_bucket_owner)
    encode, size = encoder_of(encoding_type), page_size(max_keys, "max-keys")
    grouping = Grouping(key_bytes(prefix or ""), key_bytes(delimiter or ""))
    page = _page(tx, found, grouping, key_bytes(marker or ""), size)
    answer = _answer(found, page, grouping, encoding_type, size, with_owner=True)
    answer["Marker"] = encode(marker or "")
    if page.is_truncated and delimiter:
        answer["NextMarker"] = encode(key_text(_last(page)))
    return answer


@operation("ListObjectsV2")
def list_objects_v2(
    tx: Transaction, caller: Caller, *, bucket: str,
    delimiter: str | None = None, encoding_type: str | None = None, max_keys: int | None = None,
    prefix: str | None = None, continuation_token: str | None = None, fetch_owner: bool | None = None,
    start_after: str | None = None,
    request_payer: str | None = None,  # noqa: ARG001 - there is no bill.
    expected_bucket_owner: str | None = None, optional_object_attributes: list[str] | None = None,  # noqa: ARG001
) -> Document:  # fmt: skip
    """List objects in the order of their keys, with tokens.

    Errors: NoSuchBucket; InvalidArgument.
    Source: https://docs.aws.amazon.com/AmazonS3/latest/API/API_ListObjectsV2.html
    """
    found = listed_bucket(tx, caller, bucket, "s3:ListBucket", prefix, delimiter, max_keys, expected_bucket_owner)
    encode, size = encoder_of(encoding_type), page_size(max_keys, "max-keys")
    grouping = Grouping(key_bytes(prefix or ""), key_bytes(delimiter or ""))
    begin = key_bytes(start_after or "") if continuation_token is None else decode_token(continuation_token)
    page = _page(tx, found, grouping, begin, size)
    answer = _answer(found, page, grouping, encoding_type, size, with_owner=bool(fetch_owner))
    answer["KeyCount"] = len(page.entries)
    if page.is_truncated:
        answer["NextContinuationToken"] = encode_token(_last(page))
    if continuation_token is not None:
        answer["ContinuationToken"] = continuation_token
    if start_after is not None:
        answer["StartAfter"] = encode(start_after)
    return answer


def listed_bucket(
    tx: Transaction, caller: Caller, bucket: str, action: str, prefix: str | None, delimiter: str | None,
    max_keys: int | None, expected_owner: str | None,
) -> Bucket:  # fmt: skip
    """The bucket, if the caller may list so much of it. Errors: NoSuchBucket; AccessDenied."""
    given = {"s3:prefix": prefix, "s3:delimiter": delimiter, "s3:max-keys": max_keys}
    context: dict[str, tuple[str, ...]] = {name: (str(value),) for name, value in given.items() if value is not None}
    return bucket_of(tx, caller, bucket, action, expected_owner=expected_owner, context=context)


def entry_of(version: ObjectVersion, *, with_owner: bool) -> Document:
    """The members of an object that all listings show; the key is added by the caller."""
    document = version.document
    entry: Document = {
        "LastModified": version.modified_at,
        "ETag": f'"{document["etag"]}"',
        "Size": version.size,
        "StorageClass": document.get("class", STANDARD),
    }
    checksum = document.get("checksum")
    if checksum is not None:
        entry |= {"ChecksumAlgorithm": [checksum[0]], "ChecksumType": checksum[2]}
    if with_owner:
        entry["Owner"] = owner_of(str(document["owner"]))
    return entry


def read_current(
    tx: Transaction, bucket: Bucket, position: Position, before: bytes, limit: int
) -> Sequence[ObjectVersion]:
    """Current versions and delete markers from a position on."""
    after_number = None if position.is_after or position.number is not None else FROM_NEWEST
    return tx.objects.page(
        bucket.bucket_id, is_current=True, after=position.key, before=before, limit=limit, after_number=after_number
    )


def _page(tx: Transaction, bucket: Bucket, grouping: Grouping, marker: bytes, size: int) -> Page[ObjectVersion]:
    def read(position: Position, before: bytes, limit: int) -> Sequence[ObjectVersion]:
        return read_current(tx, bucket, position, before, limit)

    start = begin_at(grouping.beginning(marker))
    return read_page(read, grouping, start, size, shows=lambda version: not version.is_marker)


def _last(page: Page[ObjectVersion]) -> bytes:
    last = page.entries[-1]
    return last.prefix if isinstance(last, Common) else last.key


def _answer(
    bucket: Bucket, page: Page[ObjectVersion], grouping: Grouping, encoding_type: str | None, size: int, *,
    with_owner: bool,
) -> Document:  # fmt: skip
    encode = encoder_of(encoding_type)
    answer: Document = {
        "Name": bucket.name,
        "Prefix": encode(key_text(grouping.prefix)),
        "MaxKeys": size,
        "IsTruncated": page.is_truncated,
        "Contents": [{"Key": encode(key_text(row.key)), **entry_of(row, with_owner=with_owner)} for row in page.rows],
    }
    if page.prefixes:
        answer["CommonPrefixes"] = [{"Prefix": encode(key_text(prefix))} for prefix in page.prefixes]
    if grouping.delimiter:
        answer["Delimiter"] = encode(key_text(grouping.delimiter))
    if encoding_type is not None:
        answer["EncodingType"] = encoding_type
    return answer
