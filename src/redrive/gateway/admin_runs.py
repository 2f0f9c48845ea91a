"""`/_redrive/runs`: how deliveries went, and all that happened to one execution."""

from __future__ import annotations

from redrive.core.clock import Instant, format_instant, parse_instant
from redrive.core.documents import Document
from redrive.core.errors import UserError
from redrive.delivery.runs import Run, run_of, runs_matching
from redrive.engine.engine import Runner
from redrive.gateway.admin_requests import Missing, Routes, read_count, read_id, read_query, read_scope
from redrive.gateway.chain import json_response
from redrive.services.scheduler.model import SOURCE as SCHEDULER
from redrive.services.scheduler.model_executions import time_of_execution_id
from redrive.store.api import Transaction
from redrive.store.tables.attempts import AttemptRecord, NoteRecord, RunState
from redrive.store.tables.runs import RunFilter, TimelineEvent
from redrive.wire.message import HttpRequest, HttpResponse

PAGE = 100
PAGE_MAX = 1_000
FILTERS = ("state", "source", "target", "execution", "since", "until")
WHERE = ("account", "region")
_STATES = {state.word: state for state in RunState}


class RunAdmin:
    """Shows runs and timelines."""

    def __init__(self, run: Runner, account: str) -> None:
        self._run = run
        self._account = account

    @property
    def routes(self) -> Routes:
        """What is answered here."""
        return {("GET", "/_redrive/runs"): self._list, ("GET", "/_redrive/runs/{id}"): self._show}

    def _list(self, request: HttpRequest) -> HttpResponse:
        query = read_query(request, "limit", "after", *FILTERS, *WHERE)
        limit = read_count(query, "limit", default=PAGE, count_max=PAGE_MAX)
        wanted = self._filter(query)
        try:
            found = self._run(lambda tx: runs_matching(tx, wanted, limit=limit, after=query.get("after", "")))
        except ValueError as error:
            raise UserError(
                f"No list of runs goes on after {query['after']!r}.", next_step="Send the `after` of the page before."
            ) from error
        after = found[-1].place if len(found) == limit else None
        return json_response(200, {"runs": [run_document(run) for run in found], "after": after})

    def _filter(self, query: dict[str, str]) -> RunFilter:
        """What is asked for; of the whole account in a region, unless a source or an execution is named."""
        state = query.get("state", "").replace(" ", "-")
        if state and state not in _STATES:
            raise UserError(f"No run is {state!r}.", next_step=f"The states are: {', '.join(_STATES)}.")
        source, execution = query.get("source", ""), query.get("execution", "")
        is_narrow = (source or execution) and not any(name in query for name in WHERE)
        return RunFilter(
            scope="" if is_narrow else str(read_scope(query, self._account)),
            state=_STATES.get(state), source_arn=source, target_arn=query.get("target", ""), execution_id=execution,
            since=_instant(query, "since") or 0, until=_instant(query, "until"),
        )  # fmt: skip

    def _show(self, request: HttpRequest) -> HttpResponse:
        run_id = read_id(request)

        def look(tx: Transaction) -> Document | None:
            execution_id = tx.runs.execution_of(run_id)
            if execution_id is None:
                return None
            timeline = tx.runs.timeline(execution_id)
            run = run_of(tx, run_id) or next((run_of(tx, event.delivery_id) for event in timeline), None)
            told = {"execution_id": execution_id} if run is None else run_document(run)
            return {**told, "timeline": [timeline_document(event) for event in timeline]}

        found = self._run(look)
        if found is None:
            raise Missing(
                f"Nothing is known of a run {run_id}.",
                next_step="It was not attempted yet, or more than 14 days ago. See: redrive runs list",
            )
        return json_response(200, found)


def run_document(run: Run) -> Document:
    """A run as our surface shows it; a schedule's has its scheduled time."""
    facts = run.facts
    scheduled_at = time_of_execution_id(facts.execution_id) if facts.kind == SCHEDULER else None
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
    """An event of a timeline: what it is, and whatever it has."""
    told: Document = {"at": format_instant(event.at), "event": event.event, "kind": event.kind}
    for name in ("delivery_id", "source_arn", "target_arn", "attempt", "state", "code", "message", "arn", "led_to",
                 "why", "log_stream", "receive_count", "cause"):  # fmt: skip
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


def _instant(query: dict[str, str], name: str) -> Instant | None:
    """A point in time of the query. Errors: UserError."""
    written = query.get(name)
    if not written:
        return None
    try:
        return parse_instant(written)
    except ValueError as error:
        raise UserError(
            f"{written!r} is no point in time for {name}.", next_step="Write it like 2025-01-31T08:00:00Z."
        ) from error
