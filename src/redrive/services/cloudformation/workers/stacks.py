"""The worker of CloudFormation: it advances stacks that are being created, updated, rolled back or deleted.

Each step advances one resource in one transaction. Documents, events and the step's changes in other services are
committed together, so after a crash a stack continues exactly where it was.
"""

from __future__ import annotations

from collections.abc import Sequence

from redrive.core.clock import Instant
from redrive.core.errors import Bug
from redrive.core.scope import Scope
from redrive.delivery.outside.errand import Result
from redrive.delivery.worker import Attempt, FreeSlots
from redrive.services.cloudformation import limits
from redrive.services.cloudformation.deployment.timers import STACK_TIMER
from redrive.store.api import Transaction


class StackWorker:
    """Advances stacks by a step, several stacks in one transaction."""

    name = timer = STACK_TIMER
    upkeep = False

    def __init__(self, *, is_strict: bool = False, real_time: bool = False) -> None:
        """`is_strict` has properties that a type does not have refused, as AWS refuses them.

        In real time, a stack awaits resources that their service is still making.
        """
        self._is_strict = is_strict
        self._real_time = real_time

    def next_due(self, tx: Transaction, *, free: FreeSlots) -> Instant | None:
        return tx.timers.next(STACK_TIMER)

    def claim(self, tx: Transaction, *, free: FreeSlots) -> Sequence[Attempt]:
        from redrive.services.cloudformation.deployment.steps import take_step  # noqa: PLC0415 - Only stacks need it.

        for name, _ in tx.timers.due(STACK_TIMER, tx.now, limits.STACKS_PER_CLAIM):
            account, region, stack_name = name.split("/", 2)
            again_at = take_step(
                tx, Scope(account, region), stack_name, is_strict=self._is_strict, real_time=self._real_time
            )  # fmt: skip
            if again_at is None:
                tx.timers.clear(STACK_TIMER, name)
            else:
                tx.timers.set(STACK_TIMER, name, again_at)
        return ()

    def settle(self, tx: Transaction, attempt: Attempt, result: Result) -> None:
        raise Bug("stacks make no attempts")
