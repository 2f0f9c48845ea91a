"""The result of a search: a counterexample, or none within its bounds. Equal input gives equal bytes."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from redrive.prove.judge.judge import Violation
from redrive.prove.play.faults import History
from redrive.prove.process.subject import Place
from redrive.prove.search.baseline import Accepted
from redrive.prove.search.choice import EVERYTHING, Choice
from redrive.prove.search.order import Searched
from redrive.prove.stage.trigger import Kind
from redrive.prove.tell.advice.changes.changes import Change
from redrive.prove.tell.story import Step


@dataclass(frozen=True, slots=True)
class Bounds:
    """The bounds of the search. `runs` counts runs of the handler; `merged` counts histories that met a known moment.

    If not `is_finished`, the search was stopped. It has played all histories with up to `complete_faults` faults; -1 is
    none.
    """

    faults: int
    histories: int
    merged: int
    runs: int
    seed: int
    complete_faults: int = 0
    is_finished: bool = True


@dataclass(frozen=True, slots=True)
class Counterexample:
    """A history that breaks a rule, as it was played through the whole wire."""

    history: History
    violation: Violation
    steps: Sequence[Step]
    advice: str
    cause: str = ""
    """The name of the cause that the advice is about; empty if the history does not show one."""
    change: Change | None = None
    """A change of the handler's source after which this history breaks no rule any more."""
    tried: str = ""
    """What was seen when the change was tried."""
    culprit: Place | None = None
    """The line of the call that leaves what the violation is about, or else of the last fault."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The result of a proof.

    `effects` are the kinds of effects of a clean run, and the number of each; `assumptions` are the guesses about
    tables and queues that no template declares.
    """

    handler: str
    bounds: Bounds
    effects: Mapping[str, int]
    ledger: str | None
    assumptions: Mapping[str, str]
    bodies: Sequence[str]
    counterexample: Counterexample | None
    trigger: Kind = Kind.SQS
    system: Mapping[str, object] = field(default_factory=dict)
    """Of a system: its functions, those left out, its entrances, and the effects of each function."""
    draws: int = 1
    """On how many draws of its randomness the handler was judged; more than one if they made a difference."""
    drawn: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    """Kinds of effects whose number follows from what is drawn: the least and the most of some clean runs."""
    roots: Sequence[Path] = ()
    """The folders of the handler's code: the files of places are below one of them."""
    choice: Choice = EVERYTHING
    """Which faults were tried."""
    accepted: Sequence[Accepted] = ()
    """Findings that occur, and that somebody has accepted."""
    unmet: Sequence[Accepted] = ()
    """Accepted findings that no longer occur, as far as everything was searched."""

    @property
    def randomness(self) -> str:
        """What the handler's randomness means for the verdict; empty if it makes no difference."""
        if self.draws < 2:
            return ""
        told = [f"{kind} ({least} to {most})" for kind, (least, most) in self.drawn.items()]
        kinds = f"; how many there are is drawn, and no fault: {', '.join(told)}" if told else ""
        return f"the handler draws, and was judged on {self.draws} draws{kinds}"

    @property
    def sentence(self) -> str:
        """The verdict with its bounds."""
        bounds = self.bounds
        chosen = f" ({self.choice.told})" if self.choice.told else ""
        if self.accepted:
            chosen += f" behind {len(self.accepted)} accepted finding{'' if len(self.accepted) == 1 else 's'}"
        if self.counterexample is None and not bounds.is_finished:
            complete = (
                f"up to {_faults(bounds.complete_faults)} complete"
                if bounds.complete_faults >= 0
                else "nothing complete"
            )
            return f"no counterexample in {_histories(bounds.histories)}{chosen}, search not finished: {complete}"
        if self.counterexample is None:
            return f"no counterexample up to {_faults(bounds.faults)} in {_histories(bounds.histories)}{chosen}"
        faults = sum(leg.faults for leg in self.counterexample.history)
        where = f"in a history with {_faults(faults)}" if faults else "without any fault"
        return f"{self.counterexample.violation.rule.value}: {where}, found after {_histories(bounds.histories)}"

    def as_json(self) -> str:
        """The whole verdict, for scripts."""
        found = self.counterexample
        document: dict[str, object] = {
            "handler": self.handler,
            "verdict": self.sentence,
            "ok": found is None and self.bounds.is_finished,
            "bounds": {
                "faults": self.bounds.faults, "histories": self.bounds.histories, "merged": self.bounds.merged,
                "runs": self.bounds.runs, "seed": self.bounds.seed, "finished": self.bounds.is_finished,
                "complete_faults": self.bounds.complete_faults,
            },
            "faults": {"only": list(self.choice.only), "without": list(self.choice.without)},
            "effects": dict(self.effects),
            "ledger": self.ledger,
            "assumptions": dict(self.assumptions),
            "trigger": self.trigger.value,
            "randomness": {"draws": self.draws, "effects": {kind: list(found) for kind, found in self.drawn.items()}},
            "messages": list(self.bodies),
            **({"system": dict(self.system)} if self.system else {}),
            "accepted": [one.document() for one in self.accepted],
            "no_longer_occurs": [one.document() for one in self.unmet],
            "counterexample": None if found is None else _document(found),
        }  # fmt: skip
        return json.dumps(document, indent=2, ensure_ascii=False)


def tried_told(searched: Searched, faults: int) -> str:
    """What was seen when a change of the source was tried."""
    this = "With this change that history breaks no rule"
    if searched.found is not None:
        rule = searched.found.violation.rule.value
        more = _faults(sum(leg.faults for leg in searched.found.history))
        return f"{this}; another one with {more} still does ({rule}): prove it again."
    if not searched.is_finished:
        return f"{this}, and none of the first {searched.histories} that were tried does."
    return f"{this}, and none with up to {_faults(faults)} does ({_histories(searched.histories)})."


def _document(found: Counterexample) -> dict[str, object]:
    return {
        "rule": found.violation.rule.value,
        "summary": found.violation.sentence,
        "cause": found.cause,
        "advice": found.advice,
        "change": None
        if found.change is None
        else {"file": found.change.name, "diff": found.change.diff, "note": found.change.note, "tried": found.tried},
        "history": [str(leg) for leg in found.history],
        "through_the_wire": True,
        "steps": [
            {
                "at": step.at,
                "text": step.text,
                "fault": step.is_fault,
                "place": None
                if step.place is None
                else {"file": step.place.file, "line": step.place.line, "source": step.place.source},
            }
            for step in found.steps
        ],
    }


def _histories(count: int) -> str:
    return "1 history" if count == 1 else f"{count:,} histories"


def _faults(count: int) -> str:
    return "1 fault" if count == 1 else f"{count} faults"
