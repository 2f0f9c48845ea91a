"""Runs and timelines in the answers of redrive's own API."""

from __future__ import annotations

from redrive.core.clock import Instant, format_instant, parse_instant
from redrive.core.documents import Document
from redrive.core.uuid7 import time_of_uuid7
from redrive.delivery.history.runs import Run
from redrive.delivery.surface import refusal
from redrive.store.tables.attempts import AttemptRecord, NoteRecord, RunState
from redrive.store.tables.runs import REDRIVE, TimelineEvent

SCHEDULED = "scheduler"
"""The kind of the runs of schedules. Their execution ids begin with the scheduled time."""

_STATES = {state.word: state for state in RunState}
_WHATEVER_IT_HAS = (
    "delivery_id", "source_arn", "target_arn", "attempt", "state", "code", "message", "arn", "led_to", "why",
    "log_stream", "receive_count", "cause",
)  # fmt: skip


def state_of(text: str | None) -> RunState | None:
    """Return the state with this name; a blank may replace a hyphen. None stays None."""
    return None if text is None else _STATES[text.replace(" ", "-")]


def instant_of(text: str | None, name: str) -> Instant | None:
    """Parse a point in time. Errors: ValidationException."""
    if text is None:
        return None
    try:
        return parse_instant(text)
    except ValueError as error:
        what = f"{text[:100]!r} is no point in time for {name}."
        raise refusal(what, "Write it like 2025-01-31T08:00:00Z.") from error


def run_document(run: Run) -> Document:
    """A run in answers; a schedule's run has its scheduled time."""
    facts = run.facts
    scheduled_at = time_of_uuid7(facts.execution_id) if facts.kind == SCHEDULED else None
    return {
        "id": facts.delivery_id,
        "kind": facts.kind,
        "source": facts.source_arn,
        "target": facts.target_arn or None,
        "execution_id": facts.execution_id,
        "cause": facts.cause or None,
        "scheduled_time": _time(scheduled_at),
        "state": facts.state.value,
        "began": format_instant(facts.first_at),
        "ended": _time(facts.ended_at),
        "attempts": [_attempt_document(record) for record in run.records],
        "notes": [_note_document(note) for note in run.notes],
    }


def timeline_document(event: TimelineEvent) -> Document:
    """An event of a timeline: its kind, and those of its members that are set."""
    told: Document = {"at": format_instant(event.at), "event": event.event, "kind": event.kind}
    if event.event == "moved" and event.kind.startswith(REDRIVE):
        told |= {"kind": "redrive", "plan": event.kind.removeprefix(REDRIVE)}
    for name in _WHATEVER_IT_HAS:
        if getattr(event, name):
            told[name.removesuffix("_arn")] = getattr(event, name)
    if event.next_at is not None:
        told["next"] = format_instant(event.next_at)
    return told


def _attempt_document(record: AttemptRecord) -> Document:
    return {
        "attempt": record.attempt,
        "at": format_instant(record.ended_at),
        "state": record.state.value,
        "error": record.code or None,
        "message": record.message or None,
        "verdict": record.verdict,
        "led_to": record.led_to or None,
        "log_stream": record.log_stream or None,
        "next": _time(record.next_at),
    }


def _note_document(note: NoteRecord) -> Document:
    return {
        "at": format_instant(note.at), "kind": note.kind, "target": note.arn or None, "led_to": note.led_to or None,
        "error": note.code or None, "message": note.message or None,
    }  # fmt: skip


def _time(instant: Instant | None) -> str | None:
    return None if instant is None else format_instant(instant)
