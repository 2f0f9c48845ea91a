"""Statements of SQL are calls: answered by a database of the proof's own, and what they leave are rows."""

from __future__ import annotations

import sqlite3
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from redrive.prove.judge.judge import Rule
from redrive.prove.process.sql_exchange import LOCKED, SERIALIZATION, SqlAsked, SqlRefusal
from redrive.prove.process.subject import subject_of
from redrive.prove.proving import prove
from redrive.prove.search.options import Options
from redrive.prove.sql.server import Server
from redrive.prove.sql.tables import Schema
from redrive.prove.tell.verdict import Verdict

ORDER = '{"order": "o-1", "amount": 5}'

DRIVERS = {
    "psycopg2": "import psycopg2\nconnect = lambda: psycopg2.connect(host='db', dbname='shop')",
    "psycopg": "import psycopg\nconnect = lambda: psycopg.connect('dbname=shop host=db')",
    "pymysql": "import pymysql\nconnect = lambda: pymysql.connect(host='db', db='shop')",
    "mysql": "import mysql.connector\nconnect = lambda: mysql.connector.connect(host='db', database='shop')",
}
ONCE = {
    "psycopg2": "INSERT INTO orders (id, amount) VALUES (%s, %s) ON CONFLICT (id) DO NOTHING",
    "psycopg": "INSERT INTO orders (id, amount) VALUES (%s, %s)"
    " ON CONFLICT (id) DO UPDATE SET amount = EXCLUDED.amount",
    "pymysql": "INSERT INTO orders (id, amount) VALUES (%s, %s) ON DUPLICATE KEY UPDATE amount = VALUES(amount)",
    "mysql": "INSERT IGNORE INTO orders (id, amount) VALUES (%s, %s)",
}
HEAD = "import json\n"
BODY = """

def handler(event, context):
    order = json.loads(event["Records"][0]["body"])
    connection = connect()
"""


def proved(folder: Path, driver: str, body: str, faults: int = 1, **options: Any) -> Verdict:
    lines = "".join(f"    {line}\n" for line in body.strip("\n").split("\n"))
    code = folder / "app"  # Files of SQL in the folder above are read, too: those of other tests are not.
    code.mkdir(exist_ok=True)
    (code / "app_sql.py").write_text(HEAD + DRIVERS.get(driver, driver) + BODY + lines, "utf-8")
    return prove(subject_of("app_sql:handler", code), Options(faults=faults, bodies=(ORDER,), **options))


@pytest.mark.parametrize("driver", DRIVERS)
def test_row_without_a_key_is_repeated(tmp_path: Path, driver: str) -> None:
    verdict = proved(
        tmp_path,
        driver,
        """
with connection.cursor() as cursor:
    cursor.execute("INSERT INTO payments (order_id, amount) VALUES (%s, %s)", (order["order"], order["amount"]))
connection.commit()
""",
    )

    assert verdict.effects == {"row in payments": 1}
    assert verdict.counterexample is not None
    assert verdict.counterexample.violation.rule is Rule.ONCE
    assert "row in payments" in verdict.counterexample.violation.sentence


@pytest.mark.parametrize("driver", DRIVERS)
def test_row_under_a_key_is_the_same_again(tmp_path: Path, driver: str) -> None:
    verdict = proved(
        tmp_path,
        driver,
        f"""
cursor = connection.cursor()
cursor.execute({ONCE[driver]!r}, (order["order"], order["amount"]))
connection.commit()
""",
    )

    assert verdict.counterexample is None
    assert verdict.effects == {"row in orders": 1}


@pytest.mark.parametrize("driver", DRIVERS)
def test_row_that_is_made_once_and_not_committed_leaves_nothing(tmp_path: Path, driver: str) -> None:
    verdict = proved(
        tmp_path,
        driver,
        f"""
cursor = connection.cursor()
cursor.execute("INSERT INTO payments (order_id) VALUES (%s)", (order["order"],))
connection.rollback()
cursor.execute({ONCE[driver]!r}, (order["order"], 1))
connection.commit()
""",
    )

    assert verdict.counterexample is None
    assert verdict.effects == {"row in orders": 1}


@pytest.mark.parametrize("driver", ["psycopg2", "pymysql"])
def test_number_that_is_increased_is_doubled(tmp_path: Path, driver: str) -> None:
    verdict = proved(
        tmp_path,
        driver,
        """
cursor = connection.cursor()
cursor.execute("UPDATE accounts SET balance = balance + %s WHERE id = %s", (order["amount"], order["order"]))
assert cursor.rowcount == 1
connection.commit()
""",
    )

    assert verdict.effects == {"row in accounts": 1}
    assert verdict.counterexample is not None
    assert verdict.counterexample.violation.rule in {Rule.ONCE, Rule.SAME}
    assert "balance of the row in accounts" in verdict.counterexample.violation.sentence
    assert "row of accounts" in verdict.assumptions


@pytest.mark.parametrize("driver", ["psycopg2", "psycopg", "pymysql"])
def test_increase_with_its_record_in_one_transaction_is_safe(tmp_path: Path, driver: str) -> None:
    verdict = proved(
        tmp_path,
        driver,
        f"""
cursor = connection.cursor()
cursor.execute({ONCE["mysql" if driver == "pymysql" else "psycopg2"]!r}, (order["order"], order["amount"]))
if cursor.rowcount:
    cursor.execute("UPDATE accounts SET balance = balance + %s WHERE id = %s", (order["amount"], "a"))
connection.commit()
""",
        faults=2,
    )

    assert verdict.counterexample is None
    assert verdict.effects == {"row in accounts": 1, "row in orders": 1}


def test_record_that_is_committed_before_the_work_loses_it(tmp_path: Path) -> None:
    verdict = proved(
        tmp_path,
        "psycopg2",
        """
cursor = connection.cursor()
cursor.execute("INSERT INTO seen (id) VALUES (%s) ON CONFLICT (id) DO NOTHING", (order["order"],))
connection.commit()
if cursor.rowcount:
    cursor.execute("UPDATE accounts SET balance = balance + %s WHERE id = %s", (order["amount"], "a"))
    connection.commit()
""",
    )

    assert verdict.counterexample is not None
    assert verdict.counterexample.violation.rule is Rule.ALL


def test_read_before_write_is_found_by_an_overlapping_delivery(tmp_path: Path) -> None:
    verdict = proved(
        tmp_path,
        "psycopg2",
        """
cursor = connection.cursor()
cursor.execute("SELECT 1 FROM payments WHERE order_id = %s", (order["order"],))
if cursor.fetchone() is None:
    cursor.execute("INSERT INTO payments (order_id, amount) VALUES (%s, %s)", (order["order"], order["amount"]))
connection.commit()
""",
    )

    assert verdict.counterexample is not None
    assert verdict.counterexample.violation.rule is Rule.ONCE


def test_lost_answer_of_a_commit_is_a_lost_connection(tmp_path: Path) -> None:
    """A handler that takes the error for a transaction that was rolled back does the work again."""
    verdict = proved(
        tmp_path,
        "psycopg2",
        """
for attempt in range(2):
    try:
        cursor = connection.cursor()
        key = f"{order['order']}-{attempt}"
        cursor.execute("INSERT INTO payments (id) VALUES (%s) ON CONFLICT (id) DO NOTHING", (key,))
        connection.commit()
        break
    except psycopg2.OperationalError:
        connection = connect()
else:
    raise RuntimeError("no database")
""",
    )

    assert verdict.counterexample is not None
    assert verdict.counterexample.violation.rule is Rule.ONCE


def test_error_of_a_key_that_is_there_is_the_drivers_own(tmp_path: Path) -> None:
    (tmp_path / "schema.sql").write_text("CREATE TABLE orders (id TEXT PRIMARY KEY);", "utf-8")

    verdict = proved(
        tmp_path,
        "psycopg2",
        """
from psycopg2 import errors
cursor = connection.cursor()
try:
    cursor.execute("INSERT INTO orders (id) VALUES (%s)", (order["order"],))
    connection.commit()
except errors.UniqueViolation as error:
    assert error.pgcode == "23505"
    connection.rollback()
""",
        faults=2,
    )

    assert verdict.counterexample is None
    assert verdict.effects == {"row in orders": 1}


def test_declared_tables_have_their_keys_and_types(tmp_path: Path) -> None:
    (tmp_path / "schema.sql").write_text(
        """
-- What the shop has.
CREATE TABLE payments (
    id SERIAL PRIMARY KEY, order_id VARCHAR(40) NOT NULL UNIQUE,
    at TIMESTAMPTZ DEFAULT now(), paid BOOLEAN DEFAULT FALSE
);
""",
        "utf-8",
    )
    verdict = proved(
        tmp_path,
        "psycopg2",
        """
cursor = connection.cursor()
try:
    cursor.execute("INSERT INTO payments (order_id) VALUES (%s) RETURNING id", (order["order"],))
    assert cursor.fetchone()[0] == 1
    cursor.execute("SELECT at, paid FROM payments WHERE order_id = %s", (order["order"],))
    at, paid = cursor.fetchone()
    assert at.year >= 2025 and paid is False
    connection.commit()
except psycopg2.errors.UniqueViolation:
    connection.rollback()
""",
    )

    assert verdict.counterexample is None
    assert verdict.effects == {"row in payments": 1}
    assert "schema.sql" in verdict.assumptions["table payments"]


SQLITE = "import sqlite3\nconnect = lambda: sqlite3.connect(FILE)"


@pytest.mark.parametrize(("insert", "is_safe"), [("INSERT INTO", False), ("INSERT OR IGNORE INTO", True)])
def test_file_of_sqlite_is_a_database_of_the_proof(tmp_path: Path, insert: str, *, is_safe: bool) -> None:
    file = tmp_path / "shop.db"
    verdict = proved(
        tmp_path,
        f"FILE = {str(file)!r}\n{SQLITE}",
        f"""
connection.row_factory = sqlite3.Row
connection.execute(
    "CREATE TABLE IF NOT EXISTS payments (n INTEGER PRIMARY KEY, order_id TEXT {"UNIQUE" if is_safe else ""})"
)
with connection:
    connection.execute("{insert} payments (order_id) VALUES (?)", (order["order"],))
assert connection.execute("SELECT order_id FROM payments").fetchone()["order_id"] == "o-1"
connection.close()
""",
    )

    assert (verdict.counterexample is None) is is_safe
    assert verdict.effects == {"row in payments": 1}
    assert not file.exists()


def test_file_that_exists_is_where_the_database_begins_and_stays_as_it_is(tmp_path: Path) -> None:
    file = tmp_path / "shop.db"
    real = sqlite3.connect(file)
    real.execute("PRAGMA journal_mode=WAL")
    real.execute("CREATE TABLE stock (item TEXT PRIMARY KEY, n INTEGER)")
    real.execute("INSERT INTO stock VALUES ('o-1', 10)")
    real.commit()
    real.close()

    verdict = proved(
        tmp_path,
        f"FILE = {str(file)!r}\n{SQLITE}",
        """
with connection:
    connection.execute("UPDATE stock SET n = n - 1 WHERE item = ?", (order["order"],))
""",
    )

    assert verdict.counterexample is not None
    assert "n of the row in stock is 8, and 9" in verdict.counterexample.violation.sentence
    assert sqlite3.connect(file).execute("SELECT n FROM stock").fetchone() == (10,)


def test_database_in_memory_is_the_handlers_own(tmp_path: Path) -> None:
    verdict = proved(
        tmp_path,
        "import sqlite3\nconnect = lambda: sqlite3.connect(':memory:')",
        """
import boto3
connection.execute("CREATE TABLE t (a)")
connection.execute("INSERT INTO t VALUES (1)")
boto3.client("dynamodb").put_item(TableName="done", Item={"id": {"S": order["order"]}})
""",
    )

    assert verdict.effects == {"item in done": 1}
    assert verdict.counterexample is None


def test_ignored_column_is_not_compared(tmp_path: Path) -> None:
    body = """
cursor = connection.cursor()
cursor.execute("UPDATE accounts SET attempts = attempts + 5, state = 'paid' WHERE id = %s", (order["order"],))
connection.commit()
"""

    assert proved(tmp_path, "psycopg2", body).counterexample is not None
    assert proved(tmp_path, "psycopg2", body, ignored=("sql:UPDATE:accounts#attempts",)).counterexample is None


def test_members_of_a_driver_are_there_once_it_is_imported(tmp_path: Path) -> None:
    """A row as a dict, the exception above all others, and the date from a table that is none."""
    driver = """import pymysql
connect = lambda: pymysql.connect(host='db', db='shop', cursorclass=pymysql.cursors.DictCursor)"""
    verdict = proved(
        tmp_path,
        driver,
        """
cursor = connection.cursor()
try:
    cursor.execute("SELECT NOW() AS now FROM dual")
    assert list(cursor.fetchone()) == ["now"]
    cursor.execute("INSERT IGNORE INTO orders (id) VALUES (%s)", (order["order"],))
    connection.commit()
except pymysql.MySQLError as error:
    raise RuntimeError(str(error)) from error
""",
    )

    assert verdict.counterexample is None


def server() -> Server:
    """A server of no schema, whose time stands still."""
    return Server(lambda: datetime(2025, 1, 1, tzinfo=UTC), lambda _: Schema(), lambda _, __: None)


def said(place: Server, connection: int, text: str) -> str:
    """How a statement of a connection ends: the code of its refusal, or nothing."""
    answer = place.execute((1, connection), SqlAsked("postgres", "shop", connection, text))
    return answer.code if isinstance(answer, SqlRefusal) else ""


def test_write_beside_an_open_transaction_is_refused_as_locked() -> None:
    """Another transaction that only reads goes on, and the lock ends with the COMMIT."""
    place = server()

    assert said(place, 1, "BEGIN") == ""
    assert said(place, 1, "INSERT INTO orders (id) VALUES (1)") == ""
    assert said(place, 2, "SELECT id FROM orders") == ""
    assert said(place, 2, "INSERT INTO orders (id) VALUES (2)") == LOCKED
    assert said(place, 2, "SELECT id FROM orders FOR UPDATE") == LOCKED
    assert said(place, 1, "COMMIT") == ""
    assert said(place, 2, "INSERT INTO orders (id) VALUES (2)") == ""


@pytest.mark.parametrize(("level", "code"), [("SERIALIZABLE", SERIALIZATION), ("READ COMMITTED", "")])
def test_serializable_transaction_that_another_one_overtook_is_refused(level: str, code: str) -> None:
    place = server()

    assert said(place, 1, f"BEGIN ISOLATION LEVEL {level}") == ""
    assert said(place, 1, "SELECT id FROM orders") == ""
    assert said(place, 2, "INSERT INTO orders (id) VALUES (2)") == ""
    assert said(place, 1, "INSERT INTO orders (id) VALUES (1)") == code
