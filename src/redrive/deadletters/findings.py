"""What the gates of a preflight say of letters: an answer, its reason, and until when it holds."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from redrive.core.clock import Instant

SAMPLES_MAX = 3
"""Of how many letters a row of the table keeps the ids."""


class Answer(enum.IntEnum):
    """What a gate says. The largest of all gates decides about a letter."""

    GO = 0
    """Nothing speaks against running it again now."""
    CAUTION = 1
    """It may be run again; somebody should read the reason first."""
    SKIP = 2
    """The work is done: a redrive would do nothing, or would do it twice."""
    WAIT = 3
    """Not now; later the answer may be another one."""
    REFUSE = 4
    """It is not safe to run it again, or it cannot be run again."""

    @property
    def allows(self) -> bool:
        """Whether a letter with this answer may be sent without an override."""
        return self in {Answer.GO, Answer.CAUTION}

    @property
    def refuses(self) -> bool:
        """Whether the gate is closed for a letter whose work is not done."""
        return self in {Answer.WAIT, Answer.REFUSE}


@dataclass(frozen=True, slots=True)
class Finding:
    """What one gate says of one letter.

    `reason` is the same for all letters of which the same is true; `detail` names what is special to this letter.
    `until` is the instant at which the answer changes: the end of a lease, of a key's memory, of a record in a stream.
    """

    gate: str
    answer: Answer
    reason: str
    detail: str = ""
    until: Instant | None = None


def decided(findings: Iterable[Finding]) -> Answer:
    """The answer of all gates together."""
    return max((finding.answer for finding in findings), default=Answer.GO)


@dataclass(slots=True)
class Row:
    """How many letters got the same answer from a gate for the same reason."""

    gate: str
    answer: Answer
    reason: str
    count: int = 0
    until_first: Instant | None = None
    """The first instant at which the answer changes for one of them."""
    until_last: Instant | None = None
    samples: list[str] = field(default_factory=list)
    """The ids of the first letters, each with its detail."""

    def add(self, message_id: str, finding: Finding) -> None:
        """Count a letter."""
        self.count += 1
        if finding.until is not None:
            self.until_first = finding.until if self.until_first is None else min(self.until_first, finding.until)
            self.until_last = finding.until if self.until_last is None else max(self.until_last, finding.until)
        if len(self.samples) < SAMPLES_MAX:
            self.samples.append(f"{message_id}: {finding.detail}" if finding.detail else message_id)


@dataclass(slots=True)
class Tally:
    """The findings of many letters, counted: what stays in memory does not grow with the letters."""

    answers: dict[Answer, int] = field(default_factory=dict)
    rows: dict[tuple[str, Answer, str], Row] = field(default_factory=dict)

    def add(self, message_id: str, findings: Sequence[Finding]) -> Answer:
        """Count a letter, and return the answer of all gates together."""
        answer = decided(findings)
        self.answers[answer] = self.answers.get(answer, 0) + 1
        # A gate may say the same of two things, as of a queue and of the function that reads it: that is one letter.
        said = {(one.gate, one.answer, one.reason): one for one in reversed(findings)}
        for key, one in said.items():
            row = self.rows.get(key)
            if row is None:
                row = self.rows[key] = Row(one.gate, one.answer, one.reason)
            row.add(message_id, one)
        return answer

    @property
    def ordered(self) -> list[Row]:
        """The rows, those that refuse first."""
        return sorted(self.rows.values(), key=lambda row: (-row.answer, -row.count, row.gate, row.reason))
