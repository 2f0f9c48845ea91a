"""The operations on the account and on the endpoint."""

from __future__ import annotations

from redrive.core.documents import Document
from redrive.core.scope import Caller
from redrive.delivery.operation import operation
from redrive.services.dynamodb import limits
from redrive.store.api import Transaction


@operation("DescribeLimits")
def describe_limits(tx: Transaction, caller: Caller) -> Document:
    """Return the default quotas for provisioned throughput. They are shown, but not enforced.

    Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_DescribeLimits.html
    """
    tx.services.authorize(tx, caller, "dynamodb:DescribeLimits", "*")
    return {
        "AccountMaxReadCapacityUnits": limits.ACCOUNT_CAPACITY_UNITS_MAX,
        "AccountMaxWriteCapacityUnits": limits.ACCOUNT_CAPACITY_UNITS_MAX,
        "TableMaxReadCapacityUnits": limits.TABLE_CAPACITY_UNITS_MAX,
        "TableMaxWriteCapacityUnits": limits.TABLE_CAPACITY_UNITS_MAX,
    }


@operation("DescribeEndpoints")
def describe_endpoints(tx: Transaction, caller: Caller) -> Document:
    """Return the endpoint to use: the one that received this request.

    Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_DescribeEndpoints.html
    """
    tx.services.authorize(tx, caller, "dynamodb:DescribeEndpoints", "*")
    return {"Endpoints": [{"Address": caller.host, "CachePeriodInMinutes": limits.ENDPOINT_CACHE_MINUTES}]}
