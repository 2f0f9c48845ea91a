"""Exports and imports, which need S3, and global tables of 2017: there are none, and making one is refused by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from redrive.core.clock import Instant
from redrive.core.documents import Document
from redrive.core.errors import ServiceError
from redrive.core.scope import Caller
from redrive.delivery.operation import operation
from redrive.services.dynamodb.model.settings import Recovery
from redrive.services.dynamodb.model.table import invalid, table_arn
from redrive.services.dynamodb.operations.tables import authorize, find_table
from redrive.store.api import Transaction


@operation("ExportTableToPointInTime")
def export_table_to_point_in_time(
    tx: Transaction,
    caller: Caller,
    *,
    table_arn: str,
    s3_bucket: str,
    export_time: Instant | None = None,  # noqa: ARG001 -- an export is refused, whatever it asks for.
    client_token: str | None = None,  # noqa: ARG001
    s3_bucket_owner: str | None = None,  # noqa: ARG001
    s3_prefix: str | None = None,  # noqa: ARG001
    s3_sse_algorithm: str | None = None,  # noqa: ARG001
    s3_sse_kms_key_id: str | None = None,  # noqa: ARG001
    export_format: str | None = None,  # noqa: ARG001
    export_type: str | None = None,  # noqa: ARG001
    incremental_export_specification: Mapping[str, object] | None = None,  # noqa: ARG001
    filter_specification: Mapping[str, object] | None = None,  # noqa: ARG001
) -> Document:
    """Refuse to export a table: the export would be written to S3, which redrive does not serve.

    Errors: TableNotFoundException; PointInTimeRecoveryUnavailableException; ValidationException.
    Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_ExportTableToPointInTime.html
    """
    reference = authorize(tx, caller, "ExportTableToPointInTime", table_arn)
    table = find_table(tx, caller, reference)
    if table is None:
        raise ServiceError("TableNotFoundException", f"Table not found: {table_arn}")
    if tx.resources.get(Recovery, table.scope, table.name) is None:
        message = f"Point in time recovery is not enabled for table '{table.name}'"
        raise ServiceError("PointInTimeRecoveryUnavailableException", message)
    raise invalid(f"redrive does not serve S3, so the table cannot be exported to the bucket {s3_bucket}")


@operation("DescribeExport")
def describe_export(tx: Transaction, caller: Caller, *, export_arn: str) -> Document:
    """Answer that there is no such export. Errors: ExportNotFoundException.

    Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_DescribeExport.html
    """
    tx.services.authorize(tx, caller, "dynamodb:DescribeExport", export_arn)
    raise ServiceError("ExportNotFoundException", f"Export not found: {export_arn}")


@operation("ListExports")
def list_exports(
    tx: Transaction,
    caller: Caller,
    *,
    table_arn: str | None = None,  # noqa: ARG001 -- no table has any.
    max_results: int | None = None,  # noqa: ARG001
    next_token: str | None = None,  # noqa: ARG001
) -> Document:
    """List exports: there are none.

    Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_ListExports.html
    """
    tx.services.authorize(tx, caller, "dynamodb:ListExports", _every_table(caller))
    return {"ExportSummaries": []}


@operation("ImportTable")
def import_table(
    tx: Transaction,
    caller: Caller,
    *,
    s3_bucket_source: Document,
    input_format: str,  # noqa: ARG001 -- an import is refused, whatever it asks for.
    table_creation_parameters: Document,
    client_token: str | None = None,  # noqa: ARG001
    input_format_options: Mapping[str, object] | None = None,  # noqa: ARG001
    input_compression_type: str | None = None,  # noqa: ARG001
) -> Document:
    """Refuse to import a table: it would be read from S3, which redrive does not serve. Errors: ValidationException.

    Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_ImportTable.html
    """
    authorize(tx, caller, "ImportTable", str(table_creation_parameters["TableName"]))
    bucket = s3_bucket_source["S3Bucket"]
    raise invalid(f"redrive does not serve S3, so no table can be imported from the bucket {bucket}")


@operation("DescribeImport")
def describe_import(tx: Transaction, caller: Caller, *, import_arn: str) -> Document:
    """Answer that there is no such import. Errors: ImportNotFoundException.

    Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_DescribeImport.html
    """
    tx.services.authorize(tx, caller, "dynamodb:DescribeImport", import_arn)
    raise ServiceError("ImportNotFoundException", f"Import not found: {import_arn}")


@operation("ListImports")
def list_imports(
    tx: Transaction,
    caller: Caller,
    *,
    table_arn: str | None = None,  # noqa: ARG001 -- no table has any.
    page_size: int | None = None,  # noqa: ARG001
    next_token: str | None = None,  # noqa: ARG001
) -> Document:
    """List imports: there are none.

    Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_ListImports.html
    """
    tx.services.authorize(tx, caller, "dynamodb:ListImports", _every_table(caller))
    return {"ImportSummaryList": []}


@operation("CreateGlobalTable")
def create_global_table(
    tx: Transaction,
    caller: Caller,
    *,
    global_table_name: str,
    replication_group: Sequence[object],  # noqa: ARG001 -- a global table is refused, whatever its regions.
) -> Document:
    """Refuse to create a global table of version 2017.11.29, which AWS advises against. Errors: ValidationException.

    Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_CreateGlobalTable.html
    """
    authorize(tx, caller, "CreateGlobalTable", global_table_name)
    raise invalid("redrive does not serve global tables: the store of one region has no replicas in others")


@operation("DescribeGlobalTable")
def describe_global_table(tx: Transaction, caller: Caller, *, global_table_name: str) -> Document:
    """Answer that there is no such global table. Errors: GlobalTableNotFoundException.

    Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_DescribeGlobalTable.html
    """
    authorize(tx, caller, "DescribeGlobalTable", global_table_name)
    raise ServiceError("GlobalTableNotFoundException", f"Global table not found: {global_table_name}")


@operation("ListGlobalTables")
def list_global_tables(
    tx: Transaction,
    caller: Caller,
    *,
    exclusive_start_global_table_name: str | None = None,  # noqa: ARG001 -- there are none.
    limit: int | None = None,  # noqa: ARG001
    region_name: str | None = None,  # noqa: ARG001
) -> Document:
    """List global tables of version 2017.11.29: there are none.

    Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_ListGlobalTables.html
    """
    tx.services.authorize(tx, caller, "dynamodb:ListGlobalTables", _every_table(caller))
    return {"GlobalTables": []}


def _every_table(caller: Caller) -> str:
    return table_arn(caller.scope, "*")
