"""The step of each status of a stack. A separate module, because an engine without stacks need not import it."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from types import MappingProxyType

from redrive.core.clock import Instant
from redrive.core.scope import Scope
from redrive.services.cloudformation.deployment.backward import (
    step_cleanup,
    step_delete,
    step_revert,
    step_rollback_cleanup,
)
from redrive.services.cloudformation.deployment.forward import step_forward
from redrive.services.cloudformation.deployment.run import Run
from redrive.services.cloudformation.model.change_sets import ChangeSet, ExecutionStatus
from redrive.services.cloudformation.model.stack import Stack, StackStatus
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
"""The step function of each status with work to do."""

_EXECUTED = frozenset({StackStatus.CREATE_COMPLETE, StackStatus.UPDATE_COMPLETE})


def take_step(
    tx: Transaction, scope: Scope, stack_name: str, *, is_strict: bool, real_time: bool = False
) -> Instant | None:
    """Advance a stack by one step. Returns when the next step is due, or None."""
    stack = tx.resources.get(Stack, scope, stack_name)
    step = None if stack is None else STEPS.get(stack.status)
    if stack is None or step is None:
        return None
    run = Run(tx, stack, is_strict=is_strict, real_time=real_time)
    again_at = step(run)
    if run.stack.status not in STEPS:
        again_at = None
        _finish_change_set(run)
    run.save()
    return again_at


def _finish_change_set(run: Run) -> None:
    """Store the result of the execution in its change set."""
    for change_set in run.tx.resources.list(ChangeSet, run.scope, prefix=f"{run.stack.uid}/"):
        if change_set.execution_status is ExecutionStatus.EXECUTE_IN_PROGRESS:
            done = run.stack.status in _EXECUTED
            status = ExecutionStatus.EXECUTE_COMPLETE if done else ExecutionStatus.EXECUTE_FAILED
            # The name is free from now on; only the id still finds the change set.
            run.tx.resources.delete(ChangeSet, run.scope, change_set.name)
            run.tx.resources.put(run.scope, dataclasses.replace(change_set, execution_status=status))
