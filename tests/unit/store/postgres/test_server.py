"""The PostgreSQL of the tests: one server for a run, an empty database for each test, and nothing left behind."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import psycopg

from tests.support.postgresql import ROOT, database

HOLDS = """
import sys
from pathlib import Path
from tests.support.postgresql import _shared_server
with _shared_server(Path(sys.argv[1])) as url:
    print(url, flush=True)
    sys.stdin.read()
"""


def using(folder: Path) -> subprocess.Popen[str]:
    """A process that uses the server of a folder until its input ends."""
    return subprocess.Popen(
        [sys.executable, "-c", HOLDS, str(folder)],
        cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip


def url_of(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def test_databases_are_empty_and_apart(postgresql_url: str) -> None:
    with database(postgresql_url) as first, database(postgresql_url) as second:
        with psycopg.connect(first) as connection:
            connection.execute("CREATE TABLE seen (here int)")
        with psycopg.connect(second) as connection:
            found = connection.execute("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'").fetchone()

    assert found == (0,)


def test_text_is_ordered_by_its_bytes(postgresql_store_url: str) -> None:
    with psycopg.connect(postgresql_store_url) as connection:
        ordered = connection.execute("SELECT t FROM (VALUES ('b'), ('B'), ('a'), ('é')) AS v (t) ORDER BY t").fetchall()

    assert ordered == [("B",), ("a",), ("b",), ("é",)]


def test_server_is_shared_and_ends_with_the_last_process_that_uses_it(tmp_path: Path) -> None:
    first, second = using(tmp_path), using(tmp_path)
    urls = {url_of(first), url_of(second)}
    first.kill()
    first.communicate()

    with psycopg.connect(next(iter(urls))) as connection:
        survives = connection.execute("SELECT 1").fetchone()
    second.kill()
    second.communicate()
    third = using(tmp_path)  # Waits until the server has been stopped, and starts another one.
    anew = url_of(third)
    third.communicate()

    assert len(urls) == 1
    assert survives == (1,)
    assert anew not in urls
    assert not Path(next(iter(urls)).partition("host=")[2]).exists()
