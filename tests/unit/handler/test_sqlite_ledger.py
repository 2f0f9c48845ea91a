"""What only the SQLite ledger has: a file that processes share, and transactions with the user's rows."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from redrive.handler import Fresh, LeaseLost, Replayed, SqliteLedger, current_execution, idempotent, path
from tests.unit.handler.conftest import HandClock

RACERS = 3
RACE = """
import sys
from redrive.handler import Fresh, SqliteLedger
ledger = SqliteLedger(sys.argv[1])
print(sum(isinstance(ledger.begin(f"e-{number}"), Fresh) for number in range(50)))
"""


@pytest.fixture
def ledger(tmp_path: Path, clock: HandClock) -> SqliteLedger:
    return SqliteLedger(str(tmp_path / "ledger.db"), clock=clock)


def test_each_execution_is_begun_by_one_process_only(tmp_path: Path) -> None:
    """Three processes begin the same fifty executions; together they are told Fresh fifty times."""
    command = [sys.executable, "-c", RACE, str(tmp_path / "shared.db")]
    racers = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(RACERS)]

    fresh = [int(racer.communicate()[0]) for racer in racers]

    assert sum(fresh) == 50


def test_two_objects_on_one_file_see_one_record(tmp_path: Path, ledger: SqliteLedger, clock: HandClock) -> None:
    other = SqliteLedger(str(tmp_path / "ledger.db"), clock=clock)
    answer = ledger.begin("e")
    assert isinstance(answer, Fresh)

    assert other.finish(answer.token, 7)

    assert ledger.begin("e") == Replayed(7)


def test_success_and_the_users_rows_happen_together(ledger: SqliteLedger) -> None:
    with ledger.transaction() as connection:
        connection.execute("CREATE TABLE reports (id TEXT)")

    @idempotent(key=path("id"), ledger=ledger)
    def report(event: dict[str, str]) -> str:
        with ledger.transaction() as connection:
            connection.execute("INSERT INTO reports VALUES (?)", [event["id"]])
            current_execution().finish("written")
        return "written"

    assert [report({"id": "a"}), report({"id": "a"})] == ["written", "written"]
    with ledger.transaction() as connection:
        assert connection.execute("SELECT id FROM reports").fetchall() == [("a",)]


def test_run_that_was_taken_over_writes_no_rows(ledger: SqliteLedger, clock: HandClock) -> None:
    with ledger.transaction() as connection:
        connection.execute("CREATE TABLE reports (id TEXT)")

    @idempotent(key=path("id"), ledger=ledger)
    def report(event: dict[str, str]) -> str:
        clock.advance(1_000)
        ledger.begin("a")  # Another run takes over while this one sleeps.
        with ledger.transaction() as connection:
            connection.execute("INSERT INTO reports VALUES (?)", [event["id"]])
            current_execution().finish("written")
        return "written"

    with pytest.raises(LeaseLost):
        report({"id": "a"})

    with ledger.transaction() as connection:
        assert connection.execute("SELECT id FROM reports").fetchall() == []


def test_purge_deletes_what_has_expired_and_nothing_else(ledger: SqliteLedger, clock: HandClock) -> None:
    ledger.begin("old", lease_s=1, keep_s=10)
    ledger.begin("new", lease_s=1, keep_s=20)
    clock.advance(10)

    assert ledger.purge() == 1

    assert ledger.read("old") is None
    assert ledger.read("new") is not None


def test_record_survives_closing_the_file(ledger: SqliteLedger) -> None:
    answer = ledger.begin("e", message_id="m")
    assert isinstance(answer, Fresh)
    ledger.finish(answer.token, ["ü"])
    before = ledger.read("e")

    ledger.close()

    assert ledger.read("e") == before
