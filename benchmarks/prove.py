"""Searching the histories of a handler: how long a person waits for `redrive prove`.

By CPU of one core, and by the clock; and how many times as fast two processes are.
"""

from __future__ import annotations

import resource
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from benchmarks.report import Figure
from redrive.prove.process.subject import Subject, subject_of
from redrive.prove.proving import prove
from redrive.prove.search.options import Options

ROOT = Path(__file__).parents[1]
TEMPLATE = ROOT / "src" / "redrive" / "demo" / "template.yaml"
EXAMPLES = ROOT / "examples" / "prove"
MENDED = ROOT / "examples" / "shop" / "mended" / "template.yaml"
PROVED = Path(__file__).parent / "proved"
JOBS = 2


@dataclass(frozen=True, slots=True)
class _Case:
    """A handler that is safe, so that all of its histories are played. `goal_s` is of CPU, on one core."""

    what: str
    subject: Subject | None
    options: Options
    goal_s: float | None = None


def measure(faults: int | None = None) -> Iterator[Figure]:
    """The goals of a search, each with its number of faults or with so many; and one of them in two processes."""
    cases = [one if faults is None else replace(one, options=replace(one.options, faults=faults)) for one in _cases()]
    for one in cases:
        yield from _figures(one)
    yield from _in_processes(cases[0])


def _cases() -> Sequence[_Case]:
    safe, powertools = subject_of("safe:handler", EXAMPLES), subject_of("powertools:handler", PROVED)
    shop = Options(faults=3, template=MENDED, function="ChargeOrder")
    return (
        _Case("mended handler of the demo", None, shop, 2.5),
        _Case("4 calls (template of a schedule)", None, Options(faults=3, template=TEMPLATE), 5),
        _Case("Powertools' idempotency", powertools, Options(faults=2), 1.5),
        _Case("3 calls (examples/prove/safe.py)", safe, Options(faults=3)),
        _Case("3 calls (examples/prove/safe.py)", safe, Options(faults=1)),
    )


def _figures(case: _Case) -> Iterator[Figure]:
    cpu, clock, histories = _proved(case.subject, case.options)
    faults = case.options.faults
    told = f"{case.what}, {faults} {'fault' if faults == 1 else 'faults'}"
    goal = "" if case.goal_s is None else f" (goal {case.goal_s:g})"
    yield Figure(f"{told}, CPU{goal}", cpu, "s")
    yield Figure(f"{told}, by the clock", clock, "s")
    yield Figure(told, histories, "histories")


def _in_processes(case: _Case) -> Iterator[Figure]:
    """On a machine with nothing else to do, the ratio by the clock is what a person gains."""
    cpu, clock, _ = _proved(case.subject, case.options)
    cpu_shared, clock_shared, _ = _proved(case.subject, replace(case.options, jobs=JOBS))
    told = f"{case.what}, --jobs {JOBS}"
    yield Figure(f"{told}, times as fast by the clock (goal 1.7)", clock / clock_shared, "x")
    yield Figure(f"{told}, CPU of all processes, of that of one", cpu_shared / cpu, "x")


def _proved(subject: Subject | None, options: Options) -> tuple[float, float, int]:
    """The CPU time of a proof and of its processes, its time by the clock, and its histories."""
    began, cpu = time.monotonic(), _cpu()
    verdict = prove(subject, options)
    used, took = _cpu() - cpu, time.monotonic() - began
    assert verdict.counterexample is None, verdict.sentence
    return used, took, verdict.bounds.histories


def _cpu() -> float:
    kinds = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    return sum(sum(resource.getrusage(kind)[:2]) for kind in kinds)
