"""Large bodies: rows in every store, files beside a store on a disk; what a crash, an error or a reader leaves."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from redrive.core.clock import VirtualClock
from redrive.core.errors import Conflict, UserError
from redrive.delivery.upkeep.bodies import GRACE_MS, BodySweep
from redrive.store.api import Transaction
from redrive.store.bodies import Bodies, BodyGone, DiskBodies, RowBodies
from redrive.store.connection import StoreFull
from redrive.store.copying.copy import copy_place
from redrive.store.files.backup import check_copy, copy_store
from redrive.store.files.bodies import BodyFiles, bodies_beside, refused
from redrive.store.files.report import report_on_running
from redrive.store.files.settling import TURNS_MAX, settle
from redrive.store.sqlite import SqliteStore
from redrive.store.tables.bodies import FILE, PIECE_BYTES, PIECES_DELETED_MAX, ROWS, Unreferenced
from tests.unit.store.conftest import AnyStore, open_store

CONTENT = bytes(range(256)) * 8 * 1024 + b"the end"  # Two pieces and a bit.


def bodies_of(any_store: AnyStore) -> Bodies:
    """The bodies as a server has them."""
    rows = RowBodies(any_store.run)
    files = any_store.store.files if isinstance(any_store.store, SqliteStore) else None
    return rows if files is None else DiskBodies(files, rows)


def receive(bodies: Bodies, body_id: str, content: bytes = CONTENT) -> None:
    writer = bodies.begin(body_id)
    for first in range(0, len(content), 100_000):
        writer.write(content[first : first + 100_000])
    writer.finish()


def adopt(tx: Transaction, body_id: str = "b-1", *, now: int = 1_000) -> None:
    tx.bodies.adopt(body_id, len(CONTENT), now=now)


def whole(bodies: Bodies, body_id: str) -> bytes:
    reader = bodies.open(body_id)
    try:
        return b"".join(
            reader.read(first, min(65_536, len(CONTENT) - first)) for first in range(0, len(CONTENT), 65_536)
        )
    finally:
        reader.close()


def files_in(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def test_received_body_is_read_back_in_steps_and_outside_of_them(any_store: AnyStore) -> None:
    bodies = bodies_of(any_store)
    receive(bodies, "b-1")
    any_store.run(adopt)

    assert whole(bodies, "b-1") == CONTENT
    assert any_store.run(lambda tx: tx.bodies.read("b-1", PIECE_BYTES - 2, 4)) == CONTENT[PIECE_BYTES - 2 :][:4]
    assert any_store.run(lambda tx: tx.bodies.read("b-1", len(CONTENT) - 3, 100)) == b"end"


def test_body_that_a_step_puts_is_read_as_received_ones_are(any_store: AnyStore) -> None:
    any_store.run(lambda tx: tx.bodies.put("b-1", CONTENT, now=1_000))

    assert whole(bodies_of(any_store), "b-1") == CONTENT
    assert any_store.run(lambda tx: tx.bodies.read("b-1", 0, len(CONTENT))) == CONTENT


def test_body_is_unreferenced_when_all_who_had_it_have_released_it(any_store: AnyStore) -> None:
    receive(bodies_of(any_store), "b-1")
    any_store.run(adopt)
    any_store.run(lambda tx: tx.bodies.share("b-1", now=1_001))
    any_store.run(lambda tx: tx.bodies.release("b-1", now=1_002))

    assert any_store.run(lambda tx: tx.bodies.next_unreferenced()) is None

    any_store.run(lambda tx: tx.bodies.release("b-1", now=1_003))

    assert any_store.run(lambda tx: tx.bodies.next_unreferenced()) == 1_003
    assert [body.body_id for body in any_store.run(lambda tx: tx.bodies.unreferenced(now=1_003, limit=9))] == ["b-1"]


def test_released_body_is_read_until_it_is_deleted(any_store: AnyStore) -> None:
    bodies = bodies_of(any_store)
    receive(bodies, "b-1")
    any_store.run(adopt)
    any_store.run(lambda tx: tx.bodies.release("b-1", now=1_000))

    assert whole(bodies, "b-1") == CONTENT

    (body,) = any_store.run(lambda tx: tx.bodies.unreferenced(now=1_000, limit=9))
    assert any_store.run(lambda tx: tx.bodies.delete(body)) is True
    if isinstance(any_store.store, SqliteStore) and any_store.store.files is not None:
        any_store.store.files.sweep()
    with pytest.raises(BodyGone):
        whole(bodies, "b-1")
    assert any_store.store.rows(["bodies", "body_pieces"]) == [[], []]


def test_body_in_use_is_deleted_later(any_store: AnyStore) -> None:
    bodies = bodies_of(any_store)
    any_store.run(lambda tx: tx.bodies.put("b-1", CONTENT, now=10))
    any_store.run(lambda tx: tx.bodies.release("b-1", now=20))

    bodies.hold(["b-1"])

    assert any_store.run(lambda tx: tx.bodies.next_unreferenced()) == 1_000, "the store's clock"


def test_large_body_is_deleted_in_several_steps_and_never_adopted_meanwhile(any_store: AnyStore) -> None:
    count = PIECES_DELETED_MAX + 1

    def fill(tx: Transaction) -> None:
        tx.bodies.begin("b-1", now=1)
        for number in range(count):
            tx.bodies.put_piece("b-1", number * PIECE_BYTES, b"x", now=1)

    any_store.run(fill)

    assert any_store.run(lambda tx: tx.bodies.delete(Unreferenced("b-1", ROWS))) is False
    if any_store.store.rows(["bodies"])[0][0][3] != FILE and not has_files(any_store):
        with pytest.raises(Conflict):
            any_store.run(adopt)
    assert any_store.run(lambda tx: tx.bodies.delete(Unreferenced("b-1", "gone"))) is True
    assert any_store.store.rows(["bodies", "body_pieces"]) == [[], []]


def has_files(any_store: AnyStore) -> bool:
    return isinstance(any_store.store, SqliteStore) and any_store.store.files is not None


def test_adopted_body_is_not_deleted_by_who_took_it_for_unreferenced(any_store: AnyStore) -> None:
    any_store.run(lambda tx: tx.bodies.put("b-1", CONTENT, now=1))

    any_store.run(lambda tx: tx.bodies.delete(Unreferenced("b-1", ROWS)))

    assert whole(bodies_of(any_store), "b-1") == CONTENT


def test_body_that_was_deleted_before_it_was_adopted_is_a_conflict(any_store: AnyStore) -> None:
    bodies = bodies_of(any_store)
    receive(bodies, "b-1")
    bodies.reject("b-1")

    with pytest.raises(Conflict):
        any_store.run(adopt)
    assert any_store.store.rows(["bodies", "body_pieces"]) == [[], []]


def test_rejecting_an_adopted_body_does_nothing(any_store: AnyStore) -> None:
    bodies = bodies_of(any_store)
    receive(bodies, "b-1")
    any_store.run(adopt)

    bodies.reject("b-1")

    assert whole(bodies, "b-1") == CONTENT


def test_sweep_deletes_what_nobody_has_had_for_a_while(any_store: AnyStore) -> None:
    sweep = BodySweep()
    any_store.run(lambda tx: tx.bodies.put("old", CONTENT, now=0))
    any_store.run(lambda tx: tx.bodies.put("new", CONTENT, now=0))
    any_store.run(lambda tx: tx.bodies.release("old", now=1_000 - GRACE_MS))
    any_store.run(lambda tx: tx.bodies.release("new", now=1_001 - GRACE_MS))

    any_store.run(lambda tx: sweep.sweep(tx, limit=500))

    assert [row[0] for row in any_store.store.rows(["bodies"])[0]] == ["new"]
    assert (any_store.run(sweep.next_at) or 0) >= 1_001


# Files.


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    opened = open_store(tmp_path / "redrive.sqlite")
    yield opened
    opened.close()


def files_of(store: SqliteStore) -> BodyFiles:
    assert store.files is not None
    return store.files


def test_file_is_put_in_its_place_after_its_body_was_adopted(store: SqliteStore) -> None:
    files = files_of(store)
    receive(DiskBodies(files, RowBodies(store.run)), "b-01")
    before = files_in(files.folder)
    store.run(lambda tx: adopt(tx, "b-01"))

    settle(files, store.run)

    assert before == ["incoming/b-01"]
    assert files_in(files.folder) == ["01/b-01"]
    assert files.read("b-01", 0, len(CONTENT)) == CONTENT


def test_file_whose_body_nobody_adopts_is_deleted_after_a_while(store: SqliteStore) -> None:
    files = files_of(store)
    receive(DiskBodies(files, RowBodies(store.run)), "b-01")

    for _ in range(TURNS_MAX):
        settle(files, store.run)
    before = files_in(files.folder)
    settle(files, store.run)

    assert before == ["incoming/b-01"]
    assert files_in(files.folder) == []
    with pytest.raises(Conflict):
        store.run(lambda tx: adopt(tx, "b-01"))


def test_aborted_file_is_deleted(store: SqliteStore) -> None:
    files = files_of(store)
    writer = files.begin("b-01")
    writer.write(b"x")

    writer.abort()

    assert files_in(files.folder) == []


def test_opening_keeps_what_was_adopted_and_deletes_what_was_not(tmp_path: Path) -> None:
    """As after a kill: one body was adopted, one was received, one was half received, one was being deleted."""
    store = open_store(tmp_path / "redrive.sqlite")
    files = files_of(store)
    bodies = DiskBodies(files, RowBodies(store.run))
    for name in ("adopted", "received", "leaving"):
        receive(bodies, name)
    files.begin("halfway").write(b"x")
    store.run(lambda tx: adopt(tx, "adopted"))
    store.run(lambda tx: adopt(tx, "leaving"))
    settle(files, store.run)
    store.run(lambda tx: tx.bodies.release("leaving", now=1))
    store.run(lambda tx: tx.bodies.delete(Unreferenced("leaving", FILE)))
    before = files_in(files.folder)
    store.close()

    again = open_store(tmp_path / "redrive.sqlite")

    assert before == ["ed/adopted", "incoming/halfway", "incoming/received", "leaving/leaving"]
    assert files_in(files.folder) == ["ed/adopted"]
    assert again.run(lambda tx: tx.bodies.read("adopted", 0, len(CONTENT))) == CONTENT
    again.close()


def test_reader_goes_on_with_a_file_that_was_deleted(store: SqliteStore) -> None:
    files = files_of(store)
    bodies = DiskBodies(files, RowBodies(store.run))
    receive(bodies, "b-01")
    reader = bodies.open("b-01")

    bodies.reject("b-01")

    assert files_in(files.folder) == []
    assert reader.read(0, len(CONTENT)) == CONTENT
    reader.close()


def test_files_are_kept_while_a_backup_reads_them(store: SqliteStore) -> None:
    files = files_of(store)
    bodies = DiskBodies(files, RowBodies(store.run))
    receive(bodies, "b-01")

    with files.kept():
        bodies.reject("b-01")
        content = files.read("b-01", 0, len(CONTENT))
    files.sweep()

    assert content == CONTENT
    assert files_in(files.folder) == []


def test_deletion_that_is_rolled_back_is_done_again(store: SqliteStore) -> None:
    files = files_of(store)
    receive(DiskBodies(files, RowBodies(store.run)), "b-01")
    store.run(lambda tx: adopt(tx, "b-01"))
    store.run(lambda tx: tx.bodies.release("b-01", now=1))

    def fail(tx: Transaction) -> None:
        tx.bodies.delete(Unreferenced("b-01", FILE))
        raise RuntimeError

    with pytest.raises(RuntimeError):
        store.run(fail)
    (body,) = store.run(lambda tx: tx.bodies.unreferenced(now=1, limit=9))
    store.run(lambda tx: tx.bodies.delete(body))
    files.sweep()

    assert files_in(files.folder) == []
    assert store.rows(["bodies"]) == [[]]


def test_reset_deletes_the_files(store: SqliteStore) -> None:
    receive(DiskBodies(files_of(store), RowBodies(store.run)), "b-01")

    store.reset()

    assert files_in(files_of(store).folder) == []


def test_store_without_large_bodies_has_no_folder(tmp_path: Path) -> None:
    path = tmp_path / "redrive.sqlite"

    store = open_store(path, VirtualClock(1))
    store.run(lambda tx: tx.bodies.put("b", b"x", now=1))
    store.close()

    assert not bodies_beside(path).exists()


def test_full_disk_is_said_to_be_full(tmp_path: Path) -> None:
    assert isinstance(refused(tmp_path, OSError(28, "No space left on device")), StoreFull)
    assert not isinstance(refused(tmp_path, OSError(13, "Permission denied")), StoreFull)


# The whole store.


def test_backup_has_the_bodies_in_its_one_file(store: SqliteStore, tmp_path: Path) -> None:
    receive(DiskBodies(files_of(store), RowBodies(store.run)), "b-01")
    store.run(lambda tx: adopt(tx, "b-01"))
    (tmp_path / "restored").mkdir()
    restored = tmp_path / "restored" / "redrive.sqlite"

    copy_store(tmp_path / "redrive.sqlite", restored, progress=lambda *_: None)
    check_copy(restored)
    again = open_store(restored)

    assert again.run(lambda tx: tx.bodies.read("b-01", 0, len(CONTENT))) == CONTENT
    assert not bodies_beside(restored).exists()
    again.close()


def test_report_names_bodies_whose_files_are_missing_or_cut(store: SqliteStore, tmp_path: Path) -> None:
    files = files_of(store)
    for name in ("whole", "short", "lost"):
        receive(DiskBodies(files, RowBodies(store.run)), name)
        store.run(partial(adopt, body_id=name))
    (files.folder / "incoming" / "lost").unlink()
    os.truncate(files.folder / "incoming" / "short", 5)

    report = report_on_running(tmp_path / "redrive.sqlite")

    assert report["ok"] is False
    assert [finding.split()[5] for finding in report["findings"]] == ["lost", "short"]


def test_copy_reads_files_as_rows(store: SqliteStore, tmp_path: Path) -> None:
    receive(DiskBodies(files_of(store), RowBodies(store.run)), "b-01")
    store.run(lambda tx: adopt(tx, "b-01"))
    store.run(lambda tx: tx.bodies.put("b-02", CONTENT, now=1))
    store.close()

    copied = copy_place(tmp_path, tmp_path / "to", progress=lambda *_: None)
    again = open_store(tmp_path / "to" / "redrive.sqlite")

    assert (copied.tables["bodies"], copied.tables["body_pieces"]) == (2, 6)
    assert again.run(lambda tx: [tx.bodies.read(name, 0, len(CONTENT)) for name in ("b-01", "b-02")]) == [CONTENT] * 2
    again.close()


def test_store_is_not_made_beside_the_bodies_of_another(store: SqliteStore, tmp_path: Path) -> None:
    receive(DiskBodies(files_of(store), RowBodies(store.run)), "b-01")
    store.close()
    (tmp_path / "redrive.sqlite").rename(tmp_path / "elsewhere")

    with pytest.raises(UserError, match="the store to which they belong is missing"):
        open_store(tmp_path / "redrive.sqlite")

    assert files_in(files_of(store).folder) == ["incoming/b-01"]
    assert not (tmp_path / "redrive.sqlite").exists()


def test_whole_folder_is_looked_through_after_the_machine_has_stopped(store: SqliteStore) -> None:
    files = files_of(store)
    receive(DiskBodies(files, RowBodies(store.run)), "b-01")
    store.run(lambda tx: adopt(tx, "b-01"))
    settle(files, store.run)
    (files.folder / "01" / "stray-01").write_bytes(b"x")
    known = store.run(lambda tx: tx.bodies.known(["b-01"]))

    assert files.recover(lambda ids: known & set(ids), is_whole=False) == 0
    assert files.recover(lambda ids: known & set(ids), is_whole=True) == 1
    assert files_in(files.folder) == ["01/b-01"]
