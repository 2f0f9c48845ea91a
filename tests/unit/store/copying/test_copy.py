"""A store arrives whole on the other side, row by row and number by number, or not at all."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest
from click.testing import CliRunner, Result

from redrive.cli.main import main
from redrive.core.errors import Bug, UserError
from redrive.store.copying.copy import Copied, copy_place, shared_columns
from redrive.store.copying.sides import Table
from redrive.store.files.directory import STORE_FILE, take_directory
from redrive.store.place import Place
from redrive.store.postgres.migrate import migrate
from redrive.store.postgres.opening import connect
from redrive.store.postgres.url import StoreUrl, parse_url
from tests.support.postgresql import database
from tests.unit.store.conftest import open_store

ROWS = 2_500
"""More than one tick of the progress."""

EXAMPLES: dict[str, Any] = {
    "INTEGER": lambda n, name: n * 3 + 2**40,
    "TEXT": lambda n, name: f"{name} {n} é\U0001f600\n\t\\N '",
    "BLOB": lambda n, name: bytes([0, 255, n % 256, n // 256]),
    "REAL": lambda n, name: n / 3,
}


def fill(directory: Path, rows: int = ROWS) -> None:
    """A store in which every table has rows of every sort, with gaps in the numbers, the highest ones deleted."""
    directory.mkdir()
    open_store(directory / STORE_FILE).close()
    with closing(sqlite3.connect(directory / STORE_FILE, isolation_level=None)) as connection:
        connection.execute("BEGIN")
        for table in tables(connection):
            columns = connection.execute(
                'SELECT name, type, "notnull", pk FROM pragma_table_info(?)', (table,)
            ).fetchall()
            content = [
                tuple(
                    None if not (required or key) and number % 2 else EXAMPLES[kind](number, name)
                    for name, kind, required, key in columns
                )
                for number in range(rows)
            ]
            places = ", ".join("?" * len(columns))
            connection.executemany(f"INSERT INTO {table} VALUES ({places})", content)
        for numbered in ("messages", "log_events", "runs", "attempts"):
            last = f"SELECT rowid FROM {numbered} ORDER BY rowid DESC LIMIT 3"
            connection.execute(f"DELETE FROM {numbered} WHERE rowid % 7 = 0 OR rowid IN ({last})")
        connection.execute("COMMIT")


def tables(connection: sqlite3.Connection) -> list[str]:
    found = connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
    return sorted(name for (name,) in found)


def content(directory: Path) -> dict[str, list[tuple[Any, ...]]]:
    """All rows by table, with their rowids where the table has no number of its own."""
    with closing(sqlite3.connect(directory / STORE_FILE)) as connection:
        numbered = ("attempts", "notes", "links", "moves")
        return {
            table: sorted(
                connection.execute(f"SELECT {'rowid, ' if table in numbered else ''}* FROM {table}").fetchall(),
                key=repr,
            )
            for table in tables(connection)
        }


def copy(source: Place, target: Place) -> Copied:
    return copy_place(source, target, progress=lambda table, done, total: None)


def refused(source: Place, target: Place) -> str:
    with pytest.raises(UserError) as raised:
        copy(source, target)
    assert raised.value.exit_code == 3
    assert raised.value.next_step
    return raised.value.what


@pytest.fixture
def url(postgresql_store_url: str) -> StoreUrl:
    return parse_url(postgresql_store_url)


@pytest.fixture
def filled(tmp_path: Path) -> Path:
    fill(tmp_path / "filled", rows=20)
    return tmp_path / "filled"


def execute(url: StoreUrl, statement: str) -> list[tuple[Any, ...]]:
    with psycopg.connect(url.conninfo, autocommit=True) as connection:
        cursor = connection.execute(statement.encode())
        return cursor.fetchall() if cursor.description else []


def test_every_row_survives_the_way_to_postgresql_and_back(tmp_path: Path, url: StoreUrl) -> None:
    fill(tmp_path / "there")

    there = copy(tmp_path / "there", url)
    back = copy(url, tmp_path / "back")

    assert content(tmp_path / "back") == content(tmp_path / "there")
    assert there.tables == back.tables == {table: len(rows) for table, rows in content(tmp_path / "back").items()}
    assert min(there.tables.values()) >= ROWS * 6 // 7 - 3


def test_rows_in_postgresql_are_those_of_sqlite_with_rowids_as_their_numbers(filled: Path, url: StoreUrl) -> None:
    copy(filled, url)

    found = content(filled)
    assert sorted(execute(url, "SELECT seq, run, attempt, code FROM attempts"), key=repr) == [
        (row[0], row[1], row[2], row[5]) for row in found["attempts"]
    ]
    assert sorted(execute(url, "SELECT digest, content FROM blobs"), key=repr) == found["blobs"]
    assert execute(url, "SELECT sum(sum), count(samples) FROM metrics") == [
        (pytest.approx(sum(row[6] for row in found["metrics"])), sum(row[10] is not None for row in found["metrics"]))
    ]


def test_copy_between_two_directories_and_between_two_databases(
    filled: Path, tmp_path: Path, url: StoreUrl, postgresql_url: str
) -> None:
    with database(postgresql_url) as other:
        copy(filled, tmp_path / "second")
        copy(tmp_path / "second", url)
        copy(url, parse_url(other))
        copy(parse_url(other), tmp_path / "third")

    assert content(tmp_path / "third") == content(tmp_path / "second") == content(filled)


@pytest.mark.parametrize(("table", "column"), [("messages", "seq"), ("log_events", "seq"), ("runs", "run")])
def test_next_number_follows_the_highest_that_was_ever_given(
    table: str, column: str, filled: Path, tmp_path: Path, url: StoreUrl
) -> None:
    """The rows with the highest numbers are gone; in SQLite a table without AUTOINCREMENT gives theirs again."""
    with closing(sqlite3.connect(filled / STORE_FILE)) as connection:
        given = dict(connection.execute("SELECT name, seq FROM sqlite_sequence").fetchall())
        highest = given.get(table) or connection.execute(f"SELECT max({column}) FROM {table}").fetchone()[0]

    copy(filled, url)
    copy(url, tmp_path / "back")

    assert execute(url, f"SELECT nextval(pg_get_serial_sequence('{table}', '{column}'))") == [(highest + 1,)]
    with closing(sqlite3.connect(tmp_path / "back" / STORE_FILE)) as connection:
        assert dict(connection.execute("SELECT name, seq FROM sqlite_sequence").fetchall()) == given


def test_wake_up_that_no_server_has_taken_arrives_in_its_timer(filled: Path, tmp_path: Path, url: StoreUrl) -> None:
    copy(filled, url)
    execute(url, "DELETE FROM timers")
    execute(url, "INSERT INTO timers (kind, name, at) VALUES ('k', 'late', 9), ('k', 'early', 3)")
    execute(url, "INSERT INTO wake_ups (kind, name, at) VALUES ('k', 'late', 7), ('k', 'late', 5), ('k', 'early', 4)")
    execute(url, "INSERT INTO wake_ups (kind, name, at) VALUES ('k', 'new', 6)")

    copied = copy(url, tmp_path / "back")

    assert content(tmp_path / "back")["timers"] == [("k", "early", 3), ("k", "late", 5), ("k", "new", 6)]
    assert copied.tables["timers"] == 3
    assert execute(url, "SELECT count(*) FROM wake_ups") == [(4,)]


def test_copied_directory_is_a_store_that_was_closed_in_order(filled: Path, tmp_path: Path, url: StoreUrl) -> None:
    copy(filled, url)
    copy(url, tmp_path / "back")

    opened, original = open_store(tmp_path / "back" / STORE_FILE), open_store(filled / STORE_FILE)

    assert opened.secret == original.secret
    assert opened.generation == original.generation == 2
    opened.close()
    original.close()
    assert sorted(path.name for path in (tmp_path / "back").iterdir()) == ["redrive.lock", STORE_FILE]
    assert (tmp_path / "back" / STORE_FILE).stat().st_mode & 0o777 == 0o600


def test_target_that_is_not_empty_is_refused_and_left_as_it_is(filled: Path, tmp_path: Path, url: StoreUrl) -> None:
    copy(filled, url)
    fill(tmp_path / "other", rows=3)
    before = content(tmp_path / "other")

    said = refused(filled, url), refused(url, tmp_path / "other"), refused(filled, filled)

    assert all("There is a store in" in one for one in said)
    assert content(tmp_path / "other") == before


def test_empty_store_of_a_database_is_filled(filled: Path, url: StoreUrl) -> None:
    with closing(connect(url)) as connection:
        migrate(connection, url.shown)

    assert copy(filled, url).rows > 0


def test_foreign_database_is_no_target(filled: Path, url: StoreUrl) -> None:
    execute(url, "CREATE TABLE customers (id int)")

    assert "not redrive's" in refused(filled, url)


def test_store_in_use_is_refused_on_either_side(filled: Path, tmp_path: Path, url: StoreUrl) -> None:
    held = take_directory(filled)
    by_directory = refused(filled, url)
    held.release()
    copy(filled, url)
    with closing(connect(url)):
        by_database = refused(url, tmp_path / "back")

    assert "in use by another redrive server" in by_directory
    assert "in use by a redrive server" in by_database
    assert not (tmp_path / "back" / STORE_FILE).exists()


def test_place_without_a_store_is_no_source(tmp_path: Path, url: StoreUrl) -> None:
    assert "There is no store in" in refused(tmp_path, url)
    assert "There is no store in" in refused(url, tmp_path / "back")
    assert execute(url, "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'") == [(0,)]


def test_store_of_another_schema_is_refused_with_what_to_do(filled: Path, tmp_path: Path, url: StoreUrl) -> None:
    copy(filled, url)
    execute(url, "UPDATE store_state SET schema_version = schema_version + 1")
    newer = refused(url, tmp_path / "back")
    with closing(sqlite3.connect(filled / STORE_FILE)) as connection:
        connection.execute("PRAGMA user_version = 14")
    older = refused(filled, tmp_path / "back")

    assert "newer redrive" in newer
    assert "older redrive" in older


def test_row_that_postgresql_cannot_hold_ends_the_copy_and_leaves_the_target_empty(filled: Path, url: StoreUrl) -> None:
    """Its text has no character NUL."""
    with closing(sqlite3.connect(filled / STORE_FILE)) as connection:
        connection.execute(
            "UPDATE messages SET body = 'a' || char(0) || 'b' WHERE seq = (SELECT max(seq) FROM messages)"
        )
        connection.commit()

    assert "NUL" in refused(filled, url)

    assert execute(url, "SELECT (SELECT count(*) FROM facts) + (SELECT count(*) FROM messages)") == [(0,)]


def test_row_that_does_not_arrive_is_counted_and_nothing_is_kept(filled: Path, url: StoreUrl) -> None:
    with closing(connect(url)) as connection:
        migrate(connection, url.shown)
    execute(url, "CREATE FUNCTION swallow() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'")
    execute(url, "CREATE TRIGGER swallow BEFORE INSERT ON links FOR EACH ROW EXECUTE FUNCTION swallow()")

    assert "has 20 rows in links, and 0 of them arrived" in refused(filled, url)

    assert execute(url, "SELECT count(*) FROM facts") == [(0,)]


def test_copy_that_is_interrupted_leaves_no_store(filled: Path, tmp_path: Path, url: StoreUrl) -> None:
    def interrupt(table: str, done: int, total: int) -> None:
        if table == "messages":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        copy_place(filled, url, progress=interrupt)
    empty = execute(url, "SELECT count(*) FROM blobs")
    copy(filled, url)
    with pytest.raises(KeyboardInterrupt):
        copy_place(url, tmp_path / "back", progress=interrupt)

    assert empty == [(0,)]
    assert [path.name for path in (tmp_path / "back").iterdir()] == ["redrive.lock"]
    assert copy(url, tmp_path / "back").rows > 0


def test_column_that_one_side_lacks_is_a_defect() -> None:
    with pytest.raises(Bug, match="colour"):
        shared_columns(Table("t", ["a", "colour"]), Table("t", ["a"]))
    assert shared_columns(Table("t", ["a"], has_rowid=True), Table("t", ["seq", "a"])) == ["a", "seq"]
    assert shared_columns(Table("t", ["a"]), Table("t", ["a"], has_rowid=True)) == ["a"]


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["store", *arguments])


def test_commands_print_json_to_a_pipe(filled: Path, postgresql_store_url: str) -> None:
    copied = run("copy", str(filled), postgresql_store_url)
    checked = run("check", postgresql_store_url)

    assert copied.exit_code == checked.exit_code == 0, copied.output + checked.output
    told, report = json.loads(copied.stdout), json.loads(checked.stdout)
    assert told["tables"]["messages"] == report["tables"]["messages"] == len(content(filled)["messages"])
    assert told["rows"] == sum(told["tables"].values())
    assert (report["ok"], report["findings"], report["tables"]["store_state"]) == (True, [], 1)
    assert report["bytes"] > 0
    assert report["server"].split(".")[0].isdecimal()


def test_check_finds_an_index_that_is_not_valid(filled: Path, postgresql_store_url: str) -> None:
    run("copy", str(filled), postgresql_store_url)
    execute(
        parse_url(postgresql_store_url),
        "UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'links_by_run'::regclass",
    )

    checked = run("check", postgresql_store_url)

    assert checked.exit_code == 1
    assert "links_by_run" in json.loads(checked.stdout)["findings"][0]


def test_check_of_a_database_without_a_store_is_refused(postgresql_store_url: str) -> None:
    checked = run("check", postgresql_store_url)

    assert checked.exit_code == 3
    assert "There is no store in" in checked.output


@pytest.mark.parametrize("arguments", [("accept",), ("backup", "here", "--data")])
def test_what_works_on_directories_alone_says_so_without_a_password(arguments: tuple[str, ...]) -> None:
    done = run(*arguments, "postgresql://me:hush@h/d")

    assert done.exit_code == 2
    assert "works on directories" in done.output
    assert "hush" not in done.output
