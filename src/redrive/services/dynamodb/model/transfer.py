"""Exports of tables to S3 and imports from it: their stored form, their descriptions, their files. No transaction.

Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/S3DataExport.Output.html
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import ClassVar, NoReturn

from redrive.core.clock import Instant, format_instant
from redrive.core.documents import Document, dump_json
from redrive.core.errors import ServiceError
from redrive.core.scope import Caller, Scope
from redrive.services.dynamodb.model.table import invalid

IN_PROGRESS, COMPLETED, FAILED = "IN_PROGRESS", "COMPLETED", "FAILED"

_ARN = re.compile(
    r"arn:aws:dynamodb:([a-z0-9-]+):(\d{12}):table/([a-zA-Z0-9_.-]{3,255})/(export|import)/(\d{14}-[0-9a-f]{8})"
)


@dataclass(frozen=True, slots=True)
class Export:
    """An export. Copies of the table's items stand under `items_id` until they are all written.

    `principal` asked for the export, and writes the objects. `after` is the key, in hexadecimal digits, up to which the
    items are written; `files` are the lines of the manifest.
    """

    KIND: ClassVar[str] = "dynamodb.export"
    IS_STATE: ClassVar[bool] = True

    id: str
    table_name: str
    table_arn: str
    table_id: str
    items_id: str
    principal: Caller
    request: Document
    started_at: Instant
    export_at: Instant
    token: str
    status: str = IN_PROGRESS
    after: tuple[str, str] = ("", "")
    files: tuple[str, ...] = ()
    item_count: int = 0
    size_bytes: int = 0
    ended_at: Instant | None = None
    failure: tuple[str, str] = ("", "")

    @property
    def name(self) -> str:
        """The table's name and the export's id: the exports of a table follow each other in time."""
        return f"{self.table_name}/{self.id}"

    @property
    def arn(self) -> str:
        """The ARN of the export."""
        return f"{self.table_arn}/export/{self.id}"

    @property
    def folder(self) -> str:
        """What the keys of all objects of the export begin with."""
        prefix = str(self.request.get("S3Prefix") or "").strip("/")
        return f"{prefix}/AWSDynamoDB/{self.id}" if prefix else f"AWSDynamoDB/{self.id}"

    @property
    def description(self) -> Document:
        """The export as DescribeExport shows it."""
        described: Document = {
            "ExportArn": self.arn,
            "ExportStatus": self.status,
            "StartTime": self.started_at,
            "TableArn": self.table_arn,
            "TableId": self.table_id,
            "ExportTime": self.export_at,
            "ClientToken": self.token,
            "S3SseAlgorithm": "AES256",
            "ExportFormat": "DYNAMODB_JSON",
            "ExportType": "FULL_EXPORT",
            **{name: value for name, value in self.request.items() if value is not None},
        }
        if self.ended_at is not None:
            described["EndTime"] = self.ended_at
        if self.status == COMPLETED:
            described |= {
                "ExportManifest": f"{self.folder}/manifest-summary.json", "BilledSizeBytes": self.size_bytes,
                "ItemCount": self.item_count,
            }  # fmt: skip
        return described | _failure(self.failure)

    @property
    def manifest(self) -> str:
        """The text of manifest-summary.json."""
        request = self.request
        return dump_json(
            {
                "version": "2020-06-30",
                "exportArn": self.arn,
                "startTime": format_instant(self.started_at),
                "endTime": format_instant(self.ended_at or self.started_at),
                "tableArn": self.table_arn,
                "tableId": self.table_id,
                "exportTime": format_instant(self.export_at),
                "s3Bucket": request["S3Bucket"],
                "s3Prefix": request.get("S3Prefix"),
                "s3SseAlgorithm": request.get("S3SseAlgorithm") or "AES256",
                "s3SseKmsKeyId": request.get("S3SseKmsKeyId"),
                "manifestFilesS3Key": f"{self.folder}/manifest-files.json",
                "billedSizeBytes": self.size_bytes,
                "itemCount": self.item_count,
                "outputFormat": "DYNAMODB_JSON",
                "exportType": "FULL_EXPORT",
            }
        )


@dataclass(frozen=True, slots=True)
class Import:
    """An import. `principal` asked for it, and reads the objects.

    `key` is the object that is being read, `lines` how many of its lines are done; empty before the first object.
    """

    KIND: ClassVar[str] = "dynamodb.import"
    IS_STATE: ClassVar[bool] = True

    id: str
    table_name: str
    table_arn: str
    table_id: str
    principal: Caller
    request: Document
    started_at: Instant
    token: str
    status: str = IN_PROGRESS
    key: str = ""
    lines: int = 0
    is_key_done: bool = True
    processed: int = 0
    imported: int = 0
    errors: int = 0
    size_bytes: int = 0
    ended_at: Instant | None = None
    failure: tuple[str, str] = ("", "")
    header: tuple[str, ...] = field(default=())

    @property
    def name(self) -> str:
        """The table's name and the import's id."""
        return f"{self.table_name}/{self.id}"

    @property
    def arn(self) -> str:
        """The ARN of the import."""
        return f"{self.table_arn}/import/{self.id}"

    @property
    def description(self) -> Document:
        """The import as DescribeImport shows it."""
        described: Document = {
            "ImportArn": self.arn,
            "ImportStatus": self.status,
            "TableArn": self.table_arn,
            "TableId": self.table_id,
            "ClientToken": self.token,
            "StartTime": self.started_at,
            "ErrorCount": self.errors,
            "ProcessedSizeBytes": self.size_bytes,
            "ProcessedItemCount": self.processed,
            "ImportedItemCount": self.imported,
            **{name: value for name, value in self.request.items() if value is not None},
        }
        if self.ended_at is not None:
            described["EndTime"] = self.ended_at
        return described | _failure(self.failure)

    @property
    def summary(self) -> Document:
        """The import as ListImports shows it."""
        names = ("ImportArn", "ImportStatus", "TableArn", "S3BucketSource", "InputFormat", "StartTime", "EndTime")
        described = self.description
        return {name: described[name] for name in names if name in described}


def _failure(failure: tuple[str, str]) -> Document:
    code, message = failure
    return {"FailureCode": code, "FailureMessage": message} if code else {}


def transfer_id(now: Instant, suffix: str) -> str:
    """The id of an export or import that begins now; the suffix has eight hexadecimal digits."""
    return f"{now:014}-{suffix}"


def place_of(arn: str, kind: str) -> tuple[Scope, str]:
    """Return the scope and name under which an `export` or `import` is stored. Errors: ValidationException."""
    found = _ARN.fullmatch(arn)
    if found is None or found[4] != kind:
        raise invalid(f"Invalid {kind.capitalize()}Arn: {arn}")
    return Scope(found[2], found[1]), f"{found[3]}/{found[5]}"


def refuse(what: str, instead: str) -> NoReturn:
    """Refuse a kind of export or import by name. Errors: ValidationException."""
    raise invalid(f"redrive does not serve {what} of exports and imports; use {instead}")


def failure_of(error: ServiceError) -> tuple[str, str]:
    """The FailureCode and FailureMessage for an error of S3."""
    return f"S3{error.code}", error.message
