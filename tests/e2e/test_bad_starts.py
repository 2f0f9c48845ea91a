"""What a person is told when a server cannot start, and that nothing is overwritten."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import psycopg

from redrive.store.postgres.opening import connect_alone
from redrive.store.postgres.url import parse_url
from tests.e2e.conftest import ROOT, ServerProcess


def refused(*options: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "redrive.cli", "serve", *options],
        capture_output=True, text=True, timeout=30, check=False, env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
    )  # fmt: skip
    assert done.returncode == 3, done.stderr
    assert done.stdout == ""
    return done.stderr


def test_data_directory_of_another_server_is_refused(start: Callable[..., ServerProcess], tmp_path: Path) -> None:
    start("--data", str(tmp_path))

    assert "in use by another redrive server" in refused("--port", "0", "--data", str(tmp_path))


def test_foreign_file_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "redrive.sqlite").write_bytes(b"not a database at all" * 50)

    assert "not a redrive store" in refused("--port", "0", "--data", str(tmp_path))
    assert (tmp_path / "redrive.sqlite").read_bytes() == b"not a database at all" * 50


def test_taken_port_is_named_with_a_way_out() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]

        said = refused("--port", str(port))

    assert f"127.0.0.1:{port}" in said
    assert f"--port {port + 1}" in said


def test_data_path_that_is_a_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("hello")

    assert "cannot be used" in refused("--port", "0", "--data", str(path))


def test_database_that_does_not_answer_is_named_without_its_password(tmp_path: Path) -> None:
    said = refused("--port", "0", "--store", f"postgresql://me:hush@/jobs?host={tmp_path}")

    assert "There is no answer from postgresql://me@/jobs" in said
    assert "hush" not in said


def test_foreign_database_is_refused_and_left_as_it_is(postgresql_store_url: str) -> None:
    with psycopg.connect(postgresql_store_url, autocommit=True) as connection:
        connection.execute("CREATE TABLE customers (id int)")

        said = refused("--port", "0", "--store", postgresql_store_url)

        tables = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'").fetchall()
    assert "tables that are not redrive's (customers)" in said
    assert tables == [("customers",)]


def test_database_of_a_newer_redrive_is_refused(postgresql_store_url: str, start: Callable[..., ServerProcess]) -> None:
    start("--store", postgresql_store_url).stop()
    with psycopg.connect(postgresql_store_url, autocommit=True) as connection:
        connection.execute("UPDATE store_state SET schema_version = schema_version + 1")
        start("--store", postgresql_store_url).stop()  # One version of overlap.
        connection.execute("UPDATE store_state SET schema_version = schema_version + 1")

        said = refused("--port", "0", "--store", postgresql_store_url)

    assert "was written by a newer redrive" in said


def test_database_that_is_being_copied_is_refused(postgresql_store_url: str) -> None:
    with closing(connect_alone(parse_url(postgresql_store_url))):
        said = refused("--port", "0", "--store", postgresql_store_url)

    assert "is being copied" in said


def test_stopped_server_ends_well(start: Callable[..., ServerProcess]) -> None:
    """SIGTERM ends a server with exit code 0, or as the signal says."""
    server = ServerProcess()

    assert server.stop() in (0, -15)
