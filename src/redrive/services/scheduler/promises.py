"""Turn an occurrence into a delivery, on time or by hand; or record an occurrence as missed."""

from __future__ import annotations

from redrive.core.clock import Instant
from redrive.core.scope import Scope
from redrive.delivery.history.records import LeftOut as LeftOutRun
from redrive.delivery.history.records import record_left_out
from redrive.services.scheduler.model.executions import Execution, execution_id, retry_policy
from redrive.services.scheduler.model.metrics import THROTTLED, series_of
from redrive.services.scheduler.model.occurrences import LeftOut, Occurrence
from redrive.services.scheduler.model.schedule import SOURCE, Schedule, ScheduleState, group_of_arn
from redrive.store.api import Transaction
from redrive.store.tables.deliveries import INSIDE, Delivery

_DRAW_DIGITS = 32


def promise(tx: Transaction, scope: Scope, schedule: Schedule, occurrence: Occurrence, *, not_before: Instant) -> None:
    """Create the delivery of an occurrence, due when the quota allows it.

    A second call for the same occurrence does nothing.
    """
    execution = _execution(scope, schedule, occurrence.scheduled_at, salt=_salt(schedule))
    if not_before > tx.now:
        tx.metrics.count(series_of(scope, group_of_arn(execution.schedule_arn), THROTTLED), tx.now)
        _put(tx, execution, invoke_at=occurrence.invoke_at, due_at=not_before)
    else:
        _put(tx, execution, invoke_at=occurrence.invoke_at)


def trigger(tx: Transaction, scope: Scope, schedule: Schedule) -> Execution:
    """Create a delivery now, in addition to those of the expression, with its own execution id.

    The regular occurrences of the schedule do not change. A disabled schedule can be triggered, too.
    """
    execution = _execution(scope, schedule, tx.now, salt=tx.entropy.hex(_DRAW_DIGITS))
    _put(tx, execution, invoke_at=tx.now)
    return execution


def record_missed(tx: Transaction, scope: Scope, schedule: Schedule, missed: LeftOut | None, *, why: str) -> None:
    """Record occurrences that will never fire: one record for all of them."""
    if missed is None:
        return
    execution = _execution(scope, schedule, missed.first_at, salt=_salt(schedule))
    left_out = LeftOutRun(
        execution.delivery_id, execution.execution_id, execution.schedule_arn, execution.target["Arn"], scope, SOURCE,
        missed.count, missed.first_at, missed.last_at, why,
    )  # fmt: skip
    record_left_out(tx, left_out)


def record_unfired(tx: Transaction, scope: Scope, schedule: Schedule, missed: LeftOut | None, *, ended: str) -> None:
    """Record the due occurrences that a changed or deleted schedule has not fired: in its window, or while disabled.

    `ended` is the word for what happened to the schedule.
    """
    is_disabled = schedule.settings.state is ScheduleState.DISABLED
    why = "the schedule was disabled" if is_disabled else f"the schedule was {ended} before they were invoked"
    record_missed(tx, scope, schedule, missed, why=why)


def _execution(scope: Scope, schedule: Schedule, scheduled_at: Instant, *, salt: Instant | str) -> Execution:
    arn = schedule.arn(scope)
    return Execution(arn, scope, execution_id(arn, scheduled_at, salt), scheduled_at, schedule.settings.target)


def _salt(schedule: Schedule) -> Instant | str:
    return schedule.salt or schedule.created_at


def _put(tx: Transaction, execution: Execution, *, invoke_at: Instant, due_at: Instant | None = None) -> None:
    target = execution.target
    tx.deliveries.put(
        Delivery(
            id=execution.delivery_id, scope=execution.scope, source=SOURCE, source_arn=execution.schedule_arn,
            target_arn=target["Arn"], document=execution.document, policy=retry_policy(target), place=INSIDE,
            due_at=invoke_at if due_at is None else due_at, first_at=invoke_at,
        )
    )  # fmt: skip
    tx.notify("due")
