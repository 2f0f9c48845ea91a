"""Finds the program on this machine that runs a function's Runtime, and warns if its version differs.

Searches PATH, and the folders of pyenv, uv and nvm. Each program is asked for its version once.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from redrive.invoke.sandbox.unpack import UnusableCode

PYTHON, NODE, PROVIDED = "python", "nodejs", "provided"

PROBE_S_MAX = 10.0
_VERSION = re.compile(rb"(\d+)\.(\d+)\.\d+")
_OWN = f"{sys.version_info.major}.{sys.version_info.minor}"


@dataclass(frozen=True, slots=True)
class Interpreter:
    """A program that runs a family of runtimes. `path` is empty for the engine's own Python.

    `warning` is written to the function's log if the program's version differs from the version of the Runtime.
    """

    path: str
    warning: str = ""


OWN_PYTHON = Interpreter("")


class Runtimes:
    """Finds interpreters by the Runtime of a function. May be used from many threads."""

    def __init__(self, environ: Mapping[str, str], home: Path) -> None:
        """`environ` has the search path, and the folders of pyenv, uv and nvm; `home` holds their default folders."""
        self._environ = environ
        self._home = home
        self._guard = threading.Lock()
        self._found: dict[str, Interpreter] = {}

    def of(self, runtime: str) -> Interpreter:
        """The program that runs functions of this Runtime. Errors: UnusableCode, which names what is missing."""
        with self._guard:
            if runtime not in self._found:
                self._found[runtime] = self._find(runtime)
            return self._found[runtime]

    def _find(self, runtime: str) -> Interpreter:
        if runtime.startswith(PYTHON):
            return self._python(runtime)
        if runtime.startswith(NODE):
            return self._node(runtime)
        raise UnusableCode(f"The runtime {runtime} cannot be run here: only Python, Node.js and provided ones can.")

    def _python(self, runtime: str) -> Interpreter:
        version = runtime.removeprefix(PYTHON)
        if version == _OWN:
            return OWN_PYTHON
        for path in self._pythons(version):
            if _version_of(path, "-c", "import sys; print(sys.version)")[:2] == tuple(version.split(".")):
                return Interpreter(path)
        warning = (
            f"redrive found no Python {version} on this machine for the runtime {runtime}: the function runs on Python "
            f"{_OWN}. Install Python {version} (on PATH, or by pyenv or uv) and start redrive again."
        )
        return Interpreter("", warning)

    def _pythons(self, version: str) -> Iterator[str]:
        yield from self._on_path(f"python{version}")
        pyenv = Path(self._environ.get("PYENV_ROOT") or self._home / ".pyenv")
        uv = Path(self._environ.get("UV_PYTHON_INSTALL_DIR") or self._home / ".local/share/uv/python")
        for pattern, root in ((f"{version}.*", pyenv / "versions"), (f"cpython-{version}.*", uv)):
            yield from (str(folder / "bin" / f"python{version}") for folder in sorted(root.glob(pattern), reverse=True))

    def _node(self, runtime: str) -> Interpreter:
        wanted = runtime.removeprefix(NODE).partition(".")[0]
        found: dict[str, str] = {}
        nvm = Path(self._environ.get("NVM_DIR") or self._home / ".nvm") / "versions/node"
        # The wanted version comes first; of the other versions one is enough.
        installed = sorted(nvm.glob("v*"), key=lambda folder: (folder.name.startswith(f"v{wanted}."), folder.name))[
            ::-1
        ]
        for path in [*self._on_path("node"), *(str(folder / "bin/node") for folder in installed)]:
            major = next(iter(_version_of(path, "--version")), "")
            if major:
                found.setdefault(major, path)
        if wanted in found:
            return Interpreter(found[wanted])
        if not found:
            raise UnusableCode(
                f"The runtime {runtime} cannot be run here: no `node` was found on PATH, nor by nvm. Install Node.js "
                f"{wanted} and start redrive again."
            )
        major, path = next(iter(found.items()))
        warning = (
            f"redrive found no Node.js {wanted} on this machine for the runtime {runtime}: the function runs on "
            f"Node.js {major}. Install Node.js {wanted} (on PATH, or by nvm) and start redrive again."
        )
        return Interpreter(path, warning)

    def _on_path(self, program: str) -> Iterator[str]:
        for folder in self._environ.get("PATH", "").split(":"):
            found = shutil.which(program, path=folder) if folder else None
            if found is not None:
                yield found


def bootstrap_of(task_root: Path, opt_root: Path | None) -> Path | None:
    """The program of a `provided` runtime: in the function's archive, else in a layer; None if there is none.

    Source: https://docs.aws.amazon.com/lambda/latest/dg/runtimes-custom.html
    """
    roots = [task_root] if opt_root is None else [task_root, opt_root]
    return next((root / "bootstrap" for root in roots if (root / "bootstrap").is_file()), None)


def _version_of(path: str, *question: str) -> tuple[str, ...]:
    """The version that a program reports; nothing if it cannot run, such as a pyenv shim without a selected version."""
    try:
        told = subprocess.run([path, *question], capture_output=True, timeout=PROBE_S_MAX, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ()
    match = _VERSION.search(told.stdout) if told.returncode == 0 else None
    return () if match is None else (match[1].decode(), match[2].decode())
