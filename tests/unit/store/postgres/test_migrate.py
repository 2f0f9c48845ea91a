"""The schema of a store in PostgreSQL is taken forward by one server, and only if the store is redrive's."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import closing

import psycopg
import pytest

from redrive.core.errors import UserError
from redrive.store.migrate import migrations as migrations_of_sqlite
from redrive.store.postgres.migrate import MIGRATING_KEY, Migration, migrate, migrations, schema_version
from redrive.store.postgres.opening import SESSION, Connection, connect
from redrive.store.postgres.url import StoreUrl
from tests.unit.store.postgres.conftest import NewUser

SHOWN = "the store"
KNOWN = migrations()[-1].number
NEXT = Migration(KNOWN + 1, "CREATE TABLE of_the_next_version (x int); SELECT 1;")


@pytest.fixture
def connection(url: StoreUrl) -> Iterator[Connection]:
    with closing(connect(url)) as one:
        yield one


def tables(connection: Connection | psycopg.Connection) -> list[str]:
    found = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY 1").fetchall()
    return [row[0] for row in found]


def set_version(connection: Connection, version: int) -> None:
    connection.execute("UPDATE store_state SET schema_version = %s", (version,))


def test_empty_database_gets_the_whole_schema_and_its_number(connection: Connection) -> None:
    before = schema_version(connection, SHOWN, known=KNOWN)

    number = migrate(connection, SHOWN)

    assert before == 0
    assert number == KNOWN == schema_version(connection, SHOWN, known=KNOWN)
    assert {"messages", "items", "facts", "store_state", "nodes"} <= set(tables(connection))


def test_schemas_of_both_stores_have_the_same_number() -> None:
    assert migrations_of_sqlite()[-1][0] == KNOWN


def test_migrated_store_is_left_as_it_is(connection: Connection) -> None:
    migrate(connection, SHOWN)
    connection.execute("INSERT INTO facts (name, value) VALUES ('secret', 'x')")

    assert migrate(connection, SHOWN) == KNOWN
    assert connection.execute("SELECT count(*) FROM facts").fetchone() == (1,)


def test_only_newer_steps_are_applied(connection: Connection) -> None:
    migrate(connection, SHOWN)

    number = migrate(connection, SHOWN, [*migrations(), NEXT])

    assert number == KNOWN + 1
    assert "of_the_next_version" in tables(connection)


def test_step_that_fails_leaves_the_steps_before_it(connection: Connection) -> None:
    broken = Migration(KNOWN + 2, "CREATE TABLE half (x int); SELECT nonsense;")

    with pytest.raises(UserError, match="42703"):
        migrate(connection, SHOWN, [*migrations(), NEXT, broken])

    assert schema_version(connection, SHOWN, known=KNOWN) == KNOWN + 1
    assert "half" not in tables(connection)
    row = connection.execute("SELECT current_setting('lock_timeout'), current_setting('statement_timeout')").fetchone()
    assert row == (SESSION["lock_timeout"], SESSION["statement_timeout"])


def test_older_server_works_with_a_schema_that_is_one_newer(connection: Connection) -> None:
    migrate(connection, SHOWN)
    set_version(connection, KNOWN + 1)

    assert migrate(connection, SHOWN) == KNOWN + 1


def test_older_server_refuses_a_schema_that_is_two_newer(connection: Connection) -> None:
    migrate(connection, SHOWN)
    set_version(connection, KNOWN + 2)

    with pytest.raises(UserError, match=f"newer redrive .schema {KNOWN + 2}, this one knows {KNOWN}"):
        migrate(connection, SHOWN)


@pytest.mark.parametrize(
    "foreign",
    [
        "CREATE TABLE customers (id int)",
        "CREATE VIEW customers AS SELECT 1 AS id",
        "CREATE TABLE store_state (colour text)",
    ],
)
def test_foreign_schema_is_refused_and_left_as_it_is(connection: Connection, foreign: str) -> None:
    connection.execute(foreign.encode())
    before = tables(connection)

    with pytest.raises(UserError, match="not redrive's") as refused:
        migrate(connection, SHOWN)

    assert "CREATE SCHEMA" in refused.value.next_step
    assert tables(connection) == before


def test_schema_of_its_own_beside_foreign_tables_is_taken(admin: psycopg.Connection, url: StoreUrl) -> None:
    admin.execute("CREATE TABLE customers (id int)")
    admin.execute("CREATE SCHEMA redrive")
    beside = StoreUrl(f"{url.conninfo} options='-csearch_path=redrive'", SHOWN)

    with closing(connect(beside)) as connection:
        migrate(connection, SHOWN)

    assert tables(admin) == ["customers"]


def test_user_who_may_not_create_tables_is_told_so_and_nothing_is_changed(
    admin: psycopg.Connection, new_user: NewUser
) -> None:
    admin.execute("REVOKE CREATE ON SCHEMA public FROM PUBLIC")

    with closing(connect(new_user("poor"))) as connection, pytest.raises(UserError, match="too few rights") as refused:
        migrate(connection, SHOWN)

    assert "GRANT ALL ON SCHEMA public" in refused.value.next_step
    assert tables(admin) == []


def test_of_servers_that_start_together_one_migrates_and_all_go_on(url: StoreUrl) -> None:
    numbers: list[int] = []

    def start() -> None:
        with closing(connect(url)) as connection:
            numbers.append(migrate(connection, SHOWN))

    servers = [threading.Thread(target=start) for _ in range(6)]
    for server in servers:
        server.start()
    for server in servers:
        server.join()

    assert numbers == [KNOWN] * 6


def test_server_waits_for_another_ones_migration_and_applies_nothing_again(
    admin: psycopg.Connection, url: StoreUrl
) -> None:
    """The other one holds the lock, and has migrated before it lets go."""
    numbers: list[int] = []

    def start() -> None:
        with closing(connect(url)) as connection:
            numbers.append(migrate(connection, SHOWN))

    admin.execute("SELECT pg_advisory_lock(%s)", (MIGRATING_KEY,))
    server = threading.Thread(target=start)
    server.start()
    waiting = (
        "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted AND database = (SELECT oid FROM"
    )
    while admin.execute(f"{waiting} pg_database WHERE datname = current_database())".encode()).fetchone() != (1,):
        pass
    for step in migrations():
        admin.execute(step.sql.encode())
    admin.execute("UPDATE store_state SET schema_version = %s", (KNOWN,))
    admin.execute("SELECT pg_advisory_unlock(%s)", (MIGRATING_KEY,))
    server.join()

    assert numbers == [KNOWN]
