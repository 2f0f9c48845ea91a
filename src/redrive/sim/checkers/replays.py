"""What a replay must send, and what it may send: its rule may change, and it may be cancelled, on the way."""

from __future__ import annotations

from collections.abc import Sequence

from redrive.core.clock import MINUTE_MS, Instant
from redrive.languages.event_pattern import Pattern, matches
from redrive.sim.checkers.failures import RuleBroken
from redrive.sim.checkers.happenings import Published

CANCELLED = "CANCELLED"
_ENDED = frozenset({"COMPLETED", CANCELLED, "FAILED"})

STOPS = "a cancelled replay sends nothing more"


class PlayedReplay:
    """A replay of events to a rule. A replay goes through the minutes of its events in order."""

    def __init__(self, rule: str, events: Sequence[Published], patterns: list[Pattern | None]) -> None:
        """`patterns`: the one that the rule has at the start; None if events do not reach its target."""
        self.rule = rule
        self.events = events
        self.ids = frozenset(event.event_id for event in events)
        self.state = ""
        self._patterns = patterns
        self._is_cancelled = False
        self._stood_at: list[Instant | None] = []
        self._replayed_to: Instant | None = None

    def changes(self, pattern: Pattern | None) -> None:
        """The rule has changed, perhaps while the replay was under way."""
        if self.state not in _ENDED:
            self._patterns.append(pattern)

    def cancel(self) -> None:
        """The replay was cancelled."""
        self._is_cancelled = True

    def read(self, state: str, replayed_to: Instant | None) -> None:
        """The replay shows this state. Errors: RuleBroken."""
        if self.state in _ENDED and (state, replayed_to) != (self.state, self._replayed_to):
            raise RuleBroken(STOPS, f"{self.state} at {self._replayed_to} became {state} at {replayed_to}")
        if self._is_cancelled:
            self._stood_at.append(replayed_to)
            if (state in _ENDED and state != CANCELLED) or len(set(self._stood_at)) > 1:
                raise RuleBroken(STOPS, f"a cancelled replay is {state}; it stood at {self._stood_at}")
        self.state, self._replayed_to = state, replayed_to

    def must_send(self, event: Published) -> bool:
        """Whether the event reaches the rule's target in any case: each of the rule's patterns matches it."""
        if not all(pattern is not None and matches(pattern, event.document) for pattern in self._patterns):
            return False
        return not self._is_cancelled or (self._replayed_to is not None and _minute(event.at) < self._last_minute)

    def may_send(self, event: Published) -> bool:
        """Whether the event may reach the rule's target: one of the rule's patterns matches it."""
        if not any(pattern is not None and matches(pattern, event.document) for pattern in self._patterns):
            return False
        return not self._is_cancelled or (self._replayed_to is not None and _minute(event.at) <= self._last_minute)

    @property
    def _last_minute(self) -> int:
        return _minute(self._replayed_to or 0)


def _minute(at: Instant) -> int:
    return at // MINUTE_MS
