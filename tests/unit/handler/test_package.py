"""The library is small to import, and brings nothing along."""

from __future__ import annotations

import subprocess
import sys

import pytest

from redrive import handler

HEAVY = {"asyncio", "boto3", "botocore", "hypothesis", "logging", "psycopg", "sqlite3", "urllib.parse"}
MODULES_MAX = 60  # Of ours and of Python's.
# Each of these costs more than a module of ours. What most handlers are made of does without them.
HEAVY_FOR_MOST = HEAVY | {
    "ast", "dataclasses", "datetime", "decimal", "email", "hashlib", "http", "inspect", "pathlib", "random", "socket",
    "ssl", "subprocess", "tempfile", "threading", "traceback", "urllib", "uuid",
}  # fmt: skip
USUAL = """
from redrive.handler import DynamoDBLedger, SqsRecord, effect, idempotent, scheduler_context, sqs_batch

@effect("mail", key_memory=None)
def mail(key): ...

@idempotent(key=scheduler_context(), ledger=DynamoDBLedger("executions"))
def run(record: SqsRecord): ...

handler = sqs_batch(run)
"""


def python(program: str, *options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *options, "-c", program], capture_output=True, text=True, check=True)


def test_import_brings_no_module_that_is_not_pythons_own() -> None:
    """Not even when every public name has been asked for."""
    program = (
        "import sys; before = set(sys.modules); from redrive.handler import *; "
        "print(*{name.split('.')[0] for name in set(sys.modules) - before})"
    )

    brought = set(python(program).stdout.split())

    assert brought - set(sys.stdlib_module_names) == {"redrive"}
    assert brought & HEAVY == set()


def test_usual_handler_starts_without_any_heavy_module() -> None:
    """A cold start pays for each of them; this is what the budget of 20 ms is kept by, whatever machine it runs on."""
    program = f"import sys; before = set(sys.modules)\n{USUAL}\nprint(*set(sys.modules) - before)"

    brought = set(python(program).stdout.split())

    assert brought & HEAVY_FOR_MOST == set()
    assert {name.split(".")[0] for name in brought} - set(sys.stdlib_module_names) == {"redrive"}
    assert len(brought) <= MODULES_MAX


def test_library_imports_no_other_room() -> None:
    program = "import sys; from redrive.handler import *; print(*(n for n in sys.modules if n.startswith('redrive.')))"

    rooms = {name.split(".")[1] for name in python(program).stdout.split()}

    assert rooms == {"handler"}


@pytest.mark.parametrize("name", handler.__all__)
def test_every_public_name_is_there_under_its_name(name: str) -> None:
    assert hasattr(handler, name)


def test_public_names_are_those_that_have_a_home() -> None:
    homes = vars(handler)["_HOMES"].values()

    assert sorted(name for names in homes for name in names.split()) == sorted(handler.__all__) == dir(handler)


def test_name_that_is_not_public_is_not_there() -> None:
    with pytest.raises(AttributeError, match="nothing_of_ours"):
        _ = vars(handler)["__getattr__"]("nothing_of_ours")
