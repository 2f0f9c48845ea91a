"""What is known of an object and of its parts, in one answer."""

from __future__ import annotations

from redrive.core.documents import Document
from redrive.core.scope import Caller
from redrive.delivery.operation import operation
from redrive.services.s3.access import bucket_of
from redrive.services.s3.model.errors import invalid_argument
from redrive.services.s3.model.pages import page_size
from redrive.services.s3.model.params import params_of
from redrive.services.s3.model.record import COMPOSITE, Record, record_of
from redrive.services.s3.protection import on_read
from redrive.services.s3.reading import read_version, shown_version_id
from redrive.store.api import Transaction

_ATTRIBUTES = ("ETag", "Checksum", "ObjectParts", "StorageClass", "ObjectSize")


@operation("GetObjectAttributes")
def get_object_attributes(
    tx: Transaction, caller: Caller, *, bucket: str, key: str, object_attributes: list[str],
    version_id: str | None = None, max_parts: int | None = None, part_number_marker: int | None = None,
    sse_customer_algorithm: str | None = None, sse_customer_key: str | None = None,
    sse_customer_key_md5: str | None = None, request_payer: str | None = None,
    expected_bucket_owner: str | None = None,
) -> Document:  # fmt: skip
    """Return chosen attributes of an object.

    Errors: NoSuchBucket; NoSuchKey; NoSuchVersion; MethodNotAllowed; InvalidArgument.
    Source: https://docs.aws.amazon.com/AmazonS3/latest/API/API_GetObjectAttributes.html
    """
    params = params_of(locals())
    suffix = "" if version_id is None else "Version"
    for action in (f"s3:GetObject{suffix}", f"s3:GetObject{suffix}Attributes"):
        found = bucket_of(tx, caller, bucket, action, key=key, expected_owner=expected_bucket_owner, params=params)
    unknown = [name for name in object_attributes if name not in _ATTRIBUTES]
    if unknown or not object_attributes:
        value = unknown[0] if unknown else ""
        raise invalid_argument("Invalid attribute name specified.", "x-amz-object-attributes", value)
    version = read_version(tx, caller, found, key, version_id, method="GET")
    record = record_of(version.document)
    on_read(tx, caller, found, record.members, params)
    attributes: Document = {
        "ETag": record.etag,
        "Checksum": _checksum(record),
        "ObjectParts": _parts(record, page_size(max_parts, "max-parts"), part_number_marker or 0),
        "StorageClass": record.storage_class,
        "ObjectSize": version.size,
    }
    answer: Document = {"LastModified": version.modified_at}
    shown_id = shown_version_id(tx, found, version)
    if shown_id is not None:
        answer["VersionId"] = shown_id
    asked = {name: attributes[name] for name in object_attributes}
    return answer | {name: value for name, value in asked.items() if value is not None}


def _checksum(record: Record) -> Document | None:
    """The checksum; a composite one is shown without the number of parts."""
    checksum = record.checksum
    if checksum is None:
        return None
    return {checksum.member: checksum.value.partition("-")[0], "ChecksumType": checksum.kind}


def _parts(record: Record, size: int, marker: int) -> Document | None:
    """The parts of an object that was uploaded so; they are listed only if they have checksums."""
    if not record.parts:
        return None
    count: Document = {"TotalPartsCount": len(record.parts)}
    checksum = record.checksum
    if checksum is None or checksum.kind != COMPOSITE:
        return count
    after = [part for part in record.parts if part.number > marker]
    shown = after[:size]
    listed = [{"PartNumber": one.number, "Size": one.size, checksum.member: one.checksum} for one in shown]
    return {
        **count, "PartNumberMarker": marker, "NextPartNumberMarker": shown[-1].number if shown else 0,
        "MaxParts": size, "IsTruncated": len(after) > size, "Parts": listed,
    }  # fmt: skip
