"""Many seeds, each with a fleet, a weather and users of its own; and the seeds that once found something."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from redrive.cli.main import main
from redrive.sim.checkers.failures import SimulationFailed
from redrive.sim.swarm import run_seed
from redrive.wire.model.files import Models
from tests.simulation.planted import claiming_more_than_can_start

SEEDS = range(1, 21)
FORMER_FAILURES = tuple(
    int(line) for line in Path(__file__).with_name("seeds.txt").read_text().splitlines() if not line.startswith("#")
)


@pytest.mark.parametrize("seed", [*SEEDS, *FORMER_FAILURES])
def test_every_rule_holds_in_the_weather_of_this_seed(seed: int, models: Models) -> None:
    """In any weather nothing is lost, invented, or done by the wrong node; in good weather everything ends."""
    run_seed(seed, models=models)


def test_same_seed_gives_the_same_trace(models: Models) -> None:
    """A run is a function of its seed."""
    first, second = run_seed(8, models=models), run_seed(8, models=models)

    assert first.length > 100
    assert first.digest == second.digest


def test_other_seed_gives_another_trace(models: Models) -> None:
    """The seed decides."""
    assert run_seed(9, models=models, events_max=50).digest != run_seed(8, models=models, events_max=50).digest


def test_failure_tells_rule_seed_events_and_how_to_replay(models: Models) -> None:
    """Whoever finds a broken rule is told all it takes to see it again."""
    with claiming_more_than_can_start(), pytest.raises(SimulationFailed) as failed:
        run_seed(1, models=models)

    story = str(failed.value)
    assert story.startswith("broken rule: a node claims no more than it can start\n")
    assert "seed 1, " in story
    assert "accepted key=" in story
    assert "replay: redrive sim --seed 1 --until " in story


def test_replay_up_to_the_told_event_fails_again() -> None:
    """The command line replays a failure, event by event."""
    with claiming_more_than_can_start():
        first = CliRunner().invoke(main, ["sim", "--seed", "1"])
        replay = first.stderr.rpartition("replay: redrive ")[2].split()
        again = CliRunner().invoke(main, replay)

    assert (first.exit_code, again.exit_code) == (1, 1)
    assert "broken rule: a node claims no more than it can start" in again.stderr


def test_command_line_runs_several_seeds_and_shows_their_traces() -> None:
    """Without a failure each seed tells its hash."""
    ran = CliRunner().invoke(main, ["sim", "--seed", "8", "--seeds", "2", "--until", "40"])

    assert ran.exit_code == 0
    lines = ran.stdout.splitlines()
    assert [line.partition(":")[0] for line in lines] == ["seed 8", "seed 9"]
