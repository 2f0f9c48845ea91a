"""Runs seeds from the command line: `python -m redrive.sim --seed 7 --trace` shows again what seed 7 did."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from redrive.core.clock import monotonic_ms
from redrive.sim.failures import SimulationFailed
from redrive.sim.swarm import run_seed
from redrive.wire.models import Models


def main(arguments: Sequence[str]) -> int:
    """Run one seed, or several from it on; answers 1 at the first that breaks a rule."""
    parser = argparse.ArgumentParser(prog="python -m redrive.sim", description="Run the engine in simulated weather.")
    parser.add_argument("--seed", type=int, default=1, help="the seed to run, or the first of several (default 1)")
    parser.add_argument("--seeds", type=int, default=1, metavar="N", help="how many seeds to run (default 1)")
    parser.add_argument("--until", type=int, metavar="N", help="stop after so many events")
    parser.add_argument("--trace", action="store_true", help="show each event as it happens")
    options = parser.parse_args(arguments)
    models = Models()
    for seed in range(options.seed, options.seed + options.seeds):
        begun_ms = monotonic_ms()
        try:
            trace = run_seed(seed, models=models, events_max=options.until, echo=_say if options.trace else None)
        except SimulationFailed as failed:
            _say(str(failed))
            return 1
        took_ms = monotonic_ms() - begun_ms
        _say(f"seed {seed}: {trace.length} events in {took_ms / 1000:.2f} s, trace {trace.digest[:16]}")
    return 0


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
