"""The first part: a handler is proved, fixed in a few lines, and proved again.

The two handlers are source files, not modules of ours: they are read, never imported, and proved in a folder of their
own, as a user's code would be.
"""

from __future__ import annotations

import difflib
import json
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from redrive.core.documents import Document
from redrive.prove.process.subject import subject_of
from redrive.prove.proving import prove
from redrive.prove.search.options import Options
from redrive.prove.search.search import Progress
from redrive.prove.tell.verdict import Verdict

BROKEN, MENDED = "running_means_skip", "running_is_a_lease"
FAULTS = 2
"""The number of faults up to which the handlers are searched: this takes seconds, while a person waits."""


@dataclass(frozen=True, slots=True)
class Mending:
    """The verdict on the handler, the lines that fix it, and the verdict on the fixed handler."""

    before: Verdict
    changes: Sequence[str]
    after: Verdict

    @property
    def problems(self) -> list[str]:
        """Why the demo did not find a bug and fix it. Empty if it did."""
        problems = []
        if self.before.counterexample is None:
            problems.append(f"the bug in {self.before.handler} was not found: {self.before.sentence}")
        if self.after.counterexample is not None:
            problems.append(f"{self.after.handler} is not mended: {self.after.sentence}")
        return problems

    def as_document(self) -> Document:
        """The whole result, for scripts."""
        before, after = json.loads(self.before.as_json()), json.loads(self.after.as_json())
        return {"before": before, "changes": list(self.changes), "after": after, "problems": self.problems}


def proof_of(name: str, progress: Progress) -> Verdict:
    """The verdict on one of the two handlers."""
    with tempfile.TemporaryDirectory(prefix="redrive-demo-") as folder:
        Path(folder, f"{name}.py").write_text(_source(name), "utf-8")
        return prove(subject_of(f"{name}:handler", Path(folder)), Options(faults=FAULTS), progress=progress)


def changes() -> list[str]:
    """The fix as a diff: the lines of the functions that are removed (`-`), added (`+`), and around them (` `).

    An empty line stands for unchanged lines in between.
    """
    before, after = (_functions(_source(name)) for name in (BROKEN, MENDED))
    lines = list(difflib.unified_diff(before, after, n=1, lineterm=""))[3:]
    return ["" if line.startswith("@@") else line for line in lines if line != " "]


def _functions(source: str) -> list[str]:
    """The lines from the first function on."""
    lines = source.splitlines()
    return lines[next(number for number, line in enumerate(lines) if line.startswith("def ")) :]


def _source(name: str) -> str:
    return resources.files("redrive.demo").joinpath(f"{name}.txt").read_text("utf-8")
