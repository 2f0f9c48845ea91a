"""Time and randomness come as arguments; the database stays in its room."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from tests.tidy.source import PACKAGE, TESTS, Source, findings

CLOCK = "core/clock.py"
OTHER_PYTHON = "invoke/runtime/python_runtime.py"
"""It runs in a function's own Python, where nothing of redrive can be imported."""
CLOCK_READS = frozenset(
    {
        "time.time",
        "time.time_ns",
        "time.monotonic",
        "time.monotonic_ns",
        "time.perf_counter",
        "time.perf_counter_ns",
        "time.process_time",
        "time.process_time_ns",
        "time.thread_time",
        "time.thread_time_ns",
        "datetime.datetime.now",
        "datetime.datetime.today",
        "datetime.datetime.utcnow",
        "datetime.date.today",
    }
)
SLEEPS = frozenset({"time.sleep"})

# What may import a module that the rest of the house gets through a port.
HOMES = {
    "psycopg": "store/",
    "random": "core/entropy.py",
    "secrets": "core/entropy.py",
    "sqlite3": "store/",
    "uuid": "core/entropy.py",
}

# Begins like a statement of SQL, in the capitals that we and most people write it in.
SQL = re.compile(
    r"\s*(SELECT\s.*\bFROM\b|INSERT\s+(OR\s+\w+\s+)?INTO\b|UPDATE\s+\w+\s+SET\b|DELETE\s+FROM\b"
    r"|(CREATE|ALTER|DROP)\s+(UNIQUE\s+)?(TABLE|INDEX|VIEW)\b|PRAGMA\s|SAVEPOINT\s|BEGIN IMMEDIATE\b)",
    re.DOTALL,
)

# The handler library runs in users' own processes and may import no other room: it has ports of its own.
CLOCK_EXCEPTIONS: dict[str, str] = {"handler/clock.py": "the clock of the handler library"}
SLEEP_EXCEPTIONS: dict[str, str] = {"handler/clock.py": "its retries wait in the user's process, between two calls"}
SQL_EXCEPTIONS: dict[str, str] = {
    "handler/ledgers/postgres.py": "a ledger in the user's own database",
    "handler/ledgers/sqlite.py": "a ledger in a file of the user's",
    "prove/process/asyncpg_connection.py": "rows that a handler under proof copies",
    "prove/process/sql_connection.py": "savepoints of a handler under proof",
    "prove/sql/database.py": "the databases that a handler under proof speaks SQL to",
    "prove/sql/statement.py": "tables of those databases",
}
HOME_EXCEPTIONS: dict[str, str] = {
    "handler/entropy.py": "the entropy of the handler library",
    "handler/ledgers/postgres.py": "a ledger in the user's own database",
    "handler/ledgers/sqlite.py": "a ledger in a file of the user's",
    "prove/sql/database.py": "the databases that a handler under proof speaks SQL to",
    "prove/sql/functions.py": "functions of those databases",
}


def clock_reads(source: Source) -> Iterator[str]:
    """Only the clock's own module reads a clock."""
    if source.path not in (CLOCK, OTHER_PYTHON):
        for line, name in source.names:
            if name in CLOCK_READS:
                yield f"{source.path} line {line} reads {name}: take the time as an argument (core.clock)"


def sleeps(source: Source) -> Iterator[str]:
    """Nobody sleeps: whoever waits, waits for an event or for an instant of a clock."""
    for line, name in source.names:
        if name in SLEEPS:
            yield f"{source.path} line {line} sleeps: wait for an event, or move a virtual clock"


def homeless_imports(source: Source) -> Iterator[str]:
    """Randomness and databases are imported by their ports alone."""
    for line, name in source.imports:
        home = HOMES.get(name.split(".")[0])
        if home is not None and not source.path.startswith(home):
            yield f"{source.path} line {line} imports {name}: only {home} does"
    for line, name in source.names:
        if name == "os.urandom":
            yield f"{source.path} line {line} calls os.urandom: take an Entropy as an argument"


def sql_outside_store(source: Source) -> Iterator[str]:
    """Only the store speaks SQL."""
    if not source.path.startswith("store/"):
        for line, text in source.strings:
            if SQL.match(text):
                yield f"{source.path} line {line} holds SQL: make it a verb of a table in store/"


def test_only_the_clock_reads_a_clock() -> None:
    assert findings(clock_reads, PACKAGE, CLOCK_EXCEPTIONS) == []


def test_nobody_sleeps_in_source_or_tests() -> None:
    assert findings(sleeps, PACKAGE, SLEEP_EXCEPTIONS) == []
    assert findings(sleeps, TESTS) == []


def test_randomness_and_databases_are_imported_by_their_ports_alone() -> None:
    assert findings(homeless_imports, PACKAGE, HOME_EXCEPTIONS) == []


def test_only_the_store_speaks_sql() -> None:
    assert findings(sql_outside_store, PACKAGE, SQL_EXCEPTIONS) == []


@pytest.mark.parametrize(
    "text",
    [
        "import time\nnow = time.time()",
        "import time as t\nnow = t.monotonic_ns()",
        "from time import perf_counter\nstart = perf_counter()",
        "import datetime\nnow = datetime.datetime.now(datetime.UTC)",
        "from datetime import datetime as dt\nnow = dt.utcnow()",
        "from datetime import date\nread = date.today",
    ],
)
def test_reading_a_clock_is_seen_through_every_spelling(text: str) -> None:
    assert len(list(clock_reads(Source("delivery/worker.py", text)))) == 1
    assert list(clock_reads(Source(CLOCK, text))) == []


def test_arithmetic_on_times_is_no_reading() -> None:
    text = "from datetime import UTC, datetime\nmoment = datetime.fromtimestamp(0, UTC)\nnow = tx.now"

    assert list(clock_reads(Source("delivery/worker.py", text))) == []


@pytest.mark.parametrize("text", ["import time\ntime.sleep(1)", "from time import sleep as nap\nnap(1)"])
def test_a_sleep_is_seen_through_every_spelling(text: str) -> None:
    assert len(list(sleeps(Source("unit/test_x.py", text)))) == 1


@pytest.mark.parametrize(
    "text",
    [
        "import random",
        "from uuid import uuid4",
        "import secrets as s",
        "import sqlite3",
        "import os\nos.urandom(8)",
    ],
)
def test_a_port_bypassed_by_an_import_is_seen(text: str) -> None:
    assert len(list(homeless_imports(Source("services/sqs/model/queue.py", text)))) == 1


def test_a_port_may_import_what_it_is_the_port_of() -> None:
    assert list(homeless_imports(Source("core/entropy.py", "import random, secrets"))) == []
    assert list(homeless_imports(Source("store/sqlite.py", "import sqlite3"))) == []


@pytest.mark.parametrize(
    "text",
    [
        'rows = run("SELECT id FROM messages")',
        'run("""\n  INSERT OR IGNORE INTO dedup VALUES (1)""")',
        'run(f"UPDATE messages SET visible_at = {at}")',
        'run("DELETE FROM messages")',
        'run("CREATE UNIQUE INDEX by_name ON messages (name)")',
    ],
)
def test_sql_outside_the_store_is_seen(text: str) -> None:
    assert len(list(sql_outside_store(Source("services/sqs/operations/queues.py", text)))) == 1
    assert list(sql_outside_store(Source("store/sqlite.py", text))) == []


def test_prose_about_sql_is_not_sql() -> None:
    text = '"""SELECT means FROM here."""\nexpression = "SET colour = :c"\nerror = "Select a queue from it"'

    assert list(sql_outside_store(Source("services/sqs/operations/queues.py", text))) == []
