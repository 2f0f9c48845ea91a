"""Checks of rules on a schedule: compared with the language, and with when each event was attempted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from redrive.core.clock import MINUTE_MS, Instant, format_instant
from redrive.languages.schedule import parse_expression, upcoming
from redrive.sim.checkers.failures import RuleBroken
from redrive.sim.checkers.happenings import Happening, LeftMessage, Rang, RuleHistoryRead
from redrive.sim.checkers.schedules import OCCURRENCES_MAX

END_MS = 2 * MINUTE_MS
"""How long before its end a rule may leave an instant out: no node may have looked since."""


@dataclass(slots=True)
class Bell:
    """A rule on a schedule, made at `created_at`, and disabled or deleted at `ended_at`."""

    name: str
    expression: str
    created_at: Instant
    ended_at: Instant | None = None

    def instants(self) -> list[Instant]:
        """The instants at which it fires if no node is ever late. It may fire at the instant of its end."""
        end_at = None if self.ended_at is None else self.ended_at + 1
        return upcoming(
            parse_expression(self.expression), zone="UTC", anchor=self.created_at, after=self.created_at,
            end=end_at, count=OCCURRENCES_MAX,
        )  # fmt: skip


class RuleInstants:
    """An instant has one event. Instants that pass while a rule's event is late are left out."""

    rule = "a rule on a schedule fires once at each of its instants, and never after its end"

    def __init__(self, bells: Sequence[Bell], *, disagreement_ms: int = 0) -> None:
        """`bells` may grow. `disagreement_ms`: how far the clocks of two nodes may differ."""
        self._bells = bells
        self._disagreement_ms = disagreement_ms
        self._events: dict[tuple[str, Instant], str] = {}
        self._attempted_at: dict[str, Instant] = {}

    def observe(self, happening: Happening) -> None:
        match happening:
            case Rang(rule, at, event_id):
                known = self._events.setdefault((rule, at), event_id)
                if known != event_id:
                    raise RuleBroken(self.rule, f"{rule} fired {format_instant(at)} as {known} and as {event_id}")
            case RuleHistoryRead(records=records):
                for record in records:
                    event_id = record.delivery_id.split("/", 1)[0]
                    self._attempted_at.setdefault(event_id, record.ended_at)
            case _:
                pass

    def finish(self, left: Sequence[LeftMessage]) -> None:
        for bell in self._bells:
            self._compare(bell)

    def _compare(self, bell: Bell) -> None:
        expected = bell.instants()
        fired = {at: event_id for (rule, at), event_id in self._events.items() if rule == bell.name}
        invented = sorted(fired.keys() - set(expected))
        if invented:
            raise RuleBroken(self.rule, f"{bell.name}, {bell.expression}, fired at {invented}")
        late_until: Instant = 0
        for at in expected:
            if at in fired:
                late_until = self._attempted_at[fired[at]] + self._disagreement_ms
            elif at > late_until and (bell.ended_at is None or at < bell.ended_at - END_MS):
                raise RuleBroken(self.rule, f"{bell.name}, {bell.expression}, left out {format_instant(at)}")
