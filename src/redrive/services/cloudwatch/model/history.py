"""The items of an alarm's history. AWS documents their members, and not their texts.

Source: https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_AlarmHistoryItem.html
"""

from __future__ import annotations

from redrive.core.clock import Instant
from redrive.core.documents import Document, dump_json
from redrive.core.scope import Scope
from redrive.services.cloudwatch.model.alarm import Alarm, AlarmState
from redrive.services.cloudwatch.model.numbers import long_time
from redrive.services.cloudwatch.model.told import configuration_change
from redrive.store.tables.alarm_history import HistoryItem

CONFIGURATION_UPDATE, STATE_UPDATE, ACTION = "ConfigurationUpdate", "StateUpdate", "Action"
SUMMARY_LENGTH_MAX = 255
DATA_LENGTH_MAX = 4_095
_VERBS = {"create": "created", "update": "updated", "delete": "deleted"}


def configured(alarm: Alarm, operation: str, item_id: str, now: Instant) -> HistoryItem:
    """The item of a change of configuration: `create`, `update` or `delete`."""
    kind = "CompositeAlarm" if alarm.is_composite else "Alarm"
    shown = configuration_change(alarm, operation, None)["configuration"]
    data = {"version": "1.0", "type": operation.capitalize(), f"{_VERBS[operation]}Alarm": shown}
    return _item(alarm, item_id, now, CONFIGURATION_UPDATE, f'{kind} "{alarm.name}" {_VERBS[operation]}', data)


def changed(alarm: Alarm, previous: AlarmState, item_id: str) -> HistoryItem:
    """The item of a change of state."""
    summary = f"Alarm updated from {_word(previous)} to {_word(alarm.state)}"
    data = {"version": "1.0", "oldState": _state(previous), "newState": _state(alarm.state)}
    return _item(alarm, item_id, alarm.state.updated_at, STATE_UPDATE, summary, data)


def acted(
    alarm_name: str, alarm_type: str, scope: Scope, action: str, *, item_id: str, now: Instant,
    transitioned_at: Instant, error: str | None, message_id: str | None = None,
) -> HistoryItem:  # fmt: skip
    """The item of an action that was executed, or that failed for good."""
    summary = f"Successfully executed action {action}"
    data: Document = {
        "actionState": "Succeeded", "stateUpdateTimestamp": transitioned_at, "notificationResource": action,
        "alarmArn": f"arn:aws:cloudwatch:{scope.region}:{scope.account}:alarm:{alarm_name}", "error": None,
    }  # fmt: skip
    if message_id is not None:
        data["messageId"] = message_id
    if error is not None:
        summary = f'Failed to execute action {action}. Received error: "{error}"'
        data |= {"actionState": "Failed", "error": error}
    return HistoryItem(
        alarm_name, now, item_id, alarm_type, ACTION, summary[:SUMMARY_LENGTH_MAX], _text(data)
    )  # fmt: skip


def withheld(alarm: Alarm, item_id: str, now: Instant, why: str) -> HistoryItem:
    """The item of actions that a mute rule or a suppressor keeps back."""
    data = {"actionState": "Suppressed", "stateUpdateTimestamp": alarm.state.transitioned_at, "reason": why}
    return _item(alarm, item_id, now, ACTION, f"Actions not executed: {why}", data)


def _item(alarm: Alarm, item_id: str, at: Instant, kind: str, summary: str, data: Document) -> HistoryItem:
    return HistoryItem(
        alarm.name, at, item_id, alarm.type.value, kind, summary[:SUMMARY_LENGTH_MAX], _text(data)
    )  # fmt: skip


def _text(data: Document) -> str:
    """The data as JSON; without their longest parts if they would be too long."""
    text = dump_json(data)
    while len(text) > DATA_LENGTH_MAX:
        longest = max(data, key=lambda key: len(dump_json(data[key])))
        data = {key: value for key, value in data.items() if key != longest}
        text = dump_json(data)
    return text


def _state(state: AlarmState) -> Document:
    shown = {"stateValue": state.value.value, "stateReason": state.reason}
    if state.reason_data is not None:
        shown["stateReasonData"] = state.reason_data
    return shown | {"stateUpdatedTimestamp": long_time(state.updated_at)}


def _word(state: AlarmState) -> str:
    return state.value.value
