"""The timers of metric alarms, and the watches on their metrics.

An alarm is looked at each minute while its metrics have data in its evaluation range. Then it rests; a watch on each of
its metrics sets the timer again as soon as there is new data (`delivery/upkeep/metrics.py`).
"""

from __future__ import annotations

from redrive.core.clock import Instant
from redrive.core.scope import Scope
from redrive.delivery.sources.watches import Reader, unwatch, watch
from redrive.delivery.upkeep.metrics import metric_key
from redrive.services.cloudwatch.model.alarm import Alarm
from redrive.services.cloudwatch.model.plan import plan_of
from redrive.store.api import Transaction


def timer_name(scope: Scope, name: str) -> str:
    """The name of an alarm's timer."""
    return f"{scope}/{name}"


def scope_and_name(timer: str) -> tuple[Scope, str]:
    """The scope and the name of the alarm that a timer is for."""
    account, region, name = timer.split("/", 2)
    return Scope(account, region), name


def begin_watching(tx: Transaction, scope: Scope, alarm: Alarm) -> None:
    """Watch the metrics of an alarm, and look at it now."""
    plan = plan_of(alarm)
    reader = Reader(plan.timer, timer_name(scope, alarm.name))
    for stat in plan.stats:
        watch(tx, metric_key(stat.metric.watched(scope), stat.metric.name), reader)
    look_at(tx, scope, alarm, tx.now)


def end_watching(tx: Transaction, scope: Scope, alarm: Alarm) -> None:
    """Watch the metrics of an alarm no more, and drop its timer."""
    plan = plan_of(alarm)
    reader = Reader(plan.timer, timer_name(scope, alarm.name))
    for stat in plan.stats:
        unwatch(tx, metric_key(stat.metric.watched(scope), stat.metric.name), reader)
    tx.timers.clear(plan.timer, reader.timer)


def look_at(tx: Transaction, scope: Scope, alarm: Alarm, at: Instant) -> None:
    """Look at a metric alarm at an instant, not before and not later."""
    tx.timers.set(plan_of(alarm).timer, timer_name(scope, alarm.name), at)
    tx.notify("due")
