"""The stored filters of a log group."""

from __future__ import annotations

from redrive.core.scope import Scope
from redrive.services.logs.model.filters import DefaultMinute, MetricFilter, SubscriptionFilter
from redrive.services.logs.model.transformer import LogTransformer
from redrive.store.api import Transaction


def metric_filters_of(tx: Transaction, scope: Scope, group_id: str) -> list[MetricFilter]:
    """The metric filters of a group, by name."""
    found = [one for owner, one in tx.resources.everywhere(MetricFilter) if owner == scope and one.group_id == group_id]
    return sorted(found, key=lambda one: one.filter_name)


def subscription_filters_of(tx: Transaction, scope: Scope, group_id: str) -> list[SubscriptionFilter]:
    """The subscription filters of a group, by name."""
    known = tx.resources.everywhere(SubscriptionFilter)
    return sorted(
        (one for owner, one in known if owner == scope and one.group_id == group_id), key=lambda one: one.filter_name
    )


def delete_metric_filter(tx: Transaction, scope: Scope, one: MetricFilter) -> None:
    """Delete a metric filter with what it remembers."""
    tx.resources.delete(MetricFilter, scope, one.name)
    tx.resources.delete(DefaultMinute, scope, one.name)


def delete_filters(tx: Transaction, scope: Scope, group_id: str) -> None:
    """Delete all filters of a group, and its transformer."""
    tx.resources.delete(LogTransformer, scope, group_id)
    for one in metric_filters_of(tx, scope, group_id):
        delete_metric_filter(tx, scope, one)
    for subscription in subscription_filters_of(tx, scope, group_id):
        tx.resources.delete(SubscriptionFilter, scope, subscription.name)
