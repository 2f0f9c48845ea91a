"""The operations that create, change and delete alarms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from redrive.core.clock import MINUTE_MS, Instant
from redrive.core.documents import Document, load_json
from redrive.core.errors import ServiceError
from redrive.core.scope import Caller
from redrive.delivery.operation import operation
from redrive.services.cloudwatch.alarms import authorize_alarm, configure, delete, dependents_of, existing_alarm
from redrive.services.cloudwatch.model.alarm import Alarm, AlarmState, AlarmType, StateValue
from redrive.services.cloudwatch.model.alarm_requests import check_name, metric_settings, read_alarm_tags
from redrive.services.cloudwatch.model.metric import validation_error
from redrive.services.cloudwatch.model.plan import plan_of
from redrive.services.cloudwatch.timers import begin_watching, end_watching, look_at
from redrive.services.cloudwatch.transitions import change_state
from redrive.store.api import Transaction


@operation("PutMetricAlarm")
def put_metric_alarm(
    tx: Transaction, caller: Caller, *, alarm_name: str, alarm_description: str | None = None,
    actions_enabled: bool | None = None, ok_actions: Sequence[str] | None = None,
    alarm_actions: Sequence[str] | None = None, insufficient_data_actions: Sequence[str] | None = None,
    metric_name: str | None = None, namespace: str | None = None, statistic: str | None = None,
    extended_statistic: str | None = None, dimensions: Sequence[Mapping[str, str]] | None = None,
    period: int | None = None, unit: str | None = None, evaluation_periods: int | None = None,
    datapoints_to_alarm: int | None = None, threshold: float | None = None,
    comparison_operator: str | None = None, treat_missing_data: str | None = None,
    evaluate_low_sample_count_percentile: str | None = None, metrics: Sequence[Document] | None = None,
    tags: Sequence[Mapping[str, str]] | None = None, threshold_metric_id: str | None = None,
    evaluation_window: Document | None = None, warm_up_configuration: Document | None = None,
    evaluation_criteria: Document | None = None, evaluation_interval: int | None = None,
    action_configuration: Document | None = None,
) -> Document:  # fmt: skip
    """Create or update a metric alarm; it is evaluated at once. An update leaves the state and the tags as they are.

    Errors: ValidationError.
    Source: https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_PutMetricAlarm.html
    """
    settings: Document = {
        "AlarmDescription": alarm_description, "ActionsEnabled": actions_enabled, "OKActions": _listed(ok_actions),
        "AlarmActions": _listed(alarm_actions), "InsufficientDataActions": _listed(insufficient_data_actions),
        "MetricName": metric_name, "Namespace": namespace, "Statistic": statistic,
        "ExtendedStatistic": extended_statistic, "Dimensions": _listed(dimensions), "Period": period, "Unit": unit,
        "EvaluationPeriods": evaluation_periods, "DatapointsToAlarm": datapoints_to_alarm, "Threshold": threshold,
        "ComparisonOperator": comparison_operator, "TreatMissingData": treat_missing_data,
        "EvaluateLowSampleCountPercentile": evaluate_low_sample_count_percentile, "Metrics": _listed(metrics),
        "ThresholdMetricId": threshold_metric_id, "EvaluationWindow": evaluation_window,
        "WarmUpConfiguration": warm_up_configuration, "EvaluationCriteria": evaluation_criteria,
        "EvaluationInterval": evaluation_interval, "ActionConfiguration": action_configuration,
    }  # fmt: skip
    given = read_alarm_tags(tags)
    known = authorize_alarm(tx, caller, "PutMetricAlarm", alarm_name, tags=given, settings=settings)
    check_name(alarm_name)
    if known is not None and known.is_composite:
        raise validation_error(f"{alarm_name} is a composite alarm. A metric alarm needs a name of its own.")
    checked = metric_settings(settings)
    if known is not None:
        end_watching(tx, caller.scope, known)
    alarm = configure(tx, caller.scope, known, alarm_name, AlarmType.METRIC, checked, given)
    alarm = _warming_up(alarm, known, tx.now)
    tx.resources.put(caller.scope, alarm)
    begin_watching(tx, caller.scope, alarm)
    return {}


@operation("DeleteAlarms")
def delete_alarms(tx: Transaction, caller: Caller, *, alarm_names: Sequence[str]) -> Document:
    """Delete alarms, at most one of them composite; names of no alarm are passed over. Histories stay.

    Errors: ValidationError (an alarm that a composite alarm looks at; two composite alarms).
    Source: https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_DeleteAlarms.html
    """
    names = list(dict.fromkeys(alarm_names))
    found = [authorize_alarm(tx, caller, "DeleteAlarms", name) for name in names]
    alarms = [alarm for alarm in found if alarm is not None]
    if sum(alarm.is_composite for alarm in alarms) > 1:
        raise validation_error("You can delete at most one composite alarm in one call.")
    going = {alarm.name for alarm in alarms}
    for alarm in alarms:
        staying = [name for name in dependents_of(tx, caller.scope, alarm.name) if name not in going]
        if staying:
            raise validation_error(f"Cannot delete {alarm.name} as there are composite alarm(s) depending on it.")
    for alarm in sorted(alarms, key=lambda one: not one.is_composite):
        delete(tx, caller.scope, alarm)
    return {}


@operation("EnableAlarmActions")
def enable_alarm_actions(tx: Transaction, caller: Caller, *, alarm_names: Sequence[str]) -> Document:
    """Let alarms act when their states change from now on; names of no alarm are passed over.

    Source: https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_EnableAlarmActions.html
    """
    for name in dict.fromkeys(alarm_names):
        _set_enabled(tx, caller, authorize_alarm(tx, caller, "EnableAlarmActions", name), enabled=True)
    return {}


@operation("DisableAlarmActions")
def disable_alarm_actions(tx: Transaction, caller: Caller, *, alarm_names: Sequence[str]) -> Document:
    """Let alarms change their states without acting; names of no alarm are passed over.

    Source: https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_DisableAlarmActions.html
    """
    for name in dict.fromkeys(alarm_names):
        _set_enabled(tx, caller, authorize_alarm(tx, caller, "DisableAlarmActions", name), enabled=False)
    return {}


@operation("SetAlarmState")
def set_alarm_state(
    tx: Transaction, caller: Caller, *, alarm_name: str, state_value: str, state_reason: str,
    state_reason_data: str | None = None,
) -> Document:  # fmt: skip
    """Set the state of an alarm until it is evaluated next: a composite alarm, until one of its children changes.

    Errors: ResourceNotFound; InvalidFormat (StateReasonData is no JSON).
    Source: https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_SetAlarmState.html
    """
    alarm = existing_alarm(tx, caller, "SetAlarmState", alarm_name)
    if state_reason_data is not None:
        _check_json(state_reason_data)
    value = StateValue(state_value)
    if value is alarm.state.value:
        state = replace(alarm.state, reason=state_reason, reason_data=state_reason_data, updated_at=tx.now)
        tx.resources.put(caller.scope, replace(alarm, state=state))
    else:
        state = AlarmState(value, state_reason, tx.now, tx.now, state_reason_data)
        alarm = change_state(tx, caller.scope, alarm, state)
    if not alarm.is_composite:
        interval_ms = plan_of(alarm).interval_ms
        look_at(tx, caller.scope, alarm, tx.now - tx.now % interval_ms + interval_ms)
    return {}


def _listed(given: Sequence[object] | None) -> list[object] | None:
    return None if given is None else list(given)


def _warming_up(alarm: Alarm, known: Alarm | None, now: Instant) -> Alarm:
    """The alarm with the end of its warm-up, which begins when the alarm gets one."""
    warm_up = alarm.settings.get("WarmUpConfiguration")
    if warm_up is None:
        return replace(alarm, warm_until=None)
    if known is not None and known.warm_until is None and "WarmUpConfiguration" in known.settings:
        return alarm  # The warm-up is over; another length does not begin a new one.
    return replace(alarm, warm_until=now + int(warm_up["WarmUpPeriodDurationInMinutes"]) * MINUTE_MS)


def _set_enabled(tx: Transaction, caller: Caller, alarm: Alarm | None, *, enabled: bool) -> None:
    if alarm is not None and alarm.is_enabled is not enabled:
        settings = {**alarm.settings, "ActionsEnabled": enabled}
        configure(tx, caller.scope, alarm, alarm.name, alarm.type, settings, alarm.tags)


def _check_json(text: str) -> None:
    try:
        load_json(text)
    except ValueError:
        raise ServiceError("InvalidFormatFault", "The parameter StateReasonData is not valid JSON.") from None
