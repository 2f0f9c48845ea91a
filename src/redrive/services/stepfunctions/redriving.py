"""RedriveExecution in a transaction."""

from __future__ import annotations

from redrive.core.clock import SECOND_MS, Instant
from redrive.core.errors import ServiceError
from redrive.services.stepfunctions.executions import live_of
from redrive.services.stepfunctions.limits import EXECUTION_MS_MAX, REDRIVE_TOKEN_MS, REDRIVE_TOKENS_KEPT
from redrive.services.stepfunctions.model.arns import MACHINE, read_arn
from redrive.services.stepfunctions.model.execution import REDRIVABLE, read_execution, redrive_status
from redrive.services.stepfunctions.model.machine import StateMachine
from redrive.services.stepfunctions.model.position import read_position
from redrive.services.stepfunctions.model.redriving import resume
from redrive.services.stepfunctions.running import go_on
from redrive.services.stepfunctions.telling import tell_status
from redrive.store.api import Transaction
from redrive.store.tables.executions import ExecutionRow


def redrive(tx: Transaction, row: ExecutionRow, token: str | None) -> Instant:
    """Go on with an execution that has not succeeded; returns when it was redriven.

    A token that was used in the last 15 minutes answers again. Errors: ExecutionNotRedrivable.
    """
    known = read_position(row.position).tokens
    if token is not None and tx.now - known.get(token, -REDRIVE_TOKEN_MS) < REDRIVE_TOKEN_MS:
        return known[token]
    execution = read_execution(row)
    arn = read_arn(execution.machine, MACHINE)
    machine = tx.resources.get(StateMachine, arn.scope, arn.name)
    is_gone = machine is None or machine.is_deleting or machine.id != execution.revision.partition("/")[0]
    status, reason = redrive_status(row, execution, tx.now, is_deleting=is_gone)
    if status != REDRIVABLE:
        raise ServiceError("ExecutionNotRedrivable", reason or "Execution can only be redriven by its Map Run")
    live = live_of(tx, row)
    resume(live.progress)
    position = live.progress.position
    limit_s = live.progress.compiled.machine.timeout_s
    left_ms = EXECUTION_MS_MAX - (tx.now - row.started_at)
    position.deadline = tx.now + (left_ms if limit_s is None else min(left_ms, limit_s * SECOND_MS))
    if token is not None:
        kept = sorted({**known, token: tx.now}.items(), key=lambda one: one[1])[-REDRIVE_TOKENS_KEPT:]
        position.tokens = dict(kept)
    go_on(tx, live)
    tell_status(tx, live)
    return tx.now
