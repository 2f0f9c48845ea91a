"""Backups on demand: a copy of a table's items, which outlives the table, and new tables made of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from redrive.core.clock import Instant
from redrive.core.documents import Document
from redrive.core.entropy import new_uuid
from redrive.core.errors import ServiceError
from redrive.core.scope import Caller
from redrive.delivery.operation import operation
from redrive.delivery.upkeep.cleaning import forget_rows
from redrive.services.dynamodb import limits
from redrive.services.dynamodb.model.backup import (
    Backup,
    backup_id,
    backup_not_found,
    describe_backup,
    describe_details,
    place_of,
    summarize,
)
from redrive.services.dynamodb.model.table import refer_to_table, table_arn
from redrive.services.dynamodb.model.table_requests import Encryption, Throughput
from redrive.services.dynamodb.operations.restoring import Overrides, restored
from redrive.services.dynamodb.operations.tables import authorize, find_table
from redrive.store.api import Transaction


@operation("CreateBackup")
def create_backup(tx: Transaction, caller: Caller, *, table_name: str, backup_name: str) -> Document:
    """Copy a table with its items as they are now. The copy is complete at once.

    Errors: TableNotFoundException.
    Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_CreateBackup.html
    """
    reference = authorize(tx, caller, "CreateBackup", table_name)
    table = find_table(tx, caller, reference)
    if table is None:
        raise ServiceError("TableNotFoundException", f"Table not found: {reference.name}")
    item_count, size_bytes = tx.items.totals(table.id)
    backup = Backup(
        id=backup_id(tx.now, new_uuid(tx.entropy)[:8]), backup_name=backup_name, table=table,
        items_id=new_uuid(tx.entropy), item_count=item_count, size_bytes=size_bytes, created_at=tx.now,
    )  # fmt: skip
    tx.resources.put(table.scope, backup)
    tx.items.copy(table.id, backup.items_id)
    return {"BackupDetails": describe_details(backup, "CREATING")}


@operation("DescribeBackup")
def describe(tx: Transaction, caller: Caller, *, backup_arn: str) -> Document:
    """Describe a backup and the table as it was.

    Errors: BackupNotFoundException; ValidationException (not a backup's ARN).
    Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_DescribeBackup.html
    """
    return {"BackupDescription": describe_backup(_backup(tx, caller, "DescribeBackup", backup_arn))}


@operation("DeleteBackup")
def delete_backup(tx: Transaction, caller: Caller, *, backup_arn: str) -> Document:
    """Delete a backup.

    Errors: BackupNotFoundException; ValidationException (not a backup's ARN).
    Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_DeleteBackup.html
    """
    backup = _backup(tx, caller, "DeleteBackup", backup_arn)
    forget_rows(tx, "items", backup.items_id)
    tx.resources.delete(Backup, backup.table.scope, backup.name)
    return {"BackupDescription": describe_backup(backup, "DELETED")}


@operation("ListBackups")
def list_backups(
    tx: Transaction,
    caller: Caller,
    *,
    table_name: str | None = None,
    limit: int | None = None,
    time_range_lower_bound: Instant | None = None,
    time_range_upper_bound: Instant | None = None,
    exclusive_start_backup_arn: str | None = None,
    backup_type: str | None = None,
) -> Document:
    """List backups of the caller's tables, or of one table, by table and time; the upper bound is excluded.

    Errors: ValidationException (not a backup's ARN).
    Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_ListBackups.html
    """
    tx.services.authorize(tx, caller, "dynamodb:ListBackups", table_arn(caller.scope, "*"))
    prefix = "" if table_name is None else f"{refer_to_table(caller, table_name).name}/"
    after = "" if exclusive_start_backup_arn is None else place_of(exclusive_start_backup_arn)[1]
    size = limit or limits.LIST_BACKUPS_MAX
    found: list[Backup] = []
    while len(found) <= size:
        page = tx.resources.list(Backup, caller.scope, prefix=prefix, after=after, limit=size + 1)
        if not page:
            break
        after = page[-1].name
        found += [
            backup for backup in page
            if backup_type in (None, "ALL", backup.kind)
            and (time_range_lower_bound or 0) <= backup.created_at
            and (time_range_upper_bound is None or backup.created_at < time_range_upper_bound)
        ]  # fmt: skip
    answer: Document = {"BackupSummaries": [summarize(backup) for backup in found[:size]]}
    if len(found) > size:
        answer["LastEvaluatedBackupArn"] = found[size - 1].arn
    return answer


@operation("RestoreTableFromBackup")
def restore_table_from_backup(
    tx: Transaction,
    caller: Caller,
    *,
    target_table_name: str,
    backup_arn: str,
    billing_mode_override: str | None = None,
    global_secondary_index_override: Sequence[object] | None = None,
    local_secondary_index_override: Sequence[object] | None = None,
    provisioned_throughput_override: Throughput | None = None,
    on_demand_throughput_override: Mapping[str, int] | None = None,
    sse_specification_override: Encryption | None = None,
    vector_index_override: Sequence[object] | None = None,
) -> Document:
    """Make a new table with the items of a backup. It can be used at once.

    Errors: BackupNotFoundException; TableAlreadyExistsException; ValidationException.
    Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_RestoreTableFromBackup.html
    """
    reference = authorize(tx, caller, "RestoreTableFromBackup", target_table_name)
    backup = _backup(tx, caller, "RestoreTableFromBackup", backup_arn)
    overrides = Overrides(
        billing_mode_override, provisioned_throughput_override, on_demand_throughput_override,
        sse_specification_override, global_secondary_index_override, local_secondary_index_override,
        vector_index_override,
    )  # fmt: skip
    origin: Document = {
        "SourceBackupArn": backup.arn, "SourceTableArn": backup.table.arn, "RestoreDateTime": backup.created_at,
    }  # fmt: skip
    return {"TableDescription": restored(tx, reference, backup.table, backup.items_id, overrides, origin=origin)}


def _backup(tx: Transaction, caller: Caller, action: str, arn: str) -> Backup:
    """Return the backup with this ARN, if the caller may do this action on it. Errors: BackupNotFoundException."""
    scope, name = place_of(arn)
    tx.services.authorize(tx, caller, f"dynamodb:{action}", arn)
    backup = tx.resources.get(Backup, scope, name) if scope == caller.scope else None
    if backup is None:
        raise backup_not_found(arn)
    return backup
