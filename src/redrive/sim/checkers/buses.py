"""Checks what buses deliver: compared with the definition of the pattern language, rule by rule, event by event."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from redrive.core.clock import Instant
from redrive.core.documents import Document, load_json
from redrive.languages.event_pattern import Pattern, matches, parse
from redrive.sim.checkers.failures import RuleBroken
from redrive.sim.checkers.happenings import (
    Arrived,
    Happening,
    LeftMessage,
    Published,
    ReplayStarted,
    RuleHistoryRead,
    RuleSet,
)
from redrive.store.tables.attempts import AttemptRecord, RunState

Key = tuple[str, str, str]
"""A rule, the id of an event, and the name of the replay; empty for the first time."""


class RulesAndReplays:
    """The oracle of a bus: each event is at the targets of the rules that match it when it comes, and at no others.

    A replay sends the events of its range that were accepted before the replay was started.
    """

    rule = "a rule delivers each event that it matches, and each that is replayed to it, once"

    def __init__(self, queue: str, letters: str) -> None:
        """`queue` is the target of all rules; `letters` is its dead-letter queue."""
        self._queue = queue
        self._letters = letters
        self._patterns: dict[str, Pattern] = {}
        self._published: dict[str, Instant] = {}
        self._due: dict[Key, None] = {}
        self._arrived: dict[Key, set[str]] = defaultdict(set)

    def observe(self, happening: Happening) -> None:
        match happening:
            case RuleSet(name, pattern):
                self._patterns.pop(name, None)
                if pattern:
                    self._patterns[name] = parse(pattern)
            case Published(event_id, document, at):
                self._published[event_id] = at
                hit = [name for name, pattern in self._patterns.items() if matches(pattern, document)]
                self._due.update(dict.fromkeys((name, event_id, "") for name in hit))
            case ReplayStarted(name, rule, start_at, end_at):
                inside = [event_id for event_id, at in self._published.items() if start_at <= at <= end_at]
                self._due.update(dict.fromkeys((rule, event_id, name) for event_id in inside))
            case Arrived(rule, event_id, replay, message_id):
                self._arrive((rule, event_id, replay), message_id)
            case _:
                pass

    def finish(self, left: Sequence[LeftMessage]) -> None:
        for message in left:
            if message.queue in (self._queue, self._letters):
                self._arrive(_key_of(message), message.message_id)
        lost = [key for key in self._due if key not in self._arrived]
        if lost:
            raise RuleBroken(self.rule, f"{len(lost)} of {len(self._due)} were never delivered: {lost[:3]}")

    def _arrive(self, key: Key, message_id: str) -> None:
        if key not in self._due:
            raise RuleBroken(self.rule, f"{key} was delivered, and the rule does not match it")
        messages = self._arrived[key]
        messages.add(message_id)
        if len(messages) > 1:
            raise RuleBroken(self.rule, f"{key} was delivered as {' and '.join(sorted(messages))}")


class RuleRetries:
    """Deliveries of rules are given up for a reason alone, and the dead letter tells how often they were retried."""

    rule = "a rule's delivery is retried as its policy says, and then dead-lettered"

    def __init__(self, retries_max: Mapping[str, int], letters: str, permanent: Sequence[str]) -> None:
        """`retries_max` by rule, may grow; `letters` is the dead-letter queue; `permanent`: codes without a retry."""
        self._retries_max = retries_max
        self._letters = letters
        self._permanent = permanent
        self._retries: dict[str, int] = {}
        """The retries of each delivery that was dead-lettered, by the id of its letter."""

    def observe(self, happening: Happening) -> None:
        if isinstance(happening, RuleHistoryRead):
            for delivery in _by_delivery(happening.records):
                self._check(happening.rule_name, delivery)

    def finish(self, left: Sequence[LeftMessage]) -> None:
        letters = {message.message_id: message for message in left if message.queue == self._letters}
        if letters.keys() != self._retries.keys():
            strays = sorted(letters.keys() ^ self._retries.keys())
            raise RuleBroken(self.rule, f"{strays[:3]} is either in the history alone, or in the queue alone")
        for message_id, message in letters.items():
            told = message.attributes["RETRY_ATTEMPTS"]
            if int(told) != self._retries[message_id]:
                raise RuleBroken(self.rule, f"{message_id} tells {told} retries of {self._retries[message_id]}")

    def _check(self, rule_name: str, records: Sequence[AttemptRecord]) -> None:
        allowed, end = self._retries_max[rule_name] + 1, records[-1]
        name = f"{end.delivery_id} of {rule_name}"
        numbers = [record.attempt for record in records]
        if numbers != list(range(1, len(records) + 1)) or len(records) > allowed:
            raise RuleBroken(self.rule, f"{name} has the attempts {numbers}; {allowed} are allowed")
        ends = [record for record in records if record.state is not RunState.RETRYING]
        if ends != [end]:
            raise RuleBroken(self.rule, f"{name} ended as {[one.verdict for one in ends]}")
        if end.state is RunState.DELIVERED:
            return
        if end.code not in self._permanent and len(records) < allowed:
            raise RuleBroken(self.rule, f"{name} was given up after {len(records)} of {allowed} attempts: {end.code}")
        self._retries[end.led_to] = len(records) - 1


def _by_delivery(records: Sequence[AttemptRecord]) -> Iterator[Sequence[AttemptRecord]]:
    deliveries: dict[str, list[AttemptRecord]] = defaultdict(list)
    for record in records:
        deliveries[record.delivery_id].append(record)
    yield from deliveries.values()


def _key_of(message: LeftMessage) -> Key:
    """What a message of a rule is about: it was never read, or is a dead letter, which has the event alone."""
    told: Document = load_json(message.body)
    rule_arn = message.attributes.get("RULE_ARN", "")
    event = told if rule_arn else told["event"]
    rule = rule_arn.rsplit("/", 1)[-1] if rule_arn else told["rule"]
    return rule, event["id"], event.get("replay-name", "")
