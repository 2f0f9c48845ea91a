"""The opening: a handler is proved, mended in a few lines, and proved again.

The two handlers are sources, not modules of ours: they are read, never imported, and proved where a user's code would
stand, in a folder of their own.
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
"""Up to so many the handlers are searched: a matter of seconds, for somebody who watches."""


@dataclass(frozen=True, slots=True)
class Mending:
    """The verdict on a handler, the lines that were changed in it, and the verdict on what it has become."""

    before: Verdict
    changes: Sequence[str]
    after: Verdict

    @property
    def problems(self) -> list[str]:
        """Why this is not the story of a bug that was found and mended. Empty if it is."""
        problems = []
        if self.before.counterexample is None:
            problems.append(f"the bug in {self.before.handler} was not found: {self.before.sentence}")
        if self.after.counterexample is not None:
            problems.append(f"{self.after.handler} is not mended: {self.after.sentence}")
        return problems

    def as_document(self) -> Document:
        """The whole of it, for scripts."""
        before, after = json.loads(self.before.as_json()), json.loads(self.after.as_json())
        return {"before": before, "changes": list(self.changes), "after": after, "problems": self.problems}


def proof_of(name: str, progress: Progress) -> Verdict:
    """The verdict on one of the two handlers."""
    with tempfile.TemporaryDirectory(prefix="redrive-demo-") as folder:
        Path(folder, f"{name}.py").write_text(_source(name), "utf-8")
        return prove(subject_of(f"{name}:handler", Path(folder)), Options(faults=FAULTS), progress=progress)


def changes() -> list[str]:
    """What mends the handler: the lines of its functions that go (`-`), come (`+`), and stand beside them (` `).

    An empty line stands for the lines between that stay as they are.
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
