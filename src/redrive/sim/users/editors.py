"""Users who cause trouble for schedules: one makes targets fail, one changes schedules just when they are due."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from redrive.core.clock import MINUTE_MS, SECOND_MS, Instant
from redrive.core.documents import Document
from redrive.core.errors import Conflict
from redrive.delivery.faults import Fault, add_fault, clear_faults
from redrive.sim.dice import Dice
from redrive.sim.fleet.clients import Client
from redrive.sim.weather import AnswerLost
from redrive.sim.world import Simulation

T = TypeVar("T")

TRANSIENT = ("InternalServerError", "ServiceUnavailable")
THROTTLED = ("ThrottlingException", "TooManyRequestsException")
PERMANENT = ("AccessDeniedException", "ResourceNotFoundException")

TIMES_MAX = 12
LATENCY_MS_MAX = 3 * MINUTE_MS
FAULT_GAP_MS_MAX = 30 * MINUTE_MS
EDIT_GAP_MS_MAX = 10 * MINUTE_MS
EDIT_NEAR_MS_MAX = 3 * SECOND_MS
LEAVES_BEFORE_MS = 15 * MINUTE_MS
"""How long before the end dates the last change is made. No node's clock has passed them by then."""


class FaultAdder:
    """Adds faults for targets; sometimes, and at the end, removes all of them."""

    def __init__(
        self, simulation: Simulation, targets: Sequence[str], *, dice: Dice, until: Instant, name: str = "saboteur"
    ) -> None:  # fmt: skip
        """`targets` by ARN."""
        self.name = name
        self._simulation = simulation
        self._targets = targets
        self._dice = dice
        self._until = until

    def act(self) -> Instant | None:
        """Add a fault, or remove all."""
        simulation, dice = self._simulation, self._dice
        is_over = simulation.now >= self._until
        if is_over or dice.chance(0.3):
            cleared = simulation.run(clear_faults)
            simulation.trace.write(simulation.now, "faults cleared", count=cleared)
        if is_over:
            return None
        drawn = self._drawn()
        simulation.run(lambda tx: add_fault(tx, drawn))
        simulation.trace.write(
            simulation.now, "fault added", target=drawn.target, code=drawn.code, times=drawn.times,
            latency_ms=drawn.latency_ms,
        )  # fmt: skip
        return simulation.now + dice.between(MINUTE_MS, FAULT_GAP_MS_MAX)

    def _drawn(self) -> Fault:
        dice = self._dice
        is_slow = dice.chance(0.3)
        codes = (*TRANSIENT, *THROTTLED, *PERMANENT, *(("",) if is_slow else ()))
        return Fault(
            id="", target=_one_of(dice, self._targets), code=_one_of(dice, codes),
            times=dice.between(1, TIMES_MAX) if dice.chance(0.5) else None,
            rate=dice.share() if dice.chance(0.5) else None,
            latency_ms=dice.between(1, LATENCY_MS_MAX) if is_slow else 0,
        )  # fmt: skip


class Editor:
    """Changes end dates and time zones of schedules, without a change of their instants, just when one is due."""

    def __init__(
        self, simulation: Simulation, client: Client, schedules: Sequence[Document], *, dice: Dice, until: Instant
    ) -> None:  # fmt: skip
        """`schedules`: the parameters of each CreateSchedule call."""
        self.name = "editor"
        self._simulation = simulation
        self._client = client
        self._schedules = schedules
        self._dice = dice
        self._until = until

    def act(self) -> Instant | None:
        """Change one schedule, near the next whole minute."""
        simulation, dice = self._simulation, self._dice
        if simulation.now >= self._until - LEAVES_BEFORE_MS:
            return None
        params = _one_of(dice, self._schedules)
        changes = {"EndDate": params["EndDate"] - dice.between(0, 1)}
        if params["ScheduleExpressionTimezone"] == "UTC" and dice.chance(0.5):
            changes["ScheduleExpressionTimezone"] = "Etc/UTC"
        try:
            self._client.call("scheduler", "UpdateSchedule", **{**params, **changes})
            simulation.trace.write(simulation.now, "schedule edited", name=params["Name"])
        except (Conflict, AnswerLost) as error:
            simulation.trace.write(simulation.now, "edit failed", name=params["Name"], error=type(error).__name__)
        minute = (simulation.now + dice.between(MINUTE_MS, EDIT_GAP_MS_MAX)) // MINUTE_MS * MINUTE_MS
        return minute + dice.between(-EDIT_NEAR_MS_MAX, EDIT_NEAR_MS_MAX)


def _one_of(dice: Dice, things: Sequence[T]) -> T:
    return things[dice.between(0, len(things) - 1)]
