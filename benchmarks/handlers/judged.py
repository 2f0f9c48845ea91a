"""A verdict beside what a reader of the code says."""

from __future__ import annotations

import enum
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.handlers.listed import FINDINGS, Listed
from benchmarks.handlers.running import Outcome


class Judgement(enum.Enum):
    """How right a verdict is."""

    FINDING = "right finding"
    ACQUITTAL = "right acquittal"
    NOTHING = "rightly nothing"
    REFUSAL = "rightly refused"
    OTHER = "another finding"
    CULPRIT = "wrong culprit"
    ALARM = "false alarm"
    MISSED = "missed"
    UNSEEN = "saw nothing"
    FAILED = "could not run"
    UNFINISHED = "not finished"

    @property
    def is_right(self) -> bool:
        """Whether a reader would have said the same."""
        return self in (Judgement.FINDING, Judgement.ACQUITTAL, Judgement.NOTHING, Judgement.REFUSAL)

    @property
    def is_wrong(self) -> bool:
        """Whether it says something that is not so; to say why there is no verdict is not wrong."""
        return self in (Judgement.OTHER, Judgement.CULPRIT, Judgement.ALARM, Judgement.MISSED)


@dataclass(frozen=True, slots=True)
class Proof:
    """What became of one handler, without any option and with what the first message told to add."""

    handler: Listed
    first: Outcome
    second: Outcome | None

    @property
    def judgement(self) -> Judgement:
        """Of the command without any option."""
        return judged(self.handler, self.first)

    @property
    def last_judgement(self) -> Judgement:
        """With what was added, if anything was."""
        return self.judgement if self.second is None else judged(self.handler, self.second)


def judged(handler: Listed, outcome: Outcome) -> Judgement:
    """Compares a verdict with the truths of the list."""
    truths = set(handler.truth)
    match outcome.verdict:
        case "refused":
            is_meant = bool(truths & {"fails", "unprovable"}) and handler.told in outcome.output
            return Judgement.REFUSAL if is_meant else Judgement.FAILED
        case "nothing":
            return Judgement.NOTHING if "nothing" in truths else Judgement.UNSEEN
        case "unfinished":
            return Judgement.UNFINISHED
        case "safe":
            return Judgement.ACQUITTAL if "safe" in truths else Judgement.MISSED
        case finding if finding in truths:
            is_named = handler.told.lower() in outcome.sentence.lower()
            return Judgement.FINDING if is_named else Judgement.CULPRIT
        case _:
            return Judgement.OTHER if truths & FINDINGS else Judgement.ALARM


def counted(proofs: Sequence[Proof], *, last: bool) -> Counter[Judgement]:
    """How many proofs came to each judgement."""
    return Counter(proof.last_judgement if last else proof.judgement for proof in proofs)
