"""A recovery in stages: each waits, groups the letters anew, and sends again what passes by itself.

    wait  →  plan, kept on disk  →  run, with one journal for all stages  →  the next stage

A recovery that was killed goes on with the stage that has not ended: nothing is planned twice, and the journal knows
what was sent. A stage sends again what an earlier one has sent and came back; a stage whose run was stopped, or left
doubts, is the last one.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from redrive.core.documents import Document
from redrive.deadletters.account import Account
from redrive.deadletters.plan import Action, Plan, plan_document
from redrive.deadletters.run_files import read_plan_file

STAGES_S = (60, 300, 900)
"""How long each stage waits before it looks again."""


JOURNAL = "stages.journal"


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


class PlanFiles:
    """The plans of the stages in a folder, which is made if it is not there."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    @property
    def journal(self) -> Path:
        """The journal of all stages."""
        return self._folder / JOURNAL

    def file(self, number: int) -> Path:
        """The file of a stage's plan."""
        return self._folder / f"stage-{number}.json"

    def get(self, number: int) -> Plan | None:
        """See `Plans.get`. Errors: UserError."""
        file = self.file(number)
        return read_plan_file(file) if file.exists() else None

    def put(self, number: int, plan: Plan) -> None:
        """See `Plans.put`."""
        file = self.file(number)
        whole = file.with_suffix(".new")
        whole.write_text(json.dumps(plan_document(plan), indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
        whole.replace(file)

    def has_ended(self, number: int) -> bool:
        """See `Plans.has_ended`."""
        return self.file(number).with_suffix(".ended").exists()

    def end(self, number: int) -> None:
        """See `Plans.end`."""
        self.file(number).with_suffix(".ended").touch()


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
