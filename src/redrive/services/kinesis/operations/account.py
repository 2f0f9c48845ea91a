"""Operations on an account in a region: its quotas, and its commitment to a minimum of throughput."""

from __future__ import annotations

from collections.abc import Mapping

from redrive.core.documents import Document
from redrive.core.scope import Caller
from redrive.delivery.operation import operation
from redrive.services.kinesis import limits
from redrive.services.kinesis.model.account import ENABLED, AccountSettings
from redrive.services.kinesis.model.requests import invalid_request
from redrive.services.kinesis.model.stream import ON_DEMAND, Stream, stream_arn
from redrive.services.kinesis.operations.streams import open_shard_count
from redrive.store.api import Transaction


@operation("DescribeLimits")
def describe_limits(tx: Transaction, caller: Caller) -> Document:
    """The quotas of the account, and how much of them is used.

    Source: https://docs.aws.amazon.com/kinesis/latest/APIReference/API_DescribeLimits.html
    """
    tx.services.authorize(tx, caller, "kinesis:DescribeLimits", stream_arn(caller.scope, "*"))
    streams = tx.resources.list(Stream, caller.scope)
    return {
        "ShardLimit": limits.SHARDS_MAX,
        "OpenShardCount": open_shard_count(tx, caller),
        "OnDemandStreamCount": sum(stream.mode == ON_DEMAND for stream in streams),
        "OnDemandStreamCountLimit": limits.ON_DEMAND_STREAMS_MAX,
    }


@operation("DescribeAccountSettings")
def describe_account_settings(tx: Transaction, caller: Caller) -> Document:
    """The account's commitment to a minimum of throughput.

    Source: https://docs.aws.amazon.com/kinesis/latest/APIReference/API_DescribeAccountSettings.html
    """
    tx.services.authorize(tx, caller, "kinesis:DescribeAccountSettings", stream_arn(caller.scope, "*"))
    return {"MinimumThroughputBillingCommitment": settings_of(tx, caller).describe(tx.now)}


@operation("UpdateAccountSettings")
def update_account_settings(
    tx: Transaction, caller: Caller, *, minimum_throughput_billing_commitment: Mapping[str, str]
) -> Document:
    """Begin or end the commitment. A commitment lasts for 24 hours at least, so that an end may lie in the future.

    Errors: ValidationException (no status).
    Source: https://docs.aws.amazon.com/kinesis/latest/APIReference/API_UpdateAccountSettings.html
    """
    tx.services.authorize(tx, caller, "kinesis:UpdateAccountSettings", stream_arn(caller.scope, "*"))
    status = minimum_throughput_billing_commitment.get("Status")
    if status is None:
        raise invalid_request("MinimumThroughputBillingCommitment needs a Status.")
    known = settings_of(tx, caller)
    changed = known.enabled(tx.now) if status == ENABLED else known.disabled(tx.now)
    tx.resources.put(caller.scope, changed)
    return {"MinimumThroughputBillingCommitment": changed.describe(tx.now)}


def settings_of(tx: Transaction, caller: Caller) -> AccountSettings:
    """The settings of the caller's account in its region."""
    return tx.resources.get(AccountSettings, caller.scope, AccountSettings.NAME) or AccountSettings()
