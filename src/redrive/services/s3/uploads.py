"""Finds multipart uploads, and gives back what they hold."""

from __future__ import annotations

from collections.abc import Sequence

from redrive.services.s3 import bodies, limits
from redrive.services.s3.model.bucket import Bucket
from redrive.services.s3.model.errors import no_such_upload
from redrive.services.s3.model.keys import key_bytes
from redrive.services.s3.model.upload import UploadedPart, part_of
from redrive.services.s3.model.version_ids import decode_upload_id, encode_upload_id
from redrive.store.api import Transaction
from redrive.store.tables.objects import END_OF_KEYS
from redrive.store.tables.uploads import FROM_FIRST, Upload


def upload_id_of(tx: Transaction, upload: Upload) -> str:
    """The id of an upload."""
    return encode_upload_id(upload.number, tx.facts.secret())


def find_upload(tx: Transaction, bucket: Bucket, key: str, upload_id: str, *, reserved: bool) -> Upload:
    """The upload of a key; `reserved`: nobody else changes the upload until the transaction ends.

    Errors: NoSuchUpload.
    """
    number = decode_upload_id(upload_id, tx.facts.secret())
    if number is None:
        raise no_such_upload(upload_id)
    if reserved:
        tx.uploads.reserve(number)
    found = tx.uploads.get(bucket.bucket_id, key_bytes(key), number)
    if found is None:
        raise no_such_upload(upload_id)
    return found


def all_parts(tx: Transaction, upload: Upload) -> Sequence[UploadedPart]:
    """The parts of an upload, in order."""
    rows = tx.uploads.parts(upload.number, after=0, limit=limits.PART_NUMBER_MAX)
    return [part_of(row.part, row.size, row.document) for row in rows]


def forget_upload(tx: Transaction, bucket_id: str, upload: Upload) -> None:
    """Delete an upload, and give the bodies of its parts back."""
    tx.uploads.reserve(upload.number)
    for part in all_parts(tx, upload):
        bodies.release(tx, part.segments)
    tx.uploads.delete(bucket_id, upload)


def forget_uploads(tx: Transaction, bucket_id: str, *, limit: int) -> int:
    """Delete up to `limit` uploads of a bucket that is being deleted. Returns how many were deleted."""
    found = tx.uploads.page(bucket_id, after=b"", before=END_OF_KEYS, limit=limit, after_number=FROM_FIRST)
    for upload in found:
        forget_upload(tx, bucket_id, upload)
    return len(found)
