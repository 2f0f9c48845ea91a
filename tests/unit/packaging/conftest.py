"""Directories of code, and an installer that puts down a package without asking any index."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from redrive.packaging.bundle import Bundler
from redrive.packaging.installer import Interpreter

_INSTALLER = """
import pathlib, sys
target = pathlib.Path(sys.argv[sys.argv.index("--target") + 1])
wanted = pathlib.Path(sys.argv[sys.argv.index("-r") + 1]).read_text()
(target / "package").mkdir()
(target / "package" / "__init__.py").write_text("# " + wanted)
if "missing" in wanted:
    print("Collecting missing")
    print("ERROR: No matching distribution found for missing")
    sys.exit(1)
"""


class Said(list[str]):
    """What somebody who waits was told."""

    def __call__(self, line: str) -> None:
        self.append(line)


@pytest.fixture
def said() -> Said:
    return Said()


@pytest.fixture
def code(tmp_path: Path) -> Path:
    """A directory with a handler."""
    directory = tmp_path / "src"
    directory.mkdir()
    (directory / "app.py").write_text("def handler(event, context): ...\n")
    return directory


@pytest.fixture
def bundler(tmp_path: Path, said: Said) -> Bundler:
    """A bundler with a cache of its own and a small installer."""
    installer = tmp_path / "installer.py"
    installer.write_text(_INSTALLER)
    return Bundler(tmp_path / "cache", lambda _: Interpreter((sys.executable, str(installer), "install"), "3.12"), said)
