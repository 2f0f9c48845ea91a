"""Alarms as DescribeAlarms shows them."""

from __future__ import annotations

from redrive.core.documents import Document
from redrive.core.scope import Scope
from redrive.services.cloudwatch.model.alarm import Alarm

_LISTS = ("OKActions", "AlarmActions", "InsufficientDataActions")


def shown_alarm(alarm: Alarm, scope: Scope) -> Document:
    """A metric or composite alarm in AWS's form."""
    state = alarm.state
    document: Document = {
        **{name: [] for name in _LISTS},
        "ActionsEnabled": True,
        **({} if alarm.is_composite or "Metrics" in alarm.settings else {"Dimensions": []}),
        **alarm.settings,
        "AlarmName": alarm.name,
        "AlarmArn": alarm.arn(scope),
        "AlarmConfigurationUpdatedTimestamp": alarm.configured_at,
        "StateValue": state.value.value,
        "StateReason": state.reason,
        "StateReasonData": state.reason_data,
        "StateUpdatedTimestamp": state.updated_at,
        "StateTransitionedTimestamp": state.transitioned_at,
    }
    if alarm.suppression is not None:
        document["ActionsSuppressedBy"] = alarm.suppression.by.value
        document["ActionsSuppressedReason"] = alarm.suppression.reason
    return {key: value for key, value in document.items() if value is not None}
