"""Backups of tables: their stored form and their descriptions. No transaction, no clock."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import ClassVar

from redrive.core.clock import Instant
from redrive.core.documents import Document
from redrive.core.errors import ServiceError
from redrive.core.scope import Scope
from redrive.services.dynamodb.model.billing import BillingMode
from redrive.services.dynamodb.model.table import Table, invalid

_ID_DIGITS = 13
_BACKUP_ARN = re.compile(
    r"arn:aws:dynamodb:([a-z0-9-]+):(\d{12}):table/([a-zA-Z0-9_.-]{3,255})/backup/(\d{13}-[0-9a-f]{8})"
)


@dataclass(frozen=True, slots=True)
class Backup:
    """A backup. `table` is the table as it was; copies of its items are stored under `items_id`."""

    KIND: ClassVar[str] = "dynamodb.backup"

    id: str
    backup_name: str
    table: Table
    items_id: str
    item_count: int
    size_bytes: int
    created_at: Instant
    expires_at: Instant | None = None
    """When a backup ends that the service itself has made; None for those that users have made."""

    @property
    def name(self) -> str:
        """The table's name and the backup's id: the backups of a table follow each other in time."""
        return f"{self.table.name}/{self.id}"

    @property
    def kind(self) -> str:
        """The type of the backup, as AWS calls it."""
        return "USER" if self.expires_at is None else "SYSTEM"

    @property
    def arn(self) -> str:
        """The ARN of the backup."""
        return f"{self.table.arn}/backup/{self.id}"


def backup_id(now: Instant, suffix: str) -> str:
    """The id of a backup that is made now; the suffix has eight hexadecimal digits."""
    return f"{now:0{_ID_DIGITS}}-{suffix}"


def place_of(arn: str) -> tuple[Scope, str]:
    """Return the scope and name under which the backup with this ARN is stored. Errors: ValidationException."""
    found = _BACKUP_ARN.fullmatch(arn)
    if found is None:
        raise invalid(f"Invalid BackupArn: {arn}")
    return Scope(found[2], found[1]), f"{found[3]}/{found[4]}"


def backup_not_found(arn: str) -> ServiceError:
    """Build the error for a backup that does not exist."""
    return ServiceError("BackupNotFoundException", f"Backup not found: {arn}")


def describe_details(backup: Backup, status: str = "AVAILABLE") -> Document:
    """A backup as CreateBackup answers it."""
    described: Document = {
        "BackupArn": backup.arn,
        "BackupName": backup.backup_name,
        "BackupSizeBytes": backup.size_bytes,
        "BackupStatus": status,
        "BackupType": backup.kind,
        "BackupCreationDateTime": backup.created_at,
    }
    return described if backup.expires_at is None else {**described, "BackupExpiryDateTime": backup.expires_at}


def describe_backup(backup: Backup, status: str = "AVAILABLE") -> Document:
    """A backup as DescribeBackup shows it, with the table as it was."""
    table = backup.table
    source: Document = {
        "TableName": table.name,
        "TableId": table.id,
        "TableArn": table.arn,
        "TableSizeBytes": backup.size_bytes,
        "KeySchema": [
            {"AttributeName": name, "KeyType": kind}
            for name, kind in zip(table.key_names, ("HASH", "RANGE"), strict=False)
        ],
        "TableCreationDateTime": table.created_at,
        "ProvisionedThroughput": {
            "ReadCapacityUnits": table.billing.read_units, "WriteCapacityUnits": table.billing.write_units,
        },
        "ItemCount": backup.item_count,
        "BillingMode": table.billing.mode.value,
    }  # fmt: skip
    if table.billing.mode is BillingMode.PAY_PER_REQUEST and table.billing.on_demand_max:
        source["OnDemandThroughput"] = dict(table.billing.on_demand_max)
    features: Document = {}
    if table.expiry_attribute is not None:
        features["TimeToLiveDescription"] = {
            "TimeToLiveStatus": "ENABLED", "AttributeName": table.expiry_attribute,
        }  # fmt: skip
    if table.encryption_key_arn is not None:
        features["SSEDescription"] = {
            "Status": "ENABLED", "SSEType": "KMS", "KMSMasterKeyArn": table.encryption_key_arn,
        }  # fmt: skip
    return {
        "BackupDetails": describe_details(backup, status),
        "SourceTableDetails": source,
        "SourceTableFeatureDetails": features,
    }


def summarize(backup: Backup) -> Document:
    """A backup as ListBackups shows it."""
    return {
        "TableName": backup.table.name, "TableId": backup.table.id, "TableArn": backup.table.arn,
        **describe_details(backup),
    }  # fmt: skip
