"""Handlers whose truth is known get the verdict that is true, and the advice for the mistake that they have."""

from __future__ import annotations

import pytest

from redrive.prove.proving import prove
from tests.unit.prove.truth.known import Known, known_handlers

SAFE = "safe"


@pytest.mark.parametrize("known", [pytest.param(one, id=one.name) for one in known_handlers()])
def test_handler_of_known_truth_gets_its_verdict_and_its_advice(known: Known) -> None:
    verdict = prove(known.subject, known.options)

    found = verdict.counterexample
    assert (SAFE if found is None else found.violation.rule.value) == known.rule
    assert ("" if found is None else found.cause) == known.cause
    assert (found is not None and found.change is not None) == ("change" in known.facts)
    assert list(verdict.drawn) == known.drawn


def test_there_are_forty_handlers_of_known_truth_and_half_of_them_are_safe() -> None:
    rules = [known.rule for known in known_handlers()]

    assert len(rules) >= 40
    assert rules.count(SAFE) >= 20
