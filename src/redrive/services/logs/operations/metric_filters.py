"""The operations on metric filters."""

from __future__ import annotations

from collections.abc import Sequence

from redrive.core.documents import Document
from redrive.core.errors import ServiceError
from redrive.core.limits import Limits
from redrive.core.scope import Caller
from redrive.delivery.operation import operation
from redrive.services.logs import limits
from redrive.services.logs.filters import delete_metric_filter, metric_filters_of
from redrive.services.logs.model.filters import MetricFilter, filter_key, read_filter, read_transformation
from redrive.services.logs.model.group import LogGroup, invalid_parameter, policy_arn
from redrive.services.logs.model.tokens import list_token, read_list_token
from redrive.services.logs.operations.groups import existing_group
from redrive.services.logs.transforming import transformer_of
from redrive.store.api import Transaction


@operation("PutMetricFilter")
def put_metric_filter(
    tx: Transaction,
    caller: Caller,
    *,
    log_group_name: str,
    filter_name: str,
    filter_pattern: str,
    metric_transformations: Sequence[Document],
    apply_on_transformed_logs: bool | None = None,
    field_selection_criteria: str | None = None,
    emit_system_field_dimensions: Sequence[str] | None = None,
) -> Document:
    """Create or replace a filter whose matches become data points of a metric, from now on.

    Errors: ResourceNotFoundException; LimitExceededException (100 of a group); InvalidParameterException (the pattern,
    the transformation, transformed logs of a group without a transformer, system fields, which redrive does not serve).
    Source: https://docs.aws.amazon.com/AmazonCloudWatchLogs/latest/APIReference/API_PutMetricFilter.html
    """
    tx.services.authorize(tx, caller, "logs:PutMetricFilter", policy_arn(caller.scope, log_group_name))
    refuse_unserved(field_selection_criteria, emit_system_field_dimensions)
    group = existing_group(tx, caller, log_group_name)
    on_transformed = reads_transformed(tx, caller, group, apply_on_transformed_logs)
    transformation = read_transformation(filter_pattern, metric_transformations[0])
    known = tx.resources.get(MetricFilter, caller.scope, filter_key(group.id, filter_name))
    others = metric_filters_of(tx, caller.scope, group.id)
    if known is None and tx.services.limits is Limits.STRICT and len(others) >= limits.METRIC_FILTERS_MAX:
        raise ServiceError("LimitExceededException", "Resource limit exceeded.")
    created_at = tx.now if known is None else known.created_at
    tx.resources.put(
        caller.scope,
        MetricFilter(group.id, group.name, filter_name, filter_pattern, transformation, created_at, on_transformed),
    )
    return {}


@operation("DescribeMetricFilters")
def describe_metric_filters(
    tx: Transaction,
    caller: Caller,
    *,
    log_group_name: str | None = None,
    filter_name_prefix: str | None = None,
    next_token: str | None = None,
    limit: int | None = None,
    metric_name: str | None = None,
    metric_namespace: str | None = None,
) -> Document:
    """List metric filters by their group and name: of one group, or of one metric, or all.

    Errors: ResourceNotFoundException; InvalidParameterException (a metric without its namespace, an invalid nextToken).
    Source: https://docs.aws.amazon.com/AmazonCloudWatchLogs/latest/APIReference/API_DescribeMetricFilters.html
    """
    tx.services.authorize(tx, caller, "logs:DescribeMetricFilters", policy_arn(caller.scope, log_group_name or ""))
    if (metric_name is None) != (metric_namespace is None):
        raise invalid_parameter("metricName and metricNamespace are specified together.")
    if log_group_name is not None:
        existing_group(tx, caller, log_group_name)
    after = [] if next_token is None else [str(part) for part in read_list_token(next_token)]
    found = sorted(
        (
            one
            for owner, one in tx.resources.everywhere(MetricFilter)
            if owner == caller.scope
            and log_group_name in (None, one.group_name)
            and one.filter_name.startswith(filter_name_prefix or "")
            and metric_name in (None, one.transformation.metric_name)
            and metric_namespace in (None, one.transformation.namespace)
            and [one.group_name, one.filter_name] > after
        ),
        key=lambda one: (one.group_name, one.filter_name),
    )
    size = limit or limits.DESCRIBED_MAX
    page = found[:size]
    token = list_token(page[-1].group_name, page[-1].filter_name) if len(found) > size else None
    return {"metricFilters": [one.described for one in page], "nextToken": token}


@operation("DeleteMetricFilter")
def delete_metric_filter_operation(
    tx: Transaction, caller: Caller, *, log_group_name: str, filter_name: str
) -> Document:
    """Delete a metric filter.

    Errors: ResourceNotFoundException.
    Source: https://docs.aws.amazon.com/AmazonCloudWatchLogs/latest/APIReference/API_DeleteMetricFilter.html
    """
    tx.services.authorize(tx, caller, "logs:DeleteMetricFilter", policy_arn(caller.scope, log_group_name))
    group = existing_group(tx, caller, log_group_name)
    known = tx.resources.get(MetricFilter, caller.scope, filter_key(group.id, filter_name))
    if known is None:
        raise ServiceError("ResourceNotFoundException", "The specified metric filter does not exist.")
    delete_metric_filter(tx, caller.scope, known)
    return {}


@operation("TestMetricFilter")
def try_metric_filter(
    tx: Transaction, caller: Caller, *, filter_pattern: str, log_event_messages: Sequence[str]
) -> Document:
    """Say which messages a pattern matches, counted from 1, and what its fields are in them.

    Errors: InvalidParameterException (the pattern).
    Source: https://docs.aws.amazon.com/AmazonCloudWatchLogs/latest/APIReference/API_TestMetricFilter.html
    """
    tx.services.authorize(tx, caller, "logs:TestMetricFilter", "*")
    wanted = read_filter(filter_pattern)
    matches = [
        {"eventNumber": number, "eventMessage": message, "extractedValues": dict(wanted.extracted(message))}
        for number, message in enumerate(log_event_messages, 1)
        if wanted(message)
    ]
    return {"matches": matches}


def reads_transformed(tx: Transaction, caller: Caller, group: LogGroup, wanted: bool | None) -> bool:
    """Whether a filter reads transformed logs. Errors: InvalidParameterException (the group has no transformer)."""
    if wanted and transformer_of(tx, caller.scope, group) is None:
        raise invalid_parameter("applyOnTransformedLogs is valid only for log groups that have a transformer.")
    return bool(wanted)


def refuse_unserved(criteria: str | None, system_fields: Sequence[str] | None) -> None:
    """Refuse members of filters that redrive does not serve. Errors: InvalidParameterException."""
    if criteria:
        raise invalid_parameter("redrive does not serve fieldSelectionCriteria.")
    if system_fields:
        raise invalid_parameter("redrive does not serve system fields in filters.")
