"""Versioning of buckets, and listings of all versions."""

from __future__ import annotations

import heapq
from collections.abc import Sequence

from redrive.core.documents import Document, PlacedList
from redrive.core.errors import ServiceError
from redrive.core.scope import Caller
from redrive.delivery.operation import operation
from redrive.services.s3.access import bucket_of
from redrive.services.s3.listing import Common, Page, Position, begin_at, read_page
from redrive.services.s3.model.bucket import BUCKETS, Bucket
from redrive.services.s3.model.errors import invalid_argument, invalid_version_id, malformed_xml, not_implemented
from redrive.services.s3.model.keys import key_bytes, key_text
from redrive.services.s3.model.owners import owner_of
from redrive.services.s3.model.pages import Encode, Grouping, encoder_of, page_size
from redrive.services.s3.operations.lists import entry_of, listed_bucket
from redrive.services.s3.versions import (
    ENABLED,
    SUSPENDED,
    find_version,
    named_version,
    state_changed,
    version_id_of,
)
from redrive.store.api import Transaction
from redrive.store.tables.objects import FROM_NEWEST, ObjectVersion

_LOCK = "ObjectLockConfiguration"


@operation("GetBucketVersioning")
def get_bucket_versioning(
    tx: Transaction, caller: Caller, *, bucket: str, expected_bucket_owner: str | None = None
) -> Document:
    """Tell whether a bucket keeps versions; nothing is told of a bucket that never did.

    Errors: NoSuchBucket.
    Source: https://docs.aws.amazon.com/AmazonS3/latest/API/API_GetBucketVersioning.html
    """
    found = bucket_of(tx, caller, bucket, "s3:GetBucketVersioning", expected_owner=expected_bucket_owner)
    return {"Status": found.versioning} if found.versioning else {}


@operation("PutBucketVersioning")
def put_bucket_versioning(
    tx: Transaction, caller: Caller, *, bucket: str, versioning_configuration: Document,
    content_md5: str | None = None, checksum_algorithm: str | None = None,  # noqa: ARG001 - the gateway has the body.
    mfa: str | None = None,  # noqa: ARG001 - no bucket asks for a second factor.
    expected_bucket_owner: str | None = None,
) -> Document:  # fmt: skip
    """Let a bucket keep versions, or no further ones.

    Errors: NoSuchBucket; MalformedXML; IllegalVersioningConfigurationException; InvalidBucketState; NotImplemented.
    Source: https://docs.aws.amazon.com/AmazonS3/latest/API/API_PutBucketVersioning.html
    """
    found = bucket_of(tx, caller, bucket, "s3:PutBucketVersioning", expected_owner=expected_bucket_owner)
    status = versioning_configuration.get("Status")
    if status is None:
        message = "The Versioning element must be specified"
        raise ServiceError("IllegalVersioningConfigurationException", message, http_status=400)
    if status not in {ENABLED, SUSPENDED}:
        raise malformed_xml()
    if versioning_configuration.get("MFADelete") == ENABLED:
        raise not_implemented("x-amz-mfa", "redrive has no devices for a second factor; leave MfaDelete out")
    if status == SUSPENDED and _LOCK in found.settings:
        message = "An Object Lock configuration is present on this bucket, so the versioning state cannot be changed."
        raise ServiceError("InvalidBucketState", message, http_status=409)
    if status != found.versioning:
        tx.resources.put(BUCKETS, state_changed(found, status))
    return {}


@operation("ListObjectVersions")
def list_object_versions(
    tx: Transaction, caller: Caller, *, bucket: str,
    delimiter: str | None = None, encoding_type: str | None = None, key_marker: str | None = None,
    max_keys: int | None = None, prefix: str | None = None, version_id_marker: str | None = None,
    expected_bucket_owner: str | None = None,
    request_payer: str | None = None,  # noqa: ARG001 - there is no bill.
    optional_object_attributes: list[str] | None = None,  # noqa: ARG001 - no object is being restored.
) -> Document:  # fmt: skip
    """List all versions and delete markers: keys in order, the newest version of a key first.

    Errors: NoSuchBucket; InvalidArgument.
    Source: https://docs.aws.amazon.com/AmazonS3/latest/API/API_ListObjectVersions.html
    """
    action = "s3:ListBucketVersions"
    found = listed_bucket(tx, caller, bucket, action, prefix, delimiter, max_keys, expected_bucket_owner)
    encode, size = encoder_of(encoding_type), page_size(max_keys, "max-keys")
    grouping = Grouping(key_bytes(prefix or ""), key_bytes(delimiter or ""))

    def read(position: Position, before: bytes, limit: int) -> Sequence[ObjectVersion]:
        return _read(tx, found, position, before, limit)

    page = read_page(read, grouping, _start(tx, found, grouping, key_marker, version_id_marker), size)
    answer: Document = {
        "Name": bucket, "Prefix": encode(prefix or ""), "MaxKeys": size, "IsTruncated": page.is_truncated,
        "KeyMarker": encode(key_marker or ""), "VersionIdMarker": version_id_marker or "",
        "Versions": PlacedList(), "DeleteMarkers": PlacedList(),
    }  # fmt: skip
    for at, row in enumerate(page.rows):
        entry = {"Key": encode(key_text(row.key)), "VersionId": version_id_of(tx, row), "IsLatest": row.is_current}
        answer["DeleteMarkers" if row.is_marker else "Versions"].place({**entry, **_shown(row)}, at)
    if page.prefixes:
        answer["CommonPrefixes"] = [{"Prefix": encode(key_text(one))} for one in page.prefixes]
    if delimiter:
        answer["Delimiter"] = encode(delimiter)
    if encoding_type is not None:
        answer["EncodingType"] = encoding_type
    return answer | _next(tx, page, encode)


def _shown(row: ObjectVersion) -> Document:
    if row.is_marker:
        return {"LastModified": row.modified_at, "Owner": owner_of(str(row.document["owner"]))}
    return entry_of(row, with_owner=True)


def _start(
    tx: Transaction, bucket: Bucket, grouping: Grouping, key_marker: str | None, version_id_marker: str | None
) -> Position:
    """Where the page begins. Errors: InvalidArgument."""
    if not version_id_marker:
        return begin_at(grouping.beginning(key_bytes(key_marker or "")))
    if not key_marker:
        message = "A version-id marker cannot be specified without a key marker."
        raise invalid_argument(message, "version-id-marker", version_id_marker)
    named = named_version(tx, bucket, version_id_marker)
    if named is None:
        raise invalid_version_id(version_id_marker)
    marker = key_bytes(key_marker)
    begin = begin_at(grouping.beginning(marker))
    if begin.key != marker or not begin.is_after:
        return begin  # The marker is under a common prefix, or before the prefix.
    number = named.number
    if not number:
        null = find_version(tx, bucket, marker, named)
        if null is None:
            return begin
        number = null.number
    return Position(marker, is_after=False, number=number)


def _read(tx: Transaction, bucket: Bucket, position: Position, before: bytes, limit: int) -> Sequence[ObjectVersion]:
    """Current and older versions from a position on, in one order."""
    after_number = position.number if position.number is not None else None if position.is_after else FROM_NEWEST
    scans = [
        tx.objects.page(
            bucket.bucket_id, is_current=is_current, after=position.key, before=before, limit=limit,
            after_number=after_number,
        )
        for is_current in ((True, False) if bucket.versioning else (True,))
    ]  # fmt: skip
    return list(heapq.merge(*scans, key=lambda row: (row.key, -row.number)))[:limit]


def _next(tx: Transaction, page: Page[ObjectVersion], encode: Encode) -> Document:
    """The markers of the next page. A page that ends with a common prefix has no marker of a version."""
    if not page.is_truncated:
        return {}
    last = page.entries[-1]
    if isinstance(last, Common):
        return {"NextKeyMarker": encode(key_text(last.prefix))}
    return {"NextKeyMarker": encode(key_text(last.key)), "NextVersionIdMarker": version_id_of(tx, last)}
