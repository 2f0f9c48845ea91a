"""Letters as JSON, and files of them: a line for a letter."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from redrive.core.clock import Instant, format_instant
from redrive.core.documents import Document
from redrive.core.errors import UserError
from redrive.deadletters.letter import Letter


def shown(letter: Letter) -> Document:
    """A letter as JSON."""
    work, failure = letter.work, letter.failure
    told: Document = {
        "message_id": letter.message_id,
        "origin": letter.origin.value,
        "source": letter.source_arn or None,
        "sent_at": _iso(letter.sent_at),
        "received": letter.received,
        "failure": {
            "code": failure.code or None, "message": failure.message or None, "condition": failure.condition or None,
            "attempts": failure.attempts or None, "trace": list(failure.trace),
        },
        "work": {
            "id": work.id or None, "form": work.form.value, "target": work.target_arn or None,
            "due_at": _iso(work.due_at), "is_cut": work.is_cut, "text": work.text,
        },
        "wraps": [form.value for form in letter.wraps],
    }  # fmt: skip
    if work.batch is not None:
        batch = work.batch
        told["work"]["batch"] = {
            "stream": batch.stream_arn, "shard": batch.shard_id, "first": batch.first, "last": batch.last,
            "count": batch.count, "arrived_at": _iso(batch.arrived_at),
        }  # fmt: skip
    if work.pointer is not None:
        told["work"]["object"] = {"bucket": work.pointer.bucket, "key": work.pointer.key}
    if letter.group_id:
        told |= {"group_id": letter.group_id, "deduplication_id": letter.deduplication_id}
    return told


def written_letters(file: Path) -> Iterator[str]:
    """The ids of the letters in the file. A last line without its end was being written when the export stopped."""
    if not file.exists():
        return
    whole = 0
    with file.open("rb") as lines:
        for number, line in enumerate(lines, 1):
            if not line.endswith(b"\n"):
                break
            try:
                yield str(json.loads(line)["message_id"])
            except (ValueError, KeyError, TypeError):
                raise UserError(
                    f"Line {number} of {file} is no letter.", next_step="Name another file.", exit_code=2
                ) from None
            whole += len(line)
    if whole < file.stat().st_size:
        with file.open("r+b") as lines:
            lines.truncate(whole)


def _iso(at: Instant | None) -> str | None:
    return None if at is None else format_instant(at)
