"""What a report says, with resources by their logical ids: the name of a resource that the template has not named has
the stack and chance in it. A history that is played again is given the names of that time.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import TypeVar

from redrive.prove.play.faults import History, Leg, Spot, Strike
from redrive.prove.search.baseline import lasting
from redrive.prove.tell.verdict import Counterexample, Verdict

V = TypeVar("V")


def named(verdict: Verdict) -> Verdict:
    """The verdict as its user reads it."""
    found = verdict.counterexample
    return replace(
        verdict,
        effects=effects_by_name(verdict.effects),
        drawn=effects_by_name(verdict.drawn),
        ledger=None if verdict.ledger is None else lasting(verdict.ledger),
        assumptions={lasting(what): lasting(how) for what, how in verdict.assumptions.items()},
        system=json.loads(lasting(json.dumps(dict(verdict.system)))),
        counterexample=None if found is None else example_named(found),
    )


def example_named(found: Counterexample) -> Counterexample:
    """The counterexample as its user reads it. What it is about keeps its name: a baseline compares it."""
    return replace(
        found,
        history=_with_targets(found.history, lasting),
        violation=replace(found.violation, sentence=lasting(found.violation.sentence)),
        steps=[replace(step, text=lasting(step.text)) for step in found.steps],
        advice=lasting(found.advice),
    )


def renamed(history: History, names: Collection[str]) -> History:
    """A history with the names that resources have here: their ends change with the template."""
    by_logical = {lasting(name): name for name in names}
    return _with_targets(history, lambda target: by_logical.get(lasting(target), target))


def _with_targets(history: History, name_of: Callable[[str], str]) -> History:
    def leg_with(leg: Leg) -> Leg:
        return replace(leg, strikes=tuple(map(strike_with, leg.strikes)))

    def strike_with(strike: Strike) -> Strike:
        at = strike.at
        return replace(strike, at=replace(at, target=name_of(at.target))) if isinstance(at, Spot) else strike

    return tuple(map(leg_with, history))


def effects_by_name(numbers: Mapping[str, V]) -> dict[str, V]:
    """Numbers by kinds of effects, with resources by their logical ids."""
    return {lasting(kind): number for kind, number in numbers.items()}
