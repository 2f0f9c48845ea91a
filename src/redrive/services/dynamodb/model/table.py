"""Tables: their stored form, their names, and their description in answers. No transaction, no clock."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from redrive.core.clock import Instant
from redrive.core.documents import Document
from redrive.core.errors import ServiceError
from redrive.core.scope import Caller, Scope
from redrive.services.dynamodb import limits
from redrive.services.dynamodb.model.billing import Billing, describe_billing
from redrive.services.dynamodb.model.destination import Destination
from redrive.services.dynamodb.model.index import Index
from redrive.services.dynamodb.model.recovery_log import RecoveryLog
from redrive.services.dynamodb.model.stream import Stream

_TABLE_NAME = re.compile(r"[a-zA-Z0-9_.-]+")
_TABLE_ARN = re.compile(r"arn:aws:dynamodb:([a-z0-9-]+):(\d{12}):table/([a-zA-Z0-9_.-]{3,255})")


@dataclass(frozen=True, slots=True)
class TimeToLive:
    """The attribute with an item's expiry time, None if items do not expire, and when this setting last changed."""

    attribute: str | None
    changed_at: Instant


@dataclass(frozen=True, slots=True)
class Table:
    """A table. `id` distinguishes it from an earlier table of the same name; items are stored under the id.

    `attributes` maps the key attributes of the table and its indexes to their types (S, N or B), in the order of
    definition.
    """

    KIND: ClassVar[str] = "dynamodb.table"

    name: str
    id: str
    arn: str
    attributes: Mapping[str, str]
    hash_key: str
    range_key: str | None
    billing: Billing
    created_at: Instant
    table_class: str | None = None
    encryption_key_arn: str | None = None
    is_protected: bool = False
    time_to_live: TimeToLive | None = None
    tags: Mapping[str, str] = field(default_factory=dict)
    indexes: tuple[Index, ...] = ()
    stream: Stream | None = None
    destinations: tuple[Destination, ...] = ()
    log: RecoveryLog | None = None
    replicas: tuple[str, ...] = ()
    """The other Regions that have this table; a table without them is not global."""
    overrides: Document = field(default_factory=dict)
    """The settings that this replica does not share with the others, by AWS's names."""
    source_at: Instant | None = None
    """When a replica was last made of this table."""
    restored: Document = field(default_factory=dict)
    """What the table was restored from, as RestoreSummary shows it; empty if it was created."""

    @property
    def key_names(self) -> Sequence[str]:
        """The names of the key attributes, the hash key first."""
        return (self.hash_key,) if self.range_key is None else (self.hash_key, self.range_key)

    @property
    def is_followed(self) -> bool:
        """Whether an index, a stream, a destination or a log follows the changes of the table's items."""
        return self.has_stream or bool(self.indexes) or self.log is not None or bool(self.destinations)

    @property
    def has_stream(self) -> bool:
        """Whether the table's stream is enabled. `stream` is the latest stream, which may be disabled."""
        return self.stream is not None and self.stream.disabled_at is None

    def find_index(self, name: str) -> Index | None:
        """Return the index with this name, or None."""
        return next((index for index in self.indexes if index.name == name), None)

    def index_arn(self, index_name: str) -> str:
        """The ARN of an index of this table."""
        return f"{self.arn}/index/{index_name}"

    @property
    def scope(self) -> Scope:
        """The account and region that the table belongs to."""
        _, _, _, region, account, _ = self.arn.split(":", 5)
        return Scope(account, region)

    @property
    def expiry_attribute(self) -> str | None:
        """The attribute that holds an item's expiry time, or None."""
        return None if self.time_to_live is None else self.time_to_live.attribute


@dataclass(frozen=True, slots=True)
class TableReference:
    """The table that a request names, by a TableName or an ARN, as this caller means it."""

    scope: Scope
    name: str
    arn: str


def invalid(message: str) -> ServiceError:
    """Build a `ValidationException` with this message."""
    return ServiceError("ValidationException", message)


def invalid_parameter(message: str) -> ServiceError:
    """Build the `ValidationException` for a parameter that has a valid shape, but an invalid meaning."""
    return invalid(f"One or more parameter values were invalid: {message}")


def not_found(problem: str = "") -> ServiceError:
    """Build the error for a table that does not exist."""
    detail = f": {problem}" if problem else ""
    return ServiceError("ResourceNotFoundException", f"Requested resource not found{detail}")


def table_arn(scope: Scope, name: str) -> str:
    """The ARN of a table."""
    return f"arn:aws:dynamodb:{scope.region}:{scope.account}:table/{name}"


def refer_to_table(caller: Caller, text: str) -> TableReference:
    """Parse a TableName, which is a name or an ARN.

    Errors: ValidationException for any other text.
    """
    return _refer(caller.scope.account, caller.scope.region, text)


@functools.lru_cache(maxsize=4_096)
def _refer(account: str, region: str, text: str) -> TableReference:
    own_account, own_region, name = _parse_table_name(text)
    scope = Scope(own_account or account, own_region or region)
    return TableReference(scope, name, table_arn(scope, name))


def _parse_table_name(text: str) -> tuple[str, str, str]:
    """Return (account, region, name); account and region are empty if the text is a plain name."""
    if text.startswith("arn:"):
        match = _TABLE_ARN.fullmatch(text)
        if match is None:
            raise invalid(f"Invalid TableArn: Invalid ResourceArn provided as input {text}")
        return match[2], match[1], match[3]
    if not limits.TABLE_NAME_LENGTH_MIN <= len(text) <= limits.TABLE_NAME_LENGTH_MAX:
        raise invalid(
            f"TableName must be at least {limits.TABLE_NAME_LENGTH_MIN} characters long "
            f"and at most {limits.TABLE_NAME_LENGTH_MAX} characters long"
        )
    if not _TABLE_NAME.fullmatch(text):
        raise invalid(
            f"1 validation error detected: Value '{text}' at 'tableName' failed to satisfy constraint: "
            f"Member must satisfy regular expression pattern: {_TABLE_NAME.pattern}"
        )
    return "", "", text


def describe_table(table: Table, now: Instant, *, status: str, item_count: int, size_bytes: int) -> Document:
    """A table as DescribeTable shows it."""
    return {
        "AttributeDefinitions": [
            {"AttributeName": name, "AttributeType": type_name} for name, type_name in table.attributes.items()
        ],
        "TableName": table.name,
        "KeySchema": [
            {"AttributeName": name, "KeyType": kind}
            for name, kind in zip(table.key_names, ("HASH", "RANGE"), strict=False)
        ],
        "TableStatus": status,
        "CreationDateTime": table.created_at,
        "TableSizeBytes": size_bytes,
        "ItemCount": item_count,
        "TableArn": table.arn,
        "TableId": table.id,
        "DeletionProtectionEnabled": table.is_protected,
        **describe_billing(table.billing, now),
        **_describe_storage(table),
        **_describe_stream(table, now),
        **({"RestoreSummary": {**table.restored, "RestoreInProgress": False}} if table.restored else {}),
    }


def _describe_storage(table: Table) -> Document:
    described: Document = {}
    if table.table_class is not None:
        described["TableClassSummary"] = {"TableClass": table.table_class}
    if table.encryption_key_arn is not None:
        described["SSEDescription"] = {
            "Status": "ENABLED", "SSEType": "KMS", "KMSMasterKeyArn": table.encryption_key_arn,
        }  # fmt: skip
    return described


def _describe_stream(table: Table, now: Instant) -> Document:
    stream = table.stream
    if stream is None or stream.is_gone(now):
        return {}
    described: Document = {"LatestStreamArn": stream.arn, "LatestStreamLabel": stream.label}
    if stream.is_enabled:
        described["StreamSpecification"] = {"StreamEnabled": True, "StreamViewType": stream.view_type.value}
    return described
