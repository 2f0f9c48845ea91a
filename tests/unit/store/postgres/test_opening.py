"""Whatever keeps a store in PostgreSQL from being opened is said with a way out, and nothing is changed."""

from __future__ import annotations

import socket
import threading
from contextlib import closing
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from redrive.core.errors import UserError
from redrive.store.postgres.opening import SESSION, check_version, connect, connect_alone, connect_to_look
from redrive.store.postgres.url import StoreUrl, parse_url
from tests.unit.store.postgres.conftest import NewUser, ask_for_password


def altered(url: StoreUrl, **parts: str) -> StoreUrl:
    return StoreUrl(make_conninfo(url.conninfo, **parts), "the store")


def refused(url: StoreUrl) -> UserError:
    with pytest.raises(UserError) as raised:
        connect(url)
    assert raised.value.exit_code == 3
    assert raised.value.next_step
    return raised.value


def test_session_is_set_up_as_the_statements_need_it(url: StoreUrl) -> None:
    with closing(connect(url)) as connection:
        found = {
            name: connection.execute("SELECT current_setting(%s)", (name,)).fetchone()
            for name in (*SESSION, "application_name")
        }
        assert connection.autocommit

    assert found == {name: (value,) for name, value in {**SESSION, "application_name": "redrive"}.items()}


def test_what_the_url_says_goes_before_the_settings_of_redrive(url: StoreUrl) -> None:
    with closing(connect(altered(url, application_name="mine", options="-c search_path=pg_catalog"))) as connection:
        row = connection.execute(
            "SELECT current_setting('application_name'), current_setting('search_path')"
        ).fetchone()

    assert row == ("mine", "pg_catalog")


def test_port_without_a_server_is_no_answer() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = parse_url(f"postgresql://u:hush@127.0.0.1:{taken.getsockname()[1]}/d")

        said = refused(url)

    assert "There is no answer from postgresql://u@127.0.0.1" in said.what
    assert "hush" not in str(said)


def test_socket_without_a_server_is_no_answer(tmp_path: Path) -> None:
    assert "There is no answer" in refused(parse_url(f"postgresql://u@/d?host={tmp_path}")).what


def test_host_that_does_not_exist_is_no_answer() -> None:
    assert "There is no answer" in refused(parse_url("postgresql://u@nowhere.invalid/d")).what


def test_missing_database_is_said_with_the_statement_that_creates_it(url: StoreUrl) -> None:
    said = refused(altered(url, dbname="nowhere"))

    assert "no such database" in said.what
    assert "CREATE DATABASE" in said.next_step


def test_unknown_user_is_refused(url: StoreUrl) -> None:
    assert "refuses the user or the password" in refused(altered(url, user="nobody_of_this_name")).what


@pytest.mark.parametrize("given", [{}, {"password": "wrong"}])
def test_wrong_and_missing_password_are_refused_and_the_right_one_opens(
    admin: psycopg.Connection, new_user: NewUser, given: dict[str, str]
) -> None:
    user = new_user("guarded", "LOGIN PASSWORD 'right'")
    ask_for_password(admin, user)

    said = refused(altered(user, **given))
    with closing(connect(altered(user, password="right"))) as connection:
        opened = connection.execute("SELECT 1").fetchone()

    assert "refuses the user or the password" in said.what
    assert "PGPASSWORD" in said.next_step
    assert opened == (1,)


def test_user_who_may_not_log_in_is_told_so(new_user: NewUser) -> None:
    assert "too few rights" in refused(new_user("locked", "NOLOGIN")).what


def test_user_who_may_not_connect_to_the_database_is_told_so(admin: psycopg.Connection, new_user: NewUser) -> None:
    admin.execute(f"REVOKE CONNECT ON DATABASE {admin.info.dbname} FROM PUBLIC")

    assert "too few rights" in refused(new_user("outsider")).what


def test_exhausted_connections_are_said_with_how_many_a_server_holds(new_user: NewUser) -> None:
    user = new_user("crowded", "LOGIN CONNECTION LIMIT 1")

    with closing(connect(user)):
        said = refused(user)

    assert "no connection left" in said.what
    assert "up to 5" in said.next_step


def test_database_with_exhausted_connections_is_refused(admin: psycopg.Connection, new_user: NewUser) -> None:
    admin.execute(f"ALTER DATABASE {admin.info.dbname} CONNECTION LIMIT 0")

    assert "no connection left" in refused(new_user("late")).what


def test_server_without_tls_is_refused_if_the_url_asks_for_tls(url: StoreUrl) -> None:
    """The server is reached over TCP by a relay of one question: libpq does not ask for TLS on a Unix socket."""
    parts = conninfo_to_dict(url.conninfo)
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def relay() -> None:
            client, _ = listening.accept()
            with client, socket.socket(socket.AF_UNIX) as server:
                server.connect(f"{parts['host']}/.s.PGSQL.5432")
                server.sendall(client.recv(8))
                client.sendall(server.recv(1))

        thread = threading.Thread(target=relay)
        thread.start()
        said = refused(
            altered(
                url, host="127.0.0.1", port=str(listening.getsockname()[1]), sslmode="require", gssencmode="disable"
            )
        )
        thread.join()

    assert "encrypted as the URL asks" in said.what
    assert "sslmode" in said.next_step


@pytest.mark.parametrize(("number", "shown"), [(130_011, "13.11"), (90_624, "9.624"), (110_002, "11.2")])
def test_server_older_than_the_oldest_is_refused(number: int, shown: str) -> None:
    with pytest.raises(UserError, match=f"PostgreSQL {shown}.*redrive needs 14"):
        check_version("the store", number)


@pytest.mark.parametrize("number", [140_000, 150_018, 180_004])
def test_oldest_and_newer_servers_are_taken(number: int) -> None:
    check_version("the store", number)


def test_database_that_can_only_be_read_is_refused(admin: psycopg.Connection, new_user: NewUser) -> None:
    admin.execute(f"ALTER DATABASE {admin.info.dbname} SET default_transaction_read_only = on")

    said = refused(new_user("reader"))

    assert "can only be read" in said.what
    assert "target_session_attrs" in said.next_step


def test_database_with_another_encoding_is_refused(admin: psycopg.Connection, url: StoreUrl) -> None:
    name = f"{admin.info.dbname}_latin"
    admin.execute(f"CREATE DATABASE {name} ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0")
    try:
        said = refused(altered(url, dbname=name))
    finally:
        admin.execute(f"DROP DATABASE {name} WITH (FORCE)")

    assert "LATIN1" in said.what
    assert "ENCODING 'UTF8'" in said.next_step


def test_schema_that_does_not_exist_is_refused(url: StoreUrl) -> None:
    assert "search_path" in refused(altered(url, options="-c search_path=nowhere")).what


def test_store_has_many_servers_or_one_process_alone(url: StoreUrl) -> None:
    with closing(connect(url)), closing(connect(url)):
        with pytest.raises(UserError, match="is in use by a redrive server"):
            connect_alone(url)
        connect_to_look(url).close()

    with closing(connect_alone(url)):
        with pytest.raises(UserError, match="is being copied"):
            connect(url)
        with pytest.raises(UserError, match="is in use"):
            connect_alone(url)
    connect(url).close()
