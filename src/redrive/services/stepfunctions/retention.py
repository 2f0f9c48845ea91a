"""The retention of executions: they are deleted long after their end, and the last of a deleted machine with its past.

Source: https://docs.aws.amazon.com/step-functions/latest/dg/service-quotas.html
"""

from __future__ import annotations

from redrive.core.clock import HOUR_MS, Instant
from redrive.core.scope import Scope
from redrive.services.stepfunctions.limits import CLOSED_KEPT_MS
from redrive.services.stepfunctions.model.arns import MACHINE, read_arn
from redrive.services.stepfunctions.model.machine import Revision, StateMachine
from redrive.store.api import Transaction


class ExecutionSweep:
    """Deletes executions with their histories 90 days after their end."""

    timer = None

    def next_at(self, tx: Transaction) -> Instant | None:
        oldest = tx.executions.oldest_stopped()
        return None if oldest is None else _next_hour(oldest + CLOSED_KEPT_MS)

    def sweep(self, tx: Transaction, *, limit: int) -> None:
        found = tx.executions.stopped_before(tx.now - CLOSED_KEPT_MS, limit=limit)
        for one in found:
            tx.executions.delete(one.arn, one.id)
        revisions = {(one.document["machine"], one.document["revision"].partition("/")[0]) for one in found}
        for machine_arn, machine_id in revisions:
            _forget_revisions(tx, machine_arn, machine_id)


def _forget_revisions(tx: Transaction, machine_arn: str, machine_id: str) -> None:
    """Delete the revisions of a machine that is gone, when no execution needs them any more."""
    arn = read_arn(machine_arn, MACHINE)
    machine = tx.resources.get(StateMachine, arn.scope, arn.name)
    if (machine is not None and machine.id == machine_id) or tx.executions.has_any(machine_arn):
        return
    for revision in _revisions(tx, arn.scope, machine_id):
        tx.resources.delete(Revision, arn.scope, revision.name)


def _revisions(tx: Transaction, scope: Scope, machine_id: str) -> list[Revision]:
    return tx.resources.list(Revision, scope, prefix=f"{machine_id}/")


def _next_hour(at: Instant) -> Instant:
    return at - at % HOUR_MS + HOUR_MS
