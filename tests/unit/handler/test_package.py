"""The library is small to import, and brings nothing along."""

from __future__ import annotations

import subprocess
import sys

import pytest

from redrive import handler

IMPORT_MS_MAX = 20
HEAVY = {"asyncio", "boto3", "botocore", "hypothesis", "logging", "psycopg", "sqlite3", "urllib.parse"}


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


def test_import_of_the_package_takes_less_than_20_ms() -> None:
    """The best of three, as the interpreter measures it: other work on the machine only makes it longer."""
    reports = [python("import redrive.handler", "-X", "importtime").stderr for _ in range(3)]

    took_us = [int(report.splitlines()[-1].split("|")[1]) for report in reports]

    assert min(took_us) < IMPORT_MS_MAX * 1000


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
