"""What a report says, with resources by their logical ids: the name of a resource that the template has not named has
the stack and chance in it. Histories keep those names, since a test plays them again.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import TypeVar

from redrive.prove.search.baseline import lasting
from redrive.prove.tell.verdict import Counterexample, Verdict

V = TypeVar("V")


def named(verdict: Verdict) -> Verdict:
    """The verdict as its user reads it."""
    found = verdict.counterexample
    return replace(
        verdict,
        effects=_by_name(verdict.effects),
        drawn=_by_name(verdict.drawn),
        ledger=None if verdict.ledger is None else lasting(verdict.ledger),
        assumptions={lasting(what): lasting(how) for what, how in verdict.assumptions.items()},
        system=json.loads(lasting(json.dumps(dict(verdict.system)))),
        counterexample=None if found is None else example_named(found),
    )


def example_named(found: Counterexample) -> Counterexample:
    """The counterexample as its user reads it. What it is about keeps its name: a baseline compares it."""
    return replace(
        found,
        violation=replace(found.violation, sentence=lasting(found.violation.sentence)),
        steps=[replace(step, text=lasting(step.text)) for step in found.steps],
        advice=lasting(found.advice),
    )


def _by_name(numbers: Mapping[str, V]) -> dict[str, V]:
    return {lasting(kind): number for kind, number in numbers.items()}
