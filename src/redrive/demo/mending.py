"""The first part: a project is proved as it was written, fixed in a few lines, and proved again.

The project is one of the examples. Its code is read, never imported as a part of redrive, and proved in a folder of
its own, as a user's code would be.
"""

from __future__ import annotations

import contextlib
import difflib
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from redrive.core.clock import monotonic_ms
from redrive.core.documents import Document
from redrive.prove.project.finding import find_templates
from redrive.prove.search.options import Options
from redrive.prove.search.order import Progress
from redrive.prove.tell.result import Conclusion
from redrive.prove.whole import Provable, Row, prove_all, targets_of

PROJECT, MENDED = "shop", "mended"
"""The example, and the folder in it that has the same project without its bugs."""
WITH_A_BUG = frozenset({"ChargeOrder", "BookDelivery"})
"""The functions of the project that have one."""
FAULTS = 1
"""The number of faults up to which the functions are searched: this takes seconds, while a person waits."""
Changes = Mapping[str, Sequence[str]]
"""By file the lines that are removed (`-`), added (`+`), and around them (` `). An empty line stands for unchanged
lines in between."""


@dataclass(frozen=True, slots=True)
class Mending:
    """The verdicts on the project, the lines that fix it, and the verdicts on the fixed project."""

    before: Sequence[Row]
    changes: Changes
    after: Sequence[Row]

    @property
    def problems(self) -> list[str]:
        """Why the demo did not find the bugs and fix them. Empty if it did."""
        found = {row.target.label for row in self.before if row.outcome is Conclusion.FOUND}
        problems = [f"the bug in {name} was not found" for name in sorted(WITH_A_BUG - found)]
        problems += [f"{name} has no bug, and one was found" for name in sorted(found - WITH_A_BUG)]
        problems += [
            f"{row.target.label} is not mended: {row.sentence}"
            for row in self.after
            if row.outcome is not Conclusion.NONE
        ]
        return problems

    def as_document(self) -> Document:
        """The whole result, for scripts."""
        return {
            "before": [row.document() for row in self.before],
            "changes": {file: list(lines) for file, lines in self.changes.items()},
            "after": [row.document() for row in self.after],
            "problems": self.problems,
        }


def proofs_of(project: Path, progress: Callable[[Provable], Progress]) -> list[Row]:
    """The verdicts on the functions of a project, by the template in its folder."""
    with tempfile.TemporaryDirectory(prefix="redrive-demo-") as folder:
        copy = Path(folder, PROJECT)
        shutil.copytree(project, copy, ignore=shutil.ignore_patterns("__pycache__", MENDED))
        with contextlib.chdir(copy):
            return prove_all(
                targets_of(find_templates(copy), lambda _: {}),
                lambda target: Options(faults=FAULTS, template=target.template, function=target.function),
                now_ms=monotonic_ms, progress=progress, may_go_on=lambda: lambda: True,
            )  # fmt: skip


def changes_between(before: Path, after: Path) -> Changes:
    """What is different in the modules of two projects."""
    names = sorted(path.relative_to(before).as_posix() for path in (before / "src").glob("*.py"))
    changes = {name: _changes(_lines(before / name), _lines(after / name)) for name in names}
    return {name: lines for name, lines in changes.items() if lines}


def _lines(file: Path) -> list[str]:
    return file.read_text("utf-8").splitlines()


def _changes(before: Sequence[str], after: Sequence[str]) -> list[str]:
    lines = list(difflib.unified_diff(before, after, n=1, lineterm=""))[3:]
    return ["" if line.startswith("@@") else line for line in lines if line != " "]
