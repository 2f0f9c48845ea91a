"""The quota of invocations: beyond it, invocations are delayed, and none is lost.

Each target that an event is sent to is an invocation; retries of the same promise are not counted again. The quota is a
token bucket that holds one second's invocations, for each account and region. What was used is kept in memory: below
the quota no statement runs, and a restart begins with a full bucket. A delayed invocation is a stored promise that is
due later.
Source: https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-quota.html
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from redrive.core.clock import SECOND_MS, Instant
from redrive.core.limits import Limits
from redrive.core.scope import Scope
from redrive.services.events.limits import INVOCATIONS_PER_S, INVOCATIONS_PER_S_ELSEWHERE
from redrive.services.events.model import metrics
from redrive.store.api import Transaction
from redrive.store.tables.deliveries import Delivery


def admitted(tx: Transaction, scope: Scope, deliveries: Sequence[Delivery]) -> Sequence[Delivery]:
    """The first attempts of these deliveries, each no earlier than the quota of its account and region allows."""
    if not deliveries or tx.services.limits is Limits.RELAXED:
        return deliveries
    per_s = INVOCATIONS_PER_S.get(scope.region, INVOCATIONS_PER_S_ELSEWHERE)
    # A unit is the part of a millisecond in which one of the quota's thousand seconds goes by: one invocation takes
    # SECOND_MS units, and a millisecond has `per_s`. So all numbers are whole.
    level = tx.metrics.rates.take(
        f"events.invocations/{scope}", floor=tx.now * per_s, amount=len(deliveries) * SECOND_MS
    )  # fmt: skip
    free = (tx.now + SECOND_MS) * per_s
    if level + len(deliveries) * SECOND_MS <= free:
        return deliveries
    late = [
        delivery._replace(due_at=_due_at(level + number * SECOND_MS, per_s, tx.now))
        for number, delivery in enumerate(deliveries, start=1)
    ]
    throttled = Counter(delivery.source_arn for delivery in late if delivery.due_at > tx.now)
    for rule_arn, times in throttled.items():
        tx.metrics.count(metrics.of_rule_arn(scope, rule_arn, metrics.THROTTLED), tx.now, times=times)
    return late


def _due_at(level: int, per_s: int, now: Instant) -> Instant:
    """When the invocation may go out that raises the bucket to this level."""
    return max(now, -((SECOND_MS * per_s - level) // per_s))
