"""The operations that publish metrics and list them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from redrive.core.clock import Instant
from redrive.core.documents import Document
from redrive.core.errors import ServiceError
from redrive.core.scope import Caller, Scope
from redrive.delivery.operation import operation
from redrive.delivery.upkeep.metrics import publish
from redrive.services.cloudwatch import limits
from redrive.services.cloudwatch.model.datum import (
    check_datum,
    check_entity,
    check_namespace,
    metric_of,
    point_of,
    unit_of,
)
from redrive.services.cloudwatch.model.metric import (
    INVALID_COMBINATION,
    INVALID_VALUE,
    MISSING,
    Metric,
    Problems,
    too_many,
)
from redrive.services.cloudwatch.model.tokens import read_token, write_token
from redrive.store.api import Transaction
from redrive.store.tables.metrics import DataPoint, Series


@operation("PutMetricData")
def put_metric_data(
    tx: Transaction, caller: Caller, *, namespace: str, metric_data: Sequence[Document] | None = None,
    entity_metric_data: Sequence[Document] | None = None, strict_entity_validation: bool | None = None,
) -> Document:  # fmt: skip
    """Publish data points; they are visible at once. Entities are checked, but not stored.

    Errors: InvalidParameterValue, MissingParameter, InvalidParameterCombination; each lists all its problems.
    Source: https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_PutMetricData.html
    """
    context = {"cloudwatch:namespace": (namespace,)}
    tx.services.authorize(tx, caller, "cloudwatch:PutMetricData", "*", context=context)
    placed = _placed(metric_data or (), entity_metric_data or ())
    problems = Problems()
    check_namespace(namespace, problems)
    if not placed:
        problems.add(MISSING, "The parameter MetricData is required.")
    if len(placed) > limits.METRICS_PER_PUT_MAX:
        problems.add(INVALID_VALUE, too_many("MetricData", limits.METRICS_PER_PUT_MAX))
    _check_entities(entity_metric_data, strict_entity_validation, problems)
    for place, datum in placed:
        check_datum(datum, place, tx.now, problems)
    problems.refuse()
    publish(tx, _points(caller.scope, namespace, [datum for _, datum in placed], tx.now))
    return {}


def _points(
    scope: Scope, namespace: str, data: Sequence[Document], now: Instant
) -> Iterator[tuple[Series, DataPoint]]:  # fmt: skip
    for datum in data:
        point = point_of(datum, now)
        if point is not None:
            yield metric_of(namespace, datum).series(scope, unit_of(datum)), point


@operation("ListMetrics")
def list_metrics(
    tx: Transaction, caller: Caller, *, namespace: str | None = None, metric_name: str | None = None,
    dimensions: Sequence[Mapping[str, str]] | None = None, next_token: str | None = None,
    recently_active: str | None = None, include_linked_accounts: bool | None = None, owning_account: str | None = None,
) -> Document:  # fmt: skip
    """List the metrics with data in the last two weeks, or three hours. There are no linked accounts here.

    Errors: InvalidParameterValue (an invalid token); InvalidParameterCombination (OwningAccount without
    IncludeLinkedAccounts).
    Source: https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_ListMetrics.html
    """
    tx.services.authorize(tx, caller, "cloudwatch:ListMetrics", "*")
    if owning_account is not None and not include_linked_accounts:
        raise ServiceError(
            INVALID_COMBINATION, "The parameter OwningAccount requires IncludeLinkedAccounts to be set to true."
        )
    request = [namespace, metric_name, dimensions, recently_active, include_linked_accounts, owning_account]
    offset = 0 if next_token is None else read_token(next_token, request)
    if not isinstance(offset, int):
        raise ServiceError(INVALID_VALUE, "The value for parameter NextToken is invalid.")
    age_ms_max = limits.LISTED_AGE_MS_MAX if recently_active is None else limits.RECENTLY_ACTIVE_MS
    stored = tx.metrics.series_of(str(caller.scope), since=tx.now - age_ms_max)
    found = [
        metric
        for metric in dict.fromkeys(Metric.of_series(series) for series in stored)
        if namespace in (None, metric.namespace)
        and metric_name in (None, metric.name)
        and owning_account in (None, caller.account)
        and _has_dimensions(metric, dimensions or ())
    ]
    end = offset + limits.METRICS_PER_PAGE_MAX
    page = [metric.document for metric in found[offset:end]]
    return {
        "Metrics": page,
        "NextToken": write_token(request, end) if len(found) > end else None,
        "OwningAccounts": [caller.account] * len(page) if include_linked_accounts else None,
    }


def _placed(data: Sequence[Document], entities: Sequence[Document]) -> list[tuple[str, Document]]:
    """Return all data with their paths in the request."""
    placed = [(f"MetricData.member.{number}", datum) for number, datum in enumerate(data, start=1)]
    for number, entity in enumerate(entities, start=1):
        for inner, datum in enumerate(entity.get("MetricData") or (), start=1):
            placed.append((f"EntityMetricData.member.{number}.MetricData.member.{inner}", datum))
    return placed


def _check_entities(entities: Sequence[Document] | None, is_strict: bool | None, problems: Problems) -> None:
    """Check entities.

    StrictEntityValidation is required with them; an invalid entity is an error only if it is true.
    """
    if not entities:
        return
    if is_strict is None:
        problems.add(MISSING, "The parameter StrictEntityValidation is required.")
    if len(entities) > limits.ENTITIES_PER_PUT_MAX:
        problems.add(INVALID_VALUE, too_many("EntityMetricData", limits.ENTITIES_PER_PUT_MAX))
    if is_strict:
        for number, entity in enumerate(entities, start=1):
            check_entity(entity.get("Entity"), f"EntityMetricData.member.{number}", problems)


def _has_dimensions(metric: Metric, filters: Sequence[Mapping[str, str]]) -> bool:
    """Whether a metric has all these dimensions; it may have more."""
    own = dict(metric.dimensions)
    return all(one["Name"] in own and one.get("Value") in (None, own[one["Name"]]) for one in filters)
