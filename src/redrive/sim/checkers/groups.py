"""Checks message groups of FIFO queues: in order, one holder at a time, each message sent once, effects in order."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from redrive.core.clock import Instant
from redrive.core.documents import load_json
from redrive.delivery.worker import Attempt
from redrive.sim.checkers.failures import RuleBroken
from redrive.sim.checkers.happenings import Deleting, GroupReceived, Happening, LeftMessage, Recorded, Settled, Took
from redrive.sim.checkers.rules import messages_of


class GroupsInOrder:
    """A group's messages are first received in the order of their numbers, and none while others of it are in flight.

    Their effects have the same order if the handler stops at its first failure, and no dead-letter queue takes a
    message out of its group. Keys end in a number that rises with each send to a group: `ledger-17`. The rule needs
    receives that hide all their messages for the same time; a mapping's receives hide them at least for the timeout of
    its function.
    """

    rule = "a group's messages come in order, to one holder, once"

    def __init__(self, *, disagreement_ms: int = 0) -> None:
        """`disagreement_ms`: how far the clocks of two nodes may differ."""
        self._disagreement_ms = disagreement_ms
        self._held: dict[str, dict[str, Instant]] = defaultdict(dict)
        self._latest: dict[str, int] = defaultdict(int)
        self._ids: dict[str, str] = {}
        self._groups: dict[str, str] = {}
        self._recorded: dict[str, int] = defaultdict(int)

    def observe(self, happening: Happening) -> None:
        match happening:
            case GroupReceived():
                self._receive(happening)
            case Took(at=at, attempts=attempts):
                for attempt in attempts:
                    for received in by_group(_members(attempt), at, at + attempt.errand.timeout_ms):
                        self._receive(received)
            case Settled(attempt=attempt):
                for _, key, _ in _members(attempt):
                    self._let_go(key)
            case Deleting(key):
                self._let_go(key)
            case Recorded(key):
                self._record(key)
            case _:
                pass

    def finish(self, left: Sequence[LeftMessage]) -> None:
        """Nothing to do: the order is checked at each receive."""

    def _receive(self, received: GroupReceived) -> None:
        group = received.group
        in_flight = [key for key, until in self._held[group].items() if until - self._disagreement_ms > received.at]
        if in_flight:
            raise RuleBroken(self.rule, f"{received} while {in_flight} is in flight")
        for key, message_id in received.messages:
            self._see(group, key, message_id)
        self._held[group] = {key: received.hidden_until for key, _ in received.messages}

    def _let_go(self, key: str) -> None:
        for held in self._held.values():
            held.pop(key, None)

    def _record(self, key: str) -> None:
        group = self._groups.get(key)
        if group is None:
            return
        if _number(key) <= self._recorded[group]:
            raise RuleBroken(self.rule, f"{key} of group {group} had its effect after {self._recorded[group]} had its")
        self._recorded[group] = _number(key)

    def _see(self, group: str, key: str, message_id: str) -> None:
        if key in self._ids:
            if self._ids[key] != message_id:
                raise RuleBroken(self.rule, f"{key} was sent as {self._ids[key]} and as {message_id}")
            return
        self._ids[key] = message_id
        self._groups[key] = group
        number = _number(key)
        if number <= self._latest[group]:
            raise RuleBroken(self.rule, f"{key} of group {group} came after number {self._latest[group]}")
        self._latest[group] = number


Member = tuple[str, str, str]
"""(group, key, message id) of a FIFO queue's message."""


def by_group(members: Iterable[Member], at: Instant, hidden_until: Instant) -> list[GroupReceived]:
    """The messages of one receive, by group."""
    groups: dict[str, list[tuple[str, str]]] = {}
    for group, key, message_id in members:
        groups.setdefault(group, []).append((key, message_id))
    return [GroupReceived(group, messages, at, hidden_until) for group, messages in groups.items()]


def _members(attempt: Attempt) -> list[Member]:
    """The messages of a mapping's batch; empty for other attempts, and for standard queues."""
    return [
        (record["attributes"]["MessageGroupId"], load_json(record["body"])["key"], record["messageId"])
        for record in messages_of(attempt)
        if "SequenceNumber" in record["attributes"]
    ]


def _number(key: str) -> int:
    return int(key.rpartition("-")[2])
