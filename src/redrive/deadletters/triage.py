"""Groups the letters of a queue by cause while they come, so that none of them stays in memory."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from redrive.core.clock import Instant
from redrive.deadletters.causes import Cause, Judgement, cause_of, judge
from redrive.deadletters.executions import advice_of
from redrive.deadletters.letter import Form, Letter, Origin

SAMPLES_MAX = 3
"""Of how many letters a group keeps the ids."""

GROUPS_MAX = 1_000
"""Beyond so many causes, letters of further ones are counted by their source and code alone."""


@dataclass(slots=True)
class Group:
    """The letters of one cause."""

    cause: Cause
    judgement: Judgement
    count: int = 0
    first_at: Instant | None = None
    last_at: Instant | None = None
    cut: int = 0
    """How many have lost the end of their work."""
    attempts_max: int = 0
    samples: list[str] = field(default_factory=list)
    message: str = ""
    """The message of the first letter, with its values."""
    form: Form = Form.TEXT

    def add(self, letter: Letter) -> None:
        """Count a letter."""
        self.count += 1
        self.cut += letter.work.is_cut
        self.attempts_max = max(self.attempts_max, letter.failure.attempts)
        if letter.sent_at is not None:
            self.first_at = letter.sent_at if self.first_at is None else min(self.first_at, letter.sent_at)
            self.last_at = letter.sent_at if self.last_at is None else max(self.last_at, letter.sent_at)
        if len(self.samples) < SAMPLES_MAX:
            self.samples.append(letter.message_id)


def _judged(letter: Letter) -> Judgement:
    judged = judge(letter.failure, letter.origin)
    more = advice_of(letter, judged.kind)
    return replace(judged, advice=f"{judged.advice} {more}") if more else judged


class Triage:
    """The groups of the letters that were added."""

    def __init__(self) -> None:
        self._groups: dict[Cause, Group] = {}
        self.count = 0

    def add(self, letter: Letter) -> Group:
        """Count a letter, and return its group."""
        self.count += 1
        cause = cause_of(letter)
        if cause not in self._groups and len(self._groups) >= GROUPS_MAX:
            cause = Cause(cause.origin, cause.source_arn, cause.code, "…", "")
        group = self._groups.get(cause)
        if group is None:
            group = self._groups[cause] = Group(
                cause, _judged(letter), message=letter.failure.message, form=letter.work.form
            )
        group.add(letter)
        return group

    @property
    def groups(self) -> list[Group]:
        """All groups, the largest first."""
        return sorted(self._groups.values(), key=lambda group: (-group.count, str(group.cause)))

    def of(self, origins: Iterable[Origin]) -> list[Group]:
        """The groups of some origins."""
        wanted = set(origins)
        return [group for group in self.groups if group.cause.origin in wanted]
