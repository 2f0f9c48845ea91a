"""Point-in-time recovery: its settings, and restoring a table as it was at an instant since it was turned on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from redrive.core.clock import SECOND_MS, Instant
from redrive.core.documents import Document
from redrive.core.errors import ServiceError
from redrive.core.scope import Caller
from redrive.delivery.operation import operation
from redrive.services.dynamodb import limits
from redrive.services.dynamodb.model.settings import Recovery, describe_recovery
from redrive.services.dynamodb.model.table import Table, invalid
from redrive.services.dynamodb.model.table_requests import Encryption, Throughput
from redrive.services.dynamodb.operations.restoring import Overrides, restored
from redrive.services.dynamodb.operations.tables import authorize, find_table
from redrive.services.dynamodb.recovery import drop_log, keep_log
from redrive.store.api import Transaction


@operation("UpdateContinuousBackups")
def update_continuous_backups(
    tx: Transaction, caller: Caller, *, table_name: str, point_in_time_recovery_specification: Document
) -> Document:
    """Turn point-in-time recovery of a table on or off, or change its period.

    Errors: TableNotFoundException; ValidationException.
    Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_UpdateContinuousBackups.html
    """
    table = _table(tx, caller, "UpdateContinuousBackups", table_name)
    enabled: bool = point_in_time_recovery_specification["PointInTimeRecoveryEnabled"]
    days: int | None = point_in_time_recovery_specification.get("RecoveryPeriodInDays")
    known = tx.resources.get(Recovery, table.scope, table.name)
    if not enabled:
        if days is not None:
            raise invalid("RecoveryPeriodInDays can only be specified when PointInTimeRecoveryEnabled is true")
        tx.resources.delete(Recovery, table.scope, table.name)
        tx.resources.put(table.scope, drop_log(tx, table))
        return {"ContinuousBackupsDescription": describe_recovery(None, tx.now)}
    period = days or (limits.RECOVERY_PERIOD_DAYS if known is None else known.period_days)
    # A longer period does not bring back what a shorter one has forgotten.
    recovery = Recovery(table.name, period, tx.now if known is None else known.earliest(tx.now))
    tx.resources.put(table.scope, recovery)
    keep_log(tx, table, period)
    return {"ContinuousBackupsDescription": describe_recovery(recovery, tx.now)}


@operation("DescribeContinuousBackups")
def describe_continuous_backups(tx: Transaction, caller: Caller, *, table_name: str) -> Document:
    """Show the point-in-time recovery of a table.

    Errors: TableNotFoundException.
    Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_DescribeContinuousBackups.html
    """
    table = _table(tx, caller, "DescribeContinuousBackups", table_name)
    recovery = tx.resources.get(Recovery, table.scope, table.name)
    return {"ContinuousBackupsDescription": describe_recovery(recovery, tx.now)}


@operation("RestoreTableToPointInTime")
def restore_table_to_point_in_time(
    tx: Transaction,
    caller: Caller,
    *,
    target_table_name: str,
    source_table_arn: str | None = None,
    source_table_name: str | None = None,
    use_latest_restorable_time: bool | None = None,
    restore_date_time: Instant | None = None,
    billing_mode_override: str | None = None,
    global_secondary_index_override: Sequence[object] | None = None,
    local_secondary_index_override: Sequence[object] | None = None,
    provisioned_throughput_override: Throughput | None = None,
    on_demand_throughput_override: Mapping[str, int] | None = None,
    sse_specification_override: Encryption | None = None,
    vector_index_override: Sequence[object] | None = None,
) -> Document:
    """Make a new table with the items that a table had at an instant, or has now.

    Errors: TableNotFoundException; TableAlreadyExistsException; PointInTimeRecoveryUnavailableException;
    InvalidRestoreTimeException; ValidationException.
    Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_RestoreTableToPointInTime.html
    """
    named = source_table_arn or source_table_name
    if named is None:
        raise invalid("Either SourceTableArn or SourceTableName must be specified")
    source = _table(tx, caller, "RestoreTableToPointInTime", named)
    reference = authorize(tx, caller, "RestoreTableToPointInTime", target_table_name)
    recovery = tx.resources.get(Recovery, source.scope, source.name)
    if recovery is None:
        message = f"Point in time recovery is not enabled for table '{source.name}'"
        raise ServiceError("PointInTimeRecoveryUnavailableException", message)
    if use_latest_restorable_time is None and restore_date_time is None:
        raise invalid("Either UseLatestRestorableTime or RestoreDateTime must be specified")
    wanted = tx.now
    if not use_latest_restorable_time and restore_date_time is not None:
        wanted = restore_date_time
        check_restorable(wanted, recovery, tx.now)
    overrides = Overrides(
        billing_mode_override, provisioned_throughput_override, on_demand_throughput_override,
        sse_specification_override, global_secondary_index_override, local_secondary_index_override,
        vector_index_override,
    )  # fmt: skip
    origin: Document = {"SourceTableArn": source.arn, "RestoreDateTime": wanted}
    described = restored(tx, reference, source, source.id, overrides, origin=origin, changed_since=wanted)
    return {"TableDescription": described}


def check_restorable(
    wanted: Instant, recovery: Recovery, now: Instant, *, code: str = "InvalidRestoreTimeException"
) -> None:
    """Refuse an instant before recovery was turned on, or its period ago, or in the future.

    Errors: the given code.
    """
    if wanted < recovery.earliest(now) - SECOND_MS or wanted > now:
        message = "The provided restore time is not between EarliestRestorableDateTime and LatestRestorableDateTime"
        raise ServiceError(code, message)


def _table(tx: Transaction, caller: Caller, action: str, table_name: str) -> Table:
    """Return the table, if the caller may do this action on it. Errors: TableNotFoundException."""
    reference = authorize(tx, caller, action, table_name)
    table = find_table(tx, caller, reference)
    if table is None:
        raise ServiceError("TableNotFoundException", f"Table not found: {reference.name}")
    return table
