"""Users who change what a bus delivers to: one makes, changes, disables and deletes rules, one deletes a queue."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from redrive.core.clock import MINUTE_MS, SECOND_MS, Instant
from redrive.core.documents import Document, dump_json
from redrive.core.errors import Conflict, ServiceError
from redrive.sim.checkers.happenings import RuleSet
from redrive.sim.dice import Dice
from redrive.sim.fleet.clients import Client
from redrive.sim.users.acts import RETRY_MS
from redrive.sim.users.publishers import PATTERNS
from redrive.sim.weather import AnswerLost
from redrive.sim.world import Simulation

_KEEP_GAP_MS_MAX = 12 * MINUTE_MS
_AWAY_MS = 2 * MINUTE_MS
"""How long a deleted queue stays away. SQS refuses to make it again for a minute, by whichever clock."""
_STAYS_MS_MAX = 90 * MINUTE_MS

RuleCall = Callable[[], None]
"""One call for a rule. A call without an answer is made again."""


@dataclass(slots=True)
class KeptRule:
    """What was committed for a rule, and the calls that its keeper still has to make."""

    name: str
    target: Document
    pattern: str = ""
    is_enabled: bool = False
    has_target: bool = False
    steps: list[RuleCall] = field(default_factory=list)


class RuleKeeper:
    """Makes rules, gives them other patterns, disables, enables and deletes them, while events come."""

    def __init__(
        self, simulation: Simulation, client: Client, bus: str, rules: Sequence[KeptRule], *, dice: Dice, until: Instant
    ) -> None:  # fmt: skip
        self.name = "rule keeper"
        self._simulation = simulation
        self._client = client
        self._bus = bus
        self._rules = rules
        self._dice = dice
        self._until = until

    def act(self) -> Instant | None:
        """Make the next call for a rule that is being changed, or begin to change another."""
        simulation, dice = self._simulation, self._dice
        if simulation.now >= self._until:
            return None
        rule = next((one for one in self._rules if one.steps), None)
        if rule is None:
            rule = self._rules[dice.between(0, len(self._rules) - 1)]
            rule.steps = self._change(rule)
        try:
            rule.steps[0]()
        except (Conflict, AnswerLost) as error:
            simulation.trace.write(simulation.now, "rule not kept", name=rule.name, error=type(error).__name__)
            return simulation.now + RETRY_MS
        simulation.trace.write(simulation.now, "rule kept", name=rule.name, pattern=rule.pattern)
        del rule.steps[0]
        return simulation.now + dice.between(1, SECOND_MS if rule.steps else _KEEP_GAP_MS_MAX)

    def _change(self, rule: KeptRule) -> list[RuleCall]:
        """The calls of a change: a rule that exists is deleted, changed, or turned on or off."""
        if not rule.pattern:
            pattern = self._drawn()
            return [lambda: self._put(rule, pattern), lambda: self._add_target(rule)]
        kind = self._dice.between(0, 3)
        if kind == 0:
            return [lambda: self._remove_target(rule), lambda: self._delete(rule)]
        if kind == 1:
            return [lambda: self._turn(rule, not rule.is_enabled)]
        pattern = self._drawn()
        return [lambda: self._put(rule, pattern)]

    def _drawn(self) -> str:
        return dump_json(PATTERNS[self._dice.between(0, len(PATTERNS) - 1)])

    def _put(self, rule: KeptRule, pattern: str) -> None:
        def seen(_: Document) -> None:
            rule.pattern, rule.is_enabled = pattern, True
            self._tell(rule)

        self._call(seen, "PutRule", Name=rule.name, EventPattern=pattern)

    def _add_target(self, rule: KeptRule) -> None:
        def seen(_: Document) -> None:
            rule.has_target = True
            self._tell(rule)

        self._call(seen, "PutTargets", Rule=rule.name, Targets=[rule.target])

    def _remove_target(self, rule: KeptRule) -> None:
        def seen(_: Document) -> None:
            rule.has_target = False
            self._tell(rule)

        self._call(seen, "RemoveTargets", Rule=rule.name, Ids=[rule.target["Id"]])

    def _delete(self, rule: KeptRule) -> None:
        def seen(_: Document) -> None:
            rule.pattern = ""
            self._tell(rule)

        self._call(seen, "DeleteRule", Name=rule.name)

    def _turn(self, rule: KeptRule, is_enabled: bool) -> None:
        def seen(_: Document) -> None:
            rule.is_enabled = is_enabled
            self._tell(rule)

        self._call(seen, "EnableRule" if is_enabled else "DisableRule", Name=rule.name)

    def _call(self, seen: Callable[[Document], None], operation: str, **params: object) -> None:
        self._client.call_seen(seen, "events", operation, EventBusName=self._bus, **params)

    def _tell(self, rule: KeptRule) -> None:
        pattern = rule.pattern if rule.is_enabled and rule.has_target else ""
        self._simulation.observe(RuleSet(rule.name, pattern, self._bus))


class QueueVandal:
    """Deletes a queue while deliveries wait for it, and makes it again."""

    def __init__(
        self, simulation: Simulation, client: Client, queue: Document, url: str, *, dice: Dice, until: Instant
    ) -> None:  # fmt: skip
        """`queue`: the parameters of CreateQueue."""
        self.name = "queue vandal"
        self._simulation = simulation
        self._client = client
        self._queue = queue
        self._url = url
        self._dice = dice
        self._until = until
        self._is_there = True

    def act(self) -> Instant | None:
        """Delete the queue, or make it again. It is there at the end."""
        simulation = self._simulation
        if self._is_there and simulation.now >= self._until:
            return None
        try:
            if self._is_there:
                self._client.call("sqs", "DeleteQueue", QueueUrl=self._url)
            else:
                self._client.call("sqs", "CreateQueue", **self._queue)
        except ServiceError as error:  # An earlier call without an answer has deleted it, or a node's clock is behind.
            simulation.trace.write(simulation.now, "queue not changed", error=error.code)
            if not self._is_there:
                return simulation.now + _AWAY_MS
        except (Conflict, AnswerLost) as error:
            simulation.trace.write(simulation.now, "queue perhaps changed", error=type(error).__name__)
            return simulation.now + RETRY_MS
        self._is_there = not self._is_there
        simulation.trace.write(simulation.now, "queue changed", is_there=self._is_there)
        return simulation.now + (self._dice.between(MINUTE_MS, _STAYS_MS_MAX) if self._is_there else _AWAY_MS)
