"""The due work of CloudFormation: stacks that are being created, updated, rolled back or deleted.

Each step takes one resource as far as it goes and is one transaction: documents, events and what the step did in other
services are committed together, so a stack goes on after a crash exactly where it was.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from redrive.core.clock import Instant
from redrive.core.errors import Bug
from redrive.core.scope import Scope
from redrive.delivery.invocation import InvocationResult
from redrive.delivery.worker import Attempt
from redrive.services.cloudformation import limits
from redrive.services.cloudformation.model import Stack, StackStatus
from redrive.services.cloudformation.model_change_sets import ChangeSet, ExecutionStatus
from redrive.services.cloudformation.workers_backward import (
    step_cleanup,
    step_delete,
    step_revert,
    step_rollback_cleanup,
)
from redrive.services.cloudformation.workers_forward import step_forward
from redrive.services.cloudformation.workers_run import STACK_TIMER, Run
from redrive.store.api import Transaction

Step = Callable[[Run], Instant | None]

STEPS: Mapping[StackStatus, Step] = MappingProxyType(
    {
        StackStatus.CREATE_IN_PROGRESS: step_forward,
        StackStatus.ROLLBACK_IN_PROGRESS: step_delete,
        StackStatus.DELETE_IN_PROGRESS: step_delete,
        StackStatus.UPDATE_IN_PROGRESS: step_forward,
        StackStatus.UPDATE_COMPLETE_CLEANUP_IN_PROGRESS: step_cleanup,
        StackStatus.UPDATE_ROLLBACK_IN_PROGRESS: step_revert,
        StackStatus.UPDATE_ROLLBACK_COMPLETE_CLEANUP_IN_PROGRESS: step_rollback_cleanup,
    }
)
"""The step of each status in which there is something to do."""

_EXECUTED = frozenset({StackStatus.CREATE_COMPLETE, StackStatus.UPDATE_COMPLETE})


class StackWorker:
    """Takes stacks a step further, several in a transaction."""

    name = STACK_TIMER
    upkeep = False

    def __init__(self, *, is_strict: bool = False) -> None:
        """`is_strict` has properties that a type does not have refused, as AWS refuses them."""
        self._is_strict = is_strict

    def next_due(self, tx: Transaction, *, free: int) -> Instant | None:
        return tx.timers.next(STACK_TIMER)

    def claim(self, tx: Transaction, *, free: int) -> Sequence[Attempt]:
        for name, _ in tx.timers.due(STACK_TIMER, tx.now, limits.STACKS_PER_CLAIM):
            account, region, stack_name = name.split("/", 2)
            stack = tx.resources.get(Stack, Scope(account, region), stack_name)
            again_at = None if stack is None else _step(tx, stack, is_strict=self._is_strict)
            if again_at is None:
                tx.timers.clear(STACK_TIMER, name)
            else:
                tx.timers.set(STACK_TIMER, name, again_at)
        return ()

    def settle(self, tx: Transaction, attempt: Attempt, result: InvocationResult) -> None:
        raise Bug("stacks make no attempts")


def _step(tx: Transaction, stack: Stack, *, is_strict: bool) -> Instant | None:
    """Take a stack one step further; when it wants the next one, or None."""
    step = STEPS.get(stack.status)
    if step is None:
        return None
    run = Run(tx, stack, is_strict=is_strict)
    again_at = step(run)
    if run.stack.status not in STEPS:
        again_at = None
        _finish_change_set(run)
    run.save()
    return again_at


def _finish_change_set(run: Run) -> None:
    """Say of the change set that was executed how it went."""
    for change_set in run.tx.resources.list(ChangeSet, run.scope, prefix=f"{run.stack.uid}/"):
        if change_set.execution_status is ExecutionStatus.EXECUTE_IN_PROGRESS:
            done = run.stack.status in _EXECUTED
            status = ExecutionStatus.EXECUTE_COMPLETE if done else ExecutionStatus.EXECUTE_FAILED
            run.tx.resources.put(run.scope, dataclasses.replace(change_set, execution_status=status))
