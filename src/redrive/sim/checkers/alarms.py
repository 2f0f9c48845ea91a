"""Checks alarms: their states follow from their data, and each change of state is told once."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence

from redrive.core.clock import Instant
from redrive.sim.checkers.failures import RuleBroken
from redrive.sim.checkers.happenings import AlarmChanged, AlarmRead, Happening, LeftMessage, MetricPublished
from redrive.sim.oracles.alarms import WatchedAlarm

Told = tuple[str, Instant, str]
"""What a message says of an alarm: its name, when it changed, and its new state."""


class AlarmsTold:
    """The oracle of alarms: the values of their metrics, in the order of their commits.

    An evaluation has seen all values up to some commit. Which one is not known to the millisecond, because the clocks
    of nodes differ; so a state is right if any commit of that time leads to it.
    """

    once_rule = "each change of an alarm's state is told once"
    state_rule = "the states of an alarm follow from its data"
    end_rule = "an alarm whose data have ended comes to rest"

    def __init__(
        self, alarms: Sequence[WatchedAlarm], queue: str, told_by: Callable[[LeftMessage], Told], *, skew_ms: int
    ) -> None:  # fmt: skip
        """`queue` holds what alarms have told. `skew_ms`: by how much a node's clock may differ."""
        self._alarms: Mapping[str, WatchedAlarm] = {alarm.name: alarm for alarm in alarms}
        self._queue = queue
        self._told_by = told_by
        self._skew_ms = skew_ms
        self._published: list[MetricPublished] = []
        self._changes: dict[str, list[AlarmChanged]] = defaultdict(list)
        self._ends: dict[str, str] = {}

    def observe(self, happening: Happening) -> None:
        match happening:
            case MetricPublished():
                self._published.append(happening)
            case AlarmChanged():
                self._changes[happening.name].append(happening)
            case AlarmRead(name, state):
                self._ends[name] = state
            case _:
                pass

    def finish(self, left: Sequence[LeftMessage]) -> None:
        told = Counter(self._told_by(message) for message in left if message.queue == self._queue)
        changed = Counter((one.name, one.at, one.value) for changes in self._changes.values() for one in changes)
        if told != changed:
            what = f"told and not changed: {sorted(told - changed)}; changed and not told: {sorted(changed - told)}"
            raise RuleBroken(self.once_rule, what)
        for name, alarm in self._alarms.items():
            self._judge(alarm, self._changes[name])
            silent = alarm.silent_state
            if silent is not None and self._ends[name] != silent:
                raise RuleBroken(self.end_rule, f"{alarm} is in {self._ends[name]} at the end, not in {silent}")

    def _judge(self, alarm: WatchedAlarm, changes: Sequence[AlarmChanged]) -> None:
        state = "INSUFFICIENT_DATA"
        for change in changes:
            if change.before != state:
                raise RuleBroken(self.state_rule, f"{change} comes after {state}")
            state = change.value
            possible = self._possible(alarm, change.at)
            if state not in possible:
                raise RuleBroken(self.state_rule, f"{alarm} went to {state} at {change.at}, its data say {possible}")

    def _possible(self, alarm: WatchedAlarm, at: Instant) -> set[str | None]:
        """What an evaluation at an instant may have come to."""
        values: dict[Instant, float] = {}
        found: set[str | None] = set()
        for one in self._published:
            if one.at > at + self._skew_ms:
                break
            if one.at >= at - self._skew_ms:
                found.add(alarm.state_at(at, values))
            if one.metric == alarm.metric:
                values[one.minute] = max(one.value, values.get(one.minute, one.value))
        return found | {alarm.state_at(at, values)}
