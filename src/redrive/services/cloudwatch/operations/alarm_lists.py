"""The operations that list alarms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from redrive.core.documents import Document
from redrive.core.errors import ServiceError
from redrive.core.scope import Caller
from redrive.delivery.operation import operation
from redrive.services.cloudwatch import limits
from redrive.services.cloudwatch.alarms import dependents_of
from redrive.services.cloudwatch.composing import children
from redrive.services.cloudwatch.model.alarm import ACTIONS, Alarm, AlarmType, alarm_arn
from redrive.services.cloudwatch.model.metric import INVALID_COMBINATION, Metric, validation_error
from redrive.services.cloudwatch.model.plan import plan_of
from redrive.services.cloudwatch.model.shown import shown_alarm
from redrive.services.cloudwatch.model.tokens import read_token, write_token
from redrive.store.api import Transaction

_MEMBERS = {AlarmType.COMPOSITE: "CompositeAlarms", AlarmType.METRIC: "MetricAlarms"}
_CHILD_MEMBERS = ("AlarmName", "AlarmArn", "StateValue", "StateUpdatedTimestamp")
_PARENT_MEMBERS = ("AlarmName", "AlarmArn")


@operation("DescribeAlarms")
def describe_alarms(
    tx: Transaction, caller: Caller, *, alarm_names: Sequence[str] | None = None, alarm_name_prefix: str | None = None,
    alarm_types: Sequence[str] | None = None, children_of_alarm_name: str | None = None,
    parents_of_alarm_name: str | None = None, state_value: str | None = None, action_prefix: str | None = None,
    max_records: int | None = None, next_token: str | None = None,
) -> Document:  # fmt: skip
    """List alarms by name: metric alarms, unless other types are asked for. There are no log alarms here.

    Errors: ValidationError (parameters that exclude each other); InvalidNextToken.
    Source: https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_DescribeAlarms.html
    """
    tx.services.authorize(tx, caller, "cloudwatch:DescribeAlarms", alarm_arn(caller.scope, "*"))
    filters = [alarm_names, alarm_name_prefix, alarm_types, state_value, action_prefix]
    _check_filters(filters, children_of_alarm_name, parents_of_alarm_name)
    request = [*filters, children_of_alarm_name, parents_of_alarm_name]
    relatives = _relatives(tx, caller, children_of_alarm_name, parents_of_alarm_name)
    if relatives is not None:
        found, members = relatives
    else:
        found, members = _chosen(tx, caller, alarm_names, alarm_name_prefix), ()
        types = {AlarmType(one) for one in alarm_types or ("MetricAlarm",) if one != "LogAlarm"}
        found = [alarm for alarm in found if alarm.type in types]
    found = [
        alarm
        for alarm in found
        if state_value in (None, alarm.state.value.value)
        and (action_prefix is None or any(arn.startswith(action_prefix) for arn in _all_actions(alarm)))
    ]
    page, token = page_of(found, request, next_token, max_records or limits.ALARMS_PER_PAGE)
    answer: Document = {"CompositeAlarms": [], "MetricAlarms": [], "LogAlarms": [], "NextToken": token}
    for alarm in page:
        shown = shown_alarm(alarm, caller.scope)
        cut = {member: shown[member] for member in members} if members else shown
        answer[_MEMBERS[alarm.type]].append(cut)
    return answer


@operation("DescribeAlarmsForMetric")
def describe_alarms_for_metric(
    tx: Transaction, caller: Caller, *, metric_name: str, namespace: str, statistic: str | None = None,
    extended_statistic: str | None = None, dimensions: Sequence[Mapping[str, str]] | None = None,
    period: int | None = None, unit: str | None = None,
) -> Document:  # fmt: skip
    """List the alarms on one metric, with exactly these dimensions; alarms on metric math are left out.

    Source: https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_DescribeAlarmsForMetric.html
    """
    tx.services.authorize(tx, caller, "cloudwatch:DescribeAlarmsForMetric", "*")
    asked = Metric.of(namespace, metric_name, dimensions)
    stat = statistic or extended_statistic
    found = []
    for alarm in tx.resources.list(Alarm, caller.scope):
        single = None if alarm.is_composite or "Metrics" in alarm.settings else plan_of(alarm).single
        if single is None or single.metric != asked:
            continue
        if stat in (None, single.stat) and period in (None, single.period_s) and unit in (None, single.unit):
            found.append(shown_alarm(alarm, caller.scope))
    return {"MetricAlarms": found}


@operation("DescribeAlarmContributors")
def describe_alarm_contributors(
    tx: Transaction, caller: Caller, *, alarm_name: str, next_token: str | None = None
) -> Document:
    """List what contributes to an alarm: nothing here, for there are no alarms on several time series.

    Errors: ResourceNotFoundException; InvalidNextToken.
    Source: https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_DescribeAlarmContributors.html
    """
    arn = alarm_arn(caller.scope, alarm_name)
    tx.services.authorize(tx, caller, "cloudwatch:DescribeAlarmContributors", arn)
    if next_token is not None:
        raise ServiceError("InvalidNextToken", "The specified next token is invalid.")
    if tx.resources.get(Alarm, caller.scope, alarm_name) is None:
        raise ServiceError("ResourceNotFoundException", f"The alarm {alarm_name} does not exist.")
    return {"AlarmContributors": []}


def page_of(
    found: Sequence[Alarm], request: object, token: str | None, size: int
) -> tuple[Sequence[Alarm], str | None]:  # fmt: skip
    """One page of alarms, and the token of the next one. Errors: InvalidNextToken."""
    offset = 0 if token is None else read_token(token, request)
    if not isinstance(offset, int):
        raise ServiceError("InvalidNextToken", "The specified next token is invalid.")
    end = offset + size
    return found[offset:end], write_token(request, end) if len(found) > end else None


def _check_filters(filters: Sequence[object], children_of: str | None, parents_of: str | None) -> None:
    if filters[0] is not None and filters[1] is not None:
        raise ServiceError(INVALID_COMBINATION, "The parameters AlarmNames and AlarmNamePrefix are mutually exclusive.")
    related = [one for one in (children_of, parents_of) if one is not None]
    if related and (len(related) > 1 or any(one is not None for one in filters)):
        raise validation_error(
            "ChildrenOfAlarmName and ParentsOfAlarmName allow no other parameters than MaxRecords and NextToken."
        )


def _chosen(
    tx: Transaction, caller: Caller, names: Sequence[str] | None, prefix: str | None
) -> list[Alarm]:  # fmt: skip
    if names is None:
        return tx.resources.list(Alarm, caller.scope, prefix=prefix or "")
    found = [tx.resources.get(Alarm, caller.scope, name) for name in sorted(set(names))]
    return [alarm for alarm in found if alarm is not None]


def _relatives(
    tx: Transaction, caller: Caller, children_of: str | None, parents_of: str | None
) -> tuple[list[Alarm], Sequence[str]] | None:  # fmt: skip
    """The children or the parents of an alarm, and the members that are shown of them."""
    scope = caller.scope
    if children_of is not None:
        alarm = tx.resources.get(Alarm, scope, children_of)
        below = [] if alarm is None or not alarm.is_composite else children(tx, scope, alarm)
        return below, _CHILD_MEMBERS
    if parents_of is not None:
        found = [tx.resources.get(Alarm, scope, name) for name in dependents_of(tx, scope, parents_of)]
        above = [one for one in found if one is not None]
        return [one for one in above if any(c.name == parents_of for c in children(tx, scope, one))], _PARENT_MEMBERS
    return None


def _all_actions(alarm: Alarm) -> list[str]:
    return [arn for member in ACTIONS.values() for arn in alarm.settings.get(member) or ()]
