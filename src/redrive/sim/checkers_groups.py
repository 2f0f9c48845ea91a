"""Message groups of FIFO queues: in order, one holder at a time, and each message sent once."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from redrive.core.clock import Instant
from redrive.sim.failures import RuleBroken
from redrive.sim.happenings import Deleting, GroupReceived, Happening, LeftMessage


class GroupsInOrder:
    """A group's messages are first seen in the order of their numbers, and none while others of it are in flight.

    Keys end in a number that rises with each send to a group: `ledger-17`. Holds where all messages of a receive are
    hidden for equally long.
    """

    rule = "a group's messages come in order, to one holder, once"

    def __init__(self) -> None:
        self._held: dict[str, dict[str, Instant]] = defaultdict(dict)
        self._latest: dict[str, int] = defaultdict(int)
        self._ids: dict[str, str] = {}

    def observe(self, happening: Happening) -> None:
        match happening:
            case GroupReceived(group, messages, at, hidden_until):
                in_flight = [key for key, until in self._held[group].items() if until > at]
                if in_flight:
                    raise RuleBroken(self.rule, f"{happening} while {in_flight} is in flight")
                for key, message_id in messages:
                    self._see(group, key, message_id)
                self._held[group] = {key: hidden_until for key, _ in messages}
            case Deleting(key):
                for held in self._held.values():
                    held.pop(key, None)
            case _:
                pass

    def finish(self, left: Sequence[LeftMessage]) -> None:
        """Order concerns what is received."""

    def _see(self, group: str, key: str, message_id: str) -> None:
        if key in self._ids:
            if self._ids[key] != message_id:
                raise RuleBroken(self.rule, f"{key} was sent as {self._ids[key]} and as {message_id}")
            return
        self._ids[key] = message_id
        number = int(key.rpartition("-")[2])
        if number <= self._latest[group]:
            raise RuleBroken(self.rule, f"{key} of group {group} came after number {self._latest[group]}")
        self._latest[group] = number
