"""A new table made of another's items: what RestoreTableFromBackup and RestoreTableToPointInTime share."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

from redrive.core.clock import Instant
from redrive.core.documents import Document
from redrive.core.entropy import new_uuid
from redrive.core.errors import ServiceError
from redrive.services.dynamodb.indexes import begin_filling
from redrive.services.dynamodb.model.index import Index
from redrive.services.dynamodb.model.table import Table, TableReference
from redrive.services.dynamodb.model.table_requests import (
    Encryption,
    Throughput,
    change_billing,
    encryption_key,
    limit_on_demand,
    refuse_unsupported,
)
from redrive.services.dynamodb.operations.tables import description_of
from redrive.services.dynamodb.recovery import undo_changes
from redrive.store.api import Transaction


@dataclasses.dataclass(frozen=True, slots=True)
class Overrides:
    """What a restored table has in place of its source's settings; None keeps the source's."""

    billing_mode: str | None = None
    throughput: Throughput | None = None
    on_demand: Mapping[str, int] | None = None
    encryption: Encryption | None = None
    global_indexes: Sequence[object] | None = None
    local_indexes: Sequence[object] | None = None
    vector_indexes: Sequence[object] | None = None


def restored(
    tx: Transaction, reference: TableReference, source: Table, items_id: str, overrides: Overrides, *,
    origin: Document, changed_since: Instant | None = None,
) -> Document:  # fmt: skip
    """Make a table with the source's keys and settings, and the items under an id; returns its description.

    `origin` is what RestoreSummary shows of the source. What has changed in the source after `changed_since` is undone
    in the new table.

    Time to live, tags, streams, policies and protection against deletion are not restored, as on AWS.
    Errors: TableAlreadyExistsException; ValidationException for an override that does not fit.
    Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Backup.Tutorial.html
    """
    if tx.resources.get(Table, reference.scope, reference.name) is not None:
        raise ServiceError("TableAlreadyExistsException", f"Table already exists: {reference.name}")
    refuse_unsupported(
        GlobalSecondaryIndexOverride=overrides.global_indexes or None,
        LocalSecondaryIndexOverride=overrides.local_indexes or None,
        VectorIndexOverride=overrides.vector_indexes or None,
    )
    billing = dataclasses.replace(source.billing, increased_at=None, decreased_at=None, decreases=0)
    if overrides.billing_mode is not None or overrides.throughput is not None:
        billing = change_billing(billing, overrides.billing_mode, overrides.throughput, tx.now)
    key = source.encryption_key_arn
    if overrides.encryption is not None:
        key = encryption_key(reference.scope, overrides.encryption, new_uuid(tx.entropy))
    table = Table(
        name=reference.name, id=new_uuid(tx.entropy), arn=reference.arn, attributes=source.attributes,
        hash_key=source.hash_key, range_key=source.range_key, billing=limit_on_demand(billing, overrides.on_demand),
        created_at=tx.now, table_class=source.table_class, encryption_key_arn=key,
        restored=origin,
    )  # fmt: skip
    tx.items.copy(items_id, table.id)
    if changed_since is not None:
        undo_changes(tx, source, table.id, changed_since)
    for index in _kept_indexes(source, overrides):
        fresh = dataclasses.replace(index, id=new_uuid(tx.entropy), is_filling=True)
        table = dataclasses.replace(table, indexes=(*table.indexes, fresh))
        table = begin_filling(tx, table, fresh)
    tx.resources.put(reference.scope, table)
    described = description_of(tx, table, "CREATING")
    return {**described, "RestoreSummary": {**origin, "RestoreInProgress": True}}


def _kept_indexes(source: Table, overrides: Overrides) -> Sequence[Index]:
    """Return the indexes of the source that are restored: an empty list in place of a kind leaves that kind out."""
    return [
        index for index in source.indexes
        if (overrides.global_indexes if index.is_global else overrides.local_indexes) is None
    ]  # fmt: skip
