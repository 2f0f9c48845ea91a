"""Evaluate a composite alarm: its rule, and what suppresses its actions.

Source: https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/Create_Composite_Alarm.html
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from redrive.core.clock import SECOND_MS
from redrive.core.documents import dump_json
from redrive.core.scope import Scope
from redrive.languages.alarm_rule import children_of, is_met, parse_rule
from redrive.services.cloudwatch.model.alarm import Alarm, AlarmState, StateValue, Suppression, Suppressor, name_in
from redrive.services.cloudwatch.model.numbers import long_time, spoken_time
from redrive.services.cloudwatch.model.reasons import REASON_DATA_LENGTH_MAX, REASON_LENGTH_MAX
from redrive.services.cloudwatch.transitions import (
    COMPOSITE_TIMER,
    act_or_mute,
    change_state,
    set_composite_timer,
    suppressor_of,
)
from redrive.store.api import Transaction

_GONE = StateValue.INSUFFICIENT_DATA
"""The state of a child that does not exist any more."""


def compose(tx: Transaction, scope: Scope, alarm: Alarm) -> None:
    """Evaluate the rule of a composite alarm, then its suppression. The caller has read its timer."""
    tx.timers.clear(COMPOSITE_TIMER, f"{scope}/{alarm.name}")
    if alarm.suppression is not None and alarm.suppression.until is not None:
        set_composite_timer(tx, scope, alarm.name, alarm.suppression.until)
    value = _value(tx, scope, alarm)
    if value is not alarm.state.value:
        alarm = change_state(tx, scope, alarm, _state(tx, scope, alarm, value))
    _suppress(tx, scope, alarm)


def children(tx: Transaction, scope: Scope, alarm: Alarm) -> list[Alarm]:
    """The alarms that the rule of a composite alarm names, in its order; deleted ones are left out."""
    named = [name_in(reference, scope) for reference in children_of(parse_rule(alarm.settings["AlarmRule"]))]
    found = [tx.resources.get(Alarm, scope, name) for name in named if name is not None]
    return [child for child in found if child is not None]


def depth_of(tx: Transaction, scope: Scope, alarm: Alarm) -> int:
    """How many composite alarms stand below an alarm, one below the other: 0 for a metric alarm."""
    known: dict[str, int] = {}

    def depth(one: Alarm) -> int:
        if one.name not in known:
            known[one.name] = 0  # No alarm stands below itself: such rules are refused.
            if one.is_composite:
                known[one.name] = 1 + max([depth(child) for child in children(tx, scope, one)], default=0)
        return known[one.name]

    return depth(alarm)


def _value(tx: Transaction, scope: Scope, alarm: Alarm) -> StateValue:
    def state_of(reference: str) -> str:
        name = name_in(reference, scope)
        child = None if name is None else tx.resources.get(Alarm, scope, name)
        return (_GONE if child is None else child.state.value).value

    return StateValue.ALARM if is_met(parse_rule(alarm.settings["AlarmRule"]), state_of) else StateValue.OK


def _state(tx: Transaction, scope: Scope, alarm: Alarm, value: StateValue) -> AlarmState:
    """The new state of a composite alarm, with its reason: the child that changed last, or all at the beginning."""
    found = children(tx, scope, alarm)
    if alarm.state.value is StateValue.INSUFFICIENT_DATA or not found:
        verb = "created" if alarm.state.value is StateValue.INSUFFICIENT_DATA else "updated"
        reason = f"{alarm.arn(scope)} was {verb} and its alarm rule evaluates to {value.value}"
        told: Sequence[Alarm] = found
    else:
        latest = max(found, key=lambda child: child.state.transitioned_at)
        spoken = spoken_time(latest.state.transitioned_at)
        reason = f"{latest.arn(scope)} transitioned to {latest.state.value.value} at {spoken}"
        told = [latest]
    shown = [
        {
            "arn": child.arn(scope),
            "state": {"value": child.state.value.value, "timestamp": long_time(child.state.transitioned_at)},
        }
        for child in told
    ]
    while len(text := dump_json({"triggeringAlarms": shown})) > REASON_DATA_LENGTH_MAX:
        shown.pop()
    return AlarmState(value, reason[:REASON_LENGTH_MAX], tx.now, tx.now, text)


def _suppress(tx: Transaction, scope: Scope, alarm: Alarm) -> None:
    """Follow the suppressor: begin and end what keeps the alarm from acting, and act where the end has come."""
    present = alarm.suppression
    following = _suppression(tx, scope, alarm)
    if following == present:
        return
    changed = replace(alarm, suppression=following)
    if following is None and present is not None:
        tx.timers.clear(COMPOSITE_TIMER, f"{scope}/{alarm.name}")
        if present.is_pending:
            changed = act_or_mute(tx, scope, changed, alarm.state, present)
    elif following is not None and following.until is not None:
        set_composite_timer(tx, scope, alarm.name, following.until)
    tx.resources.put(scope, changed)


def _suppression(tx: Transaction, scope: Scope, alarm: Alarm) -> Suppression | None:
    present = alarm.suppression
    suppressor = suppressor_of(tx, scope, alarm)
    is_pending = present is not None and present.is_pending
    if suppressor is not None and suppressor.state.value is StateValue.ALARM:
        return Suppression(Suppressor.ALARM, is_pending=is_pending)
    if present is None or suppressor is None:
        return None
    if present.by is Suppressor.ALARM:
        until = tx.now + int(alarm.settings["ActionsSuppressorExtensionPeriod"]) * SECOND_MS
        following = Suppression(Suppressor.EXTENSION_PERIOD, until, is_pending)
        return following if until > tx.now else None
    return present if present.until is not None and present.until > tx.now else None
