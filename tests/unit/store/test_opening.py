"""What is on the disk when a store is opened: all of it, or a refusal that says what is missing."""

from __future__ import annotations

import gc
import os
import shutil
import stat
from pathlib import Path

import pytest

from redrive.core.clock import VirtualClock
from redrive.core.entropy import SeededEntropy
from redrive.core.errors import UserError
from redrive.store.api import Step, Transaction
from redrive.store.connection import StoreDamaged
from redrive.store.files import opening
from redrive.store.files.accept import accept_loss
from redrive.store.files.report import report_on
from redrive.store.files.wal import FRAME_HEADER_BYTES, HEADER_BYTES
from redrive.store.sqlite import SqliteStore
from tests.unit.store.conftest import open_store

TIMERS = 40
FRAME = FRAME_HEADER_BYTES + 4_096
FILE = "redrive.sqlite"


def set_timer(number: int) -> Step[None]:
    return lambda tx: tx.timers.set("kind", f"{number:04}", number)


def timers(tx: Transaction) -> int:
    return len(tx.timers.due("kind", 10_000, 10_000))


def kill(place: Path) -> None:
    """Copy a store's files while it is open, as they lie on the disk when its process is killed."""
    place.mkdir()
    live = place.parent / "live"
    for path in live.iterdir():
        shutil.copy(path, place / path.name)


@pytest.fixture
def killed(tmp_path: Path) -> Path:
    """The store of a process that was killed after forty commits."""
    (tmp_path / "live").mkdir()
    store = open_store(tmp_path / "live" / FILE)
    for number in range(TIMERS):
        store.run(set_timer(number))
    kill(tmp_path / "killed")
    store.close()
    return tmp_path / "killed" / FILE


def beside(path: Path, suffix: str) -> Path:
    return path.with_name(path.name + suffix)


def flip(path: Path, at: int) -> None:
    content = bytearray(path.read_bytes())
    content[at] ^= 0xFF
    path.write_bytes(content)


def refused(path: Path) -> str:
    with pytest.raises(StoreDamaged) as caught:
        open_store(path)
    assert "redrive store check" in caught.value.next_step
    return caught.value.what


def test_store_of_a_killed_process_has_all_that_was_accepted(killed: Path) -> None:
    store = open_store(killed)

    assert store.run(timers) == TIMERS
    store.close()


def test_log_that_was_cut_short_is_refused_and_left_as_it_is(killed: Path) -> None:
    log = beside(killed, "-wal")
    os.truncate(log, HEADER_BYTES + 10 * FRAME)
    before = {path.name: path.read_bytes() for path in killed.parent.iterdir()}

    said = refused(killed)

    assert "its log ends or is damaged after" in said
    assert {path.name: path.read_bytes() for path in killed.parent.iterdir()} == before
    assert "its log ends" in refused(killed)  # And at each start from then on.


def test_log_that_was_damaged_is_refused(killed: Path) -> None:
    flip(beside(killed, "-wal"), HEADER_BYTES + 10 * FRAME + 500)

    assert "its log ends or is damaged after" in refused(killed)


def test_log_damaged_in_its_middle_is_refused_after_the_machine_has_restarted_too(killed: Path) -> None:
    """The index is gone then; the transactions behind the damage are not."""
    beside(killed, "-shm").unlink()
    flip(beside(killed, "-wal"), HEADER_BYTES + 10 * FRAME + 500)

    assert "accepted transactions lie behind the damage" in refused(killed)


def test_log_whose_header_was_damaged_is_refused(killed: Path) -> None:
    beside(killed, "-shm").unlink()
    flip(beside(killed, "-wal"), 17)

    assert "lie behind the damage" in refused(killed)


def killed_deferring(tmp_path: Path) -> Path:
    """The store of a process that was killed after commits that did not await the disk."""
    (tmp_path / "live").mkdir()
    store = open_store(tmp_path / "live" / FILE, defers_sync=True)
    for number in range(TIMERS):
        batch = store.begin([set_timer(number)], awaits_disk=False)
        batch.commit()
        batch.conclude()
    kill(tmp_path / "killed")
    store.close()
    return tmp_path / "killed" / FILE


def test_log_of_deferred_syncs_is_replayed_as_far_as_it_goes_after_the_machine_has_restarted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its frames reach the disk in any order, and its index before them: nobody was told of what is lost then."""
    killed = killed_deferring(tmp_path)
    flip(beside(killed, "-wal"), HEADER_BYTES + 10 * FRAME + 500)
    monkeypatch.setattr(opening, "this_boot", lambda: "another run of the machine")

    store = open_store(killed)

    assert 0 < store.run(timers) < TIMERS
    store.close()


def test_log_of_deferred_syncs_is_whole_while_the_machine_runs(tmp_path: Path) -> None:
    """What a process has written is there when it is killed, synced or not."""
    killed = killed_deferring(tmp_path)
    flip(beside(killed, "-wal"), HEADER_BYTES + 10 * FRAME + 500)

    assert "its log ends or is damaged after" in refused(killed)


def test_that_syncs_were_deferred_is_so_until_the_next_opening(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    deferring = open_store(tmp_path / FILE, defers_sync=True)
    deferring.close()
    (tmp_path / "live").mkdir()
    (tmp_path / FILE).rename(tmp_path / "live" / FILE)
    store = open_store(tmp_path / "live" / FILE)
    for number in range(TIMERS):
        store.run(set_timer(number))
    kill(tmp_path / "killed")
    store.close()
    flip(beside(tmp_path / "killed" / FILE, "-wal"), HEADER_BYTES + 10 * FRAME + 500)
    monkeypatch.setattr(opening, "this_boot", lambda: "another run of the machine")

    assert "its log ends or is damaged after" in refused(tmp_path / "killed" / FILE)


def test_torn_last_transaction_of_a_machine_that_stopped_is_no_damage(killed: Path) -> None:
    """It was never accepted: the wait for the disk had not ended."""
    beside(killed, "-shm").unlink()
    log = beside(killed, "-wal")
    os.truncate(log, log.stat().st_size - 100)

    store = open_store(killed)

    assert store.run(timers) >= TIMERS - 1
    store.close()


def test_log_that_was_deleted_is_missed(killed: Path) -> None:
    for suffix in ("-wal", "-shm"):
        beside(killed, suffix).unlink()

    assert "its log (-wal) is missing" in refused(killed)


def test_log_that_was_emptied_is_missed_while_the_machine_runs(killed: Path) -> None:
    os.truncate(beside(killed, "-wal"), 0)

    assert "its log was emptied or replaced" in refused(killed)


def test_log_without_its_store_is_refused(killed: Path) -> None:
    killed.unlink()

    assert "the store itself is missing" in refused(killed)


def test_garbage_page_is_found_after_a_kill(killed: Path) -> None:
    store = open_store(killed)
    store.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    kill_again = killed.parent.parent / "again"
    shutil.copytree(killed.parent, kill_again)
    store.close()
    content = bytearray((kill_again / FILE).read_bytes())
    content[4_096:8_192] = b"\xa5" * 4_096
    (kill_again / FILE).write_bytes(content)

    assert "is damaged" in refused(kill_again / FILE)


def test_garbage_page_that_is_met_later_is_told_as_damage(tmp_path: Path) -> None:
    store = open_store(tmp_path / FILE)
    for number in range(TIMERS):
        store.run(set_timer(number))
    (root,) = store.connection.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'timers'").fetchone()
    store.close()
    content = bytearray((tmp_path / FILE).read_bytes())
    content[(root - 1) * 4_096 : root * 4_096] = b"\xa5" * 4_096
    (tmp_path / FILE).write_bytes(content)
    store = open_store(tmp_path / FILE)

    with pytest.raises(StoreDamaged) as caught:
        store.run(lambda tx: tx.timers.get("kind", "0001"))

    assert "put a backup in its place" in caught.value.next_step
    store.close()


def test_large_store_is_checked_in_part_and_says_so(killed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opening, "CHECKED_WHOLE_BYTES_MAX", 1_000)

    store = open_store(killed)

    assert store.is_checked_in_part
    store.close()


def test_closed_store_is_one_file(tmp_path: Path) -> None:
    store = open_store(tmp_path / FILE)
    store.run(set_timer(1))
    store.close()

    shutil.copy(tmp_path / FILE, tmp_path / "copy.sqlite")
    copy = open_store(tmp_path / "copy.sqlite")

    assert copy.run(timers) == 1
    assert sorted(path.name for path in tmp_path.iterdir() if path.name.startswith(FILE)) == [FILE]
    copy.close()


def test_store_that_nobody_closes_is_closed_in_order_all_the_same(tmp_path: Path) -> None:
    store = open_store(tmp_path / FILE)
    store.run(set_timer(1))
    del store
    gc.collect()

    again = open_store(tmp_path / FILE)

    assert again.run(timers) == 1
    assert again.found.opened == ""
    again.close()


def test_files_of_a_store_are_its_owners_alone(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        store = open_store(tmp_path / FILE)
        store.run(set_timer(1))
    finally:
        os.umask(before)

    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()}

    assert modes == {FILE: 0o600, f"{FILE}-wal": 0o600, f"{FILE}-shm": 0o600}
    store.close()


def test_new_store_draws_as_its_seed_says_and_each_opening_draws_something_else(tmp_path: Path) -> None:
    def opened(path: Path) -> tuple[int, str]:
        store = SqliteStore(path, clock=VirtualClock(1), entropy=SeededEntropy(7))
        drawn = store.entropy.hex(32)
        store.close()
        return store.generation, drawn

    first = [opened(tmp_path / FILE) for _ in range(5)]
    second = [opened(tmp_path / "other.sqlite") for _ in range(5)]

    assert first == second
    assert first[0] == (1, SeededEntropy(7).hex(32))
    assert [generation for generation, _ in first] == [1, 2, 3, 4, 5]
    assert len({drawn for _, drawn in first}) == 5


def test_opening_is_counted_before_anything_is_drawn(tmp_path: Path) -> None:
    """A process that is killed right after its start has used up its generation."""
    (tmp_path / "live").mkdir()
    store = open_store(tmp_path / "live" / FILE)
    kill(tmp_path / "killed")
    store.close()

    again = open_store(tmp_path / "killed" / FILE)

    assert again.generation == 2
    again.close()


def test_store_of_a_version_that_did_not_count_has_been_opened_before(tmp_path: Path) -> None:
    store = open_store(tmp_path / FILE)
    store.connection.execute("DELETE FROM facts")
    store.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    shutil.copy(tmp_path / FILE, tmp_path / "old.sqlite")
    store.close()

    old = open_store(tmp_path / "old.sqlite")

    assert old.generation == 2
    old.close()


def test_reset_keeps_the_count_of_openings(tmp_path: Path) -> None:
    store = open_store(tmp_path / FILE)
    store.reset()
    store.close()

    again = open_store(tmp_path / FILE)

    assert again.generation == 2
    again.close()


def test_accepting_a_loss_opens_what_is_left_and_keeps_the_log(killed: Path) -> None:
    log = beside(killed, "-wal")
    flip(log, HEADER_BYTES + 10 * FRAME + 500)
    content = log.read_bytes()

    finding = accept_loss(killed)

    store = open_store(killed)
    assert "damaged" in finding
    assert 0 < store.run(timers) < TIMERS
    assert beside(killed, "-wal.refused").read_bytes() == content
    store.close()


def test_nothing_is_accepted_of_a_store_that_is_whole(killed: Path) -> None:
    before = {path.name: path.read_bytes() for path in killed.parent.iterdir()}

    assert accept_loss(killed) == ""
    assert {path.name: path.read_bytes() for path in killed.parent.iterdir()} == before


def test_report_counts_all_that_was_accepted_and_changes_nothing(killed: Path) -> None:
    before = {path.name: path.read_bytes() for path in killed.parent.iterdir() if not path.name.endswith("-shm")}

    report = report_on(killed)

    assert report["ok"]
    assert report["tables"]["timers"] == TIMERS
    assert report["closed_in_order"] is False
    after = {path.name: path.read_bytes() for path in killed.parent.iterdir() if not path.name.endswith("-shm")}
    assert after == before


def test_report_names_what_was_found(killed: Path) -> None:
    flip(beside(killed, "-wal"), HEADER_BYTES + 10 * FRAME + 500)

    report = report_on(killed)

    assert not report["ok"]
    assert "its log ends or is damaged" in report["findings"][0]
    assert "its log ends" in refused(killed)  # The report has not wiped out the traces.


def test_report_on_somebody_elses_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / FILE).write_bytes(b"not a database at all" * 50)

    with pytest.raises(UserError, match="not a redrive store"):
        report_on(tmp_path / FILE)


def test_store_in_memory_has_the_schema_of_a_store_in_a_file(tmp_path: Path) -> None:
    """The one is a copy, the other one is migrated in its place."""
    in_file, in_memory = open_store(tmp_path / FILE), opening.open_memory().connection

    for what in ("SELECT * FROM sqlite_schema", "PRAGMA user_version", "PRAGMA application_id"):
        assert in_memory.execute(what).fetchall() == in_file.connection.execute(what).fetchall()
    in_memory.close()
    in_file.close()


def test_stores_in_memory_share_nothing() -> None:
    first, second = opening.open_memory().connection, opening.open_memory().connection

    first.execute("INSERT INTO timers VALUES ('kind', 'key', 1)")

    assert first.execute("SELECT count(*) FROM timers").fetchall() == [(1,)]
    assert second.execute("SELECT count(*) FROM timers").fetchall() == [(0,)]
    first.close()
    second.close()
