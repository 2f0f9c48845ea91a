"""The worker of rotations: it begins those that are due, and calls the function for one step after the other.

Each call has a lease, which is the time of the secret's timer. An answer that arrives after the next call is ignored.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from redrive.core.clock import Instant
from redrive.core.errors import ServiceError
from redrive.core.scope import Scope
from redrive.delivery.operation import OutsideNeeded
from redrive.delivery.outside.errand import Result
from redrive.delivery.outside.invocation import InvocationResult
from redrive.delivery.worker import Attempt, FreeSlots
from redrive.services.secretsmanager import limits
from redrive.services.secretsmanager.finding import Found
from redrive.services.secretsmanager.model.secret import ROTATION_TIMER, Secret
from redrive.services.secretsmanager.rotating import as_service, begin, event_of, failed, succeeded
from redrive.store.api import Transaction


class RotationWorker:
    """Rotates secrets by their functions."""

    name = ROTATION_TIMER
    timer = None
    upkeep = False

    def next_due(self, tx: Transaction, *, free: FreeSlots) -> Instant | None:
        return tx.timers.next(ROTATION_TIMER) if free.count > 0 else None

    def claim(self, tx: Transaction, *, free: FreeSlots) -> Sequence[Attempt]:
        attempts: list[Attempt] = []
        for timer, _ in tx.timers.due(ROTATION_TIMER, tx.now, free.count):
            found = _found(tx, timer)
            if found is None or found.secret.deletion_at is not None:
                tx.timers.clear(ROTATION_TIMER, timer)
                continue
            if found.secret.rotation is None:
                found, _ = begin(tx, found, None)
            attempt = _ask(tx, timer, found)
            if attempt is not None:
                attempts.append(attempt)
        return attempts

    def settle(self, tx: Transaction, attempt: Attempt, result: Result) -> None:
        assert isinstance(result, InvocationResult), "rotations are done by functions"
        answer = attempt.resume(tx, result) if attempt.resume is not None else {}
        found = _found(tx, attempt.key)
        if found is None or found.secret.rotation is None or found.secret.fence != attempt.fence:
            return
        if isinstance(answer, ServiceError) or "FunctionError" in answer:
            failed(tx, found, found.secret.rotation)
        else:
            succeeded(tx, found, found.secret.rotation)


def _ask(tx: Transaction, timer: str, found: Found) -> Attempt | None:
    """Start the call of a step; None if the function cannot be called, which counts as a failure."""
    rotation = found.secret.rotation
    assert rotation is not None, "only rotations under way have steps"
    secret = replace(found.secret, fence=found.secret.fence + 1)
    tx.resources.put(found.scope, secret)
    params = {"FunctionName": secret.rotation_function, "Payload": event_of(found, rotation)}
    try:
        tx.services.call(tx, as_service(tx, found), "lambda", "Invoke", params)
    except OutsideNeeded as needed:
        outside = needed.outside
        tx.timers.set(ROTATION_TIMER, timer, tx.now + outside.invocation.timeout_ms + limits.STEP_MARGIN_MS)
        return Attempt(ROTATION_TIMER, timer, secret.fence, outside.invocation, outside.resume)
    except ServiceError:
        failed(tx, Found(found.scope, secret), rotation)
    return None


def _found(tx: Transaction, timer: str) -> Found | None:
    account, region, name = timer.split("/", 2)
    scope = Scope(account, region)
    secret = tx.resources.get(Secret, scope, name)
    return None if secret is None else Found(scope, secret)
