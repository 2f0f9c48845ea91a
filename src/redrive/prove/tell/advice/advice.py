"""Advice about a broken rule: the cause, if the history shows one, and the words for it."""

from __future__ import annotations

from dataclasses import dataclass

from redrive.prove.judge.judge import Rule
from redrive.prove.tell.advice.case import Case, members_of_text
from redrive.prove.tell.advice.causes import cause_of
from redrive.prove.tell.advice.changes.changes import Change, change_for
from redrive.prove.tell.advice.finding import Finding
from redrive.prove.tell.advice.words import untied, words_for

_STABLE = "Record the result with the key, and return the recorded one when the key comes again."
_INVARIANT = "Look at the step after which the invariant no longer holds."


@dataclass(frozen=True, slots=True)
class Advice:
    """What to do. `finding` is None if the history does not show the cause; `change` if none can be derived."""

    text: str
    finding: Finding | None = None
    change: Change | None = None

    @property
    def cause(self) -> str:
        """The name of the cause; empty if there is none."""
        return "" if self.finding is None else self.finding.cause.value


def advice_for(case: Case, message: str) -> Advice:
    """What to do about a broken rule; `message` is the first one, or the event."""
    if case.violation.rule is Rule.STABLE:
        return Advice(_STABLE)
    if case.violation.rule is Rule.USERS:
        return Advice(_INVARIANT)
    finding = cause_of(case)
    if finding is None:
        return Advice(untied(case))
    return Advice(words_for(finding, case), finding, change_for(finding, case, members_of_text(message)))
