"""Replicas of a table in other Regions of the engine: they begin, and they are found, here.

A write of an item is made in all replicas in one transaction, so replicas never differ: the last transaction wins.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from redrive.core.entropy import new_uuid
from redrive.core.scope import Caller, Scope
from redrive.languages.dynamo import load_item
from redrive.services.dynamodb import limits
from redrive.services.dynamodb.deletion import drop_table
from redrive.services.dynamodb.indexes import begin_filling
from redrive.services.dynamodb.model.replica import (
    ReplicaAction,
    ReplicaUpdate,
    check_deletable,
    check_region,
    overridden,
    overrides_of,
    replica_not_found,
)
from redrive.services.dynamodb.model.stream import ViewType
from redrive.services.dynamodb.model.table import Table, invalid_parameter, table_arn
from redrive.services.dynamodb.model.time_to_live import expiry_of
from redrive.services.dynamodb.streams import begin_stream
from redrive.store.api import Transaction


def replicas_of(tx: Transaction, table: Table) -> Sequence[Table]:
    """The replicas of a table in other Regions; none for a table that is not global."""
    if not table.replicas:
        return ()
    found = (tx.resources.get(Table, Scope(table.scope.account, region), table.name) for region in table.replicas)
    return [replica for replica in found if replica is not None]


def change_replicas(tx: Transaction, caller: Caller, table: Table, updates: Sequence[ReplicaUpdate]) -> Table:
    """Create, change and delete replicas of a table, which is stored. Returns the table as it is then.

    Errors: AccessDeniedException; ValidationException.
    """
    for update in updates:
        match update:
            case {"Create": action}:
                table = _create(tx, caller, table, action)
            case {"Update": action}:
                replica = _require(tx, caller, table, action["RegionName"], "UpdateTable")
                tx.resources.put(replica.scope, overridden(replica, overrides_of(action)))
            case {"Delete": action}:
                replica = _require(tx, caller, table, action["RegionName"], "DeleteTableReplica")
                table = delete_replica(tx, replica, table.scope.region) or table
    return table


def delete_replica(tx: Transaction, replica: Table, told: str = "") -> Table | None:
    """Delete a table and its place among the replicas. Returns the replica in the Region `told`, as it is then.

    Errors: ValidationException if the table is protected, or was a source of replicas within a day.
    """
    check_deletable(replica, tx.now)
    others = [
        dataclasses.replace(other, replicas=tuple(one for one in other.replicas if one != replica.scope.region))
        for other in replicas_of(tx, replica)
    ]
    drop_table(tx, replica)
    for other in others:
        tx.resources.put(other.scope, other)
    return next((other for other in others if other.scope.region == told), None)


def _create(tx: Transaction, caller: Caller, table: Table, action: ReplicaAction) -> Table:
    """Make a replica: a copy of the table with its items, its indexes, and a stream of its own."""
    region = action["RegionName"]
    check_region(region)
    scope = Scope(table.scope.account, region)
    arn = table_arn(scope, table.name)
    tx.services.authorize(tx, caller, "dynamodb:CreateTableReplica", arn)
    if tx.resources.get(Table, scope, table.name) is not None:
        raise invalid_parameter(
            f"Failed to create a the new replica of table with name: '{table.name}' because one or more replicas "
            "already existed as tables."
        )
    others = replicas_of(tx, table)
    source = _streaming(tx, table)
    replica = _copy(tx, source, arn, action)
    for other in (source, *others):
        changed = dataclasses.replace(other, replicas=(*other.replicas, region))
        tx.resources.put(other.scope, changed)
        if other is source:
            source = changed
    tx.resources.put(scope, replica)
    return source


def _streaming(tx: Transaction, table: Table) -> Table:
    """The table as a source of replicas, whose stream shows the whole items. Errors: ValidationException."""
    if not table.has_stream:
        table = begin_stream(tx, table, ViewType.NEW_AND_OLD_IMAGES)
    assert table.stream is not None, "it has just begun, or was there"
    if table.stream.view_type is not ViewType.NEW_AND_OLD_IMAGES:
        raise invalid_parameter(
            "Table must have a stream with StreamViewType NEW_AND_OLD_IMAGES to be a replica of a global table"
        )
    return dataclasses.replace(table, source_at=tx.now)


def _copy(tx: Transaction, source: Table, arn: str, action: ReplicaAction) -> Table:
    # Protection, tags, recovery, destinations, insights and policies are settings of each replica alone.
    indexes = tuple(
        dataclasses.replace(index, id=new_uuid(tx.entropy), is_filling=True) for index in source.indexes
    )  # fmt: skip
    replica = dataclasses.replace(
        source, id=new_uuid(tx.entropy), arn=arn, created_at=tx.now, is_protected=False, tags={}, indexes=indexes,
        stream=None, destinations=(), log=None, replicas=(source.scope.region, *source.replicas), overrides={},
        source_at=None, restored={}, encryption_key_arn=_key_in(source, arn),
    )  # fmt: skip
    replica = overridden(replica, overrides_of(action))
    tx.items.copy(source.id, replica.id)
    attribute, now = replica.expiry_attribute, tx.now
    if attribute is not None:
        tx.items.set_expiries(
            replica.id, lambda item: expiry_of(load_item(item), attribute, now), bytes_max=limits.PAGE_BYTES_MAX
        )
        tx.notify("due")
    for index in replica.indexes:
        replica = begin_filling(tx, replica, index)
    return begin_stream(tx, replica, ViewType.NEW_AND_OLD_IMAGES)


def _key_in(source: Table, arn: str) -> str | None:
    """The key of a replica that is given none: the one with the same name in its Region."""
    if source.encryption_key_arn is None:
        return None
    region = arn.split(":")[3]
    return source.encryption_key_arn.replace(f":kms:{source.scope.region}:", f":kms:{region}:", 1)


def _require(tx: Transaction, caller: Caller, table: Table, region: str, action: str) -> Table:
    """The replica in a Region, if the caller may do this to it. Errors: AccessDeniedException; ValidationException."""
    scope = Scope(table.scope.account, region)
    tx.services.authorize(tx, caller, f"dynamodb:{action}", table_arn(scope, table.name))
    replica = tx.resources.get(Table, scope, table.name) if region in table.replicas else None
    if replica is None:
        raise replica_not_found(table, region)
    return replica
