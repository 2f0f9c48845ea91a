"""Evaluate a metric alarm at an instant: read its points, and decide. `test` of an alarm against history does the same.

An alarm whose metrics have no data in its range comes to the same result until there is data: it can rest.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from redrive.core.clock import Instant
from redrive.core.errors import ServiceError
from redrive.core.scope import Scope
from redrive.services.cloudwatch import limits
from redrive.services.cloudwatch.model.alarm import Alarm, AlarmState, StateValue
from redrive.services.cloudwatch.model.evaluated import Evaluated, evaluate
from redrive.services.cloudwatch.model.evaluation import Allowance, Evaluation
from redrive.services.cloudwatch.model.plan import Plan, plan_of
from redrive.services.cloudwatch.model.queries import MetricStat
from redrive.services.cloudwatch.model.reasons import reason_data, reason_of
from redrive.services.cloudwatch.model.time import Window
from redrive.services.cloudwatch.model.values import TimeSeries
from redrive.services.cloudwatch.reads import Values, counted_values_of, first_from
from redrive.store.api import Transaction


@dataclass(frozen=True, slots=True)
class Looked:
    """What a look at an alarm's metrics has given.

    `can_rest`: nothing changes before there is new data. Data of the future are there from `next_data_at` on.
    """

    plan: Plan
    range: Window
    evaluated: Evaluated
    is_full: bool
    can_rest: bool
    next_data_at: Instant | None = None


def look(tx: Transaction, scope: Scope, alarm: Alarm, now: Instant) -> Looked:
    """Evaluate an alarm with the data of the periods before `now`."""
    plan = plan_of(alarm)
    asked = plan.range_at(now)
    fetched = {
        query.id: counted_values_of(tx, scope, query.content, asked)
        for query in plan.queries
        if isinstance(query.content, MetricStat)
    }
    values, counts = _watched(plan, asked, fetched)
    points = plan.points(values, asked, counts)
    is_silent = all(not one.values for one in fetched.values())
    if plan.has_few_samples(points):
        evaluated = Evaluated(None, tuple(point for point in points if point is not None))
    else:
        evaluated = evaluate(points, periods=plan.periods, to_alarm=plan.to_alarm, treat=plan.treat)
    is_full = all(point is not None for point in points[-plan.periods :])
    can_rest = is_silent and not plan.tells_time
    ahead = [first_from(tx, scope, stat, asked.end) for stat in plan.stats] if can_rest else []
    next_data_at = min([at for at in ahead if at is not None], default=None)
    return Looked(plan, asked, evaluated, is_full, can_rest, next_data_at)


def _watched(
    plan: Plan, asked: Window, fetched: Mapping[str, Values]
) -> tuple[Mapping[Instant, float], Mapping[Instant, float]]:
    """The values that meet the threshold, and how many samples they have, where that is known."""
    if plan.single is not None:
        only = fetched[plan.watched.id]
        return only.values, only.counts
    series = {query_id: TimeSeries(asked, one.values, query_id) for query_id, one in fetched.items()}
    try:
        found = Evaluation(plan.queries, series, asked, Allowance(limits.VALUES_COMPUTED_MAX)).series(plan.watched)
    except ServiceError:
        return {}, {}  # It could be computed when it was stored, without data; now it computes too much.
    return (found[0].values if found else {}), {}


def state_after(alarm: Alarm, looked: Looked, now: Instant) -> AlarmState | None:
    """The state that an evaluation leads to; None if the alarm keeps the state that it has."""
    value = looked.evaluated.value
    if value is None or value is alarm.state.value:
        return None
    return state_of(looked, value, now)


def state_of(looked: Looked, value: StateValue, now: Instant) -> AlarmState:
    """The state with its reasons."""
    plan, evaluated = looked.plan, looked.evaluated
    reason = reason_of(
        evaluated, value, operator=plan.operator, threshold=plan.threshold, periods=plan.periods,
        to_alarm=plan.to_alarm, treat=plan.treat,
    )  # fmt: skip
    single = plan.single
    data = reason_data(
        evaluated, now=now, start=looked.range.end - plan.periods * looked.range.period_ms,
        statistic=None if single is None else single.stat, unit=None if single is None else single.unit,
        period_s=plan.period_s, threshold=plan.threshold,
    )  # fmt: skip
    return AlarmState(value, reason, now, now, data)
