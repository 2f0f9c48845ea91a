"""Provisioned throughput: a request beyond it is refused, where requests per second are limited.

A table without provisioned throughput, or an engine without rates, costs one comparison.
Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/burst-adaptive-capacity.html
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from enum import Enum
from functools import partial

from redrive.core.documents import Document, dump_json
from redrive.core.errors import ServiceError
from redrive.services.dynamodb import limits
from redrive.services.dynamodb.model.billing import BillingMode
from redrive.services.dynamodb.model.capacity import Cost
from redrive.services.dynamodb.model.table import Table
from redrive.services.dynamodb.model.transactions import NOT_TO_BLAME, cancelled
from redrive.store.api import Transaction
from redrive.store.tables.metrics import Series, SeriesGroup, Watched

EXCEEDED = (
    "The level of configured provisioned throughput for the table was exceeded. "
    "Consider increasing your provisioning level with the UpdateTable API."
)


class Usage(Enum):
    """What a request uses, as CloudWatch's metrics call it."""

    READ = "Read"
    WRITE = "Write"


def is_metered(tx: Transaction, table: Table) -> bool:
    """Whether requests on a table use up its throughput."""
    return table.billing.mode is BillingMode.PROVISIONED and tx.services.has_rates


def spend(tx: Transaction, table: Table, usage: Usage, units: Callable[[], float], operation: str) -> None:
    """Use units of a table's throughput; call it before anything is written. They are counted only if they matter.

    Five minutes of unused throughput are kept for bursts. The last request before the throttling may cost more than is
    left.
    Errors: ProvisionedThroughputExceededException.
    """
    if not is_within(tx, table, usage, units, operation):
        raise exceeded()


def is_within(tx: Transaction, table: Table, usage: Usage, units: Callable[[], float], operation: str) -> bool:
    """Use units as `spend` does; False if the throughput is exceeded."""
    if not is_metered(tx, table):
        return True
    per_s = table.billing.read_units if usage is Usage.READ else table.billing.write_units
    if tx.meters.use(f"{table.id}/{usage.value}", tx.now, units(), per_s=per_s, burst_ms=limits.BURST_MS):
        return True
    tx.metrics.count_refusal(_throttled(str(table.scope), table.name, usage, operation), tx.now)
    return False


def spend_together(
    tx: Transaction, tables: Sequence[Table], usage: Usage, costs: Sequence[Cost], operation: str
) -> None:
    """Use units of the tables of a transaction's actions, in order.

    Errors: TransactionCanceledException, with every action whose table's throughput is exceeded.
    """
    reasons: list[Document] = []
    for table, cost in zip(tables, costs, strict=True):
        units = partial(operator.mul, cost.table, limits.TRANSACTION_UNITS_FACTOR)
        within = is_within(tx, table, usage, units, operation)
        reasons.append(NOT_TO_BLAME if within else {"Code": "ProvisionedThroughputExceeded", "Message": EXCEEDED})
    if any(reason is not NOT_TO_BLAME for reason in reasons):
        raise cancelled(reasons)


def exceeded() -> ServiceError:
    """Build the error of a request beyond the throughput of its table."""
    return ServiceError("ProvisionedThroughputExceededException", EXCEEDED)


@functools.lru_cache(maxsize=1_024)
def _throttled(scope: str, table_name: str, usage: Usage, operation: str) -> SeriesGroup:
    """The metrics of a throttled request.

    Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/metrics-dimensions.html
    """
    named = Watched(scope, limits.METRICS_NAMESPACE, dump_json({"TableName": table_name}))
    asked = Watched(
        scope, limits.METRICS_NAMESPACE, dump_json({"Operation": operation, "TableName": table_name})
    )  # fmt: skip
    return SeriesGroup(
        Series(asked, "ThrottledRequests", "Count"), Series(named, f"{usage.value}ThrottleEvents", "Count")
    )
