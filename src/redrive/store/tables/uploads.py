"""Multipart uploads of S3 that are neither completed nor aborted, and their parts.

    put ──► put_part … put_part ──► delete, when the parts are an object, or when nobody wants them

An upload has a number that nothing else has ever had (`ObjectTable.number`), and so its parts can be named by it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from redrive.core.clock import Instant
from redrive.core.documents import Document
from redrive.store.database import Database, Row
from redrive.store.documents import document_from, document_text
from redrive.store.queries import load_queries

_SQL = load_queries("uploads")

FROM_FIRST = 0
"""As `after_number` of a page: the page begins with the first upload of the key `after` itself."""

_LAST = 2**63 - 1


class Upload(NamedTuple):
    """An upload. Numbers are in the order of initiation."""

    key: bytes
    number: int
    at: Instant
    document: Document


class UploadPart(NamedTuple):
    """A part of an upload. A small body stands in its row; a larger one is named in the document."""

    part: int
    at: Instant
    size: int
    document: Document


class UploadTable:
    """The uploads to all buckets."""

    __slots__ = ("_database", "_is_shared")

    def __init__(self, database: Database) -> None:
        self._database = database
        self._is_shared = database.is_shared

    def reserve(self, number: int) -> None:
        """Let nobody else change this upload or its parts until the transaction ends."""
        if self._is_shared:
            self._database.reserve(_lock_of(number))

    def put(self, bucket_id: str, upload: Upload) -> None:
        """Store a new upload."""
        row = (bucket_id, upload.key, upload.number, upload.at, document_text(upload.document))
        self._database.write(_SQL["put"], row)

    def get(self, bucket_id: str, key: bytes, number: int) -> Upload | None:
        """The upload with this number, if it is one of this key."""
        row = self._database.one(_SQL["get"], (bucket_id, key, number))
        return None if row is None else _upload(row)

    def delete(self, bucket_id: str, upload: Upload) -> None:
        """Delete an upload and its parts. The caller has what the documents of the parts name."""
        self._require(upload.number)
        self._database.write(_SQL["delete_parts"], (upload.number,))
        self._database.write(_SQL["delete"], (bucket_id, upload.key, upload.number))

    def page(
        self, bucket_id: str, *, after: bytes, before: bytes, limit: int, after_number: int | None = None
    ) -> Sequence[Upload]:
        """Uploads in the order of keys, then of initiation, with keys after `after` and before `before`.

        With `after_number`, the page begins with the later uploads of the key `after`.
        """
        number = _LAST if after_number is None else after_number
        return [_upload(row) for row in self._database.all(_SQL["page"], (bucket_id, after, number, before, limit))]

    def put_part(self, number: int, part: UploadPart, body: bytes | None) -> None:
        """Store a part; replaces the part with the same number."""
        self._require(number)
        row = (number, part.part, part.at, part.size, document_text(part.document), body)
        self._database.write(_SQL["put_part"], row)

    def part(self, number: int, part: int) -> UploadPart | None:
        """A part of an upload, or None."""
        row = self._database.one(_SQL["get_part"], (number, part))
        return None if row is None else _part(row)

    def parts(self, number: int, *, after: int, limit: int) -> Sequence[UploadPart]:
        """Parts in the order of their numbers."""
        return [_part(row) for row in self._database.all(_SQL["parts"], (number, after, limit))]

    def body(self, number: int, part: int) -> bytes:
        """The body of a part that stands in its row."""
        row = self._database.one(_SQL["part_body"], (number, part))
        return b"" if row is None or row[0] is None else bytes(row[0])

    def _require(self, number: int) -> None:
        if self._is_shared:
            self._database.require(_lock_of(number))


def _upload(row: Row) -> Upload:
    return Upload(bytes(row[0]), int(row[1]), int(row[2]), document_from(row[3]))


def _part(row: Row) -> UploadPart:
    return UploadPart(int(row[0]), int(row[1]), int(row[2]), document_from(row[3]))


def _lock_of(number: int) -> str:
    return f"upload/{number}"
