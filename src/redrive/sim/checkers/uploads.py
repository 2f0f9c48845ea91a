"""Checks what S3 tells: each change of an object, nothing else, and in the order of its sequencers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence

from redrive.sim.checkers.failures import RuleBroken
from redrive.sim.checkers.happenings import Happening, LeftMessage, ObjectChanged, ObjectTold

_LONGEST = 32


class ChangesTold:
    """The oracle of a bucket that tells: its changes, in the order of their commits.

    A destination may get a notification more than once and in any order. The sequencers say which is which.
    """

    rule = "S3 tells each change of an object to each destination"
    invented_rule = "S3 tells of no change that was not committed"
    order_rule = "sequencers have the order of the changes of a key"

    def __init__(self, queues: Collection[str], told_by: Callable[[LeftMessage], ObjectTold]) -> None:
        """`queues`: the destinations. `told_by` reads what a message that was left there says."""
        self._queues = queues
        self._told_by = told_by
        self._changes: dict[str, list[str]] = defaultdict(list)
        self._told: Mapping[str, dict[str, dict[str, str]]] = {queue: defaultdict(dict) for queue in queues}

    def observe(self, happening: Happening) -> None:
        match happening:
            case ObjectChanged(key, content):
                self._changes[key].append(content)
            case ObjectTold():
                self._tell(happening)
            case _:
                pass

    def finish(self, left: Sequence[LeftMessage]) -> None:
        for message in left:
            if message.queue in self._queues:
                self._tell(self._told_by(message))
        for queue, keys in self._told.items():
            for key, changes in self._changes.items():
                self._judge(queue, key, changes, keys[key])

    def _tell(self, told: ObjectTold) -> None:
        known = self._told[told.queue][told.key]
        if known.setdefault(told.sequencer, told.content) != told.content:
            raise RuleBroken(self.order_rule, f"{told.sequencer} of {told.key} is the sequencer of two changes")
        if told.content not in self._changes[told.key] or len(known) > len(self._changes[told.key]):
            raise RuleBroken(self.invented_rule, f"{told} came before its change")

    def _judge(self, queue: str, key: str, changes: Sequence[str], told: Mapping[str, str]) -> None:
        if len(told) < len(changes):
            raise RuleBroken(self.rule, f"{queue} was told of {len(told)} of {len(changes)} changes of {key}")
        in_order = [told[sequencer] for sequencer in sorted(told, key=lambda one: one.upper().ljust(_LONGEST, "0"))]
        if in_order != changes:
            raise RuleBroken(self.order_rule, f"{queue} was told {in_order} of {key}, which was {list(changes)}")
