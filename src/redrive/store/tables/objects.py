"""The objects of S3's buckets: the current version of each key, and the versions before it.

    begin ──► nothing, or the current version ──► put, replace, move + put, delete
    page  ──► versions in the order of keys, current or noncurrent ones

The current versions lie together, so a key is found, and keys are listed, at the same price however many old versions
there are. Keys are in the order of their UTF-8 bytes. Rows belong to a bucket's id, so a new bucket with an old name
begins empty. A small body stands in its row; a larger one is named in the document, which the caller understands.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from redrive.core.clock import Instant
from redrive.core.documents import Document
from redrive.store.database import Database, Row
from redrive.store.documents import document_from, document_text
from redrive.store.queries import load_queries

_SQL = load_queries("objects")

NUMBERS_PER_BLOCK = 1_024
"""How many numbers a store with one writer takes at once, so that few versions cost a write for theirs."""

FROM_NEWEST = 2**63 - 1
"""As `after_number` of a page: the page begins with the newest version of the key `after` itself."""

_OLDEST = 2**63 - 1
END_OF_KEYS = b"\xff"
"""After every key: no byte of UTF-8 is as large. After a prefix, it is after every key that begins so."""


class ObjectVersion(NamedTuple):
    """A version of an object, or a delete marker. `number` grows over all versions of the store.

    `is_null`: the version has no id. `body` is None if it was not read, or if it does not stand in the row.
    """

    key: bytes
    number: int
    is_current: bool
    is_null: bool
    is_marker: bool
    modified_at: Instant
    size: int
    document: Document
    body: bytes | None = None


class ObjectTable:
    """The objects of all buckets."""

    __slots__ = ("_database", "_is_shared", "_last", "_next")

    def __init__(self, database: Database) -> None:
        self._database = database
        self._is_shared = database.is_shared
        self._next, self._last = 1, 0

    def reserve(self, bucket_id: str, *keys: bytes) -> None:
        """Let nobody else write these keys until the transaction ends. Call it before reading what will be written."""
        if self._is_shared:
            self._database.reserve(*[_lock_of(bucket_id, key) for key in keys])

    def reserve_all(self, places: Iterable[tuple[str, bytes]]) -> None:
        """As `reserve`, for keys of several buckets."""
        if self._is_shared:
            self._database.reserve(*[_lock_of(bucket_id, key) for bucket_id, key in places])

    def begin(self, bucket_id: str, key: bytes) -> tuple[int, ObjectVersion | None]:
        """Begin to write a key: a new number, and the current version without its body."""
        if not self._is_shared:
            row = self._database.one(_SQL["current"], (bucket_id, key))
            return self.number(), None if row is None else _version(row)
        self.reserve(bucket_id, key)
        row = self._database.one(_SQL["begin"], (bucket_id, key))
        assert row is not None, "the sequence always gives a number"
        return int(row[0]), None if row[1] is None else _version(row[1:])

    def number(self) -> int:
        """A new number for a version or an upload, higher than all before that this transaction can know of."""
        if self._next > self._last:
            row = self._database.one(_SQL["numbers"], ())
            assert row is not None, "the store has numbers from its first opening on"
            self._last = int(row[0])
            self._next = self._last if self._is_shared else self._last - NUMBERS_PER_BLOCK + 1
        number = self._next
        self._next = number + 1
        return number

    def current(self, bucket_id: str, key: bytes) -> ObjectVersion | None:
        """The current version with its body; it may be a delete marker."""
        return self._one("read", bucket_id, key)

    def version(self, bucket_id: str, key: bytes, number: int) -> ObjectVersion | None:
        """The version with this number and with its body, unless it has no version id."""
        found = self._one("read_version", bucket_id, 1, key, -number)
        return found or self._one("read_version", bucket_id, 0, key, -number)

    def null_version(self, bucket_id: str, key: bytes) -> ObjectVersion | None:
        """The version without an id, with its body."""
        current = self.current(bucket_id, key)
        return current if current is not None and current.is_null else self.noncurrent_null(bucket_id, key)

    def noncurrent_null(self, bucket_id: str, key: bytes) -> ObjectVersion | None:
        """The version without an id, if it is not the current one."""
        return self._one("read_null", bucket_id, key)

    def newest_noncurrent(self, bucket_id: str, key: bytes) -> ObjectVersion | None:
        """The version that becomes the current one when the current one is deleted. Without its body."""
        return self._one("newest_noncurrent", bucket_id, key)

    def put(self, bucket_id: str, new: ObjectVersion) -> None:
        """Store a current version of a key that has none now."""
        self._require(bucket_id, new.key)
        self._database.write(_SQL["put"], (bucket_id, new.key, *_columns(new)))

    def replace(self, bucket_id: str, old: ObjectVersion, new: ObjectVersion) -> None:
        """Store a current version in place of the one that `begin` gave, which is gone then."""
        self._require(bucket_id, old.key)
        self._database.write(_SQL["replace"], (*_columns(new), bucket_id, old.key, -old.number))

    def move(self, bucket_id: str, version: ObjectVersion) -> None:
        """Make a current version a noncurrent one, or the other way round."""
        self._require(bucket_id, version.key)
        was, becomes = (0, 1) if version.is_current else (1, 0)
        self._database.write(_SQL["move"], (becomes, bucket_id, was, version.key, -version.number))

    def set_document(self, bucket_id: str, version: ObjectVersion, document: Document) -> None:
        """Store another document for a version."""
        self._require(bucket_id, version.key)
        self._database.write(_SQL["set_document"], (document_text(document), bucket_id, *_place(version)))

    def delete(self, bucket_id: str, version: ObjectVersion) -> None:
        """Delete a version. No other version becomes the current one by itself: see `move`."""
        self._require(bucket_id, version.key)
        self._database.write(_SQL["delete"], (bucket_id, *_place(version)))

    def page(
        self,
        bucket_id: str,
        *,
        is_current: bool,
        after: bytes,
        before: bytes,
        limit: int,
        after_number: int | None = None,
    ) -> Sequence[ObjectVersion]:
        """Versions in the order of keys, the newest first, without bodies; keys are after `after` and before `before`.

        With `after_number`, the page begins with the older versions of the key `after`.
        """
        age_no = _OLDEST if after_number is None else -after_number
        is_noncurrent = 0 if is_current else 1
        rows = self._database.all(_SQL["page"], (bucket_id, is_noncurrent, after, age_no, before, limit))
        return [
            ObjectVersion(key, -age_no, not old, bool(null), bool(marker), at, size, document_from(document))
            for key, old, age_no, null, marker, at, size, document in rows
        ]

    def has_any(self, bucket_id: str) -> bool:
        """Whether a bucket has a version or a delete marker."""
        return self._database.one(_SQL["any_row"], (bucket_id,)) is not None

    def first(self, bucket_id: str, *, limit: int) -> Sequence[ObjectVersion]:
        """Some versions of a bucket that nobody uses any more, to be deleted with what their documents name."""
        return [_version(row) for row in self._database.all(_SQL["first_rows"], (bucket_id, limit))]

    def drop(self, bucket_id: str, version: ObjectVersion) -> None:
        """Delete a version of a bucket that nobody uses any more: its key needs no reservation."""
        self._database.write(_SQL["delete"], (bucket_id, *_place(version)))

    def forget(self) -> None:
        """Forget the numbers that were taken: after a rollback, they may be taken by others."""
        self._next, self._last = 1, 0

    def _one(self, name: str, *params: object) -> ObjectVersion | None:
        row = self._database.one(_SQL[name], params)
        return None if row is None else _version(row)

    def _require(self, bucket_id: str, key: bytes) -> None:
        if self._is_shared:
            self._database.require(_lock_of(bucket_id, key))


def _version(row: Row) -> ObjectVersion:
    body = row[8] if len(row) > 8 else None
    return ObjectVersion(
        bytes(row[0]), -int(row[2]), not row[1], bool(row[3]), bool(row[4]), int(row[5]), int(row[6]),
        document_from(row[7]), None if body is None else bytes(body),
    )  # fmt: skip


def _columns(new: ObjectVersion) -> Row:
    return (
        -new.number, int(new.is_null), int(new.is_marker), new.modified_at, new.size, document_text(new.document),
        new.body,
    )  # fmt: skip


def _place(version: ObjectVersion) -> Row:
    return (int(not version.is_current), version.key, -version.number)


def _lock_of(bucket_id: str, key: bytes) -> str:
    return f"object/{bucket_id}/{key.hex()}"
