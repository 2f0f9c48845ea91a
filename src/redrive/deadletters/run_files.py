"""The files of a run, beside its plan: the journal, PLAN.journal, and what was discarded, PLAN.discarded.jsonl."""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import IO

from redrive.core.documents import Document
from redrive.core.errors import UserError
from redrive.deadletters.journal import Journal, MalformedJournal, open_journal
from redrive.deadletters.letter import Letter
from redrive.deadletters.letter_files import shown, written_letters
from redrive.deadletters.plan import MalformedPlan, Plan, read_plan

JOURNAL, DISCARDED = ".journal", ".discarded.jsonl"


def journal_of(plan_file: Path) -> Path:
    """The journal of a plan."""
    return plan_file.with_name(f"{plan_file.name}{JOURNAL}")


def discarded_of(plan_file: Path) -> Path:
    """Where the letters are that a plan has discarded."""
    return plan_file.with_name(f"{plan_file.name}{DISCARDED}")


def read_plan_file(file: Path) -> Plan:
    """The plan in a file. Errors: UserError."""
    try:
        return read_plan(file.read_text("utf-8"))
    except (OSError, UnicodeDecodeError, MalformedPlan) as error:
        raise UserError(f"The plan {file} cannot be used: {error}.", exit_code=2) from error


@contextmanager
def opened_journal(file: Path, queue_url: str) -> Iterator[Journal]:
    """The journal in a file, which no other run may use meanwhile. Errors: UserError."""
    with _locked(file) as opened:
        try:
            yield open_journal(opened, partial(os.fsync, opened.fileno()), queue_url)
        except MalformedJournal as error:
            next_step = "Name another file: --journal FILE"
            raise UserError(f"The journal {file} cannot be used: {error}.", next_step=next_step) from error


def export_letters(file: Path, letters: Sequence[Letter]) -> None:
    """Write letters to a file, and wait until they are on disk. A letter that is there is not written again."""
    known = set(written_letters(file))
    with file.open("a", encoding="utf-8") as out:
        for letter in letters:
            if letter.message_id not in known:
                whole = shown(letter) | {"body": letter.body, "attributes": _texts(letter)}
                out.write(json.dumps(whole, ensure_ascii=False) + "\n")
        out.flush()
        os.fsync(out.fileno())


def exported_letters(file: Path) -> Iterator[Document]:
    """The letters that `export_letters` has written. Errors: UserError if the file is not of this form."""
    ids = list(written_letters(file))
    if not ids:
        return
    with file.open(encoding="utf-8") as lines:
        for line in lines:
            told = json.loads(line)
            yield told | {"attributes": {name: _bytes(one) for name, one in told.get("attributes", {}).items()}}


def _texts(letter: Letter) -> dict[str, object]:
    """The message attributes as JSON, bytes in Base64."""
    return {
        name: {
            key: base64.b64encode(value).decode() if isinstance(value, bytes) else value
            for key, value in one.items()
            if isinstance(value, str | bytes)
        }
        for name, one in letter.attributes.items()
    }


def _bytes(attribute: Document) -> Document:
    value = attribute.get("BinaryValue")
    return attribute if value is None else attribute | {"BinaryValue": base64.b64decode(value)}


@contextmanager
def _locked(file: Path) -> Iterator[IO[bytes]]:
    """A file that no other run has open. Errors: UserError."""
    try:
        opened = file.open("a+b")
    except OSError as error:
        raise UserError(f"The journal {file} cannot be opened: {error}.") from error
    with opened:
        try:
            import fcntl  # Windows has none; there, nothing prevents two runs with one journal.
        except ImportError:
            pass
        else:
            try:
                fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                next_step = "Wait for its end."
                raise UserError(f"Another run has the journal {file}.", next_step=next_step) from error
        yield opened
