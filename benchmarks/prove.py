"""Searching the histories of a handler: how long a person waits for `redrive prove`, by CPU of one core."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.report import Figure
from redrive.prove.process.subject import subject_of
from redrive.prove.proving import prove
from redrive.prove.search.options import Options
from redrive.prove.tell.verdict import Verdict

FAULTS = (2, 3)
ROOT = Path(__file__).parents[1]
TEMPLATE = ROOT / "src" / "redrive" / "demo" / "template.yaml"
EXAMPLES = ROOT / "examples" / "prove"


def measure(faults: int | None = None) -> Iterator[Figure]:
    """Both handlers are safe, so that all of their histories are played; with 2 and 3 faults, or with so many."""
    for most in FAULTS if faults is None else (faults,):
        yield from _figures("4 calls (the demo's template)", most, Options(faults=most, template=TEMPLATE))
        yield from _figures("3 calls (examples/prove/safe.py)", most, Options(faults=most))


def _figures(what: str, faults: int, options: Options) -> Iterator[Figure]:
    subject = None if options.template else subject_of("safe:handler", EXAMPLES)
    began = time.process_time()
    verdict: Verdict = prove(subject, options)
    seconds = time.process_time() - began
    assert verdict.counterexample is None, verdict.sentence
    yield Figure(f"{what}, up to {faults} faults, CPU", seconds, "s")
    yield Figure(f"{what}, up to {faults} faults", verdict.bounds.histories, "histories")
