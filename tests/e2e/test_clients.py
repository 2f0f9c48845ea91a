"""Programs with clients that are not ours run unchanged: `examples/clients`, against a server process."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.conftest import ROOT, ServerProcess

EXAMPLES = ROOT / "examples" / "clients"
PYTHON = ROOT / ".venv" / "clients" / "bin" / "python"
JAVASCRIPT = ROOT / ".venv" / "clients" / "javascript"
"""Where the example's libraries are installed."""


needs_node = pytest.mark.skipif(
    shutil.which("node") is None or not (JAVASCRIPT / "node_modules").exists(), reason="Node.js or npm is not installed"
)


@pytest.fixture(scope="module")
def server() -> Iterator[ServerProcess]:
    """One server in real time: these programs wait for it."""
    one = ServerProcess()
    yield one
    one.kill()


def run(server: ServerProcess, *command: str, cwd: Path = EXAMPLES) -> list[str]:
    """Run a program with the environment that `redrive env` gives; answers the lines that it prints."""
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=120, check=False, cwd=cwd, env=server.environment
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_celery_retries_tasks_and_waits_with_them(server: ServerProcess) -> None:
    lines = run(server, str(PYTHON), "celery_tasks.py")

    assert lines[-3:] == [
        "at-once: done at try 1",
        "at-the-third-try: done at try 3",
        "in-two-seconds: done at try 1",
    ]


def test_aioboto3_consumes_concurrently_and_writes_each_order_once(server: ServerProcess) -> None:
    lines = run(server, str(PYTHON), "aioboto3_consumer.py")

    assert lines == ["20 written, 20 were there before; the table has 20 items"]


def test_s3fs_uses_a_bucket_as_a_file_system(server: ServerProcess) -> None:
    assert run(server, str(PYTHON), "s3fs_reports.py") == [
        "line 1000000: 1000000",
        "notes: one, two",
        "s3fs-reports/2025/january.csv 12000000",
        "s3fs-reports/2026/january.csv 12000000",
        "s3fs-reports/2026/notes.txt 8",
        "left: False",
    ]


def test_powertools_names_the_record_that_failed_and_repeats_no_other(server: ServerProcess) -> None:
    answer = 'answered {"batchItemFailures": [{"itemIdentifier": "id-poison"}]}'

    assert run(server, str(PYTHON), "powertools_batch.py") == [answer, answer, "charged one two"]


def test_pynamodb_reads_by_indexes_and_sees_what_failed(server: ServerProcess) -> None:
    assert run(server, str(PYTHON), "pynamodb_orders.py") == [
        "paid, by price: 10 8 6 4",
        "ann's, by price: 5 4 3 2 1 0",
        "paid now: 7",
        "second order 1: ConditionalCheckFailedException",
        "transaction: ConditionalCheckFailed None",
        "orders: 12",
    ]


@needs_node
def test_electrodb_keeps_two_entities_in_one_table(server: ServerProcess) -> None:
    shutil.copy(EXAMPLES / "javascript" / "electrodb.mjs", JAVASCRIPT)

    assert run(server, "node", "--no-warnings", "electrodb.mjs", cwd=JAVASCRIPT) == [
        "order o1 again: ConditionalCheckFailedException",
        "paid: o1 o2 o4",
        "transaction canceled: true",
        "open and dear: o5",
    ]


@needs_node
def test_sdk_for_javascript_reads_what_a_schedule_sent(server: ServerProcess) -> None:
    shutil.copy(EXAMPLES / "javascript" / "run.mjs", JAVASCRIPT)

    lines = run(server, "node", "--no-warnings", "run.mjs", cwd=JAVASCRIPT)

    assert lines == ["order-1, scheduled written, 1 was there before"]
