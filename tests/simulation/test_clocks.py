"""Hazards of clocks, one by one: nodes that disagree about the time, and clocks that are set while they run."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from redrive.core.clock import MINUTE_MS, SECOND_MS
from redrive.core.scope import Caller
from redrive.sim.fleet.clients import SCOPE
from redrive.sim.fleet.nodes import Node
from redrive.sim.users.acts import receive
from redrive.wire.model.files import Models
from tests.simulation.stage import Stage


@pytest.fixture
def stage(models: Models) -> Iterator[Stage]:
    stage = Stage(models)
    yield stage
    stage.simulation.close()


def test_change_by_a_clock_that_is_behind_fires_nothing_again(stage: Stage) -> None:
    """What a node that is ahead has fired is not due once more for one that is behind."""
    url = _hourly(stage)
    _is_off(stage.first, ahead_ms=2 * SECOND_MS)
    _is_off(stage.second, ahead_ms=-2 * SECOND_MS)
    stage.passes(minutes=60 - 1 / 60)
    _works_off(stage, stage.first)

    _changes_the_end_date(stage, stage.second)
    stage.passes(minutes=1)
    _works_off(stage, stage.second)

    assert _sent(stage, url) == 1


def test_change_after_a_restart_with_the_clock_set_back_fires_nothing_again(stage: Stage) -> None:
    """A new process knows nothing of the time that the one before it had; the schedule knows what it fired."""
    url = _hourly(stage)
    stage.passes(minutes=60)
    _works_off(stage, stage.first)
    stage.simulation.crash(stage.first, for_ms=1)
    _is_off(stage.first, ahead_ms=-10 * MINUTE_MS)

    _changes_the_end_date(stage, stage.first)
    stage.passes(minutes=20)
    _works_off(stage, stage.first)

    assert _sent(stage, url) == 1


def test_change_of_the_end_date_leaves_out_nothing_that_is_due(stage: Stage) -> None:
    """An occurrence that is due, and that no node has seen yet, is fired though its schedule changes now."""
    url = _hourly(stage)
    stage.passes(minutes=61)

    _changes_the_end_date(stage, stage.first)
    _works_off(stage, stage.first)

    assert _sent(stage, url) == 1


def test_change_by_a_clock_before_the_creation_fires_nothing_older(stage: Stage) -> None:
    """To a clock that is behind, the instant of the creation is still to come; it had begun before the schedule did."""
    url = _hourly(stage)
    _is_off(stage.second, ahead_ms=-2 * SECOND_MS)

    _changes_the_end_date(stage, stage.second)
    stage.passes(minutes=1)
    _works_off(stage, stage.first)

    assert _sent(stage, url) == 0


def test_one_time_schedule_fires_once_whatever_is_changed_in_its_minute(stage: Stage) -> None:
    """A one-time schedule fires late within its minute, if it has not yet."""
    url = _hourly(stage, "at(2025-03-29T13:00:00)")
    stage.passes(minutes=60)
    _works_off(stage, stage.first)

    _changes_the_end_date(stage, stage.first)
    _works_off(stage, stage.first)

    assert _sent(stage, url) == 1


def test_clock_that_is_ahead_fires_early_by_as_much_and_once(stage: Stage) -> None:
    """How early a schedule fires is how far the clock of a node is ahead."""
    url = _hourly(stage)
    _is_off(stage.first, ahead_ms=2 * SECOND_MS)

    stage.passes(minutes=60 - 3 / 60)
    _works_off(stage, stage.first)
    before = _sent(stage, url)
    stage.passes(minutes=1 / 60)
    _works_off(stage, stage.first)
    stage.passes(minutes=3 / 60)
    _works_off(stage, stage.second)

    assert (before, _sent(stage, url)) == (0, 1)


def test_lease_that_a_fast_clock_ends_early_costs_an_attempt_and_no_work(stage: Stage) -> None:
    """Two nodes may run a function at once if their clocks disagree by a lease; one of them settles."""
    stage.has_function()
    stage.event("letter")
    slow = stage.claims(stage.first)
    _is_off(stage.second, ahead_ms=20 * MINUTE_MS)

    fast = stage.claims(stage.second)
    stage.runs_and_settles(stage.first, slow)
    stage.runs_and_settles(stage.second, fast)

    assert stage.runs == ["letter", "letter"]
    assert stage.verdicts(fast) == ["delivered"]
    stage.ends()


def _hourly(stage: Stage, expression: str = "cron(0 * * * ? *)") -> str:
    """A schedule that fires an hour from now; answers the URL of its queue."""
    url = stage.workload.queue("ticks")
    stage.workload.queue("ticks-dlq")
    stage.workload.schedule("hourly", expression, "UTC", target="ticks")
    return url


def _is_off(node: Node, *, ahead_ms: int) -> None:
    node.machine.set(ahead_ms, skew_ms=abs(ahead_ms))


def _changes_the_end_date(stage: Stage, node: Node) -> None:
    """A request that this node serves: the schedule ends a millisecond earlier."""
    (params,) = stage.workload.schedules_made
    changed = {**params, "EndDate": params["EndDate"] - 1}
    node.process.engine.call(Caller(SCOPE, "request"), "scheduler", "UpdateSchedule", changed)


def _works_off(stage: Stage, node: Node) -> None:
    """The node claims until nothing is due by its clock."""
    while stage.simulation.beats.claim(node).progressed:
        pass


def _sent(stage: Stage, url: str) -> int:
    return len(receive(stage.simulation, stage.simulation.reliable, url, visibility_s=0))
