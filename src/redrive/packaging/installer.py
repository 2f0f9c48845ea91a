"""Dependencies of a requirements.txt, installed for the Python that a function names, and kept for the next time."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from redrive.core.errors import UserError
from redrive.invoke.keeping import Say, kept, run_tool
from redrive.invoke.runtime.runtimes import Runtimes

_LAYOUT = "2"  # Changes when installations are laid out in another way, so that earlier ones are not used.


@dataclass(frozen=True, slots=True)
class Interpreter:
    """A Python that can install packages: the command of its installer, and the version for which it installs."""

    command: tuple[str, ...]
    version: str


def interpreter_for(runtime: str) -> Interpreter:
    """The installer for a runtime such as `python3.12`: that of the Python which runs its functions on this machine.

    That is our own where the machine has not the one that the runtime names: wheels of another version would not load.
    """
    python = Runtimes(os.environ, Path.home()).of(runtime).path if runtime.startswith("python") else ""
    if not python:
        return Interpreter(_installer_of(sys.executable), f"{sys.version_info.major}.{sys.version_info.minor}")
    return Interpreter(_installer_of(python), runtime.removeprefix("python"))


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
    parts = [_LAYOUT, interpreter.version, sys.platform, os.uname().machine]
    # Files that a requirements.txt names by their paths are looked up from where it lies.
    if b"-r " in content or b"./" in content or b"-c " in content:
        parts.append(str(requirements.resolve().parent))

    def make(place: Path) -> None:
        say(f"installing {requirements} for Python {interpreter.version}")
        _install(requirements, interpreter, place)

    return kept(cache, [*(part.encode() for part in parts), content], make)


def _install(requirements: Path, interpreter: Interpreter, target: Path) -> None:
    command = [
        *interpreter.command, "--quiet", "--target", str(target), "-r", requirements.name,
    ]  # fmt: skip
    if interpreter.command[-1] == "install" and "uv" not in interpreter.command[0]:
        command += ["--disable-pip-version-check", "--no-compile"]
    run_tool("pip", f"{requirements} could not be installed", command, requirements.resolve().parent)
