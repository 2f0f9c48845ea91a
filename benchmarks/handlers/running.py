"""One proof in a process of its own, as a newcomer begins it, and what came out."""

from __future__ import annotations

import functools
import json
import os
import re
import shutil
import subprocess
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.handlers.listed import Added, Listed
from redrive.core.documents import Document

NOTHING = re.compile(r"\bchanges nothing\b")
STARTING_S_MAX = 60
"""What a process may take beside its search: imports, the clean run, the replay."""
SENTENCE_CHARS_MAX = 400


@dataclass(frozen=True, slots=True)
class Outcome:
    """How one command ended. `verdict` is a finding of redrive, `safe`, `unfinished`, `nothing` or `refused`."""

    verdict: str
    sentence: str
    """The violation, the bounds, or the message."""
    trigger: str
    exit_code: int
    seconds: float
    output: str
    """All of it, so that a judgement can be looked at."""

    def as_document(self) -> Document:
        """For the file of results."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Newcomer:
    """Who runs the command: the interpreter that has redrive and the handlers' packages, and the bounds."""

    python: Path
    seconds: int
    faults: int

    def proves(self, handler: Listed, checkout: Path, added: Added | None = None) -> Outcome:
        """Runs `redrive prove` for a handler, with what was added after the first message, if anything."""
        folder = checkout / handler.folder
        added = added or Added()
        for name, content in added.files.items():
            text = content if isinstance(content, str) else json.dumps(content)
            (folder / name).write_text(text, "utf-8")
        command = [
            *without_network(), str(self.python.parent / "redrive"), "prove", handler.name,
            "--faults", str(self.faults), "--seconds", str(self.seconds), "--output", "json", *added.options,
        ]  # fmt: skip
        with TemporaryDirectory(prefix="redrive-home-") as home:
            return _ended(command, folder, _environment(self.python, home) | dict(added.environment), self.seconds)


@functools.cache
def without_network() -> Sequence[str]:
    """What is written before a command so that it has no network; nothing where the machine cannot do it."""
    unshare = shutil.which("unshare")
    if unshare is None:
        return ()
    prefix = (unshare, "--map-root-user", "--net")
    tried = subprocess.run([*prefix, "true"], capture_output=True, check=False)  # noqa: S603 - a fixed program
    return prefix if tried.returncode == 0 else ()


def _environment(python: Path, home: str) -> dict[str, str]:
    """No credentials, no settings: a home of its own, and the programs."""
    path = os.pathsep.join((str(python.parent), "/usr/local/bin", "/usr/bin", "/bin"))
    return {"PATH": path, "HOME": home, "LANG": "C.UTF-8", "TMPDIR": home, "PYTHONHASHSEED": "0"}


def _ended(command: Sequence[str], folder: Path, environment: dict[str, str], seconds: int) -> Outcome:
    begun = time.monotonic()
    try:
        done = subprocess.run(  # noqa: S603 - the command of this module
            command, cwd=folder, env=environment, capture_output=True, text=True, errors="replace", check=False,
            timeout=seconds + STARTING_S_MAX,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        took = time.monotonic() - begun
        return Outcome("refused", f"It did not end in {took:.0f} s.", "", -1, took, "")
    took = round(time.monotonic() - begun, 1)
    return outcome_of(done.returncode, done.stdout, done.stderr, took)


def outcome_of(exit_code: int, stdout: str, stderr: str, seconds: float) -> Outcome:
    """What a command's output says. The last object of JSON on stdout is the verdict: handlers print, too."""
    verdict = _document_in(stdout)
    output = f"{stdout}\n{stderr}".strip()
    if verdict is None:
        word = "nothing" if NOTHING.search(stderr) else "refused"
        return Outcome(word, _first_sentence(stderr), "", exit_code, seconds, output)
    found = verdict.get("counterexample")
    trigger = str(verdict.get("trigger", ""))
    if found is not None:
        return Outcome(str(found["rule"]), str(found["summary"]), trigger, exit_code, seconds, output)
    word = "nothing" if not verdict.get("effects") else "safe" if verdict["ok"] else "unfinished"
    return Outcome(word, str(verdict["verdict"]), trigger, exit_code, seconds, output)


def _document_in(stdout: str) -> Document | None:
    for begin in (match.start() for match in re.finditer(r"^\{", stdout, re.MULTILINE)):
        try:
            document: Document = json.loads(stdout[begin:])
        except ValueError:
            continue
        return document
    return None


def _first_sentence(stderr: str) -> str:
    """The first line of redrive's own message, without its name."""
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    told = [line for line in lines if line.startswith("redrive:")] or lines[-1:] or ["It said nothing."]
    return told[0].removeprefix("redrive:").strip()[:SENTENCE_CHARS_MAX]
