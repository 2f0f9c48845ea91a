"""The end of a mute: alarms whose state differs from the one that was told last act now.

Source: https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_DeleteAlarmMuteRule.html
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from redrive.core.scope import Scope
from redrive.services.cloudwatch.acting import act, muted_by
from redrive.services.cloudwatch.model.alarm import Alarm
from redrive.services.cloudwatch.model.mute_rule import MUTE_TIMER, MuteRule
from redrive.store.api import Transaction


def schedule_end(tx: Transaction, scope: Scope, rule: MuteRule) -> None:
    """Set the timer of a rule to the end of its present or next window."""
    end = rule.next_end(tx.now)
    if end is None:
        tx.timers.clear(MUTE_TIMER, f"{scope}/{rule.name}")
    else:
        tx.timers.set(MUTE_TIMER, f"{scope}/{rule.name}", end)
        tx.notify("due")


def unmute(tx: Transaction, scope: Scope, alarm_names: Iterable[str], *, ended: str = "") -> None:
    """Let alarms act that were muted until now, unless another rule still mutes them. `ended`: the rule that ended."""
    for name in alarm_names:
        alarm = tx.resources.get(Alarm, scope, name)
        if alarm is None or alarm.muted_in is None or muted_by(tx, scope, name, tx.now, but=ended) is not None:
            continue
        if alarm.muted_in is not alarm.state.value and alarm.suppression is None:
            act(tx, scope, alarm, replace(alarm.state, value=alarm.muted_in), after_mute=True)
        tx.resources.put(scope, replace(alarm, muted_in=None))
