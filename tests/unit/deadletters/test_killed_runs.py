"""A run that is killed at any place loses no letter, sends none twice, and passes no gate."""

from __future__ import annotations

import pytest

from redrive.deadletters.sorting import Wishes
from tests.unit.deadletters.killing import (
    LOOKED_AT_S,
    Life,
    Parts,
    faults,
    fifo_faults,
    fifo_stage,
    killed,
    mixed_stage,
    places_of,
)
from tests.unit.deadletters.killing_batches import batch_stage
from tests.unit.deadletters.killing_recovery import killed_recovery, recovery_stage
from tests.unit.deadletters.planted import PLANTED, PLANTED_IN_STAGES, Planted

PARTS = Parts()
pytestmark = pytest.mark.sqlite("restores what a store in memory had")


def test_killed_run_loses_nothing_sends_nothing_twice_and_passes_no_gate() -> None:
    """And letters that are doubtful afterwards are sent again if the user says so."""
    found, doubted = {}, 0
    with mixed_stage() as stage:
        last = places_of(stage)
        for place in range(1, last + 1):
            account = killed(stage.again(), PARTS, [place])
            found[place] = faults(stage, account)
            doubtful = {stage.letters[one] for one in account.doubtful}
            doubted += len(doubtful)
            if not doubtful:
                continue
            stage.world.advance(seconds=LOOKED_AT_S)
            again = stage.run(PARTS, Life(), Wishes(resend_doubtful=True))
            stage.world.advance(seconds=LOOKED_AT_S)
            assert again is not None
            assert again.doubtful == []
            assert doubtful <= set(stage.delivered())

    assert {place: one for place, one in found.items() if one} == {}
    assert last > 100
    assert doubted > 0


def test_killed_run_of_batches_loses_none_and_gives_none_to_anybody_twice() -> None:
    """To a function, which answers whether a batch is done, to a queue, and to another stream."""
    found = {}
    with batch_stage() as stage:
        last = places_of(stage)
        for place in range(1, last + 1):
            found[place] = faults(stage, killed(stage.again(), PARTS, [place], loses_power=place % 2 == 0))

    assert {place: one for place, one in found.items() if one} == {}
    assert last > 40


def test_killed_recovery_goes_on_and_tries_nothing_more_often_than_its_stages() -> None:
    """A letter that came back is sent again by a later stage, and done once."""
    found, life = {}, Life()
    with recovery_stage() as recovering:
        recovering.go(PARTS, life)
        for place in range(0, life.places + 1, 2):
            found[place] = killed_recovery(recovering, PARTS, place)

    assert {place: one for place, one in found.items() if one} == {}
    assert life.places > 50


@pytest.mark.parametrize("first", [1, 2, 3])
def test_run_of_a_machine_that_loses_power_keeps_the_same_promises(first: int) -> None:
    found = {}
    with mixed_stage() as stage:
        for place in range(first, places_of(stage) + 1, 12):
            found[place] = faults(stage, killed(stage.again(), PARTS, [place], loses_power=True))

    assert {place: one for place, one in found.items() if one} == {}


def test_run_killed_again_and_again_comes_to_its_end() -> None:
    with mixed_stage() as stage:
        assert faults(stage, killed(stage, PARTS, range(11, 150, 7))) == []


@pytest.mark.parametrize("loses_power", [False, True])
def test_killed_run_keeps_the_order_of_a_fifo_queue_and_sends_its_doubtful_letters_again(loses_power: bool) -> None:
    found = {}
    with fifo_stage() as stage:
        last = places_of(stage)
        for place in range(1, last + 1):
            found[place] = fifo_faults(stage, killed(stage.again(), PARTS, [place], loses_power=loses_power))

    assert {place: one for place, one in found.items() if one} == {}
    assert last > 30


@pytest.mark.parametrize("planted", PLANTED, ids=lambda planted: planted.name)
def test_planted_defect_is_found(planted: Planted) -> None:
    found: list[str] = []
    with planted.stage() as stage:
        for place in range(0, places_of(stage) + 1, 3):
            account = killed(stage.again(), planted.parts, [place], loses_power=planted.loses_power)
            found += planted.check(stage, account)
            if found:
                break

    assert found


@pytest.mark.parametrize("parts", PLANTED_IN_STAGES.values(), ids=PLANTED_IN_STAGES.keys())
def test_planted_defect_of_a_recovery_is_found(parts: Parts) -> None:
    found: list[str] = []
    with recovery_stage() as recovering:
        for place in range(1, 60):
            found += killed_recovery(recovering, parts, place)
            if found:
                break

    assert found
