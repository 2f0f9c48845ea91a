"""The history of attempts: runs whose texts are stored once, and stores of versions before."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from redrive.core.clock import VirtualClock, parse_instant
from redrive.store.api import Transaction
from redrive.store.migrate import APPLICATION_ID, migrations
from redrive.store.sqlite import SqliteStore
from redrive.store.tables.attempts import AttemptRecord, NoteRecord, RunState
from redrive.store.tables.runs import RunFilter
from tests.unit.store.conftest import open_store, write_down

SCHEDULE = "arn:aws:scheduler:eu-west-1:123456789012:schedule/default/nightly"
FUNCTION = "arn:aws:lambda:eu-west-1:123456789012:function:work"
EXECUTION = "0194217d-7400-7000-8000-000000000001"
DUE = "2025-01-01T01:00:00Z"


def attempt(
    number: int, *, of: str = "one", by: str = "arn:a", at: int = 1_000, state: RunState = RunState.RETRYING
) -> AttemptRecord:
    return AttemptRecord(of, by, number, at, state, "Busy", "try later", at + 1)


def written(store: SqliteStore, *records: AttemptRecord) -> list[AttemptRecord]:
    def step(tx: Transaction) -> None:
        for record in records:
            write_down(tx, record)

    store.run(step)
    return list(records)


def test_run_is_read_as_it_was_written_attempt_by_attempt(store: SqliteStore) -> None:
    records = written(store, *(attempt(number, at=number) for number in range(1, 5)))

    assert store.run(lambda tx: tx.attempts.of_delivery("one")) == records
    assert store.run(lambda tx: tx.attempts.of_source("arn:a")) == records


def test_retry_is_one_statement_once_the_run_is_there(store: SqliteStore) -> None:
    """Without a run it writes nothing and says so: a node died in the first attempt."""

    def retry(tx: Transaction) -> bool:
        return tx.attempts.record_retry("one", 2, 2_000, code="Busy", message="try later", next_at=2_001)

    before = store.run(retry)
    written(store, attempt(1))
    after = store.run(retry)

    assert (before, after) == (False, True)
    assert store.run(lambda tx: tx.attempts.of_delivery("one")) == [attempt(1), attempt(2, at=2_000)]


def test_state_of_a_run_is_that_of_its_last_attempt(store: SqliteStore) -> None:
    written(store, attempt(1), attempt(2, at=5_000, state=RunState.GAVE_UP))

    run = store.run(lambda tx: tx.attempts.run("one"))

    assert run is not None
    assert (run.state, run.first_at, run.ended_at) == (RunState.GAVE_UP, 1_000, 5_000)


def test_note_is_not_an_attempt(store: SqliteStore) -> None:
    written(store, attempt(1, state=RunState.DELIVERED))
    note = NoteRecord(7, "destination", "arn:q", "", "QueueDoesNotExist", "no such queue")

    store.run(lambda tx: tx.attempts.note("one", note))

    assert store.run(lambda tx: tx.attempts.notes_of("one")) == [note]
    assert len(store.run(lambda tx: tx.attempts.of_delivery("one"))) == 1


def test_pages_give_the_runs_of_one_source_latest_first(store: SqliteStore) -> None:
    written(store, *(attempt(1, of=of, at=at) for at, of in enumerate("abc")), attempt(1, of="d", by="arn:b"))

    first = store.run(lambda tx: tx.runs.page(RunFilter(source_arn="arn:a"), limit=2))
    place = (first[-1].first_at, first[-1].run)
    second = store.run(lambda tx: tx.runs.page(RunFilter(source_arn="arn:a"), before=place, limit=2))

    assert [[run.delivery_id for run in page] for page in (first, second)] == [["c", "b"], ["a"]]


@pytest.mark.parametrize("state", [RunState.GAVE_UP, RunState.DELIVERED])
def test_page_is_of_one_account_and_region_state_and_time(store: SqliteStore, state: RunState) -> None:
    def record(tx: Transaction) -> None:
        for at, of in enumerate("abcde"):
            write_down(tx, attempt(1, of=of, at=at, state=state), scope="1/here")
        write_down(tx, attempt(1, of="elsewhere", at=2, state=state), scope="1/there")
        write_down(tx, attempt(1, of="another", at=2), scope="1/here")

    store.run(record)

    found = store.run(lambda tx: tx.runs.page(RunFilter(scope="1/here", state=state, since=1, until=3), limit=9))

    assert [run.delivery_id for run in found] == ["d", "c", "b"]


def test_latest_failures_are_found_without_reading_what_went_well(store: SqliteStore) -> None:
    """The plan walks an index in which deliveries that went well do not stand."""
    sql = "SELECT * FROM runs INDEXED BY runs_by_state WHERE scope = ? AND state = ? AND state <> 'delivered'"

    plan = store.connection.execute(f"EXPLAIN QUERY PLAN {sql} ORDER BY first_at DESC", ("1/here", "dropped"))

    assert [row[3] for row in plan] == ["SEARCH runs USING INDEX runs_by_state (scope=? AND state=?)"]


def test_sweep_forgets_a_run_with_its_last_attempt_and_not_before(store: SqliteStore) -> None:
    written(store, attempt(1, at=1), attempt(2, at=5), attempt(1, of="old", at=1))

    swept = store.run(lambda tx: tx.attempts.sweep(3, limit=10))

    assert swept == 2
    assert [record.attempt for record in store.run(lambda tx: tx.attempts.of_delivery("one"))] == [2]
    assert store.connection.execute("SELECT delivery_id FROM runs").fetchall() == [("one",)]


def success(of: str, *, at: int = 1_000, led_to: str = "") -> AttemptRecord:
    return AttemptRecord(of, "arn:a", 1, at, RunState.DELIVERED, led_to=led_to)


def test_success_at_the_first_attempt_is_one_row_and_reads_like_any_other(store: SqliteStore) -> None:
    records = written(store, success("one", led_to="sent-1"), success("two", led_to="sent-2"))

    assert store.run(lambda tx: tx.attempts.of_source("arn:a")) == records
    assert store.run(lambda tx: tx.attempts.of_delivery("two")) == records[1:]
    assert store.connection.execute("SELECT count(*) FROM attempts").fetchone() == (0,)
    execution = store.run(lambda tx: tx.runs.execution_of("sent-2")) or ""
    told = store.run(lambda tx: tx.runs.timeline(execution))
    assert [(event.event, event.attempt, event.led_to) for event in told] == [
        ("began", 0, ""),
        ("attempted", 1, "sent-2"),
    ]


def test_success_that_is_recorded_twice_is_one_run_and_no_attempt_is_lost(store: SqliteStore) -> None:
    written(store, success("one"), success("one"))

    states = [record.state for record in store.run(lambda tx: tx.attempts.of_delivery("one"))]
    assert states == [RunState.DELIVERED, RunState.DELIVERED]
    assert store.connection.execute("SELECT count(*) FROM runs").fetchone() == (1,)


def test_oldest_attempt_is_found_among_successes_and_failures(store: SqliteStore) -> None:
    written(store, attempt(1, of="one", at=7), success("two", at=5))
    store.run(lambda tx: tx.attempts.forget())

    assert store.run(lambda tx: tx.attempts.oldest()) == 5
    assert store.run(lambda tx: tx.attempts.sweep(6, limit=10)) == 1
    assert store.run(lambda tx: tx.attempts.oldest()) == 7


def of_schema(path: Path, number_max: int) -> sqlite3.Connection:
    """A store as a version before wrote it."""
    old = sqlite3.connect(path)
    for number, sql in migrations():
        if number <= number_max:
            old.executescript(f"{sql} PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {number};")
    return old


def test_store_that_had_no_runs_keeps_its_history(tmp_path: Path) -> None:
    path = tmp_path / "redrive.sqlite"
    old = of_schema(path, 7)
    for number, at in ((1, 1), (2, 9)):
        old.execute(
            "INSERT INTO attempts (delivery_id, source_arn, attempt, ended_at, code, message, verdict, next_at, scope)"
            " VALUES ('one', 'arn:a', ?, ?, 'Busy', 'try later', 'retry', ?, '0/here')",
            (number, at, at + 1),
        )
    old.commit()
    old.close()

    store = open_store(path, VirtualClock(10))

    assert store.run(lambda tx: tx.attempts.of_source("arn:a")) == [attempt(1, at=1), attempt(2, at=9)]
    store.close()


@pytest.mark.parametrize(
    ("verdict", "record"),
    [
        ("delivered", AttemptRecord("", "", 1, 5, RunState.DELIVERED)),
        ("gave up", AttemptRecord("", "", 1, 5, RunState.GAVE_UP)),
        (
            "dead-lettered to arn:aws:sqs:q",
            AttemptRecord("", "", 1, 5, RunState.DEAD_LETTERED, letter_arn="arn:aws:sqs:q"),
        ),
        ("dropped: no queue", AttemptRecord("", "", 1, 5, RunState.DROPPED, why="no queue")),
        (
            "dropped: the dead letter to arn:q failed with Gone: x",
            AttemptRecord(
                "", "", 1, 5, RunState.DROPPED, letter_arn="arn:q", why="the dead letter to arn:q failed with Gone: x"
            ),
        ),
    ],
)
def test_sentences_of_the_version_before_become_facts(tmp_path: Path, verdict: str, record: AttemptRecord) -> None:
    path = tmp_path / "redrive.sqlite"
    old = of_schema(path, 12)
    old.execute("INSERT INTO runs (run, delivery_id, source_arn) VALUES (7, ?, ?)", ("event", FUNCTION))
    old.execute("INSERT INTO attempts VALUES (7, 1, 5, '', '', ?, NULL)", (verdict,))
    old.commit()
    old.close()

    store = open_store(path, VirtualClock(10))

    (found,) = store.run(lambda tx: tx.attempts.of_delivery("event"))
    assert found == record._replace(delivery_id="event", source_arn=FUNCTION)
    run = store.run(lambda tx: tx.attempts.run("event"))
    assert run is not None
    assert (run.scope, run.kind, run.target_arn, run.execution_id, run.state, run.run) == (
        "123456789012/eu-west-1", "lambda", FUNCTION, "event", record.state, 7
    )  # fmt: skip
    assert (run.first_at, run.ended_at) == (5, 5)
    store.close()


def test_occurrences_of_the_version_before_have_their_execution_and_their_times(tmp_path: Path) -> None:
    """One that is retried, and four that were missed."""
    path = tmp_path / "redrive.sqlite"
    old = of_schema(path, 12)
    first, second = f"{SCHEDULE}@{DUE}#{EXECUTION}", f"{SCHEDULE}@{DUE}#{EXECUTION[:-1]}2"
    old.executemany("INSERT INTO runs (run, delivery_id, source_arn) VALUES (?, ?, ?)", [
        (1, first, SCHEDULE), (2, second, SCHEDULE),
    ])  # fmt: skip
    old.executemany("INSERT INTO attempts VALUES (?, ?, ?, ?, ?, ?, ?)", [
        (1, 1, 50, "Busy", "later", "retry", 60),
        (1, 2, 60, "Busy", "later", "retry", 70),
        (2, 0, 99, "Missed", "4 until 2025-01-01T04:00:00Z", "missed: nothing ran", None),
    ])  # fmt: skip
    old.commit()
    old.close()

    store = open_store(path, VirtualClock(10))

    retried = store.run(lambda tx: tx.attempts.run(first))
    assert retried is not None
    assert (retried.execution_id, retried.state, retried.first_at, retried.ended_at) == (
        EXECUTION, RunState.RETRYING, 50, None
    )  # fmt: skip
    ((missed, why),) = store.run(lambda tx: tx.attempts.unattempted(SCHEDULE))
    assert (missed.first_at, missed.left_out, missed.left_out_until, why) == (
        parse_instant(DUE), 4, parse_instant("2025-01-01T04:00:00Z"), "nothing ran"
    )  # fmt: skip
    store.close()


def test_destination_that_was_recorded_as_an_attempt_becomes_a_note(tmp_path: Path) -> None:
    path = tmp_path / "redrive.sqlite"
    old = of_schema(path, 12)
    old.execute("INSERT INTO runs (run, delivery_id, source_arn) VALUES (7, ?, ?)", ("event", FUNCTION))
    old.executemany("INSERT INTO attempts VALUES (7, 1, 5, ?, ?, ?, NULL)", [
        ("", "", "delivered"), ("DestinationDeliveryFailures", "no such queue", "gave up"),
    ])  # fmt: skip
    old.commit()
    old.close()

    store = open_store(path, VirtualClock(10))

    run = store.run(lambda tx: tx.attempts.run("event"))
    assert run is not None
    assert run.state is RunState.DELIVERED
    assert store.run(lambda tx: tx.attempts.notes_of("event")) == [
        NoteRecord(5, "destination", "", "", "DestinationDeliveryFailures", "no such queue")
    ]
    store.close()
