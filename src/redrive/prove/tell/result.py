"""What came of the proof of one function, for those who read results: test reports, code scanning, people."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from redrive.prove.process.subject import Place
from redrive.prove.tell.verdict import Counterexample, Verdict


class Conclusion(enum.Enum):
    """What came of the proof of one function."""

    FOUND = "counterexample"
    NONE = "no counterexample"
    UNFINISHED = "not finished"
    NOTHING = "changes nothing"
    NOT_PROVED = "not proved"
    NOT_PYTHON = "not Python"


FINE = frozenset({Conclusion.NONE, Conclusion.NOTHING, Conclusion.NOT_PYTHON})
"""A function that changes nothing has nothing to lose, and one that is no Python is none of ours."""


@dataclass(frozen=True, slots=True)
class Result:
    """The outcome for one function, or for one system. `add` says what to do next, and `command` proves it alone.

    `template` is its template, if it has one. `pass_at` is the number of faults that have to be complete for a search
    that was stopped to pass; None if it cannot pass.
    """

    name: str
    conclusion: Conclusion
    sentence: str
    add: str
    seconds: float
    command: str
    template: Path | None = None
    verdict: Verdict | None = None
    pass_at: int | None = None

    @property
    def found(self) -> Counterexample | None:
        """The history that breaks a rule."""
        return None if self.verdict is None else self.verdict.counterexample

    @property
    def is_fine(self) -> bool:
        """Whether nothing was found, and as much was searched as was asked for."""
        if self.conclusion is Conclusion.UNFINISHED and self.verdict is not None and self.pass_at is not None:
            return self.verdict.bounds.complete_faults >= self.pass_at
        return self.conclusion in FINE


def exit_code(results: Sequence[Result]) -> int:
    """1 if any function has a counterexample; or else 2 if one could not be proved; or else 3 if a search was stopped
    that has not completed enough.
    """
    conclusions = {one.conclusion for one in results if not one.is_fine}
    codes = ((Conclusion.FOUND, 1), (Conclusion.NOT_PROVED, 2), (Conclusion.UNFINISHED, 3))
    return next((code for conclusion, code in codes if conclusion in conclusions), 0)


def conclusion_of(verdict: Verdict) -> Conclusion:
    """What a verdict concludes."""
    if verdict.counterexample is not None:
        return Conclusion.FOUND
    return Conclusion.NONE if verdict.bounds.is_finished else Conclusion.UNFINISHED


def story_of(found: Counterexample) -> str:
    """The numbered steps of a history as plain text, each with the line that it concerns."""
    width = max((len(step.at) for step in found.steps), default=0)
    lines = []
    for number, step in enumerate(found.steps, 1):
        begin = f"{number:>3}. {step.at:<{width}}  "
        lines.append(f"{begin}{step.text}")
        if step.place is not None:
            lines.append(f"{' ' * len(begin)}{step.place.told}")
    return "\n".join(lines)


def file_of(place: Place, base: Path) -> str:
    """The path of a place's file from `base`, with slashes; empty if it is no file under `base`."""
    file = place.path.resolve()
    is_there = file.is_file() and file.is_relative_to(base.resolve())
    return file.relative_to(base.resolve()).as_posix() if is_there else ""
