"""Replicas of global tables, version 2019.11.21: requests for them, and how they are shown. Pure.

Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/GlobalTables.html
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping, Sequence
from typing import TypedDict

from redrive.core.documents import Document
from redrive.core.errors import ServiceError
from redrive.services.dynamodb import limits
from redrive.services.dynamodb.model.billing import Billing, BillingMode
from redrive.services.dynamodb.model.table import Table, invalid, invalid_parameter
from redrive.services.dynamodb.model.table_requests import Throughput, encryption_key, refuse_unsupported

VERSION = "2019.11.21"
CONSISTENCY = "EVENTUAL"

_REGION = re.compile(r"[a-z]{2}(-[a-z]+)+-\d+")
_KEY = "KMSMasterKeyId"
_THROUGHPUT = "ProvisionedThroughputOverride"
_ON_DEMAND = "OnDemandThroughputOverride"
_CLASS = "TableClassOverride"
_INDEXES = "GlobalSecondaryIndexes"
_OVERRIDES = (_KEY, _THROUGHPUT, _ON_DEMAND, _CLASS, _INDEXES)


class ReplicaAction(TypedDict, total=False):
    """The Create, Update or Delete of a ReplicationGroupUpdate; Delete has the Region alone."""

    RegionName: str
    KMSMasterKeyId: str
    ProvisionedThroughputOverride: Mapping[str, int]
    OnDemandThroughputOverride: Mapping[str, int]
    GlobalSecondaryIndexes: Sequence[Mapping[str, object]]
    TableClassOverride: str


class ReplicaUpdate(TypedDict, total=False):
    """A member of ReplicaUpdates: one of these."""

    Create: ReplicaAction
    Update: ReplicaAction
    Delete: ReplicaAction
    Disassociate: Mapping[str, object]


def check_updates(table: Table, updates: Sequence[ReplicaUpdate] | None, consistency: str | None) -> None:
    """Refuse updates that are none, or of the table's own Region. Errors: ValidationException."""
    if consistency is not None and consistency != CONSISTENCY:
        raise invalid_parameter(f"MultiRegionConsistency {consistency} is not supported yet; only {CONSISTENCY} is")
    if consistency is not None and not any("Create" in update for update in updates or ()):
        raise invalid_parameter("MultiRegionConsistency can only be specified when a replica is created")
    for update in updates or ():
        refuse_unsupported(Disassociate=update.get("Disassociate"))
        if len(update) != 1:
            raise invalid_parameter("Exactly one of Create, Update and Delete must be specified in a ReplicaUpdate")
        (action,) = update.values()
        assert isinstance(action, dict), "the model says so"
        if action["RegionName"] == table.scope.region:
            raise invalid(
                "Cannot add, delete, or update the local region through ReplicaUpdates. "
                "Use CreateTable, DeleteTable, or UpdateTable as required."
            )


def check_region(region: str) -> None:
    """Refuse a text that cannot be a Region. Errors: ValidationException."""
    if not _REGION.fullmatch(region):
        raise invalid_parameter(f"Unsupported region {region}")


def replica_not_found(table: Table, region: str) -> ServiceError:
    """Build the error for a Region in which a table has no replica. UpdateTable declares no error of its own for it."""
    return invalid(f"Update global table operation failed because no replica of {table.name} is in region {region}")


def overrides_of(action: ReplicaAction) -> Document:
    """The settings of its own that a request gives a replica."""
    return {name: value for name, value in action.items() if name in _OVERRIDES}


def overridden(table: Table, overrides: Document) -> Table:
    """The table of a replica with more settings of its own. Errors: ValidationException."""
    billing, indexes = table.billing, table.indexes
    billing = _overridden_billing(billing, overrides)
    for asked in overrides.get(_INDEXES, ()):
        found = table.find_index(asked["IndexName"])
        if found is None or found.billing is None:
            raise invalid_parameter(f"The table has no global secondary index {asked['IndexName']}")
        changed = dataclasses.replace(found, billing=_overridden_billing(found.billing, asked))
        indexes = tuple(changed if one.id == found.id else one for one in indexes)
    key = table.encryption_key_arn
    if _KEY in overrides:
        key = encryption_key(table.scope, {"Enabled": True, "KMSMasterKeyId": overrides[_KEY]}, "")
    return dataclasses.replace(
        table, billing=billing, indexes=indexes, encryption_key_arn=key,
        table_class=overrides.get(_CLASS, table.table_class), overrides={**table.overrides, **overrides},
    )  # fmt: skip


def followed_throughput(table: Table, asked: Throughput | None) -> Throughput | None:
    """The throughput of a replica where another one gets `asked`; None if it stays as it is."""
    if asked is None:
        return None
    read = table.overrides.get(_THROUGHPUT, {}).get("ReadCapacityUnits", asked["ReadCapacityUnits"])
    if (read, asked["WriteCapacityUnits"]) == (table.billing.read_units, table.billing.write_units):
        return None
    return {"ReadCapacityUnits": read, "WriteCapacityUnits": asked["WriteCapacityUnits"]}


def followed_maximum(table: Table, asked: Mapping[str, int] | None) -> Mapping[str, int] | None:
    """The limits on on-demand throughput of a replica where another one gets `asked`."""
    if asked is None:
        return None
    return {name: units for name, units in asked.items() if name not in table.overrides.get(_ON_DEMAND, {})}


def followed_class(table: Table, asked: str | None) -> str | None:
    """The class of a replica where another one gets `asked`."""
    return None if _CLASS in table.overrides else asked


def check_deletable(table: Table, now: int) -> None:
    """Refuse to delete a protected replica, and one that others were made of today. Errors: ValidationException.

    Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_DeleteTable.html
    """
    if table.is_protected:
        raise invalid(
            "Resource cannot be deleted as it is currently protected against deletion. "
            "Disable deletion protection first."
        )
    if table.replicas and table.source_at is not None and now < table.source_at + limits.REPLICA_SOURCE_MS:
        raise invalid(
            "Replica cannot be deleted because it has acted as a source region for new replica(s) being added to "
            "the table in the last 24 hours."
        )


def check_stream_end(table: Table) -> None:
    """Refuse to end the stream of a replica. Errors: ValidationException.

    Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/V2globaltables_HowItWorks.html
    """
    if table.replicas:
        raise invalid_parameter("Disabling Stream is not allowed for a Global Table replica.")


def describe_replicas(replicas: Sequence[Table], created: frozenset[str] = frozenset()) -> Document:
    """The members of a table's description that show its replicas in other Regions."""
    if not replicas:
        return {}
    return {
        "GlobalTableVersion": VERSION,
        "MultiRegionConsistency": CONSISTENCY,
        "Replicas": [_describe(each, "CREATING" if each.scope.region in created else "ACTIVE") for each in replicas],
    }


def _describe(replica: Table, status: str) -> Document:
    described: Document = {
        "RegionName": replica.scope.region, "ReplicaStatus": status, "ReplicaArn": replica.arn,
        "WarmThroughput": {**replica.billing.warm_units, "Status": "ACTIVE"},
    }  # fmt: skip
    described |= {name: replica.overrides[name] for name in _OVERRIDES if name in replica.overrides and name != _CLASS}
    if replica.table_class is not None:
        described["ReplicaTableClassSummary"] = {"TableClass": replica.table_class}
    return described


def _overridden_billing(billing: Billing, overrides: Mapping[str, object]) -> Billing:
    throughput, on_demand = overrides.get(_THROUGHPUT), overrides.get(_ON_DEMAND)
    if throughput is not None:
        assert isinstance(throughput, dict), "the model says so"
        if billing.mode is BillingMode.PAY_PER_REQUEST:
            raise invalid_parameter(f"{_THROUGHPUT} cannot be specified when BillingMode is PAY_PER_REQUEST")
        billing = dataclasses.replace(billing, read_units=throughput.get("ReadCapacityUnits", billing.read_units))
    if on_demand is not None:
        assert isinstance(on_demand, dict), "the model says so"
        if billing.mode is not BillingMode.PAY_PER_REQUEST:
            raise invalid_parameter(f"{_ON_DEMAND} can only be specified when BillingMode is PAY_PER_REQUEST")
        billing = dataclasses.replace(billing, on_demand_max={**billing.on_demand_max, **on_demand})
    return billing
