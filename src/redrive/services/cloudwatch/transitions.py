"""A change of an alarm's state, and everything that follows from it, in one transaction.

The new state, the item of history, the event, the promises of the actions, and the timers of the composite alarms that
look at the alarm are committed together: no transition is lost, and none is told twice.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from redrive.core.clock import SECOND_MS, Instant
from redrive.core.entropy import new_row_id
from redrive.core.own_events import OwnEvent
from redrive.core.scope import Scope
from redrive.services.cloudwatch.acting import act, keep_item, muted_by, withhold
from redrive.services.cloudwatch.model.alarm import (
    Alarm,
    AlarmState,
    Dependents,
    StateValue,
    Suppression,
    Suppressor,
    name_in,
)
from redrive.services.cloudwatch.model.history import changed
from redrive.services.cloudwatch.model.told import EVENT_SOURCE, STATE_CHANGE, state_change
from redrive.store.api import Transaction

COMPOSITE_TIMER = "cloudwatch.composite"
"""The kind of the timers of composite alarms: a child has changed, or a period of suppression ends."""


def change_state(tx: Transaction, scope: Scope, alarm: Alarm, state: AlarmState) -> Alarm:
    """Store the new state of an alarm, and do what follows from it. Returns the alarm as it is stored."""
    previous, before = alarm.state, alarm.suppression
    now_in = replace(alarm, state=state, suppression=suppression_after(tx, scope, alarm))
    keep_item(tx, scope, changed(now_in, previous, new_row_id(tx.entropy, tx.now)))
    wake_composites(tx, scope, alarm.name)
    stored = _acted(tx, scope, now_in, previous, before)
    tx.resources.put(scope, stored)
    make = partial(_event, stored, previous, before, scope)
    tx.services.publish_event(tx, scope, make)
    return stored


def wake_composites(tx: Transaction, scope: Scope, name: str) -> None:
    """Let the composite alarms that look at an alarm be evaluated now."""
    dependents = tx.resources.get(Dependents, scope, name)
    for composite in () if dependents is None else dependents.composites:
        if tx.timers.hasten(COMPOSITE_TIMER, f"{scope}/{composite}", tx.now):
            tx.notify("due")


def suppressor_of(tx: Transaction, scope: Scope, alarm: Alarm) -> Alarm | None:
    """The alarm that suppresses the actions of a composite alarm; None if it has none, or a deleted one."""
    reference = alarm.settings.get("ActionsSuppressor")
    name = None if reference is None else name_in(str(reference), scope)
    return None if name is None else tx.resources.get(Alarm, scope, name)


def suppression_after(tx: Transaction, scope: Scope, alarm: Alarm) -> Suppression | None:
    """What keeps a composite alarm from acting when its state changes now: its suppressor, or a wait for it."""
    suppressor = suppressor_of(tx, scope, alarm)
    if suppressor is None:
        return None
    if suppressor.state.value is StateValue.ALARM:
        return Suppression(Suppressor.ALARM, is_pending=True)
    until = tx.now + int(alarm.settings["ActionsSuppressorWaitPeriod"]) * SECOND_MS
    return Suppression(Suppressor.WAIT_PERIOD, until, is_pending=True) if until > tx.now else None


def act_or_mute(
    tx: Transaction, scope: Scope, alarm: Alarm, previous: AlarmState, before: Suppression | None
) -> Alarm:  # fmt: skip
    """Promise the actions of an alarm, unless a mute rule keeps them back. Returns the alarm, which is not stored."""
    rule = muted_by(tx, scope, alarm.name, tx.now)
    if rule is None:
        act(tx, scope, alarm, previous, before)
        return replace(alarm, muted_in=None)
    withhold(tx, scope, alarm, f"muted by the alarm mute rule {rule.name}")
    return replace(alarm, muted_in=alarm.muted_in or previous.value)


def _acted(
    tx: Transaction, scope: Scope, alarm: Alarm, previous: AlarmState, before: Suppression | None
) -> Alarm:  # fmt: skip
    suppression = alarm.suppression
    if suppression is None:
        if alarm.is_composite and before is not None and before.until is not None:
            tx.timers.clear(COMPOSITE_TIMER, f"{scope}/{alarm.name}")
        return act_or_mute(tx, scope, alarm, previous, before)
    if suppression.until is not None:
        set_composite_timer(tx, scope, alarm.name, suppression.until)
    withhold(tx, scope, alarm, suppression.reason)
    return alarm


def set_composite_timer(tx: Transaction, scope: Scope, name: str, at: Instant) -> None:
    """Look at a composite alarm at an instant."""
    tx.timers.set(COMPOSITE_TIMER, f"{scope}/{name}", at)
    tx.notify("due")


def _event(alarm: Alarm, previous: AlarmState, before: Suppression | None, scope: Scope) -> OwnEvent:
    detail = state_change(alarm, previous, before)
    return OwnEvent(EVENT_SOURCE, STATE_CHANGE, detail, (alarm.arn(scope),), alarm.state.updated_at)
