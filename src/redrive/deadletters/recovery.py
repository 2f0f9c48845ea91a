"""A recovery in stages: each waits, groups the letters anew, and sends again what passes by itself.

    wait  →  plan, kept on disk  →  run, with one journal for all stages  →  the next stage

A recovery that was killed goes on with the stage that has not ended: nothing is planned twice, and the journal knows
what was sent. A stage sends again what an earlier one has sent and came back; a stage whose run was stopped, or left
doubts, is the last one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from redrive.core.documents import Document
from redrive.deadletters.account import Account
from redrive.deadletters.plan import Action, Plan

STAGES_S = (60, 300, 900)
"""How long each stage waits before it looks again."""


class Plans(Protocol):
    """The plans of the stages, by their numbers from 1, on disk."""

    def get(self, number: int) -> Plan | None:
        """The plan of a stage; None if it has none yet."""
        ...

    def put(self, number: int, plan: Plan) -> None:
        """Keep the plan of a stage, whole or not at all."""
        ...

    def has_ended(self, number: int) -> bool:
        """Whether a stage was run to its end."""
        ...

    def end(self, number: int) -> None:
        """Keep that a stage was run to its end."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Steps:
    """What a recovery does: `plan` groups the letters, `run` runs a stage's plan, `wait` waits so many seconds."""

    plan: Callable[[], Plan]
    run: Callable[[Plan, int], Account]
    wait: Callable[[float], None]


def recover(plans: Plans, steps: Steps) -> list[Document]:
    """Recover in stages; answers the account of each stage that was run. Errors: those of the steps."""
    told: list[Document] = []
    for number, after_s in enumerate(STAGES_S, 1):
        if plans.has_ended(number):
            continue
        plan = plans.get(number)
        if plan is None:
            steps.wait(after_s)
            plan = steps.plan()
            plans.put(number, plan)
        if not any(rule.action is Action.REDRIVE for rule in plan.rules):
            break
        account = steps.run(plan, number)
        told.append({"stage": number, "after_s": after_s} | account.document)
        if account.stopped or account.doubtful or account.undeleted:
            break
        plans.end(number)
    return told
