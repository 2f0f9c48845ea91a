"""A handler that draws is judged on several draws, and what a draw alone decides is not held against it."""

from __future__ import annotations

from dataclasses import replace

from redrive.prove.proving import prove, replay
from redrive.prove.search.draws import Draw, draws_of
from redrive.prove.search.options import Options
from tests.unit.prove.truth.known import Known, known_handlers

CALL = (("dynamodb:PutItem:orders", (("Item.id", "1"),)),)


def known(name: str) -> Known:
    (found,) = [one for one in known_handlers() if one.name == name]
    return found


def draw(seed: int, text: str, **kinds: int) -> Draw:
    return Draw(seed, (("sns:Publish:t", (("Message", text),)),), kinds, ())


def test_handler_that_does_the_same_on_each_draw_is_judged_on_one() -> None:
    assert draws_of([Draw(seed, CALL, {"item in orders": 1}, ()) for seed in range(5)]).seeds == (0,)


def test_two_draws_are_judged_if_only_values_differ_and_three_if_effects_do() -> None:
    assert draws_of([draw(seed, str(seed), a=1) for seed in range(5)]).seeds == (0, 1)
    assert draws_of([draw(seed, str(seed), a=1 + seed) for seed in range(5)]).seeds == (0, 4, 3)


def test_draw_without_any_effect_is_left_out_while_others_have_some() -> None:
    draws = draws_of([draw(0, "x"), draw(1, "y", a=1), draw(2, "z", a=2)])

    assert draws.seeds == (1, 2)
    assert draws.ranges == {"a": (0, 2)}


def test_effect_that_only_some_draws_leave_may_be_missing_and_the_report_says_so() -> None:
    verdict = prove(known("random_sample").subject, known("random_sample").options)

    assert verdict.counterexample is None
    assert verdict.randomness == (
        "the handler draws, and was judged on 2 draws; how many there are is drawn, and no fault: "
        "item in audits (0 to 1)"
    )


def test_counterexample_of_another_draw_is_played_again_with_its_seed() -> None:
    """The first draw mails nothing; the history is one of a draw that does."""
    verdict = prove(known("random_way").subject, replace(known("random_way").options, faults=1))

    assert verdict.counterexample is not None
    assert verdict.bounds.seed != 0
    again = Options(bodies=known("random_way").options.bodies, seed=verdict.bounds.seed)
    assert replay(known("random_way").subject, verdict.counterexample.history, again) is not None
