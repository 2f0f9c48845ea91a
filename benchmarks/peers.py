"""Other servers of SQS's API, installed from the package registries. Their code is run, and nothing else.

Each lives in a folder of its own in the cache, outside this repository. One that cannot be installed or does not start
is left out, and the reason is told.
"""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.dialects import Dialect, JsonDialect, QueryDialect
from benchmarks.processes import NotStarted, ServerProcess, free_port, serving

CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "redrive-bench"
INSTALL_S_MAX = 300
START_S_MAX = 30
PROBE = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"


@dataclass(frozen=True, slots=True)
class Peer:
    """How to install and start a server. `command` is given its folder and the port."""

    name: str
    install: Callable[[Path, str], None]
    package: str
    command: Callable[[Path, int], Sequence[str]]
    env: Callable[[int], Mapping[str, str]] = lambda _: {}
    dialect: Callable[[int], Dialect] = JsonDialect
    marks: tuple[str, ...] = field(default=())


def _from_pypi(folder: Path, package: str) -> None:
    venv.create(folder, with_pip=True)
    _run([str(folder / "bin/python"), "-m", "pip", "install", "--quiet", package], folder)


def _from_npm(folder: Path, package: str) -> None:
    folder.mkdir(parents=True)
    _run(["npm", "install", "--silent", "--no-audit", "--no-fund", "--prefix", str(folder), package], folder)
