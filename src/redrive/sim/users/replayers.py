"""A user who replays an archive to rules that others change, and cancels replays on the way."""

from __future__ import annotations

from collections.abc import Sequence

from redrive.core.clock import MINUTE_MS, SECOND_MS, Instant
from redrive.core.errors import Conflict, ServiceError
from redrive.sim.checkers.happenings import ReplayCancelled, ReplayRead, ReplayStarted
from redrive.sim.dice import Dice
from redrive.sim.fleet.clients import SCOPE, Client
from redrive.sim.weather import AnswerLost
from redrive.sim.world import Simulation

_EVEN_MS = 2 * SECOND_MS
_GAP_MS_MAX = 60 * MINUTE_MS
_SOON_MS_MAX = 40
_CANCELLED_SHARE = 0.5


class FickleReplayer:
    """Starts replays, each to one rule, and cancels some of them just after their start."""

    def __init__(
        self, simulation: Simulation, client: Client, *, archive: str, bus: str, rule_arns: Sequence[str], dice: Dice,
        until: Instant,
    ) -> None:  # fmt: skip
        """`rule_arns`: the rules to which events are replayed."""
        self.name = "fickle replayer"
        self._simulation = simulation
        self._client = client
        self._archive = archive
        self._bus = bus
        self._rule_arns = rule_arns
        self._dice = dice
        self._until = until
        self._began_at = simulation.now // _EVEN_MS * _EVEN_MS
        self._doomed = ""
        self.names: list[str] = []
        """All replays that were started."""

    def act(self) -> Instant | None:
        """Start a replay, or cancel the one that was started last."""
        simulation, dice = self._simulation, self._dice
        self._read(self.names[-1:])
        if self._doomed:
            self._cancel(self._doomed)
            self._doomed = ""
        elif simulation.now >= self._until:
            return None
        else:
            started = self._start()
            if started and dice.chance(_CANCELLED_SHARE):
                self._doomed = started
                return simulation.now + dice.between(1, _SOON_MS_MAX)
        return simulation.now + dice.between(1, _GAP_MS_MAX)

    def _start(self) -> str:
        """Start a replay. Its bounds are odd seconds, and the times of events are even ones: none lies at a bound."""
        simulation, dice = self._simulation, self._dice
        seconds = max(1, (simulation.now - self._began_at) // _EVEN_MS)
        first = dice.between(0, seconds // 2)
        start_at = self._began_at + first * _EVEN_MS - SECOND_MS
        end_at = self._began_at + dice.between(first, seconds) * _EVEN_MS + SECOND_MS
        rule_arn = self._rule_arns[dice.between(0, len(self._rule_arns) - 1)]
        rule, name = rule_arn.rpartition("/")[2], f"again-{len(self.names) + 1}"
        started: list[str] = []

        def seen(_: object) -> None:
            started.append(name)
            self.names.append(name)
            simulation.observe(ReplayStarted(name, rule, start_at, end_at, self._bus))

        base = f"arn:aws:events:{SCOPE.region}:{SCOPE.account}"
        try:
            self._client.call_seen(
                seen, "events", "StartReplay", ReplayName=name, EventStartTime=start_at, EventEndTime=end_at,
                EventSourceArn=f"{base}:archive/{self._archive}",
                Destination={"Arn": f"{base}:event-bus/{self._bus}", "FilterArns": [rule_arn]},
            )  # fmt: skip
        except (Conflict, AnswerLost) as error:
            simulation.trace.write(simulation.now, "start unanswered", name=name, error=type(error).__name__)
        return started[0] if started else ""

    def _cancel(self, name: str) -> None:
        simulation = self._simulation
        try:
            self._client.call_seen(
                lambda _: simulation.observe(ReplayCancelled(name)), "events", "CancelReplay", ReplayName=name
            )
            simulation.trace.write(simulation.now, "replay cancelled", name=name)
        except (ServiceError, Conflict, AnswerLost) as error:  # A replay that has ended cannot be cancelled.
            simulation.trace.write(simulation.now, "not cancelled", name=name, error=type(error).__name__)
        self._read([name])

    def _read(self, names: Sequence[str]) -> None:
        simulation = self._simulation
        for name in names:
            shown = simulation.reliable.call("events", "DescribeReplay", ReplayName=name)
            simulation.observe(ReplayRead(name, shown["State"], shown.get("EventLastReplayedTime")))
