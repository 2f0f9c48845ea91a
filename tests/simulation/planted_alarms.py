"""Defects to plant that alarms show: states that do not follow from the data, and changes told twice or never."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager, ExitStack
from dataclasses import replace
from typing import Any
from unittest.mock import patch

from redrive.services.cloudwatch import acting, evaluating
from redrive.services.cloudwatch.model import evaluated
from redrive.services.cloudwatch.model.evaluated import TreatMissing
from redrive.services.cloudwatch.workers.alarms import AlarmWorker
from redrive.sim.checkers.alarms import AlarmsTold
from tests.simulation.planted import Plant

_CLOUDWATCH = "redrive.services.cloudwatch"


def telling_each_change_twice() -> AbstractContextManager[object]:
    """The actions of a change are promised twice."""
    original = acting.act

    def act(*args: Any, **options: Any) -> None:
        original(*args, **options)
        original(*args, **options)

    return patch(f"{_CLOUDWATCH}.transitions.act", act)


def telling_in_a_later_commit() -> AbstractContextManager[object]:
    """What a change tells is kept in memory, and promised by the next claim: a crash or a rollback comes between."""
    original, claim = acting.act, AlarmWorker.claim
    kept: list[tuple[Any, ...]] = []

    def late(self: Any, tx: Any, *, free: Any) -> Any:
        waiting, kept[:] = list(kept), []
        for args in waiting:
            original(tx, *args)
        return claim(self, tx, free=free)

    stack = ExitStack()
    stack.enter_context(patch(f"{_CLOUDWATCH}.transitions.act", lambda _, *args, **__: kept.append(args)))
    stack.enter_context(patch.object(AlarmWorker, "claim", late))
    return stack


def passing_over_missing_data() -> AbstractContextManager[object]:
    """Missing data points never change a state."""
    return _evaluating(treat=lambda _: TreatMissing.IGNORE)


def asking_for_one_point_more() -> AbstractContextManager[object]:
    """M + 1 out of N points have to breach."""
    return _evaluating(to_alarm=lambda points: points + 1)


def resting_too_early() -> AbstractContextManager[object]:
    """An alarm is looked at only when there is new data."""
    original = evaluating.look

    def look(*args: Any) -> Any:
        return replace(original(*args), can_rest=True)

    return patch(f"{_CLOUDWATCH}.workers.alarms.look", look)


def _evaluating(**changes: Any) -> AbstractContextManager[object]:
    original = evaluated.evaluate

    def evaluate(points: Any, **options: Any) -> Any:
        return original(points, **{key: changes.get(key, lambda same: same)(one) for key, one in options.items()})

    return patch(f"{_CLOUDWATCH}.evaluating.evaluate", evaluate)


ALARM_PLANTS: Mapping[Plant, set[str]] = {
    telling_each_change_twice: {AlarmsTold.once_rule},
    telling_in_a_later_commit: {AlarmsTold.once_rule},
    passing_over_missing_data: {AlarmsTold.state_rule, AlarmsTold.end_rule},
    asking_for_one_point_more: {AlarmsTold.state_rule, AlarmsTold.end_rule},
    resting_too_early: {AlarmsTold.end_rule},
}
"""Each defect, with the rules that may find it."""
