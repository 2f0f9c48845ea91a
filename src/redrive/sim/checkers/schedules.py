"""Checks that schedules fire once at each instant of their expressions: compared with the language, not the worker."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from redrive.core.clock import Instant, format_instant
from redrive.languages.schedule import Rate, parse_expression, upcoming
from redrive.sim.checkers.failures import RuleBroken
from redrive.sim.checkers.happenings import Happening, LeftMessage, Occurred

OCCURRENCES_MAX = 5_000


@dataclass(frozen=True, slots=True)
class Planned:
    """A schedule that a user created at `created_at`. It ends before `end_at`."""

    name: str
    expression: str
    zone: str
    created_at: Instant
    end_at: Instant

    @property
    def interval_ms(self) -> int | None:
        """The interval of a rate; None for other kinds of expressions."""
        expression = parse_expression(self.expression)
        return expression.interval_ms if isinstance(expression, Rate) else None

    def instants(self) -> list[Instant]:
        """The instants at which it must fire. A rate also fires at its creation."""
        after = self.created_at if self.interval_ms is None else self.created_at - 1
        return upcoming(
            parse_expression(self.expression), zone=self.zone, anchor=self.created_at, after=after, end=self.end_at,
            count=OCCURRENCES_MAX,
        )  # fmt: skip


class ScheduledInstants:
    """Each planned instant has one message, and no other instant has any.

    A rate may skip whole intervals if no node could fire it for that long.
    """

    rule = "a schedule fires at each of its instants, once"

    def __init__(self, planned: Sequence[Planned]) -> None:
        self._planned = planned
        self._messages: dict[tuple[str, str], dict[str, Instant]] = defaultdict(dict)

    def observe(self, happening: Happening) -> None:
        if isinstance(happening, Occurred):
            messages = self._messages[happening.schedule, happening.scheduled_at]
            messages[happening.message_id] = happening.sent_at
            if len(messages) > 1:
                what = f"{happening.schedule} fired {happening.scheduled_at} as {' and '.join(sorted(messages))}"
                raise RuleBroken(self.rule, what)

    def finish(self, left: Sequence[LeftMessage]) -> None:
        for planned in self._planned:
            self._compare(planned)

    def _compare(self, planned: Planned) -> None:
        expected = {format_instant(instant): instant for instant in planned.instants()}
        fired = {at: messages for (name, at), messages in self._messages.items() if name == planned.name}
        invented = sorted(fired.keys() - expected.keys())
        if invented:
            raise RuleBroken(self.rule, f"{planned.name}, {planned.expression}, fired at {invented}")
        behind_since: Instant | None = None
        for text, instant in expected.items():
            if text not in fired:
                behind_since = instant if behind_since is None else behind_since
                continue
            if behind_since is not None:
                self._excuse(planned, behind_since, sent_at=min(fired[text].values()))
            behind_since = None
        if behind_since is not None:
            self._excuse(planned, behind_since, sent_at=None)

    def _excuse(self, planned: Planned, missed_at: Instant, *, sent_at: Instant | None) -> None:
        """A rate may skip an instant if its next occurrence was fired a whole interval later, or more."""
        interval_ms = planned.interval_ms
        if interval_ms is None or sent_at is None or sent_at < missed_at + interval_ms:
            raise RuleBroken(self.rule, f"{planned.name}, {planned.expression}, missed {format_instant(missed_at)}")
