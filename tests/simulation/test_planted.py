"""The checkers are checked: each planted defect is found within a few seeds."""

from __future__ import annotations

import pytest

from redrive.sim.checkers.failures import SimulationFailed
from redrive.sim.swarm import run_seed
from redrive.wire.model.files import Models
from tests.simulation.planted import ALSO_BROKEN, PLANTS, Plant

SEEDS_MAX = 12


def first_broken_rule(models: Models) -> str | None:
    """The first rule that any of a few seeds breaks."""
    for seed in range(1, SEEDS_MAX + 1):
        try:
            run_seed(seed, models=models)
        except SimulationFailed as failed:
            return failed.rule
    return None


@pytest.mark.parametrize("plant", PLANTS, ids=lambda plant: plant.__name__)
def test_planted_defect_is_found_within_a_few_seeds(plant: Plant, models: Models) -> None:
    """A checker that cannot fail guards nothing. That the same seeds pass without the defect is the swarm's test."""
    with plant():
        assert first_broken_rule(models) in {PLANTS[plant], *ALSO_BROKEN.get(plant, ())}
