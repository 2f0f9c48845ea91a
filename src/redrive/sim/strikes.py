"""How hazards strike the nodes of a fleet: they crash, pause, and have wrong clocks."""

from __future__ import annotations

from collections.abc import Callable

from redrive.core.clock import HOUR_MS, MINUTE_MS, SECOND_MS, Clock, Instant
from redrive.sim.agenda import Agenda
from redrive.sim.checkers.happenings import Forgot, Happening
from redrive.sim.events import Strike
from redrive.sim.fleet.clocks import DRIFT_MAX
from redrive.sim.fleet.fleet import Fleet
from redrive.sim.fleet.nodes import Node
from redrive.sim.trace import Trace
from redrive.sim.weather import Hazard, Weather

CRASH_MS_MAX = 5 * MINUTE_MS
PAUSE_MS_MAX = 40 * MINUTE_MS  # Longer than any lease.
SLEEP_MS_MIN, SLEEP_MS_MAX = 10 * MINUTE_MS, 3 * HOUR_MS
STRIKING_ALONE = (Hazard.CRASH, Hazard.PAUSE, Hazard.SLEEP, Hazard.SKEW)
"""The hazards that strike by themselves, and not on an occasion."""


class Strikes:
    """Lets hazards strike nodes."""

    def __init__(
        self, fleet: Fleet, weather: Weather, agenda: Agenda, clock: Clock, trace: Trace, *,
        observe: Callable[[Happening], None], plan_poll: Callable[[Node, Instant], None],
    ) -> None:  # fmt: skip
        """`plan_poll` lets a node claim at an instant."""
        self._fleet = fleet
        self._weather = weather
        self._dice = weather.dice
        self._agenda = agenda
        self._clock = clock
        self._trace = trace
        self._observe = observe
        self._plan_poll = plan_poll

    def plan(self) -> None:
        """Plan the first strike of each hazard that strikes by itself."""
        for hazard in STRIKING_ALONE:
            self._plan(hazard)

    def strike(self, hazard: Hazard) -> None:
        """Let a hazard strike, and plan its next strike."""
        if hazard not in self._weather.rates:
            return
        nodes = self._fleet.nodes
        node = nodes[self._dice.between(0, len(nodes) - 1)]
        match hazard:
            case Hazard.CRASH:
                self.crash_for_a_while(node)
            case Hazard.PAUSE:
                self.pause_for_a_while(node)
            case Hazard.SKEW:
                self.set_clock(node)
            case _:
                for_ms = self._dice.between(SLEEP_MS_MIN, SLEEP_MS_MAX)
                for each in nodes:
                    self.pause(each, for_ms=for_ms)
        self._plan(hazard)

    def crash_for_a_while(self, node: Node) -> None:
        """Crash a node for up to CRASH_MS_MAX."""
        self.crash(node, for_ms=self._dice.between(SECOND_MS, CRASH_MS_MAX))

    def crash(self, node: Node, *, for_ms: int) -> None:
        """Make a node lose all attempts under way, and start again after `for_ms`."""
        now = self._clock.now()
        self._trace.write(now, "crashed", node=node.name, for_ms=for_ms)
        ended = self._fleet.restart(node, at=now + for_ms)
        self._observe(Forgot(node.name, ended.store.counted.sums()))
        self._plan_poll(node, now + for_ms)

    def pause_for_a_while(self, node: Node) -> None:
        """Pause a node for up to PAUSE_MS_MAX."""
        self.pause(node, for_ms=self._dice.between(SECOND_MS, PAUSE_MS_MAX))

    def pause(self, node: Node, *, for_ms: int) -> None:
        """Pause a node. It then continues as if nothing had happened."""
        now = self._clock.now()
        self._trace.write(now, "paused", node=node.name, for_ms=for_ms)
        node.awake_at = max(node.awake_at, now + for_ms)

    def set_clock(self, node: Node) -> None:
        """Set the clock of a node's machine, within the weather's skew."""
        skew_ms = self._weather.skew_ms
        if skew_ms:
            off_ms = self._dice.between(-skew_ms, skew_ms)
            node.machine.set(off_ms, drift=self._dice.share(2 * DRIFT_MAX) - DRIFT_MAX, skew_ms=skew_ms)
            self._trace.write(self._clock.now(), "clock set", node=node.name, off_ms=off_ms)

    def _plan(self, hazard: Hazard) -> None:
        gap_ms = self._weather.gap_ms(hazard)
        if gap_ms is not None:
            self._agenda.push(self._clock.now() + gap_ms, Strike(hazard))
