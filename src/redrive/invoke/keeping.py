"""What was installed or built is kept for the next time, by what it was made from."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from redrive.core.errors import UserError

Say = Callable[[str], None]
"""Tells somebody who waits what is being done."""

_LINES_SHOWN = 12


def cache_directory(environment: Mapping[str, str], home: Path) -> Path:
    """The directory of cached bundles and installations: REDRIVE_CACHE_DIR, else the user's cache."""
    named = environment.get("REDRIVE_CACHE_DIR")
    if named:
        return Path(named)
    base = environment.get("XDG_CACHE_HOME")
    return (Path(base) if base else home / ".cache") / "redrive"


def place_of(cache: Path, parts: Sequence[bytes]) -> Path:
    """Where that which is made from these parts is kept."""
    return cache / "installed" / hashlib.sha256(b"\n".join(parts)).hexdigest()[:32]


def kept(cache: Path, parts: Sequence[bytes], make: Callable[[Path], None]) -> Path:
    """The directory that was made from these parts; calls `make` with an empty directory, if there is none yet.

    It is made beside its place and moved there when it is whole: what fails leaves the cache as it was.
    """
    place = place_of(cache, parts)
    if place.is_dir():
        return place
    place.parent.mkdir(parents=True, exist_ok=True)
    partial = Path(tempfile.mkdtemp(prefix="installing-", dir=place.parent))
    try:
        make(partial)
        partial.chmod(0o755)
        try:
            partial.rename(place)
        except OSError:
            if not place.is_dir():  # Another process was first, with the same.
                raise
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return place


def run_tool(name: str, what: str, command: Sequence[str], directory: Path, *, errors: str = "") -> None:
    """Run a tool in a directory. `errors` is how the tool marks its errors, if more follows after them.

    Errors: UserError with the tool's last lines, or those from its first error; `what` says what could not be done.
    """
    try:
        ran = subprocess.run(
            command, cwd=directory, check=False, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, errors="replace",
        )  # fmt: skip
    except OSError as error:
        raise UserError(f"{what}: {name} cannot be run: {error}.", exit_code=3) from error
    if ran.returncode != 0:
        lines = [line for line in ran.stdout.splitlines() if line.strip()]
        marked = [number for number, line in enumerate(lines) if errors and errors in line]
        shown = lines[marked[0] :][:_LINES_SHOWN] if marked else lines[-_LINES_SHOWN:]
        which = "errors" if marked else "last lines"
        text = "\n".join(f"  {line}" for line in shown)
        raise UserError(f"{what}. {name}'s {which}:\n{text}", exit_code=2)
