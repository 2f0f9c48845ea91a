"""The opening of the demo: its bug is found, its changes are the real ones, and what mends it mends it."""

from __future__ import annotations

from dataclasses import replace
from importlib import resources
from pathlib import Path

import pytest

from redrive.demo.mending import BROKEN, MENDED, Mending, changes, proof_of
from redrive.demo.outcome import DemoResult
from redrive.demo.story import Day
from redrive.prove.judge.judge import Rule

EXAMPLES = Path(__file__).parents[3] / "examples" / "prove"
GOOD_DAY = Day(executions=[], expected=[], queued=0, dead=0, redriven="")
BAD_DAY = replace(GOOD_DAY, problems=["the occurrence of 2025-01-01T03:00:00Z was lost"])


@pytest.fixture(scope="module")
def mending() -> Mending:
    return Mending(proof_of(BROKEN, lambda *_: None), changes(), proof_of(MENDED, lambda *_: None))


def test_bug_is_found_and_mended_handler_has_none_up_to_two_faults(mending: Mending) -> None:
    assert mending.before.counterexample is not None
    assert mending.before.counterexample.violation.rule is Rule.ALL
    assert mending.after.sentence.startswith("no counterexample up to 2 faults in ")
    assert mending.problems == []


def test_story_has_the_lines_of_the_handler(mending: Mending) -> None:
    """The handler is proved where a user's code stands, so its own lines are seen, and not as a part of redrive."""
    assert mending.before.counterexample is not None
    places = [step.place.told for step in mending.before.counterexample.steps if step.place is not None]

    assert places
    assert all(place.startswith("running_means_skip.py:") for place in places)


def test_changes_make_the_one_handler_into_the_other() -> None:
    sources = [(EXAMPLES / f"{name}.py").read_text("utf-8") for name in (BROKEN, MENDED)]
    before, after = (text[text.index("\ndef ") :].splitlines() for text in sources)

    for line in changes():
        if line.startswith("-"):
            before.remove(line[1:])
        if line.startswith("+"):
            after.remove(line[1:])

    assert before == after


@pytest.mark.parametrize("name", [BROKEN, MENDED])
def test_handler_in_the_package_is_the_one_in_the_examples(name: str) -> None:
    packaged = resources.files("redrive.demo").joinpath(f"{name}.txt").read_text("utf-8")

    assert packaged == (EXAMPLES / f"{name}.py").read_text("utf-8")


def test_bug_that_was_not_found_is_a_problem(mending: Mending) -> None:
    unfound = replace(mending, before=mending.after)

    assert [problem.partition(":")[0] for problem in unfound.problems] == ["the bug in running_is_a_lease"]


def test_bug_that_is_still_there_is_a_problem(mending: Mending) -> None:
    unmended = replace(mending, after=mending.before)

    assert unmended.problems == [f"running_means_skip:handler is not mended: {mending.before.sentence}"]


def test_outcome_is_good_only_if_bug_was_found_and_mended_and_day_adds_up(mending: Mending) -> None:
    unfound, unmended = replace(mending, before=mending.after), replace(mending, after=mending.before)

    assert DemoResult(mending, GOOD_DAY).is_ok
    assert not DemoResult(unfound, GOOD_DAY).is_ok
    assert not DemoResult(unmended, GOOD_DAY).is_ok
    assert not DemoResult(mending, BAD_DAY).is_ok
