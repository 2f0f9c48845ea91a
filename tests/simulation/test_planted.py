"""The checkers are checked: each planted defect is found within a few seeds."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from redrive.sim.checkers.failures import SimulationFailed
from redrive.sim.swarm import run_seed
from redrive.sim.users.workload import Workload
from redrive.wire.model.files import Models
from tests.simulation.planted import ALSO_BROKEN, FOUND_BY, PLANTS, Plant
from tests.simulation.planted_alarms import ALARM_PLANTS
from tests.simulation.planted_exchange import EXCHANGE_PLANTS
from tests.simulation.planted_machines import MACHINE_PLANTS
from tests.simulation.planted_streams import STREAM_DEFECT_FOUND_BY, STREAM_PLANTS
from tests.simulation.planted_uploads import UPLOAD_PLANTS

SEEDS_MAX = 12


def first_broken_rule(
    models: Models, establish: Callable[[Workload], None] = Workload.establish, *, begin_with: int = 1
) -> str | None:
    """The first rule that any of a few seeds breaks."""
    others = (seed for seed in range(1, SEEDS_MAX + 1) if seed != begin_with)
    for seed in (begin_with, *others):
        try:
            run_seed(seed, models=models, establish=establish)
        except SimulationFailed as failed:
            return failed.rule
    return None


@pytest.mark.parametrize("plant", PLANTS, ids=lambda plant: plant.__name__)
def test_planted_defect_is_found_within_a_few_seeds(plant: Plant, models: Models) -> None:
    """A checker that cannot fail guards nothing. That the same seeds pass without the defect is the swarm's test."""
    with plant():
        broken = first_broken_rule(models, begin_with=FOUND_BY.get(plant, 1))
    assert broken in {PLANTS[plant], *ALSO_BROKEN.get(plant, ())}


@pytest.mark.parametrize("plant", EXCHANGE_PLANTS, ids=lambda plant: plant.__name__)
def test_planted_defect_is_found_at_an_exchange(plant: Plant, models: Models) -> None:
    """Targets of all kinds, rules that come and go, rules on schedules and cancelled replays have checkers that see."""
    with plant():
        assert first_broken_rule(models, Workload.exchange) == EXCHANGE_PLANTS[plant]


@pytest.mark.parametrize("seed", range(1, 7))
def test_every_rule_holds_at_an_exchange(seed: int, models: Models) -> None:
    """The same seeds pass without a defect."""
    run_seed(seed, models=models, establish=Workload.exchange)


@pytest.mark.parametrize("plant", STREAM_PLANTS, ids=lambda plant: plant.__name__)
def test_planted_defect_is_found_at_streams(plant: Plant, models: Models) -> None:
    """Order, checkpoints, batches that are split, shards, windows, indexes and retries have checkers that see."""
    with plant():
        broken = first_broken_rule(models, Workload.streams, begin_with=STREAM_DEFECT_FOUND_BY.get(plant, 1))
    assert broken in STREAM_PLANTS[plant]


@pytest.mark.parametrize("seed", range(1, 4))
def test_every_rule_holds_at_streams(seed: int, models: Models) -> None:
    """The same seeds pass without a defect."""
    run_seed(seed, models=models, establish=Workload.streams)


@pytest.mark.parametrize("plant", UPLOAD_PLANTS, ids=lambda plant: plant.__name__)
def test_planted_defect_is_found_at_a_bucket_that_tells(plant: Plant, models: Models) -> None:
    """Lost, repeated and premature notifications, and sequencers, have checkers that see."""
    with plant():
        assert first_broken_rule(models, Workload.uploads) in UPLOAD_PLANTS[plant]


@pytest.mark.parametrize("seed", range(1, 7))
def test_every_rule_holds_at_a_bucket_that_tells(seed: int, models: Models) -> None:
    """The same seeds pass without a defect."""
    run_seed(seed, models=models, establish=Workload.uploads)


@pytest.mark.parametrize("plant", MACHINE_PLANTS, ids=lambda plant: plant.__name__)
def test_planted_defect_is_found_at_a_state_machine(plant: Plant, models: Models) -> None:
    """Repeated transitions, miscounted retries, a Catch after success and lost tokens have checkers that see."""
    with plant():
        assert first_broken_rule(models, Workload.machines) in MACHINE_PLANTS[plant]


@pytest.mark.parametrize("seed", range(1, 5))
def test_every_rule_holds_at_a_state_machine(seed: int, models: Models) -> None:
    """The same seeds pass without a defect."""
    run_seed(seed, models=models, establish=Workload.machines)


@pytest.mark.parametrize("plant", ALARM_PLANTS, ids=lambda plant: plant.__name__)
def test_planted_defect_is_found_at_alarms(plant: Plant, models: Models) -> None:
    """Changes told twice or never, missing data, M out of N, and timers have checkers that see."""
    with plant():
        assert first_broken_rule(models, Workload.watching) in ALARM_PLANTS[plant]


@pytest.mark.parametrize("seed", range(1, 4))
def test_every_rule_holds_at_alarms(seed: int, models: Models) -> None:
    """The same seeds pass without a defect."""
    run_seed(seed, models=models, establish=Workload.watching)
