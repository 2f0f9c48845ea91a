"""Events in files: as EventBridge delivers them, or as entries of PutEvents."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from redrive.core.clock import Instant
from redrive.core.documents import Document, load_json
from redrive.core.errors import UserError
from redrive.core.scope import Scope

STANDARD_INPUT = "-"
ENDINGS = (".json", ".jsonl", ".ndjson")
NO_ID = "00000000-0000-0000-0000-000000000000"

_OF_ENTRIES = frozenset({"Source", "DetailType", "Detail"})


@dataclass(frozen=True, slots=True)
class FileEvent:
    """A document from a file. `name` is the file's, with a number if the file has several documents."""

    name: str
    document: Document

    @property
    def is_entry(self) -> bool:
        """Whether the document is an entry of PutEvents."""
        return not _OF_ENTRIES.isdisjoint(self.document)

    @property
    def bus(self) -> str | None:
        """The name of the bus that an entry names; None if nothing names a bus."""
        named = self.document.get("EventBusName") if self.is_entry else None
        return None if named is None else str(named).rsplit("/", 1)[-1]

    def as_event(self, scope: Scope, now: Instant) -> Document:
        """The event as rules see it. Errors: UserError if the Detail of an entry is no JSON object."""
        if not self.is_entry:
            return self.document
        from redrive.services.events.model.event import envelope

        return envelope(
            id=NO_ID, detail_type=str(self.document.get("DetailType", "")), source=str(self.document.get("Source", "")),
            scope=scope, at=now, resources=[str(arn) for arn in self.document.get("Resources") or ()],
            detail=self._detail(),
        )  # fmt: skip

    def as_entry(self) -> Document:
        """The entry of PutEvents that sends the event again. Errors: UserError if a member of the event is missing."""
        if self.is_entry:
            detail = self.document.get("Detail", "{}")
            return self.document if isinstance(detail, str) else self.document | {"Detail": json.dumps(detail)}
        return entry_of(self.document, self.name)

    def _detail(self) -> Document:
        detail = self.document.get("Detail", "{}")
        try:
            found = load_json(detail) if isinstance(detail, str) else detail
        except ValueError:
            found = None
        if not isinstance(found, dict):
            what = f"The Detail of {self.name} is no JSON object."
            raise UserError(what, next_step='Write it as text: "Detail": "{\\"total\\": 5}"', exit_code=2)
        return found


def entry_of(event: Document, name: str) -> Document:
    """The entry of PutEvents that sends an event again, with its own time. Errors: UserError."""
    missing = [key for key in ("source", "detail-type", "detail") if key not in event]
    if missing:
        what = f"{name} is no event of EventBridge: it has no {', no '.join(missing)}."
        step = 'An event has "source", "detail-type" and "detail"; an entry "Source", "DetailType" and "Detail".'
        raise UserError(what, next_step=step, exit_code=2)
    entry: Document = {
        "Source": event["source"], "DetailType": event["detail-type"],
        "Detail": json.dumps(event["detail"], ensure_ascii=False),
    }  # fmt: skip
    if event.get("time"):
        entry["Time"] = event["time"]
    if event.get("resources"):
        entry["Resources"] = event["resources"]
    return entry


def read_events(path: str) -> list[FileEvent]:
    """The events of a file, or of standard input for `-`: one, a list, `{"Entries": […]}`, or one in each line.

    Errors: UserError.
    """
    name = "standard input" if path == STANDARD_INPUT else path
    found = list(_documents(read_text(path), name))
    if len(found) == 1:
        return [FileEvent(name, found[0])]
    return [FileEvent(f"{name}#{number}", document) for number, document in enumerate(found, start=1)]


def read_directory(directory: Path) -> list[FileEvent]:
    """The events of all files below a directory that end in .json, .jsonl or .ndjson, by name. Errors: UserError."""
    files = sorted(path for path in directory.rglob("*") if path.suffix in ENDINGS and path.is_file())
    if not files:
        what = f"{directory} has no events: no file there ends in {', '.join(ENDINGS)}."
        raise UserError(what, next_step="Write one event, or a list of events, into a file.", exit_code=2)
    return [
        FileEvent(str(Path(one.name).relative_to(directory)), one.document)
        for file in files
        for one in read_events(str(file))
    ]


def read_text(path: str) -> str:
    """The text of a file, or of standard input for `-`. Errors: UserError."""
    try:
        return sys.stdin.read() if path == STANDARD_INPUT else Path(path).read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(
            f"{path} cannot be read: {error}.", next_step="Name a file, or - for standard input."
        ) from error


def _documents(text: str, name: str) -> Iterator[Document]:
    try:
        whole = json.loads(text)
    except ValueError as error:
        lines = [(number, line) for number, line in enumerate(text.splitlines(), start=1) if line.strip()]
        if len(lines) < 2 or not lines[0][1].rstrip().endswith("}"):
            raise _not_json(name, str(error)) from error
        for number, line in lines:
            yield _document(_line(line, name, number), f"{name}, line {number},")
        return
    if isinstance(whole, dict) and isinstance(whole.get("Entries"), list):
        whole = whole["Entries"]
    for one in whole if isinstance(whole, list) else [whole]:
        yield _document(one, name)


def _line(line: str, name: str, number: int) -> object:
    try:
        found: object = json.loads(line)
    except ValueError as error:
        raise _not_json(f"{name}, line {number},", str(error)) from error
    return found


def _document(value: object, name: str) -> Document:
    if not isinstance(value, dict):
        raise UserError(f"{name} has something that is no event: an event is a JSON object.", exit_code=2)
    return value


def _not_json(name: str, why: str) -> UserError:
    return UserError(
        f"{name} is no JSON: {why}.", next_step="JSON has no comments, and no comma at an end.", exit_code=2
    )
