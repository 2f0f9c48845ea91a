"""What alarms tell: topics, functions and the default bus, each in its documented form.

Sources: https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/cloudwatch-and-eventbridge.html,
https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/alarms-and-actions-Lambda.html,
https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/Notify_Users_Alarm_Changes.html
"""

from __future__ import annotations

from redrive.core.clock import Instant
from redrive.core.documents import Document, dump_json, load_json
from redrive.core.scope import Scope
from redrive.services.cloudwatch.model.alarm import Alarm, AlarmState, Suppression
from redrive.services.cloudwatch.model.numbers import long_time
from redrive.services.cloudwatch.model.plan import shown_metrics
from redrive.services.cloudwatch.model.regions import region_name

STATE_CHANGE = "CloudWatch Alarm State Change"
CONFIGURATION_CHANGE = "CloudWatch Alarm Configuration Change"
EVENT_SOURCE = "aws.cloudwatch"
_SUBJECT_LENGTH_MAX = 100

_SUPPRESSORS = {
    "ActionsSuppressor": "actionsSuppressor",
    "ActionsSuppressorWaitPeriod": "actionsSuppressorWaitPeriod",
    "ActionsSuppressorExtensionPeriod": "actionsSuppressorExtensionPeriod",
}
_CONDITIONS = {
    "EvaluationPeriods": "evaluationPeriods",
    "DatapointsToAlarm": "datapointsToAlarm",
    "Threshold": "threshold",
    "ComparisonOperator": "comparisonOperator",
    "TreatMissingData": "treatMissingData",
    "EvaluateLowSampleCountPercentile": "evaluateLowSampleCountPercentile",
}


def subject_of(alarm: Alarm, scope: Scope) -> str:
    """The subject of a notification: `ALARM: "name" in US East (N. Virginia)`."""
    return f'{alarm.state.value.value}: "{alarm.name}" in {region_name(scope.region)}'[:_SUBJECT_LENGTH_MAX]


def message_of(alarm: Alarm, previous: AlarmState, scope: Scope, *, after_mute: bool) -> str:
    """The message for a topic, a JSON text. `after_mute`: a mute rule has kept the action back until now."""
    settings = alarm.settings
    document: Document = {
        "AlarmName": alarm.name,
        "AlarmDescription": settings.get("AlarmDescription"),
        "AWSAccountId": scope.account,
        "AlarmConfigurationUpdatedTimestamp": long_time(alarm.configured_at),
        "NewStateValue": alarm.state.value.value,
        "NewStateReason": alarm.state.reason,
        "StateChangeTime": long_time(alarm.state.transitioned_at),
        "Region": region_name(scope.region),
        "AlarmArn": alarm.arn(scope),
        "OldStateValue": previous.value.value,
        "OKActions": list(settings.get("OKActions") or ()),
        "AlarmActions": list(settings.get("AlarmActions") or ()),
        "InsufficientDataActions": list(settings.get("InsufficientDataActions") or ()),
    }
    if alarm.is_composite:
        document["AlarmRule"] = settings["AlarmRule"]
        document["TriggeringChildren"] = _triggering(alarm.state)
    else:
        document["Trigger"] = _trigger(settings)
    if after_mute:
        document["ActionExecutedAfterMuteWindow"] = True
    return dump_json(document)


def payload_of(
    alarm: Alarm, previous: AlarmState, before: Suppression | None, scope: Scope, now: Instant
) -> str:  # fmt: skip
    """The payload for a function, a JSON text. `before`: what kept the alarm from acting in its previous state."""
    return dump_json(
        {
            "source": EVENT_SOURCE,
            "alarmArn": alarm.arn(scope),
            "accountId": scope.account,
            "time": long_time(now),
            "region": scope.region,
            "alarmData": {
                "alarmName": alarm.name,
                "state": _state(alarm.state, alarm.suppression),
                "previousState": _state(previous, before),
                "configuration": _watching(alarm),
            },
        }
    )


def state_change(alarm: Alarm, previous: AlarmState, before: Suppression | None) -> Document:
    """The detail of the event about a change of state."""
    return {
        "alarmName": alarm.name,
        "configuration": _watching(alarm),
        "previousState": _state(previous, before),
        "state": _state(alarm.state, alarm.suppression),
    }


def configuration_change(alarm: Alarm, operation: str, previous: Alarm | None) -> Document:
    """The detail of the event about a change of configuration: `create`, `update` or `delete`."""
    state: Document = {"value": alarm.state.value.value, "timestamp": long_time(alarm.state.updated_at)}
    if alarm.suppression is not None:
        state = {"actionsSuppressedBy": alarm.suppression.by.value, **state}
    detail: Document = {"alarmName": alarm.name, "operation": operation, "state": state}
    detail["configuration"] = _configuration(alarm)
    if previous is not None:
        detail["previousConfiguration"] = _configuration(previous)
    return detail


def _configuration(alarm: Alarm) -> Document:
    settings = alarm.settings
    document: Document = {_CONDITIONS[key]: settings[key] for key in _CONDITIONS if settings.get(key) is not None}
    document |= {key: value for key, value in _watching(alarm).items() if key != "description"}
    document["alarmName"] = alarm.name
    if settings.get("AlarmDescription") is not None:
        document["description"] = settings["AlarmDescription"]
    return document | {
        "actionsEnabled": alarm.is_enabled,
        "timestamp": long_time(alarm.configured_at),
        "okActions": list(settings.get("OKActions") or ()),
        "alarmActions": list(settings.get("AlarmActions") or ()),
        "insufficientDataActions": list(settings.get("InsufficientDataActions") or ()),
    }


def _watching(alarm: Alarm) -> Document:
    """What an alarm looks at."""
    settings = alarm.settings
    document: Document = {}
    if settings.get("AlarmDescription") is not None:
        document["description"] = settings["AlarmDescription"]
    if not alarm.is_composite:
        return {**document, "metrics": shown_metrics(alarm)}
    document["alarmRule"] = settings["AlarmRule"]
    return document | {name: settings[key] for key, name in _SUPPRESSORS.items() if settings.get(key) is not None}


def _state(state: AlarmState, suppression: Suppression | None) -> Document:
    document: Document = {}
    if suppression is not None:
        document = {"actionsSuppressedBy": suppression.by.value, "actionsSuppressedReason": suppression.reason}
    document |= {"value": state.value.value, "reason": state.reason}
    if state.reason_data is not None:
        document["reasonData"] = state.reason_data
    return {**document, "timestamp": long_time(state.updated_at)}


def _triggering(state: AlarmState) -> list[Document]:
    """The children whose change moved a composite alarm, as notifications show them."""
    if state.reason_data is None:
        return []
    try:
        told = load_json(state.reason_data)
        return [
            {"Arn": one["arn"], "State": {"Value": one["state"]["value"], "Timestamp": one["state"]["timestamp"]}}
            for one in told["triggeringAlarms"]
        ]
    except (ValueError, KeyError, TypeError):
        return []  # SetAlarmState takes any text as the data of a reason.


def _trigger(settings: Document) -> Document:
    """What a metric alarm compares with what, as notifications show it."""
    shared = {
        "EvaluationPeriods": settings["EvaluationPeriods"],
        **({"DatapointsToAlarm": settings["DatapointsToAlarm"]} if settings.get("DatapointsToAlarm") else {}),
        "ComparisonOperator": settings["ComparisonOperator"],
        "Threshold": settings["Threshold"],
        "TreatMissingData": settings.get("TreatMissingData", "missing"),
        "EvaluateLowSampleCountPercentile": settings.get("EvaluateLowSampleCountPercentile", ""),
    }
    if "Metrics" in settings:
        return {**shared, "Metrics": [_trigger_query(document) for document in settings["Metrics"]]}
    statistic = settings.get("Statistic")
    kind = {"StatisticType": "ExtendedStatistic", "ExtendedStatistic": settings.get("ExtendedStatistic")}
    if statistic is not None:
        kind = {"StatisticType": "Statistic", "Statistic": statistic.upper()}
    return {
        "MetricName": settings["MetricName"], "Namespace": settings["Namespace"], **kind,
        "Unit": settings.get("Unit"), "Dimensions": _dimensions(settings), "Period": settings["Period"], **shared,
    }  # fmt: skip


def _trigger_query(document: Document) -> Document:
    shown: Document = {
        key: document[key] for key in ("Expression", "Id", "Label", "Period") if document.get(key) is not None
    }
    stat = document.get("MetricStat")
    if stat is not None:
        metric = stat["Metric"]
        shown["MetricStat"] = {
            "Metric": {
                "Dimensions": _dimensions(metric), "MetricName": metric["MetricName"],
                "Namespace": metric["Namespace"],
            },
            "Period": stat["Period"], "Stat": stat["Stat"],
            **({"Unit": stat["Unit"]} if stat.get("Unit") is not None else {}),
        }  # fmt: skip
    return {**shown, "ReturnData": document.get("ReturnData", True)}


def _dimensions(document: Document) -> list[Document]:
    return [{"value": one["Value"], "name": one["Name"]} for one in document.get("Dimensions") or ()]
