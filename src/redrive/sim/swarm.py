"""One seed determines everything: the fleet, its weather, its users, and the duration."""

from __future__ import annotations

from collections.abc import Callable

from redrive.core.clock import HOUR_MS
from redrive.core.entropy import SeededEntropy
from redrive.core.knobs import drawn
from redrive.sim.dice import Dice
from redrive.sim.trace import Trace
from redrive.sim.users.workload import Workload
from redrive.sim.weather import Weather
from redrive.sim.world import Simulation
from redrive.wire.model.files import Models

NODES_MAX = 4
SLOTS_MAX = 4
HOURS_MIN, HOURS_MAX = 2, 6


def run_seed(
    seed: int, *, models: Models, events_max: int | None = None, echo: Callable[[str], None] | None = None,
    establish: Callable[[Workload], None] = Workload.establish,
) -> Trace:  # fmt: skip
    """Run a seed's simulation to its end, or for `events_max` events. Returns the trace.

    `establish` creates what users have: the parts that the seed selects, or a part alone.
    Errors: SimulationFailed.
    """
    entropy = SeededEntropy(seed)
    dice = Dice(entropy.fork("fleet"))
    simulation = Simulation(
        seed=seed, weather=Weather.drawn(entropy.fork("weather")), nodes=dice.between(1, NODES_MAX),
        slots=dice.between(1, SLOTS_MAX), models=models,
        knobs=drawn(Dice(entropy.fork("knobs")).between), replay=f"redrive sim --seed {seed}",
        echo=echo,
    )  # fmt: skip
    simulation.events_max = events_max
    try:
        until = simulation.now + dice.between(HOURS_MIN, HOURS_MAX) * HOUR_MS
        # The names of forks determine the draws: another name would change the history of each seed.
        workload = Workload(simulation, entropy.fork("town"), until=until)
        establish(workload)
        simulation.start()
        simulation.run_until(until)
        if not simulation.is_over:
            workload.finish()
        return simulation.trace
    finally:
        simulation.close()
