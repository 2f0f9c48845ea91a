"""What metric filters and subscription filters do with events, in the transaction that takes the events.

Data points are published at once, and what goes to functions and streams is promised as deliveries: either all of it is
committed with the events, or nothing is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import cast

from redrive.core.clock import MINUTE_MS, Instant
from redrive.core.documents import Document
from redrive.core.entropy import new_row_id
from redrive.core.errors import ServiceError
from redrive.core.retry import Backoff, RetryPolicy
from redrive.core.scope import Caller, Scope
from redrive.languages.log_filter import Filter, parse_filter, reference
from redrive.services.logs import limits
from redrive.services.logs.model.filters import (
    DefaultMinute,
    MetricFilter,
    SubscriptionFilter,
    number_of,
    payload,
)
from redrive.services.logs.model.group import LogGroup, group_arn
from redrive.services.logs.model.policies import SUBSCRIPTION, AccountPolicy
from redrive.services.logs.subscriptions import SOURCE, sealed_payload, subscription_of
from redrive.services.logs.transforming import seen_by_filters
from redrive.store.api import Transaction
from redrive.store.tables.deliveries import INSIDE, Delivery

POLICY = RetryPolicy(
    retries_max=10_000, age_ms_max=limits.SUBSCRIPTION_AGE_MS_MAX,
    backoff=Backoff(cap_ms=limits.SUBSCRIPTION_WAIT_MS_MAX),
)  # fmt: skip


def filter_events(
    tx: Transaction, scope: Scope, group: LogGroup, stream: str, events: Sequence[Document],
    transformed: Sequence[str | None],
) -> None:  # fmt: skip
    """Give the events of one stream to the filters of their group. `transformed`: what each became, if anything did."""
    seen = {False: events, True: seen_by_filters(events, transformed)}
    for owner, one in tx.resources.everywhere(MetricFilter):
        if one.group_id == group.id and owner == scope:
            _publish(tx, scope, one, seen[one.on_transformed])
    for owner, subscription in tx.resources.everywhere(SubscriptionFilter):
        if subscription.group_id == group.id and owner == scope:
            _promise(tx, scope, subscription, stream, seen[subscription.on_transformed])
    for owner, policy in tx.resources.everywhere(AccountPolicy):
        if owner == scope and policy.policy_type == SUBSCRIPTION and policy.selects(group.name):
            _promise(tx, scope, subscription_of(policy, group), stream, events)


def compiled(tx: Transaction, pattern: str) -> Filter:
    """The test of a stored pattern, which was valid when it was stored."""
    key = ("logs.filter", pattern)
    found = tx.resources.memo.get(key)
    if found is None:
        found = parse_filter(pattern)
        tx.resources.memo.put(key, found)
    return cast(Filter, found)


def _publish(tx: Transaction, scope: Scope, one: MetricFilter, events: Sequence[Document]) -> None:
    """Publish the data points of events. Data that CloudWatch refuses is left out; the events are still taken."""
    wanted = compiled(tx, one.pattern)
    matching = [event for event in events if wanted(str(event["message"]))]
    data = list(_data(one, wanted, matching))
    if one.transformation.default_value is not None:
        data += _defaults(tx, scope, one, events, matching)
    service = Caller(scope, new_row_id(tx.entropy, tx.now)) if data else None
    for start in range(0, len(data), limits.DATA_PER_PUT):
        params = {"Namespace": one.transformation.namespace, "MetricData": data[start : start + limits.DATA_PER_PUT]}
        try:
            tx.services.call(tx, cast(Caller, service), "cloudwatch", "PutMetricData", params)
        except ServiceError:
            continue


def _data(one: MetricFilter, wanted: Filter, matching: Sequence[Document]) -> Iterator[Document]:
    """A datum for each minute, value and set of dimensions of the events that match."""
    made = one.transformation
    fixed = number_of(made.value)
    value_of = None if fixed is not None else reference(made.value, wanted)
    dimensions_of = {name: reference(text, wanted) for name, text in made.dimensions.items()}
    counts: dict[tuple[Instant, float, tuple[tuple[str, str], ...]], int] = {}
    for event in matching:
        message, at = str(event["message"]), int(event["timestamp"])
        value = fixed if value_of is None else number_of(value_of(message))
        found = [(name, take(message)) for name, take in dimensions_of.items()]
        placed = tuple((name, text) for name, text in found if text)
        if value is not None and len(placed) == len(found):
            key = (at - at % MINUTE_MS, value, placed)
            counts[key] = counts.get(key, 0) + 1
    for (minute, value, placed), count in counts.items():
        yield _datum(one, minute, value, count, placed)


def _defaults(
    tx: Transaction, scope: Scope, one: MetricFilter, events: Sequence[Document], matching: Sequence[Document]
) -> Iterator[Document]:  # fmt: skip
    """The default for each minute that has events and no match, once for a minute."""
    known = tx.resources.get(DefaultMinute, scope, one.name)
    latest = -1 if known is None else known.minute
    matched = {_minute(event) for event in matching}
    minutes = sorted({_minute(event) for event in events})
    for minute in minutes:
        if minute > latest and minute not in matched:
            yield _datum(one, minute, one.transformation.default_value or 0.0, 1, ())
    if minutes and minutes[-1] > latest:
        tx.resources.put(scope, DefaultMinute(one.name, minutes[-1]))


def _minute(event: Document) -> Instant:
    at = int(event["timestamp"])
    return at - at % MINUTE_MS


def _datum(
    one: MetricFilter, minute: Instant, value: float, count: int, placed: Sequence[tuple[str, str]]
) -> Document:  # fmt: skip
    made = one.transformation
    return {
        "MetricName": made.metric_name, "Timestamp": minute, "Values": [value], "Counts": [float(count)],
        "Dimensions": [{"Name": name, "Value": text} for name, text in placed], "Unit": made.unit or "None",
    }  # fmt: skip


def _promise(
    tx: Transaction, scope: Scope, subscription: SubscriptionFilter, stream: str, events: Sequence[Document]
) -> None:  # fmt: skip
    """Promise the events that match to the subscription's destination, in batches that it takes."""
    wanted = compiled(tx, subscription.pattern)
    matching = [event for event in events if wanted(str(event["message"]))]
    for batch in _batches(matching):
        identified = [
            (f"{int(event['timestamp']):020d}{tx.entropy.hex(36)}", int(event["timestamp"]), str(event["message"]))
            for event in batch
        ]
        data = payload(scope, subscription, stream, identified)
        place = stream if subscription.distribution == "ByLogStream" else new_row_id(tx.entropy, tx.now)
        document = {
            "filter": subscription.filter_name, "group": subscription.group_name, "role": subscription.role_arn,
            "place": place, "data": sealed_payload(data), "count": len(batch),
        }  # fmt: skip
        tx.deliveries.put(
            Delivery(
                id=new_row_id(tx.entropy, tx.now), scope=scope, source=SOURCE,
                source_arn=f"{group_arn(scope, subscription.group_name)}:*", target_arn=subscription.destination_arn,
                document=document, policy=POLICY, place=INSIDE, due_at=tx.now, first_at=tx.now,
            )
        )  # fmt: skip
    if matching:
        tx.notify("due")


def _batches(events: Sequence[Document]) -> Iterator[list[Document]]:
    """The events in pieces that a function's event and a stream's record take."""
    batch: list[Document] = []
    size = 0
    for event in events:
        weight = len(str(event["message"]).encode()) + limits.EVENT_OVERHEAD_BYTES
        if batch and size + weight > limits.SUBSCRIPTION_BATCH_BYTES:
            yield batch
            batch, size = [], 0
        batch.append(event)
        size += weight
    if batch:
        yield batch
