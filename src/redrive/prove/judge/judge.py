"""The rules for every history, and how a history breaks them.

once       no effect is left behind more often than by a clean run, and no number is doubled
all        none is left behind less often, unless the message is still in a queue, or in the dead-letter queue from
           which a redrive completes it
same       the contents of what is left behind are those after a clean run
unstuck    no record says that a run is under way when there is neither a run nor a message
stable     if asked for: a repeated delivery returns what the first one did
the user's own
"""

from __future__ import annotations

import enum
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from redrive.core.clock import Instant
from redrive.prove.calls.repeats import leaves_the_same
from redrive.prove.calls.sorting import LedgerRows, Role
from redrive.prove.effects.contents import Contents, Difference, Left
from redrive.prove.effects.journal import ITEM_IN, Journal
from redrive.prove.judge.ledger import Status, has_time, records_of, rows_of, stuck_records
from redrive.prove.play.events import Ended, Ending, Event
from redrive.prove.play.performance import Performance


class Rule(enum.Enum):
    """A rule that a history can break."""

    ONCE = "repeated"
    ALL = "lost"
    SAME = "changed"
    UNSTUCK = "stuck"
    STABLE = "unstable"
    USERS = "invariant"


@dataclass(frozen=True, slots=True)
class Violation:
    """A broken rule, and a sentence that says how. `subject` is the kind of effect, or the record."""

    rule: Rule
    sentence: str
    subject: str = ""
    is_endless: bool = False
    """Whether the history was ended because it had too many runs."""


class ProvedWorld(Protocol):
    """The world that a user's invariant sees: boto3 clients for the state at the end of the history."""

    @property
    def now(self) -> Instant: ...

    def client(self, service: str) -> object:
        """A boto3 client."""
        ...


_OF_OBJECTS = ("PutObject", "CopyObject", "CompleteMultipartUpload", "DeleteObject")
Invariant = Callable[[ProvedWorld], None]
"""Raises AssertionError if the user's invariant does not hold."""

Counts = Counter[tuple[str, str]]

Accepts = Callable[[Rule, str], bool]
"""Whether somebody has accepted that this rule is broken about this subject."""


def nothing_accepted(_rule: Rule, _subject: str) -> bool:
    """What is accepted where nobody has said anything."""
    return False


_COUNTS = ("ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible", "ApproximateNumberOfMessagesDelayed")


@dataclass(frozen=True, slots=True)
class Judge:
    """What a clean run left behind, and the other rules that the user asked for."""

    expected: Counts
    recorded: Counts
    """The rows of the ledger; none may be missing."""
    contents: Contents
    passing: frozenset[tuple[str, str]]
    """The tables and labels of rows that the handler makes and deletes again."""
    ledger: LedgerRows
    statuses: Mapping[str, Status]
    """The attributes that hold the status of an execution, by table."""
    answer: str | None
    invariants: tuple[Invariant, ...]
    world: ProvedWorld
    drawn: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    """Kinds of effects whose number follows from what is drawn: the least and the most of some clean runs."""
    polled: frozenset[str] = frozenset()
    """The URLs of queues that the handler itself receives from: work whose message is still there is not lost."""
    accepts: Accepts = nothing_accepted
    """What breaks no rule, because somebody has accepted it."""

    def after_leg(self, performance: Performance, events: Sequence[Event]) -> Violation | None:
        """A violation that nothing can repair later."""
        endless = self._endless(performance)
        return endless or self._repeated(performance.journal) or self._unstable(performance, events)

    def missing(self, performance: Performance, rule: Rule) -> str:
        """The first kind of thing with too few members, which breaks this rule; empty if there is none."""
        journal = performance.journal
        for expected, left in ((self.expected, journal.counts()), (self.recorded, journal.counts(Role.RECORD))):
            kinds = _by_kind(self._staying(left))
            wanted = _by_kind(expected)
            fewer = [kind for kind, count in wanted.items() if kinds[kind] < self.drawn.get(kind, (count, count))[0]]
            fewer = [kind for kind in fewer if not self.accepts(rule, kind)]
            if fewer:
                return min(fewer, key=telling)
        return ""

    def at_end(self, performance: Performance) -> Violation | None:
        """A violation once no message is left, except dead letters."""
        if performance.waiting.dead == 0 and not self._is_kept(performance):
            missing = self.missing(performance, Rule.ALL)
            if missing:
                noun = performance.trigger.noun
                sentence = f"No {noun} is left, and the work is not done: {missing} is missing."
                return Violation(Rule.ALL, sentence, missing)
            violation = self._changed(performance) or self._left_behind(performance)
            if violation is not None:
                return violation
        return self._users()

    def _is_kept(self, performance: Performance) -> bool:
        """Whether a queue that the handler receives from still has a message: whoever invokes it comes again."""
        for url in self.polled:
            asked = {"QueueUrl": url, "AttributeNames": list(_COUNTS)}
            told = performance.stage.look_up("sqs", "GetQueueAttributes", **asked)["Attributes"]
            if any(int(told[name]) for name in _COUNTS):
                return True
        return False

    def after_hopeless_redrive(self, performance: Performance) -> Violation | None:
        """A violation if a redrive without any fault has ended in the dead-letter queue again."""
        missing = self.missing(performance, Rule.UNSTUCK)
        if not missing or self._is_kept(performance):
            return None
        sentence = f"A redrive in which nothing goes wrong does not help: {missing} is still missing."
        return Violation(Rule.UNSTUCK, sentence, missing)

    def _changed(self, performance: Performance) -> Violation | None:
        """A fact that differs from the clean run. A stuck record differs as well, but that it is stuck says more."""
        differences = self.contents.differences(left_of(performance, self.contents.kinds))
        found = next((one for one in differences if not self.accepts(_rule_of(one), one.group[0])), None)
        stuck = self._stuck(performance)
        if found is None or (stuck is not None and stuck.subject.endswith(f"#{found.path}")):
            return stuck
        return Violation(_rule_of(found), f"{found}.", found.group[0])

    def _stuck(self, performance: Performance) -> Violation | None:
        for table, status in self.statuses.items():
            subject = f"{table}#{status.attribute}"
            for key in stuck_records(records_of(performance, table), status):
                noun = performance.trigger.noun
                sentence = f"No {noun} is left. The record {key} in {table} says {status.running} for ever."
                if not self.accepts(Rule.UNSTUCK, subject):
                    return Violation(Rule.UNSTUCK, sentence, subject)
        return None

    def _left_behind(self, performance: Performance) -> Violation | None:
        for table in sorted({table for table, _ in self.passing}):
            for key, item in rows_of(performance, table).items():
                is_left = (table, performance.journal.stable(key)) in self.passing and not has_time(item)
                if is_left and not self.accepts(Rule.UNSTUCK, f"{key} in {table}"):
                    noun = performance.trigger.noun
                    why = f"The item {key} in {table} is not deleted, and has no time to end at."
                    return Violation(Rule.UNSTUCK, f"No {noun} is left. {why}", f"{key} in {table}")
        return None

    def _repeated(self, journal: Journal) -> Violation | None:
        """The effect that has happened more often; of several the one that tells the most."""
        left = self._staying(journal.counts())
        kinds, wanted = _by_kind(left), _by_kind(self.expected)
        wanted |= Counter({kind: most for kind, (_, most) in self.drawn.items()})
        more = [kind for kind, count in kinds.items() if 0 < wanted[kind] < count]
        labels = {one for one, count in left.items() if 0 < self.expected[one] < count and one[0] not in self.drawn}
        broken = {*more, *(kind for kind, _ in labels)}
        found = min((kind for kind in broken if not self.accepts(Rule.ONCE, kind)), key=telling, default=None)
        if found is None:
            return None
        label = min((label for kind, label in labels if kind == found), default=None)
        if label is None:
            most = "at most " if found in self.drawn else ""
            return Violation(Rule.ONCE, f"{found} was to happen {most}{_often(wanted[found], kinds[found])}.", found)
        often = _often(self.expected[found, label], left[found, label])
        return Violation(Rule.ONCE, f"{_times(found, label)} was to happen {often}.", found)

    def _staying(self, counts: Counts) -> Counts:
        """The counts without rows that the handler deletes again: a run that dies leaves them for the next one."""
        return Counter(
            {one: count for one, count in counts.items() if (one[0].removeprefix(ITEM_IN), one[1]) not in self.passing}
        )

    def _unstable(self, performance: Performance, events: Sequence[Event]) -> Violation | None:
        if self.answer is None:
            return None
        for event in events:
            if isinstance(event, Ended) and event.ending is Ending.RETURNED:
                answer = performance.journal.stable(event.answer)
                is_another = answer != self.answer and '"batchItemFailures": [{' not in answer
                if is_another and not self.accepts(Rule.STABLE, ""):
                    return Violation(Rule.STABLE, f"The handler returned {answer}, and before {self.answer}.")
        return None

    def _users(self) -> Violation | None:
        for invariant in self.invariants:
            try:
                invariant(self.world)
            except AssertionError as error:
                name = getattr(invariant, "__name__", "invariant")
                if self.accepts(Rule.USERS, name):
                    continue
                reason = next(iter(str(error).splitlines()), "an assertion failed")
                return Violation(Rule.USERS, f"{name} does not hold: {reason}", name)
        return None

    def _endless(self, performance: Performance) -> Violation | None:
        trigger = performance.trigger
        if not performance.is_endless or self.accepts(Rule.UNSTUCK, trigger.source_name):
            return None
        left = "an event is still not done" if trigger.is_direct else "a message is still in the queue"
        if trigger.is_stream:
            left = "a record is still not done, and blocks its shard"
        sentence = f"It never ends: after {performance.runs_max} runs {left}."
        return Violation(Rule.UNSTUCK, sentence, trigger.source_name, is_endless=True)


def _rule_of(difference: Difference) -> Rule:
    return Rule.ONCE if difference.is_doubled else Rule.SAME


def telling(kind: str) -> tuple[int, str]:
    """The order in which effects are named: what counts each time, then objects, then items, which may be records of
    what was done, and calls that set something and leave the same when they are made again.
    """
    words = kind.split()
    if kind.startswith((ITEM_IN, "deleted item in ")):
        return 2, kind
    if len(words) > 1 and leaves_the_same(words[0], words[1]):
        return 3, kind
    return (1 if words[0].startswith(_OF_OBJECTS) else 0), kind


def _by_kind(counts: Counts) -> Counter[str]:
    kinds: Counter[str] = Counter()
    for (kind, _), count in counts.items():
        kinds[kind] += count
    return kinds


def _times(kind: str, label: str) -> str:
    return f"{kind} ({label})" if label and len(label) < 80 and label != kind else kind


def left_of(performance: Performance, kinds: Collection[str] | None = None) -> list[Left]:
    """The effects left behind, of these kinds or of all, with their current contents."""
    journal = performance.journal
    traces = [
        trace for trace in journal.traces if trace.role is Role.EFFECT and (kinds is None or trace.kind in kinds)
    ]  # fmt: skip
    left = [Left(trace.kind, "", trace.facts) for trace in traces if trace.facts]
    identities = {(trace.kind, trace.identity) for trace in traces}
    for kind in sorted({trace.kind for trace in traces if trace.kind.startswith(ITEM_IN)}):
        table = kind.removeprefix(ITEM_IN)
        for key, item in rows_of(performance, table).items():
            if (kind, key) in identities:
                left.append(Left(kind, journal.stable(key), journal.facts_of_item(table, item)))
    return left


def _often(wanted: int, count: int) -> str:
    return f"{'once' if wanted == 1 else f'{wanted} times'} and happened {'twice' if count == 2 else f'{count} times'}"
