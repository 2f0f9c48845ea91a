"""The tables of objects and uploads, which every store has alike: SQLite on disk, in memory, and PostgreSQL."""

from __future__ import annotations

from functools import partial

import pytest

from redrive.store.api import Transaction
from redrive.store.tables.objects import END_OF_KEYS, FROM_NEWEST, ObjectVersion
from redrive.store.tables.uploads import FROM_FIRST, Upload, UploadPart
from tests.unit.store.conftest import AnyStore

KEYS = ["", " ", "a", "a/", "a/b", "a\x00", "b", "ß", "é", "\uffff", "😀"]


def version(key: str, number: int, *, body: bytes | None = b"x") -> ObjectVersion:
    return ObjectVersion(
        key.encode(), number, is_current=True, is_null=False, is_marker=False, modified_at=1, size=1,
        document={"etag": key}, body=body,
    )  # fmt: skip


def write(tx: Transaction, key: str, bucket: str = "b") -> int:
    number, current = tx.objects.begin(bucket, key.encode())
    if current is not None:
        tx.objects.move(bucket, current)
    tx.objects.put(bucket, version(key, number))
    return number


def keys(tx: Transaction, *, after: bytes = b"", before: bytes = END_OF_KEYS, limit: int = 100) -> list[str]:
    rows = tx.objects.page("b", is_current=True, after=after, before=before, limit=limit, after_number=FROM_NEWEST)
    return [row.key.decode() for row in rows]


def old_numbers(tx: Transaction, key: str, number: int) -> list[int]:
    rows = tx.objects.page(
        "b", is_current=False, after=key.encode(), before=END_OF_KEYS, limit=9, after_number=number
    )  # fmt: skip
    return [row.number for row in rows]


def test_keys_are_listed_in_the_order_of_their_bytes(any_store: AnyStore) -> None:
    for key in reversed(KEYS):
        any_store.run(partial(write, key=key))

    assert any_store.run(keys) == sorted(KEYS, key=str.encode)
    assert any_store.run(partial(keys, after=b"a/", before=b"a/\xff")) == ["a/", "a/b"]


def test_object_is_kept_as_it_was_written(any_store: AnyStore) -> None:
    number = any_store.run(partial(write, key="a\x00é"))

    found = any_store.run(lambda tx: tx.objects.current("b", "a\x00é".encode()))

    assert found == version("a\x00é", number)


def test_noncurrent_versions_are_listed_newest_first_after_any_of_them(any_store: AnyStore) -> None:
    numbers = [any_store.run(partial(write, key="k")) for _ in range(4)]

    assert any_store.run(lambda tx: old_numbers(tx, "k", FROM_NEWEST)) == [numbers[2], numbers[1], numbers[0]]
    assert any_store.run(lambda tx: old_numbers(tx, "k", numbers[1])) == [numbers[0]]
    newest = any_store.run(lambda tx: tx.objects.newest_noncurrent("b", b"k"))
    assert (newest.number, newest.is_current) == (numbers[2], False)


def test_numbers_grow_also_after_a_failed_step(any_store: AnyStore) -> None:
    def fail(tx: Transaction) -> None:
        write(tx, "k")
        raise LookupError("as the test wants")

    before = any_store.run(partial(write, key="k"))
    with pytest.raises(LookupError):
        any_store.run(fail)

    assert any_store.run(partial(write, key="k")) > before
    assert any_store.run(lambda tx: tx.objects.number() < tx.objects.number())


def test_version_is_found_by_its_number_current_or_not(any_store: AnyStore) -> None:
    first, second = [any_store.run(partial(write, key="k")) for _ in range(2)]

    found = any_store.run(lambda tx: [tx.objects.version("b", b"k", number) for number in (first, second, 9_999_999)])

    assert [one and (one.number, one.is_current, one.body) for one in found] == [
        (first, False, b"x"), (second, True, b"x"), None,
    ]  # fmt: skip


def test_objects_of_a_bucket_are_dropped_in_pieces_and_others_stay(any_store: AnyStore) -> None:
    for bucket, key in (("b", "1"), ("b", "2"), ("b", "2"), ("c", "1")):
        any_store.run(partial(write, key=key, bucket=bucket))

    def drop(tx: Transaction) -> int:
        rows = tx.objects.first("b", limit=2)
        for row in rows:
            tx.objects.drop("b", row)
        return len(rows)

    assert [any_store.run(drop) for _ in range(3)] == [2, 1, 0]
    assert any_store.run(lambda tx: [tx.objects.has_any(bucket) for bucket in "bc"]) == [False, True]


def test_uploads_are_listed_by_key_and_then_by_initiation(any_store: AnyStore) -> None:
    for key, number in (("b", 1), ("a", 3), ("a", 2), ("c", 4)):
        any_store.run(partial(_begin_upload, key=key, number=number))

    def page(tx: Transaction, after: bytes = b"", after_number: int | None = FROM_FIRST) -> list[int]:
        found = tx.uploads.page("x", after=after, before=END_OF_KEYS, limit=3, after_number=after_number)
        return [upload.number for upload in found]

    assert any_store.run(page) == [2, 3, 1]
    assert any_store.run(partial(page, after=b"a", after_number=2)) == [3, 1, 4]
    assert any_store.run(partial(page, after=b"a", after_number=None)) == [1, 4]


def test_part_is_replaced_and_goes_with_its_upload(any_store: AnyStore) -> None:
    upload = any_store.run(partial(_begin_upload, key="k", number=7))
    for part, body in ((2, b"two"), (1, b"one"), (2, b"other")):
        any_store.run(partial(_put_part, part=part, body=body))

    parts = any_store.run(lambda tx: [one.part for one in tx.uploads.parts(7, after=0, limit=9)])
    assert (parts, any_store.run(lambda tx: tx.uploads.body(7, 2))) == ([1, 2], b"other")

    any_store.run(partial(_delete_upload, upload=upload))
    left = any_store.run(lambda tx: (tx.uploads.get("x", b"k", 7), list(tx.uploads.parts(7, after=0, limit=9))))
    assert left == (None, [])


def _delete_upload(tx: Transaction, upload: Upload) -> None:
    tx.uploads.reserve(7)
    tx.uploads.delete("x", upload)


def _begin_upload(tx: Transaction, key: str, number: int) -> Upload:
    upload = Upload(key.encode(), number, tx.now, {"n": number})
    tx.uploads.put("x", upload)
    return upload


def _put_part(tx: Transaction, part: int, body: bytes) -> None:
    tx.uploads.reserve(7)
    tx.uploads.put_part(7, UploadPart(part, tx.now, len(body), {}), body)
