"""The list of handlers. It names public code and holds none."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from redrive.core.documents import Document

FILE = Path(__file__).with_name("list.json")
LICENCES = frozenset({"Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "CC0-1.0", "ISC", "MIT", "MIT-0", "MPL-2.0"})
TRIGGERS = frozenset(
    {
        "api", "asynchronous", "dynamodb", "eventbridge", "fifo", "kinesis", "logs", "queue", "s3", "s3 in queue",
        "schedule", "sns", "sns in queue", "task",
    }
)  # fmt: skip
FINDINGS = frozenset({"repeated", "lost", "changed", "stuck"})
"""What redrive finds. Of several that are true of a handler, it tells the one with the shortest history."""
TRUTHS = FINDINGS | {"safe", "nothing", "fails", "unprovable"}
"""`nothing`: it changes nothing. `fails`: by a defect of its own, whatever it is given. `unprovable`: by its nature."""
MEMBERS = frozenset(
    {
        "repository", "commit", "folder", "file", "function", "licence", "trigger", "truth", "why", "told", "packages",
        "added",
    }
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Added:
    """What a newcomer adds after the first message told so. Files lie in the folder in which the command runs."""

    options: Sequence[str] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, object] = field(default_factory=dict)
    """Their contents: text, or a document that is written as JSON."""


@dataclass(frozen=True, slots=True)
class Listed:
    """A handler. Its command is `redrive prove FILE:FUNCTION` in `folder` of its repository."""

    repository: str
    commit: str
    folder: str
    file: str
    function: str
    licence: str
    trigger: str
    truth: Sequence[str]
    """Each verdict that is right."""
    why: str
    told: str = ""
    """A text that stands in a right verdict: the effect that is at fault, or the reason why the handler fails."""
    packages: Sequence[str] = ()
    added: Added | None = None

    @property
    def name(self) -> str:
        """`src/app.py:handler`."""
        return f"{self.file}:{self.function}"

    @property
    def owner_and_name(self) -> tuple[str, str]:
        """Those of the repository."""
        owner, _, name = self.repository.removeprefix("https://github.com/").partition("/")
        return owner, name

    @property
    def path(self) -> str:
        """The file's path in its repository."""
        return str(PurePosixPath(self.folder, self.file))


def read_list(file: Path = FILE) -> list[Listed]:
    """The handlers of a list. Errors: ValueError with what is wrong with it."""
    handlers: list[Document] = json.loads(file.read_text("utf-8"))["handlers"]
    wrong = [f"{handler.get('file')}: {defect}" for handler in handlers for defect in _unreadable(handler)]
    if wrong:
        raise ValueError("; ".join(wrong))
    return [_listed(handler) for handler in handlers]


def defects(handlers: Sequence[Listed]) -> Iterator[str]:
    """What is wrong with a list, one sentence each."""
    for handler in handlers:
        yield from (f"{handler.name} in {handler.repository}: {defect}" for defect in _defects_of(handler))
    named = Counter((handler.repository, handler.path, handler.function) for handler in handlers)
    yield from (
        f"{path}:{function} of {where} is listed twice" for (where, path, function), n in named.items() if n > 1
    )


def _unreadable(handler: Document) -> Iterator[str]:
    required = MEMBERS - {"told", "packages", "added"}
    yield from (f"{member} is missing" for member in sorted(required - handler.keys()))
    yield from (f"{member} is no member of a handler" for member in sorted(handler.keys() - MEMBERS))


def _listed(handler: Document) -> Listed:
    added = handler.get("added")
    return Listed(**(handler | {"added": None if added is None else Added(**added)}))


def _defects_of(handler: Listed) -> Iterator[str]:
    if not re.fullmatch(r"https://github\.com/[\w.-]+/[\w.-]+", handler.repository):
        yield f"{handler.repository} is no repository of GitHub"
    if not re.fullmatch(r"[0-9a-f]{40}", handler.commit):
        yield f"{handler.commit!r} is no whole commit id"
    if not handler.file.endswith(".py") or not handler.function.isidentifier():
        yield "a handler is a function in a file of Python"
    if ".." in PurePosixPath(handler.path).parts or PurePosixPath(handler.path).is_absolute():
        yield f"{handler.path} is not in the repository"
    if handler.licence not in LICENCES:
        yield f"{handler.licence!r} is no licence that is known here by its SPDX name"
    if handler.trigger not in TRIGGERS:
        yield f"{handler.trigger!r} is no trigger"
    if not handler.truth or not set(handler.truth) <= TRUTHS:
        yield f"{list(handler.truth)} are no verdicts"
    if not handler.why.endswith("."):
        yield "why is one sentence"
