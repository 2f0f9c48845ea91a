"""Exports of tables to S3, and imports of new tables from it. A worker writes and reads the objects afterwards."""

from __future__ import annotations

from collections.abc import Mapping

from redrive.core.clock import Instant
from redrive.core.documents import Document
from redrive.core.entropy import new_uuid
from redrive.core.errors import ServiceError
from redrive.core.scope import Caller
from redrive.delivery.operation import operation
from redrive.services.dynamodb import limits
from redrive.services.dynamodb.indexes import BACKFILLS
from redrive.services.dynamodb.model.settings import Recovery
from redrive.services.dynamodb.model.table import Table, refer_to_table, table_arn
from redrive.services.dynamodb.model.transfer import Export, Import, place_of, refuse, transfer_id
from redrive.services.dynamodb.operations.recovery import check_restorable
from redrive.services.dynamodb.operations.tables import authorize, find_table
from redrive.services.dynamodb.recovery import undo_changes
from redrive.services.dynamodb.transfers import timer_of
from redrive.store.api import Transaction


@operation("ExportTableToPointInTime")
def export_table_to_point_in_time(
    tx: Transaction, caller: Caller, *,
    table_arn: str, s3_bucket: str, export_time: Instant | None = None, client_token: str | None = None,
    s3_bucket_owner: str | None = None, s3_prefix: str | None = None, s3_sse_algorithm: str | None = None,
    s3_sse_kms_key_id: str | None = None, export_format: str | None = None, export_type: str | None = None,
    incremental_export_specification: Mapping[str, object] | None = None,
    filter_specification: Mapping[str, object] | None = None,
) -> Document:  # fmt: skip
    """Begin to write the items of a table, as they were at an instant, to a bucket. The caller writes the objects.

    Errors: TableNotFoundException; PointInTimeRecoveryUnavailableException; InvalidExportTimeException;
    ExportConflictException; ValidationException (another format or type).
    Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_ExportTableToPointInTime.html
    """
    if export_format == "ION":
        refuse("the format ION", "DYNAMODB_JSON")
    if export_type == "INCREMENTAL_EXPORT" or incremental_export_specification:
        refuse("the type INCREMENTAL_EXPORT", "FULL_EXPORT")
    if filter_specification:
        refuse("FilterSpecification", "an export of the whole table")
    request: Document = {
        "S3Bucket": s3_bucket, "S3BucketOwner": s3_bucket_owner, "S3Prefix": s3_prefix,
        "S3SseAlgorithm": s3_sse_algorithm, "S3SseKmsKeyId": s3_sse_kms_key_id,
    }  # fmt: skip
    reference = authorize(tx, caller, "ExportTableToPointInTime", table_arn)
    table = find_table(tx, caller, reference)
    if table is None:
        raise ServiceError("TableNotFoundException", f"Table not found: {table_arn}")
    known = _same_export(tx, table, client_token)
    if known is not None:
        if known.request != request:
            message = "An export with this ClientToken and other parameters exists already"
            raise ServiceError("ExportConflictException", message)
        return {"ExportDescription": known.description}
    wanted = _export_time(tx, table, export_time)
    export = Export(
        id=transfer_id(tx.now, new_uuid(tx.entropy)[:8]), table_name=table.name, table_arn=table.arn,
        table_id=table.id, items_id=new_uuid(tx.entropy), principal=caller, request=request, started_at=tx.now,
        export_at=wanted, token=client_token or new_uuid(tx.entropy),
    )  # fmt: skip
    tx.items.copy(table.id, export.items_id)
    if wanted < tx.now:
        undo_changes(tx, table, export.items_id, wanted)
    tx.resources.put(table.scope, export)
    tx.timers.set(BACKFILLS, timer_of(table.scope, export), tx.now)
    tx.notify("due")
    return {"ExportDescription": export.description}


def _same_export(tx: Transaction, table: Table, token: str | None) -> Export | None:
    """The export that a request with the same token began in the last eight hours."""
    if token is None:
        return None
    for export in tx.resources.list(Export, table.scope, prefix=f"{table.name}/"):
        if export.token == token and tx.now - export.started_at < limits.TRANSFER_TOKEN_MS:
            return export
    return None


def _export_time(tx: Transaction, table: Table, wanted: Instant | None) -> Instant:
    recovery = tx.resources.get(Recovery, table.scope, table.name)
    if recovery is None:
        message = f"Point in time recovery is not enabled for table '{table.name}'"
        raise ServiceError("PointInTimeRecoveryUnavailableException", message)
    if wanted is not None:
        check_restorable(wanted, recovery, tx.now, code="InvalidExportTimeException")
    return tx.now if wanted is None else wanted


@operation("DescribeExport")
def describe_export(tx: Transaction, caller: Caller, *, export_arn: str) -> Document:
    """Describe an export. Errors: ExportNotFoundException; ValidationException (not an export's ARN).

    Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_DescribeExport.html
    """
    scope, name = place_of(export_arn, "export")
    tx.services.authorize(tx, caller, "dynamodb:DescribeExport", export_arn)
    export = tx.resources.get(Export, scope, name) if scope == caller.scope else None
    if export is None:
        raise ServiceError("ExportNotFoundException", f"Export not found: {export_arn}")
    return {"ExportDescription": export.description}


@operation("ListExports")
def list_exports(
    tx: Transaction, caller: Caller, *,
    table_arn: str | None = None, max_results: int | None = None, next_token: str | None = None,
) -> Document:  # fmt: skip
    """List exports of the caller's tables, or of one table.

    Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_ListExports.html
    """
    tx.services.authorize(tx, caller, "dynamodb:ListExports", _every_table(caller))
    prefix = "" if table_arn is None else f"{refer_to_table(caller, table_arn).name}/"
    size = max_results or limits.LIST_TRANSFERS_MAX
    found = tx.resources.list(Export, caller.scope, prefix=prefix, after=next_token or "", limit=size + 1)
    names = ("ExportArn", "ExportStatus", "ExportType")
    summaries = [{name: export.description[name] for name in names} for export in found[:size]]
    more = {"NextToken": found[size - 1].name} if len(found) > size else {}
    return {"ExportSummaries": summaries, **more}


@operation("ImportTable")
def import_table(
    tx: Transaction, caller: Caller, *,
    s3_bucket_source: Document, input_format: str, table_creation_parameters: Document,
    client_token: str | None = None, input_format_options: Document | None = None,
    input_compression_type: str | None = None,
) -> Document:  # fmt: skip
    """Create a table, and begin to put the items into it that objects of a bucket have. The caller reads the objects.

    Errors: ResourceInUseException (the table exists); ImportConflictException; ValidationException (format, keys).
    Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_ImportTable.html
    """
    if input_format == "ION":
        refuse("the format ION", "DYNAMODB_JSON or CSV")
    if input_compression_type == "ZSTD":
        refuse("the compression ZSTD", "GZIP or NONE")
    name = str(table_creation_parameters["TableName"])
    reference = authorize(tx, caller, "ImportTable", name)
    request: Document = {
        "S3BucketSource": s3_bucket_source, "InputFormat": input_format, "InputFormatOptions": input_format_options,
        "InputCompressionType": input_compression_type or "NONE",
        "TableCreationParameters": table_creation_parameters,
    }  # fmt: skip
    known = _same_import(tx, caller, name, client_token)
    if known is not None:
        if known.request != request:
            message = "An import with this ClientToken and other parameters exists already"
            raise ServiceError("ImportConflictException", message)
        return {"ImportTableDescription": known.description}
    # The permission to import is enough: the table is made for the import, by the account.
    owner = Caller(caller.scope, caller.request_id, host=caller.host)
    made = tx.services.call(tx, owner, "dynamodb", "CreateTable", table_creation_parameters)["TableDescription"]
    begun = Import(
        id=transfer_id(tx.now, new_uuid(tx.entropy)[:8]), table_name=name, table_arn=reference.arn,
        table_id=str(made["TableId"]), principal=caller, request=request, started_at=tx.now,
        token=client_token or new_uuid(tx.entropy),
    )  # fmt: skip
    tx.resources.put(caller.scope, begun)
    tx.timers.set(BACKFILLS, timer_of(caller.scope, begun), tx.now)
    tx.notify("due")
    return {"ImportTableDescription": begun.description}


def _same_import(tx: Transaction, caller: Caller, table_name: str, token: str | None) -> Import | None:
    """The import that a request with the same token began in the last eight hours."""
    if token is None:
        return None
    for begun in tx.resources.list(Import, caller.scope, prefix=f"{table_name}/"):
        if begun.token == token and tx.now - begun.started_at < limits.TRANSFER_TOKEN_MS:
            return begun
    return None


@operation("DescribeImport")
def describe_import(tx: Transaction, caller: Caller, *, import_arn: str) -> Document:
    """Describe an import. Errors: ImportNotFoundException; ValidationException (not an import's ARN).

    Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_DescribeImport.html
    """
    scope, name = place_of(import_arn, "import")
    tx.services.authorize(tx, caller, "dynamodb:DescribeImport", import_arn)
    begun = tx.resources.get(Import, scope, name) if scope == caller.scope else None
    if begun is None:
        raise ServiceError("ImportNotFoundException", f"Import not found: {import_arn}")
    return {"ImportTableDescription": begun.description}


@operation("ListImports")
def list_imports(
    tx: Transaction, caller: Caller, *,
    table_arn: str | None = None, page_size: int | None = None, next_token: str | None = None,
) -> Document:  # fmt: skip
    """List imports of the caller's tables, or of one table.

    Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_ListImports.html
    """
    tx.services.authorize(tx, caller, "dynamodb:ListImports", _every_table(caller))
    prefix = "" if table_arn is None else f"{refer_to_table(caller, table_arn).name}/"
    size = page_size or limits.LIST_TRANSFERS_MAX
    found = tx.resources.list(Import, caller.scope, prefix=prefix, after=next_token or "", limit=size + 1)
    more = {"NextToken": found[size - 1].name} if len(found) > size else {}
    return {"ImportSummaryList": [one.summary for one in found[:size]], **more}


def _every_table(caller: Caller) -> str:
    return table_arn(caller.scope, "*")
