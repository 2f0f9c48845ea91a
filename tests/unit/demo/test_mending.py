"""The opening of the demo: the project's bugs are found, the changes are the real ones, and what mends it mends it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from redrive.demo.mending import MENDED, PROJECT, Mending, changes_between, proofs_of
from redrive.demo.outcome import DemoResult
from redrive.demo.story import Day
from redrive.prove.judge.judge import Rule
from redrive.prove.tell.verdict import Counterexample
from redrive.prove.whole import Row

SHOP = Path(__file__).parents[3] / "examples" / PROJECT
GOOD_DAY = Day(executions=[], expected=[], queued=0, dead=0, redriven="")
BAD_DAY = replace(GOOD_DAY, problems=["the occurrence of 2025-01-01T03:00:00Z was lost"])


def _proved(project: Path) -> list[Row]:
    return proofs_of(project, lambda _: lambda *_: None)


def _found(row: Row) -> Counterexample:
    assert row.verdict is not None
    assert row.verdict.counterexample is not None
    return row.verdict.counterexample


@pytest.fixture(scope="module")
def mending() -> Mending:
    return Mending(_proved(SHOP), changes_between(SHOP, SHOP / MENDED), _proved(SHOP / MENDED))


def test_each_function_of_the_project_has_a_verdict_by_what_feeds_it(mending: Mending) -> None:
    told = [(row.target.label, row.trigger, row.outcome.value) for row in mending.before]

    assert told == [
        ("ChargeOrder", "sqs", "counterexample"),
        ("BookDelivery", "s3", "counterexample"),
        ("ChangeAddress", "api", "no counterexample"),
    ]


def test_bugs_are_repeated_work_and_mended_project_has_none(mending: Mending) -> None:
    assert [_found(row).violation.rule for row in mending.before[:2]] == [Rule.ONCE, Rule.ONCE]
    assert [row.outcome.value for row in mending.after] == ["no counterexample"] * 3
    assert mending.problems == []


def test_story_has_the_lines_of_the_project(mending: Mending) -> None:
    """The project is proved where a user's code stands, so its own lines are seen, and not as a part of redrive."""
    places = [step.place.told for step in _found(mending.before[0]).steps if step.place is not None]

    assert places
    assert all(place.startswith(("orders.py:", "payments.py:")) for place in places)


def test_changes_make_the_one_project_into_the_other() -> None:
    for name, lines in changes_between(SHOP, SHOP / MENDED).items():
        before, after = ((home / name).read_text("utf-8").splitlines() for home in (SHOP, SHOP / MENDED))
        for line in lines:
            if line.startswith("-"):
                before.remove(line[1:])
            if line.startswith("+"):
                after.remove(line[1:])
        assert before == after


def test_only_code_differs_between_the_two_projects() -> None:
    for name in ("template.yaml", "src/requirements.txt"):
        assert (SHOP / name).read_text("utf-8") == (SHOP / MENDED / name).read_text("utf-8")
    assert sorted(changes_between(SHOP, SHOP / MENDED)) == ["src/deliveries.py", "src/payments.py"]


def test_proof_leaves_nothing_in_the_project(mending: Mending) -> None:
    assert not list(SHOP.rglob("__pycache__"))
    assert mending.problems == []


def test_bug_that_was_not_found_is_a_problem(mending: Mending) -> None:
    unfound = replace(mending, before=mending.after)

    assert unfound.problems == ["the bug in BookDelivery was not found", "the bug in ChargeOrder was not found"]


def test_bug_that_is_still_there_is_a_problem(mending: Mending) -> None:
    unmended = replace(mending, after=mending.before)

    assert unmended.problems == [f"{row.target.label} is not mended: {row.sentence}" for row in mending.before[:2]]


def test_outcome_is_good_only_if_bugs_were_found_and_mended_and_day_adds_up(mending: Mending) -> None:
    unfound, unmended = replace(mending, before=mending.after), replace(mending, after=mending.before)

    assert DemoResult(mending, GOOD_DAY).is_ok
    assert not DemoResult(unfound, GOOD_DAY).is_ok
    assert not DemoResult(unmended, GOOD_DAY).is_ok
    assert not DemoResult(mending, BAD_DAY).is_ok
