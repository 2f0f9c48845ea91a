"""Users of an event bus: some publish, one changes rules, one replays an archive. Each tells what was committed."""

from __future__ import annotations

from collections.abc import Sequence

from redrive.core.clock import MINUTE_MS, SECOND_MS, Instant
from redrive.core.documents import Document, dump_json, load_json
from redrive.core.errors import Conflict
from redrive.sim.checkers.happenings import SHOP, Arrived, Published, ReplayStarted, RuleSet
from redrive.sim.dice import Dice
from redrive.sim.fleet.clients import SCOPE, Client
from redrive.sim.users.acts import RETRY_MS, Handle
from redrive.sim.weather import AnswerLost
from redrive.sim.world import Simulation

BUS = SHOP
ARCHIVE = "kept"
ARCHIVED = "everything"
"""The rule that all events match and nobody changes: replays go to it alone."""

SOURCES = ("shop.orders", "shop.returns", "bank")
KINDS = ("placed", "paid", "sent")
TOTAL_MAX = 20
ENTRIES_MAX = 4

PATTERNS: Sequence[Document] = (
    {"source": ["shop.orders"]},
    {"source": [{"prefix": "shop."}], "detail-type": ["paid", "sent"]},
    {"detail": {"total": [{"numeric": [">", 10]}]}},
    {"detail": {"total": [{"numeric": [">=", 5, "<", 15]}]}, "detail-type": [{"anything-but": "placed"}]},
    {"$or": [{"source": ["bank"]}, {"detail": {"total": [0, 1, 2]}}]},
    {"detail": {"note": [{"exists": False}]}},
    {"detail": {"note": [{"wildcard": "a*z"}], "tags": ["x"]}},
)
"""What rules ask for."""

_PUBLISH_GAP_MS_MAX = 8 * MINUTE_MS
_EDIT_GAP_MS_MAX = 20 * MINUTE_MS
_REPLAY_GAP_MS_MAX = 80 * MINUTE_MS
_EVEN_MS = 2 * SECOND_MS


def rule_arn(name: str) -> str:
    """The ARN of a rule of the shop's bus."""
    return f"arn:aws:events:{SCOPE.region}:{SCOPE.account}:rule/{BUS}/{name}"


class Publisher:
    """Publishes some events at a time. If no answer comes, they are published again, as other events."""

    def __init__(
        self, simulation: Simulation, client: Client, *, dice: Dice, until: Instant, bus: str = BUS
    ) -> None:  # fmt: skip
        self.name = f"publisher at {bus}"
        self._bus = bus
        self._simulation = simulation
        self._client = client
        self._dice = dice
        self._until = until
        self._entries: list[Document] = []

    def act(self) -> Instant | None:
        """Publish the next events, or again those without an answer."""
        simulation, dice = self._simulation, self._dice
        if not self._entries:
            if simulation.now >= self._until:
                return None
            self._entries = [self._entry() for _ in range(dice.between(1, ENTRIES_MAX))]
        entries = self._entries

        def seen(answer: Document) -> None:
            for entry, result in zip(entries, answer["Entries"], strict=True):
                simulation.observe(Published(result["EventId"], _event(entry), entry["Time"], self._bus))

        try:
            self._client.call_seen(seen, "events", "PutEvents", Entries=entries)
        except (Conflict, AnswerLost) as error:
            simulation.trace.write(simulation.now, "publishing failed", error=type(error).__name__)
            return simulation.now + RETRY_MS
        simulation.trace.write(simulation.now, "published", count=len(entries))
        self._entries = []
        return simulation.now + dice.between(1, _PUBLISH_GAP_MS_MAX)

    def _entry(self) -> Document:
        dice = self._dice
        detail: Document = {"total": dice.between(0, TOTAL_MAX), "tags": ["x", "y"][: dice.between(0, 2)]}
        if dice.chance(0.5):
            detail["note"] = ("abcz", "az", "a")[dice.between(0, 2)]
        return {
            "Source": SOURCES[dice.between(0, len(SOURCES) - 1)], "DetailType": KINDS[dice.between(0, len(KINDS) - 1)],
            "Detail": dump_json(detail), "EventBusName": self._bus, "Time": self._simulation.now // _EVEN_MS * _EVEN_MS,
        }  # fmt: skip


class RuleEditor:
    """Gives rules other patterns, and turns them off and on, while events come."""

    def __init__(
        self, simulation: Simulation, client: Client, rules: Sequence[str], *, dice: Dice, until: Instant
    ) -> None:  # fmt: skip
        self.name = "rule editor"
        self._simulation = simulation
        self._client = client
        self._rules = rules
        self._dice = dice
        self._until = until

    def act(self) -> Instant | None:
        """Change a rule."""
        simulation, dice = self._simulation, self._dice
        if simulation.now >= self._until:
            return None
        name = self._rules[dice.between(0, len(self._rules) - 1)]
        pattern = PATTERNS[dice.between(0, len(PATTERNS) - 1)]
        is_enabled = dice.chance(0.8)
        try:
            self._client.call_seen(
                lambda _: simulation.observe(RuleSet(name, dump_json(pattern) if is_enabled else "")),
                "events", "PutRule", Name=name, EventBusName=BUS, EventPattern=dump_json(pattern),
                State="ENABLED" if is_enabled else "DISABLED",
            )  # fmt: skip
            simulation.trace.write(simulation.now, "rule changed", name=name)
        except (Conflict, AnswerLost) as error:
            simulation.trace.write(simulation.now, "rule not changed", name=name, error=type(error).__name__)
        return simulation.now + dice.between(1, _EDIT_GAP_MS_MAX)


class Replayer:
    """Replays a part of the archive now and then."""

    def __init__(self, simulation: Simulation, client: Client, *, dice: Dice, until: Instant) -> None:
        self.name = "replayer"
        self._simulation = simulation
        self._client = client
        self._dice = dice
        self._until = until
        self._began_at = simulation.now // _EVEN_MS * _EVEN_MS
        self._count = 0

    def act(self) -> Instant | None:
        """Start a replay. Its bounds are odd seconds, and the times of events are even ones: none lies at a bound."""
        simulation, dice = self._simulation, self._dice
        if simulation.now >= self._until:
            return None
        seconds = max(1, (simulation.now - self._began_at) // _EVEN_MS)
        first = dice.between(0, seconds // 2)
        last = dice.between(first, seconds)
        start_at = self._began_at + first * _EVEN_MS - SECOND_MS
        end_at = self._began_at + last * _EVEN_MS + SECOND_MS
        self._count += 1
        name = f"replay-{self._count}"
        bus_arn = f"arn:aws:events:{SCOPE.region}:{SCOPE.account}:event-bus/{BUS}"
        try:
            self._client.call_seen(
                lambda _: simulation.observe(ReplayStarted(name, ARCHIVED, start_at, end_at)),
                "events", "StartReplay", ReplayName=name, EventStartTime=start_at, EventEndTime=end_at,
                EventSourceArn=f"arn:aws:events:{SCOPE.region}:{SCOPE.account}:archive/{ARCHIVE}",
                Destination={"Arn": bus_arn, "FilterArns": [rule_arn(ARCHIVED)]},
            )  # fmt: skip
            simulation.trace.write(simulation.now, "replay started", name=name)
        except (Conflict, AnswerLost) as error:
            simulation.trace.write(simulation.now, "replay failed", name=name, error=type(error).__name__)
        return simulation.now + dice.between(1, _REPLAY_GAP_MS_MAX)


def arrival(told: Document, message_id: str, bus: str = BUS) -> Arrived:
    """The happening for what a rule has sent."""
    return Arrived(told["rule"], told["event"]["id"], told["event"].get("replay-name", ""), message_id, bus)


def arrival_handler(simulation: Simulation, bus: str = BUS) -> Handle:
    """The handler for a consumer of such messages."""
    return lambda message: simulation.observe(arrival(load_json(message["Body"]), message["MessageId"], bus))


def _event(entry: Document) -> Document:
    """What patterns can see of an event."""
    return {"source": entry["Source"], "detail-type": entry["DetailType"], "detail": load_json(entry["Detail"])}
