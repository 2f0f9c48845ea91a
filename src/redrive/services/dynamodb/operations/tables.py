"""The operations on tables: create, describe, list, change, delete.

AWS works on a table for some seconds after the answer. Here the work is complete before the answer. The answers show
the same states as AWS's (CREATING, UPDATING, DELETING), and the next DescribeTable shows ACTIVE.

Every operation on a table or its items calls `authorize` and then `require_table`. They are two steps, because AWS
parses the expressions of a request between them.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from functools import partial

from redrive.core.documents import Document
from redrive.core.entropy import new_uuid
from redrive.core.errors import ServiceError
from redrive.core.scope import Caller
from redrive.delivery.operation import operation
from redrive.languages.iam import Context, request_tags
from redrive.services.dynamodb import limits
from redrive.services.dynamodb.model.index_changes import Changed, IndexUpdate
from redrive.services.dynamodb.model.index_description import describe_indexes
from redrive.services.dynamodb.model.index_requests import IndexRequest, read_indexes
from redrive.services.dynamodb.model.replica import ReplicaUpdate, check_deletable, check_updates, describe_replicas
from redrive.services.dynamodb.model.stream_requests import read_specification
from redrive.services.dynamodb.model.table import (
    Table,
    TableReference,
    describe_table,
    invalid,
    not_found,
    refer_to_table,
    table_arn,
)
from redrive.services.dynamodb.model.table_requests import (
    AttributeDefinition,
    Encryption,
    KeySchemaElement,
    Throughput,
    check_all_used,
    encryption_key,
    new_billing,
    read_keys,
    refuse_unsupported,
)
from redrive.services.dynamodb.model.tags import Tag, merge_tags
from redrive.services.dynamodb.policies import attach_policy, policy_of
from redrive.services.dynamodb.replicas import change_replicas, delete_replica, replicas_of
from redrive.services.dynamodb.streams import begin_stream
from redrive.services.dynamodb.table_changes import TableChange, change_table, limited
from redrive.services.dynamodb.totals import shown_totals
from redrive.store.api import NO_CONTEXT, Transaction


def authorize(
    tx: Transaction,
    caller: Caller,
    action: str,
    table_name: str,
    context: Context = NO_CONTEXT,
    *,
    index_name: str | None = None,
) -> TableReference:
    """Return the table that a name or an ARN means, if the caller may do this action (`PutItem`) on it.

    A read of an index needs the permission for the index. Another account's table needs a resource policy that allows
    it.
    Errors: AccessDeniedException; ValidationException for a text that is not a table's name or ARN.
    """
    reference = refer_to_table(caller, table_name)
    arn = reference.arn if index_name is None else f"{reference.arn}/index/{index_name}"
    policy = policy_of(tx, reference.scope, reference.name)
    tx.services.authorize(tx, caller, f"dynamodb:{action}", arn, context=context, policy=policy)
    return reference


def require_table(tx: Transaction, caller: Caller, reference: TableReference) -> Table:
    """Return the table for a request on items. Errors: ResourceNotFoundException."""
    table = find_table(tx, caller, reference)
    if table is None:
        raise not_found()
    return table


def require_named_table(tx: Transaction, caller: Caller, reference: TableReference) -> Table:
    """Return the table; the error message contains its name. Errors: ResourceNotFoundException."""
    table = find_table(tx, caller, reference)
    if table is None:
        raise not_found(f"Table: {reference.name} not found")
    return table


def find_table(tx: Transaction, caller: Caller, reference: TableReference) -> Table | None:
    """Return the table, or None; also None if the ARN is of another region than the request."""
    is_here = reference.scope.region == caller.region
    return tx.resources.get(Table, reference.scope, reference.name) if is_here else None


@operation("CreateTable")
def create_table(
    tx: Transaction,
    caller: Caller,
    *,
    table_name: str,
    attribute_definitions: Sequence[AttributeDefinition] | None = None,
    key_schema: Sequence[KeySchemaElement] | None = None,
    local_secondary_indexes: Sequence[IndexRequest] | None = None,
    global_secondary_indexes: Sequence[IndexRequest] | None = None,
    billing_mode: str | None = None,
    provisioned_throughput: Throughput | None = None,
    stream_specification: Document | None = None,
    sse_specification: Encryption | None = None,
    tags: Sequence[Tag] | None = None,
    table_class: str | None = None,
    deletion_protection_enabled: bool | None = None,
    warm_throughput: Mapping[str, int] | None = None,
    resource_policy: str | None = None,
    on_demand_throughput: Mapping[str, int] | None = None,
    global_table_source_arn: str | None = None,
    global_table_settings_replication_mode: str | None = None,
    vector_indexes: Sequence[object] | None = None,
) -> Document:
    """Create a table. It can be used at once.

    Errors: ValidationException (keys, throughput, unsupported parameters); ResourceInUseException.
    Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_CreateTable.html
    """
    asked = request_tags({tag["Key"]: tag["Value"] for tag in tags or ()})
    reference = authorize(tx, caller, "CreateTable", table_name, asked)
    if reference.scope != caller.scope:
        raise invalid(f"Invalid TableArn: {table_name} is not of region {caller.region}")
    refuse_unsupported(
        GlobalTableSourceArn=global_table_source_arn,
        GlobalTableSettingsReplicationMode=global_table_settings_replication_mode, VectorIndexes=vector_indexes,
    )  # fmt: skip
    view_type = read_specification(stream_specification)
    billing = limited(new_billing(billing_mode, provisioned_throughput, tx.now), on_demand_throughput, warm_throughput)
    keys = read_keys(key_schema, attribute_definitions)
    indexes = read_indexes(
        keys, local_secondary_indexes, global_secondary_indexes, billing,
        new_id=lambda: new_uuid(tx.entropy), now=tx.now,
    )  # fmt: skip
    check_all_used(keys, indexes)
    tagged = merge_tags({}, tags or ())
    if tagged:
        tx.services.authorize(tx, caller, "dynamodb:TagResource", reference.arn, context=asked)
    if tx.resources.get(Table, caller.scope, reference.name) is not None:
        raise ServiceError("ResourceInUseException", f"Table already exists: {reference.name}")
    table = Table(
        name=reference.name, id=new_uuid(tx.entropy), arn=reference.arn, attributes=keys.attributes,
        hash_key=keys.hash_key, range_key=keys.range_key, billing=billing, created_at=tx.now, table_class=table_class,
        encryption_key_arn=encryption_key(caller.scope, sse_specification, new_uuid(tx.entropy)),
        is_protected=bool(deletion_protection_enabled), tags=tagged, indexes=indexes,
    )  # fmt: skip
    if view_type is not None:
        table = begin_stream(tx, table, view_type)
    tx.resources.put(caller.scope, table)
    if resource_policy is not None:
        attach_policy(tx, table, resource_policy)
    return {"TableDescription": description_of(tx, table, "CREATING")}


@operation("DescribeTable")
def describe(tx: Transaction, caller: Caller, *, table_name: str) -> Document:
    """Describe a table: its settings, and the present number and size of its items.

    Errors: ResourceNotFoundException; ValidationException.
    Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_DescribeTable.html
    """
    table = require_named_table(tx, caller, authorize(tx, caller, "DescribeTable", table_name))
    return {"Table": description_of(tx, table, "ACTIVE")}


@operation("ListTables")
def list_tables(
    tx: Transaction, caller: Caller, *, exclusive_start_table_name: str | None = None, limit: int | None = None
) -> Document:
    """List the names of the caller's tables in order, at most `limit` (100), after the given name.

    Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_ListTables.html
    """
    tx.services.authorize(tx, caller, "dynamodb:ListTables", table_arn(caller.scope, "*"))
    size = limit or limits.LIST_TABLES_MAX
    found = tx.resources.list(Table, caller.scope, after=exclusive_start_table_name or "", limit=size + 1)
    names = [table.name for table in found[:size]]
    answer: Document = {"TableNames": names}
    if len(found) > size:
        answer["LastEvaluatedTableName"] = names[-1]
    return answer


@operation("UpdateTable")
def update_table(
    tx: Transaction,
    caller: Caller,
    *,
    table_name: str,
    attribute_definitions: Sequence[AttributeDefinition] | None = None,
    billing_mode: str | None = None,
    provisioned_throughput: Throughput | None = None,
    global_secondary_index_updates: Sequence[IndexUpdate] | None = None,
    stream_specification: Document | None = None,
    sse_specification: Encryption | None = None,
    replica_updates: Sequence[ReplicaUpdate] | None = None,
    table_class: str | None = None,
    deletion_protection_enabled: bool | None = None,
    multi_region_consistency: str | None = None,
    global_table_witness_updates: Sequence[object] | None = None,
    on_demand_throughput: Mapping[str, int] | None = None,
    warm_throughput: Mapping[str, int] | None = None,
    global_table_settings_replication_mode: str | None = None,
    disassociation_protection_enabled: bool | None = None,
    vector_index_updates: Sequence[object] | None = None,
) -> Document:
    """Change the settings of a table: throughput, class, encryption, deletion protection, its stream.

    Errors: ResourceNotFoundException; ValidationException (no change, or an impossible change).
    Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_UpdateTable.html
    """
    reference = authorize(tx, caller, "UpdateTable", table_name)
    refuse_unsupported(
        ReplicaUpdates=None if replica_updates else replica_updates,
        GlobalTableWitnessUpdates=global_table_witness_updates,
        GlobalTableSettingsReplicationMode=global_table_settings_replication_mode,
        DisassociationProtectionEnabled=disassociation_protection_enabled, VectorIndexUpdates=vector_index_updates,
    )  # fmt: skip
    view_type = read_specification(stream_specification)
    changes = (
        billing_mode, provisioned_throughput, stream_specification, sse_specification, table_class,
        deletion_protection_enabled, on_demand_throughput, warm_throughput, global_secondary_index_updates or None,
        replica_updates or None,
    )  # fmt: skip
    if all(change is None for change in changes):
        raise invalid(
            "At least one of ProvisionedThroughput, BillingMode, UpdateStreamEnabled, GlobalSecondaryIndexUpdates or "
            "SSESpecification or ReplicaUpdates is required"
        )
    table = require_named_table(tx, caller, reference)
    check_updates(table, replica_updates, multi_region_consistency)
    asked = TableChange(
        attribute_definitions, billing_mode, provisioned_throughput, global_secondary_index_updates or (),
        sse_specification, table_class, deletion_protection_enabled, on_demand_throughput, warm_throughput,
        view_type, has_stream_change=stream_specification is not None,
    )  # fmt: skip
    changed = change_table(tx, table, asked)
    for replica in replicas_of(tx, table):
        change_table(tx, replica, asked.followed_by(replica))
    if not replica_updates:
        return {"TableDescription": description_of(tx, changed.table, "UPDATING", changed)}
    stored = require_named_table(tx, caller, reference)
    stored = change_replicas(tx, caller, stored, replica_updates)
    # The answer shows a created index as it is before it is filled.
    table = dataclasses.replace(stored, indexes=changed.table.indexes)
    created = frozenset(update["Create"]["RegionName"] for update in replica_updates if "Create" in update)
    described = description_of(tx, table, "UPDATING", changed)
    return {"TableDescription": described | describe_replicas(replicas_of(tx, table), created)}


@operation("DeleteTable")
def delete_table(tx: Transaction, caller: Caller, *, table_name: str) -> Document:
    """Delete a table and all its items. Replicas in other Regions stay.

    Errors: ResourceNotFoundException; ValidationException for a protected table, and for a replica that others were
    made of within a day.
    Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_DeleteTable.html
    """
    table = require_named_table(tx, caller, authorize(tx, caller, "DeleteTable", table_name))
    check_deletable(table, tx.now)
    described = description_of(tx, table, "DELETING")
    delete_replica(tx, table)
    return {"TableDescription": described}


def description_of(tx: Transaction, table: Table, status: str, changed: Changed | None = None) -> Document:
    """Return a table as DescribeTable shows it, with its present number of items."""
    item_count, size_bytes = shown_totals(tx, table.id)
    shown = describe_table(table, tx.now, status=status, item_count=item_count, size_bytes=size_bytes)
    shown |= describe_indexes(table, status, changed, tx.now, partial(shown_totals, tx))
    return shown | describe_replicas(replicas_of(tx, table))
