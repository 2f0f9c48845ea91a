"""Objects of S3 that services read and write: code of functions, templates, records of what was given up.

A service reads as its caller, whose permissions S3 asks for. What `redrive deploy` has brought is found here, too: it
lies under a bucket that is not in S3.
"""

from __future__ import annotations

from collections.abc import Iterator

from redrive.core.errors import Bug
from redrive.core.scope import Caller
from redrive.delivery.assets import asset_content
from redrive.delivery.bodies import Content
from redrive.store.api import Transaction
from redrive.store.tables.bodies import PIECE_BYTES


class ObjectTooLarge(Exception):
    """An object is larger than its reader takes."""


def object_content(
    tx: Transaction, caller: Caller, bucket: str, key: str, version_id: str | None = None, *, bytes_max: int
) -> bytes:
    """The whole content of an object. Errors: ServiceError (S3's: NoSuchKey, AccessDenied …); ObjectTooLarge."""
    brought = asset_content(tx, caller.account, bucket, key)
    if brought is not None:
        return brought
    params = {"Bucket": bucket, "Key": key} | ({} if version_id is None else {"VersionId": version_id})
    body = tx.services.call(tx, caller, "s3", "GetObject", params)["Body"]
    size = body.size if isinstance(body, Content) else len(body)
    if size > bytes_max:
        raise ObjectTooLarge(f"The object {key} has {size} bytes; at most {bytes_max} are read.")
    return b"".join(_pieces(tx, body)) if isinstance(body, Content) else bytes(body)


def object_pieces(tx: Transaction, caller: Caller, bucket: str, key: str) -> Iterator[bytes]:
    """The content of an object of S3, piece by piece. Errors: ServiceError (S3's), at the first piece."""
    body = tx.services.call(tx, caller, "s3", "GetObject", {"Bucket": bucket, "Key": key})["Body"]
    if isinstance(body, Content):
        yield from _pieces(tx, body)
    else:
        yield bytes(body)


def content_bytes(tx: Transaction, content: Content) -> bytes:
    """The whole body of an answer. The caller knows that it is small enough."""
    return b"".join(_pieces(tx, content))


def _pieces(tx: Transaction, content: Content) -> Iterator[bytes]:
    """The bytes of an answer's body, piece by piece."""
    first, left = content.first, content.size
    for segment in content.segments:
        if first >= segment.size:
            first -= segment.size
            continue
        while left > 0 and first < segment.size:
            piece = tx.bodies.read(segment.body_id, segment.first + first, min(PIECE_BYTES, left, segment.size - first))
            if not piece:
                raise Bug(f"The body {segment.body_id} ends before its size.")
            yield piece
            first, left = first + len(piece), left - len(piece)
        first = 0
