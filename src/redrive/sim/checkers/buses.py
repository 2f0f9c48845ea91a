"""Checks what buses deliver: compared with the definition of the pattern language, rule by rule, event by event."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from redrive.core.documents import Document, load_json
from redrive.languages.event_pattern import Pattern, matches, parse
from redrive.sim.checkers.failures import RuleBroken
from redrive.sim.checkers.happenings import (
    SHOP,
    Arrived,
    Happening,
    LeftMessage,
    Published,
    ReplayCancelled,
    ReplayRead,
    ReplayStarted,
    RuleHistoryRead,
    RuleSet,
)
from redrive.sim.checkers.replays import PlayedReplay
from redrive.store.tables.attempts import AttemptRecord, RunState

Key = tuple[str, str, str]
"""A rule, the id of an event, and the name of the replay; empty for the first time."""


@dataclass(frozen=True, slots=True)
class BusTargets:
    """Where the events of a bus are in the end.

    `queues` hold what rules send, `letters` the dead letters of rules, `function_letters` those of functions.
    `forwarded`: the rule that sends events to another bus, by the rule that delivers them there. What `repeating` rules
    send may come twice. The queue of a `vanishing` rule loses what it has: the history says what was sent.
    """

    bus: str = SHOP
    queues: Collection[str] = ()
    letters: str = ""
    function_letters: Collection[str] = ()
    forwarded: Mapping[str, str] = field(default_factory=dict)
    repeating: Collection[str] = ()
    vanishing: Collection[str] = ()


class RulesAndReplays:
    """The oracle of a bus: each event is at the targets of the rules that match it when it comes, and at no others.

    A replay sends the events of its range that were accepted before the replay was started, and no more of them once
    it is cancelled. The rule that gets them may change meanwhile.
    """

    rule = "a rule delivers each event that it matches, and each that is replayed to it, once"

    def __init__(self, targets: BusTargets) -> None:
        self._targets = targets
        self._patterns: dict[str, Pattern] = {}
        self._published: dict[str, Published] = {}
        self._due: dict[Key, None] = {}
        self._replays: dict[str, PlayedReplay] = {}
        self._arrived: dict[Key, set[str]] = defaultdict(set)

    def observe(self, happening: Happening) -> None:
        bus = self._targets.bus
        match happening:
            case RuleSet(name, pattern, bus=at_bus) if at_bus == bus:
                self._set_rule(name, parse(pattern) if pattern else None)
            case Published(event_id, document, bus=at_bus) if at_bus == bus:
                self._published[event_id] = happening
                hit = [name for name, pattern in self._patterns.items() if matches(pattern, document)]
                self._due.update(dict.fromkeys((name, event_id, "") for name in hit))
            case ReplayStarted(name, rule, start_at, end_at, bus=at_bus) if at_bus == bus:
                inside = [one for one in self._published.values() if start_at <= one.at <= end_at]
                self._replays[name] = PlayedReplay(rule, inside, [self._patterns.get(rule)])
            case ReplayCancelled(name) if name in self._replays:
                self._replays[name].cancel()
            case ReplayRead(name, state, replayed_to) if name in self._replays:
                self._replays[name].read(state, replayed_to)
            case Arrived(rule, event_id, replay, message_id, bus=at_bus) if at_bus == bus:
                self._arrive((rule, event_id, replay), message_id)
            case RuleHistoryRead(rule, records) if rule in self._targets.vanishing:
                for record in records:
                    if record.state in (RunState.DELIVERED, RunState.DEAD_LETTERED):
                        self._arrive((rule, record.delivery_id.split("/", 1)[0], ""), record.led_to)
            case _:
                pass

    def finish(self, left: Sequence[LeftMessage]) -> None:
        targets = self._targets
        for message in left:
            if message.queue in targets.queues or message.queue == targets.letters:
                self._arrive(_key_of(message), message.message_id)
            elif message.queue in targets.function_letters:
                self._arrive(_key_of(message), message.attributes["RequestID"])
        for name, replay in self._replays.items():
            self._check_replay(name, replay)
        lost = [key for key in self._due if key not in self._arrived]
        if lost:
            raise RuleBroken(self.rule, f"{len(lost)} of {len(self._due)} were never delivered: {lost[:3]}")

    def _set_rule(self, name: str, pattern: Pattern | None) -> None:
        self._patterns.pop(name, None)
        if pattern is not None:
            self._patterns[name] = pattern
        for replay in self._replays.values():
            if replay.rule == name:
                replay.changes(pattern)

    def _check_replay(self, name: str, replay: PlayedReplay) -> None:
        for event in replay.events:
            key = (replay.rule, event.event_id, name)
            if replay.must_send(event):
                self._due[key] = None
            elif key in self._arrived and not replay.may_send(event):
                raise RuleBroken(self.rule, f"{key} was delivered by a replay in state {replay.state}: {event}")

    def _arrive(self, key: Key, message_id: str) -> None:
        rule, event_id, replay = key
        targets = self._targets
        key = (targets.forwarded.get(rule, rule), event_id, replay)
        if not (self._is_of_replay(key) if replay else key in self._due):
            raise RuleBroken(self.rule, f"{key} was delivered, and the rule does not match it")
        messages = self._arrived[key]
        messages.add(message_id)
        if len(messages) > 1 and rule not in targets.repeating:
            raise RuleBroken(self.rule, f"{key} was delivered as {' and '.join(sorted(messages))}")

    def _is_of_replay(self, key: Key) -> bool:
        rule, event_id, name = key
        replay = self._replays.get(name)
        return replay is not None and replay.rule == rule and event_id in replay.ids


class RuleRetries:
    """Deliveries of rules are given up for a reason alone, and the dead letter tells how often they were retried."""

    rule = "a rule's delivery is retried as its policy says, and then dead-lettered"

    def __init__(
        self, retries_max: Mapping[str, int], letters: str, permanent: Sequence[str], outside: Collection[str] = ()
    ) -> None:
        """`retries_max` by rule, may grow; `letters` is the dead-letter queue; `permanent`: codes without a retry.

        `outside`: rules whose targets are called outside of the store. An attempt of a crashed node has no record.
        """
        self._retries_max = retries_max
        self._letters = letters
        self._permanent = permanent
        self._outside = outside
        self._retries: dict[str, int] = {}
        """The retries of each delivery that was dead-lettered, by the id of its letter."""

    def observe(self, happening: Happening) -> None:
        if isinstance(happening, RuleHistoryRead) and happening.rule_name in self._retries_max:
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
        expected = sorted(set(numbers)) if rule_name in self._outside else list(range(1, len(records) + 1))
        if numbers != expected or len(records) > allowed:
            raise RuleBroken(self.rule, f"{name} has the attempts {numbers}; {allowed} are allowed")
        hopeless = [record.code for record in records[:-1] if record.code in self._permanent]
        if hopeless:
            raise RuleBroken(self.rule, f"{name} was retried after {hopeless}")
        ends = [record for record in records if record.state is not RunState.RETRYING]
        if ends != [end]:
            raise RuleBroken(self.rule, f"{name} ended as {[one.verdict for one in ends]}")
        if end.state is RunState.DELIVERED:
            return
        if end.code not in self._permanent and len(records) < allowed:
            raise RuleBroken(self.rule, f"{name} was given up after {len(records)} of {allowed} attempts: {end.code}")
        self._retries[end.led_to] = end.attempt - 1


def _by_delivery(records: Sequence[AttemptRecord]) -> Iterator[Sequence[AttemptRecord]]:
    """The attempts of each delivery. Skips records of occurrences that were left out."""
    deliveries: dict[str, list[AttemptRecord]] = defaultdict(list)
    for record in records:
        if record.state is not RunState.MISSED:
            deliveries[record.delivery_id].append(record)
    yield from deliveries.values()


def _key_of(message: LeftMessage) -> Key:
    """What a message of a rule is about: it was never read, or is a dead letter, which has the event alone."""
    told: Document = load_json(message.body)
    rule_arn = message.attributes.get("RULE_ARN", "")
    event = told if rule_arn else told["event"]
    rule = rule_arn.rsplit("/", 1)[-1] if rule_arn else told["rule"]
    return rule, event["id"], event.get("replay-name", "")
