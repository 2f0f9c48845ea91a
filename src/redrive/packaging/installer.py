"""Installs the dependencies in a requirements.txt for a function's version of Python, and caches the installation.

An installation is made in a temporary place and moved when it is complete: a failure leaves the cache unchanged.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from redrive.core.errors import UserError

Say = Callable[[str], None]
"""Tells the waiting user what is being done."""

_LINES_SHOWN = 12
_LAYOUT = "1"  # Increased when the layout of installations changes, so that earlier installations are not used.


@dataclass(frozen=True, slots=True)
class Interpreter:
    """A Python that can install packages: the command of its installer, and the version for which it installs."""

    command: tuple[str, ...]
    version: str
    options: tuple[str, ...] = ()


def cache_directory(environment: dict[str, str]) -> Path:
    """The directory of cached bundles and installations: REDRIVE_CACHE_DIR, else the user's cache."""
    named = environment.get("REDRIVE_CACHE_DIR")
    if named:
        return Path(named)
    base = environment.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "redrive"


def interpreter_for(runtime: str) -> Interpreter:
    """The installer for a runtime such as `python3.12`: of that Python, if the machine has it, else of our own."""
    version = runtime.removeprefix("python")
    own = f"{sys.version_info.major}.{sys.version_info.minor}"
    if not runtime.startswith("python") or version == own:
        return Interpreter(_installer_of(sys.executable), own)
    found = shutil.which(runtime)
    if found is not None and _runs(found):
        return Interpreter(_installer_of(found), version)
    # Wheels for another version can be downloaded, but nothing can be built for it.
    other = ("--python-version", version, "--only-binary=:all:")
    return Interpreter(_installer_of(sys.executable), version, other)


def _installer_of(python: str) -> tuple[str, ...]:
    """pip of that Python; or uv, if there is no pip, as in environments made by uv."""
    if _runs(python, "-m", "pip", "--version"):
        return (python, "-m", "pip", "install")
    uv = shutil.which("uv")
    if uv is not None:
        return (uv, "pip", "install", "--python", python)
    raise UserError(
        f"{python} has no pip, so that requirements.txt cannot be installed.",
        next_step=f"{python} -m ensurepip, or install uv.", exit_code=3,
    )  # fmt: skip


def _runs(*command: str) -> bool:
    given = command if len(command) > 1 else (*command, "--version")
    try:
        return subprocess.run(given, capture_output=True, check=False, timeout=60).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


def installed(requirements: Path, interpreter: Interpreter, cache: Path, *, say: Say) -> Path:
    """The directory with the dependencies of a requirements.txt; installs them if they are not cached.

    Errors: UserError with the installer's last lines.
    """
    content = requirements.read_bytes()
    parts = (_LAYOUT, interpreter.version, sys.platform, os.uname().machine, str(requirements.resolve().parent))
    # Relative paths in a requirements.txt start at its folder.
    named = parts if b"-r " in content or b"./" in content or b"-c " in content else parts[:-1]
    key = hashlib.sha256("\n".join(named).encode() + b"\n" + content).hexdigest()[:32]
    place = cache / "installed" / key
    if place.is_dir():
        return place
    say(f"installing {requirements} for Python {interpreter.version}")
    place.parent.mkdir(parents=True, exist_ok=True)
    partial = Path(tempfile.mkdtemp(prefix="installing-", dir=place.parent))
    try:
        _install(requirements, interpreter, partial)
        partial.chmod(0o755)
        try:
            partial.rename(place)
        except OSError:
            if not place.is_dir():  # Another process made the same installation first.
                raise
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return place


def _install(requirements: Path, interpreter: Interpreter, target: Path) -> None:
    command = [
        *interpreter.command, "--quiet", "--target", str(target), "-r", requirements.name, *interpreter.options,
    ]  # fmt: skip
    if interpreter.command[-1] == "install" and "uv" not in interpreter.command[0]:
        command += ["--disable-pip-version-check", "--no-compile"]
    ran = subprocess.run(
        command, cwd=requirements.resolve().parent, check=False, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
    )  # fmt: skip
    if ran.returncode != 0:
        lines = [line for line in ran.stdout.splitlines() if line.strip()]
        last = "\n".join(f"  {line}" for line in lines[-_LINES_SHOWN:])
        raise UserError(f"{requirements} could not be installed. pip's last lines:\n{last}", exit_code=2)
