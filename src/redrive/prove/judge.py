"""The rules that hold in every history, and what breaks them.

once       no effect is left behind more often than by a run in which nothing goes wrong
all        none is left behind less often, unless the message is still in a queue, or in the dead-letter queue from
           which a redrive brings it to its end
unstuck    no record says that a run goes on when there is neither a run nor a message
stable     if asked for: a repeated delivery returns what the first one did
the user's own
"""

from __future__ import annotations

import enum
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from redrive.core.clock import Instant
from redrive.prove.events import Ended, Ending, Event
from redrive.prove.ledger import Status, records_of, stuck_records
from redrive.prove.performance import Performance


class Rule(enum.Enum):
    """What a history can break."""

    ONCE = "repeated"
    ALL = "lost"
    UNSTUCK = "stuck"
    STABLE = "unstable"
    USERS = "invariant"


@dataclass(frozen=True, slots=True)
class Violation:
    """A rule, and a sentence on how it was broken. `subject` is the kind of effect, or the record."""

    rule: Rule
    sentence: str
    subject: str = ""


class ProvedWorld(Protocol):
    """What an invariant of the user's sees: boto3 clients of the world in which the history has ended."""

    @property
    def now(self) -> Instant: ...

    def client(self, service: str) -> object:
        """A boto3 client."""
        ...


Invariant = Callable[[ProvedWorld], None]
"""Raises AssertionError if something that always holds does not."""

Counts = Counter[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Judge:
    """What a clean run left behind, and what else is asked for."""

    expected: Counts
    ledger: str | None
    status: Status | None
    answer: str | None
    invariants: tuple[Invariant, ...]
    world: ProvedWorld

    def after_leg(self, performance: Performance, events: Sequence[Event]) -> Violation | None:
        """What is broken for good, whatever follows."""
        return self._repeated(performance.journal.counts()) or self._unstable(performance, events)

    def missing(self, performance: Performance) -> str:
        """The first kind of effect of which there is not enough; empty if there is."""
        left = _by_kind(performance.journal.counts())
        return next((kind for kind, count in sorted(_by_kind(self.expected).items()) if left[kind] < count), "")

    def at_end(self, performance: Performance) -> Violation | None:
        """What is broken now that no message is left anywhere but among the dead letters."""
        is_dead = performance.waiting.dead > 0
        missing = self.missing(performance)
        if missing and not is_dead:
            return Violation(Rule.ALL, f"No message is left, and the work is not done: {missing} is missing.", missing)
        if self.ledger is not None and not is_dead:
            stuck = stuck_records(records_of(performance.stage, self.ledger), self.status)
            if stuck and self.status is not None:
                sentence = f"The record {stuck[0]} in {self.ledger} says {self.status.running} for ever."
                return Violation(Rule.UNSTUCK, f"No message is left. {sentence}", stuck[0])
        return self._users()

    def after_hopeless_redrive(self, performance: Performance) -> Violation | None:
        """What is broken if a redrive without any fault has ended among the dead letters again."""
        missing = self.missing(performance)
        if not missing:
            return None
        sentence = f"A redrive in which nothing goes wrong does not help: {missing} is still missing."
        return Violation(Rule.UNSTUCK, sentence, missing)

    def _repeated(self, left: Counts) -> Violation | None:
        for (kind, label), count in sorted(left.items()):
            wanted = self.expected[kind, label]
            if 0 < wanted < count:
                return Violation(Rule.ONCE, f"{_times(kind, label)} was to happen {_often(wanted, count)}.", kind)
        kinds, wanted_kinds = _by_kind(left), _by_kind(self.expected)
        for kind, count in sorted(kinds.items()):
            if 0 < wanted_kinds[kind] < count:
                return Violation(Rule.ONCE, f"{kind} was to happen {_often(wanted_kinds[kind], count)}.", kind)
        return None

    def _unstable(self, performance: Performance, events: Sequence[Event]) -> Violation | None:
        if self.answer is None:
            return None
        for event in events:
            if isinstance(event, Ended) and event.ending is Ending.RETURNED:
                answer = performance.journal.stable(event.answer)
                if answer != self.answer and '"batchItemFailures": [{' not in answer:
                    return Violation(Rule.STABLE, f"The handler returned {answer}, and before {self.answer}.")
        return None

    def _users(self) -> Violation | None:
        for invariant in self.invariants:
            try:
                invariant(self.world)
            except AssertionError as error:
                name = getattr(invariant, "__name__", "invariant")
                reason = next(iter(str(error).splitlines()), "an assertion failed")
                return Violation(Rule.USERS, f"{name} does not hold: {reason}", name)
        return None


def _by_kind(counts: Counts) -> Counter[str]:
    kinds: Counter[str] = Counter()
    for (kind, _), count in counts.items():
        kinds[kind] += count
    return kinds


def _times(kind: str, label: str) -> str:
    return f"{kind} ({label})" if label and len(label) < 80 else kind


def _often(wanted: int, count: int) -> str:
    return f"{'once' if wanted == 1 else f'{wanted} times'} and happened {'twice' if count == 2 else f'{count} times'}"
