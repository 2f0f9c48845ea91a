"""`redrive sim`: runs the engine under bad weather, from a seed."""

from __future__ import annotations

import click

from redrive.core.clock import monotonic_ms
from redrive.core.errors import UserError
from redrive.sim.checkers.failures import SimulationFailed
from redrive.sim.swarm import run_seed
from redrive.wire.model.files import Models


@click.command()
@click.option("--seed", default=1, show_default=True, help="The seed to run, or the first of several.")
@click.option("--seeds", default=1, show_default=True, type=click.IntRange(1), help="How many seeds to run.")
@click.option("--until", type=click.IntRange(1), help="Stop after so many events.")
@click.option("--trace", is_flag=True, help="Print each event as it happens.")
def command(seed: int, seeds: int, until: int | None, trace: bool) -> None:
    """Run the engine under bad weather: nodes crash, pause and lose answers; nothing may be lost or done twice.

    The same seed is the same history. Exit code 1 at the first seed that breaks a rule, with what led to it.
    """
    models = Models()
    for number in range(seed, seed + seeds):
        begun_ms = monotonic_ms()
        try:
            ran = run_seed(number, models=models, events_max=until, echo=click.echo if trace else None)
        except SimulationFailed as failed:
            raise UserError(str(failed), exit_code=1) from failed
        took_s = (monotonic_ms() - begun_ms) / 1000
        click.echo(f"seed {number}: {ran.length} events in {took_s:.2f} s, trace {ran.digest[:16]}")
