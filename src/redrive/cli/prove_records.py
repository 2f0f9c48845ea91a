"""What proofs leave in the project: `.redrive/verdicts.json`, which `redrive dlq check` reads.

The latest verdict on each handler stands in it. The folder is ignored by git: verdicts are of this machine's code.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING

from redrive.core.clock import Instant, format_instant
from redrive.core.documents import Document
from redrive.core.errors import UserError
from redrive.packaging.files import archive_of, files_of
from redrive.packaging.own_files import VERDICTS, make_folder

if TYPE_CHECKING:
    from collections.abc import Sequence

    from redrive.prove.tell.result import Result

CODE_BYTES_MAX = 20 * 1024 * 1024
"""Of a larger folder no digest is computed: that would take longer than a proof, and it is seldom one function's."""
_WORDS = {"lost": "loses", "repeated": "repeats"}
"""The words for findings; every other one is a `defect`."""


def record_verdicts(results: Sequence[Result], directory: Path, at: Instant) -> None:
    """Write the verdicts down in the project's folder. What cannot be written there is left out: it is no result."""
    found = [one for result in results if (one := _record_of(result, directory, at)) is not None]
    if not found:
        return
    file = directory / VERDICTS
    kept = [one for one in _earlier(file) if all(_key(one) != _key(new) for new in found)]
    with contextlib.suppress(OSError):
        make_folder(directory)
        partial = file.with_suffix(".json.new")
        partial.write_text(json.dumps({"verdicts": [*kept, *found]}, indent=2, ensure_ascii=False) + "\n", "utf-8")
        partial.replace(file)


def _earlier(file: Path) -> list[Document]:
    """The verdicts in the file; none if there is none, or another one."""
    try:
        listed = json.loads(file.read_text("utf-8"))["verdicts"]
    except (OSError, ValueError, KeyError, TypeError):
        return []
    return [one for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []


def _key(one: Document) -> tuple[object, ...]:
    return one.get("handler"), one.get("template"), one.get("logical_id")


def _record_of(result: Result, directory: Path, at: Instant) -> Document | None:
    """A verdict as the file has it; None of a handler that could not be proved, and of a system.

    Code whose digest is not known is left out: what it says would be taken for any code.
    """
    verdict = result.verdict
    if verdict is None or verdict.system or not verdict.roots:
        return None
    digest = code_digest(verdict.roots[0])
    if not digest:
        return None
    template = "" if result.template is None else _shortly(result.template, directory)
    logical_id = result.name.rpartition(": ")[2] if template and result.name != verdict.handler else ""
    named = {"template": template, "logical_id": logical_id}
    return {
        "handler": verdict.handler.replace(":", "."),
        "verdict": _word(result),
        "at": format_instant(at),
        "code_sha256": digest,
        "faults": verdict.bounds.faults if verdict.bounds.is_finished else max(0, verdict.bounds.complete_faults),
        **{name: value for name, value in named.items() if value},
    }


def _word(result: Result) -> str:
    """`proved` is said only of a whole search with at least one fault, and where nobody has accepted a finding."""
    verdict = result.verdict
    if verdict is None:
        return "unfinished"
    if verdict.counterexample is not None:
        return _WORDS.get(verdict.counterexample.violation.rule.value, "defect")
    if verdict.accepted:
        return "accepted"
    is_whole = verdict.bounds.is_finished and verdict.bounds.faults > 0 and verdict.choice.is_whole
    return "proved" if is_whole else "unfinished"


def code_digest(folder: Path) -> str:
    """The `CodeSha256` of the function that `redrive deploy` makes of a folder; empty if it is too large, or not there.

    Packages that a requirements.txt asks for are not in it: a function deployed with them has another digest.
    Source: https://docs.aws.amazon.com/lambda/latest/api/API_FunctionConfiguration.html
    """
    try:
        files = files_of(folder)
        if not files or sum(path.stat().st_size for path in files.values()) > CODE_BYTES_MAX:
            return ""
        return base64.b64encode(hashlib.sha256(archive_of(files)).digest()).decode()
    except (OSError, UserError):
        return ""


def _shortly(template: Path, directory: Path) -> str:
    absolute = template.resolve()
    here = directory.resolve()
    return absolute.relative_to(here).as_posix() if absolute.is_relative_to(here) else template.as_posix()
