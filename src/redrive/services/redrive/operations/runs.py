"""The operations on the history of deliveries and executions."""

from __future__ import annotations

from collections.abc import Sequence

from redrive.core.documents import Document
from redrive.core.scope import Caller
from redrive.delivery.history.runs import run_of, runs_matching
from redrive.delivery.surface import MISSING, own_operation, refusal, scope_asked
from redrive.services.redrive import limits
from redrive.services.redrive.model.runs import instant_of, run_document, state_of, timeline_document
from redrive.store.api import Transaction
from redrive.store.tables.runs import REDRIVE, Move, RunFilter


@own_operation("ListRuns")
def list_runs(
    tx: Transaction, caller: Caller, *, state: str | None = None, source: str = "", target: str = "",
    execution: str = "", since: str | None = None, until: str | None = None, region: str | None = None,
    account: str | None = None, limit: int = limits.PAGE, after: str = "",
) -> Document:  # fmt: skip
    """List runs, newest first; of one region, unless a source or an execution is given.

    Errors: AccessDeniedException; ValidationException (an invalid time, or `after` is not the end of a page).
    """
    scope = scope_asked(caller, account, region)
    # A role or a user sees only the runs of their own account.
    is_everywhere = bool(source or execution) and not account and not region and caller.is_account
    wanted = RunFilter(
        scope="" if is_everywhere else str(scope), state=state_of(state), source_arn=source, target_arn=target,
        execution_id=execution, since=instant_of(since, "since") or 0, until=instant_of(until, "until"),
    )  # fmt: skip
    try:
        found = runs_matching(tx, wanted, limit=limit, after=after)
    except ValueError as error:
        what = f"No list of runs goes on after {after[:100]!r}."
        raise refusal(what, "Send the `after` of the page before.") from error
    return {"runs": [run_document(run) for run in found], "after": found[-1].place if len(found) == limit else None}


@own_operation("GetRun")
def get_run(tx: Transaction, caller: Caller, *, id: str) -> Document:
    """Return one run, and the timeline of its execution. Errors: AccessDeniedException; ResourceNotFoundException."""
    execution_id = tx.runs.execution_of(id)
    timeline = [] if execution_id is None else tx.runs.timeline(execution_id)
    run = run_of(tx, id) or next((run_of(tx, event.delivery_id) for event in timeline), None)
    is_theirs = caller.is_account or (run is not None and run.facts.scope.startswith(f"{caller.account}/"))
    if execution_id is None or not is_theirs:
        next_step = "It was not attempted yet, or more than 14 days ago. See: redrive runs list"
        raise refusal(f"Nothing is known of a run {id[:200]}.", next_step, MISSING)
    told = {} if run is None else run_document(run)
    # A dead letter that was sent again ran under another id: its timeline is that of the letter's execution.
    return {**told, "execution_id": execution_id, "timeline": [timeline_document(event) for event in timeline]}


@own_operation("RecordRedrives")
def record_redrives(
    tx: Transaction, caller: Caller, *, plan: str, queue: str, to: str, letters: Sequence[Document]
) -> Document:  # fmt: skip
    """Record that dead letters were sent again: each belongs to the execution of its letter.

    A letter whose execution nothing is known of begins one. Errors: AccessDeniedException; ValidationException.
    """
    moves = [
        Move(tx.now, _execution_of(tx, one), f"{REDRIVE}{plan}", queue, to, one["message_id"], one["sent_as"], 0)
        for one in letters
        if not tx.runs.is_redriven(one["message_id"], one["sent_as"])
    ]
    if moves:
        tx.runs.move(moves)
    return {"recorded": len(moves)}


def _execution_of(tx: Transaction, letter: Document) -> str:
    """The execution of a letter: by its message, or by the request, event or execution that it names."""
    for named in (letter["message_id"], letter.get("work_id")):
        found = tx.runs.execution_of(named) if named else None
        if found is not None:
            return found
    return str(letter.get("work_id") or letter["message_id"])
