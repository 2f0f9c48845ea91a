"""Indexes as DescribeTable shows them. Pure."""

from __future__ import annotations

from collections.abc import Callable

from redrive.core.clock import Instant
from redrive.core.documents import Document
from redrive.services.dynamodb.model.billing import describe_billing
from redrive.services.dynamodb.model.index import Index
from redrive.services.dynamodb.model.index_changes import Changed
from redrive.services.dynamodb.model.table import Table


def describe_indexes(
    table: Table, status: str, changed: Changed | None, now: Instant, totals_of: Callable[[str], tuple[int, int]]
) -> Document:
    """The members of a table's description that show its indexes, and one that a change deletes.

    `status` is that of the table, which its indexes have too while the table is created or deleted. `totals_of` returns
    the number of entries and their size by the id of an index.
    """
    described: Document = {}
    deleted = None if changed is None else changed.deleted
    for index in (*table.indexes, *(() if deleted is None else (deleted,))):
        item_count, size_bytes = totals_of(index.id)
        shown: Document = {
            "IndexName": index.name,
            "KeySchema": [
                *({"AttributeName": name, "KeyType": "HASH"} for name in index.hash_keys),
                *({"AttributeName": name, "KeyType": "RANGE"} for name in index.range_keys),
            ],
            "Projection": {"ProjectionType": index.projection.value},
            "IndexSizeBytes": size_bytes,
            "ItemCount": item_count,
            "IndexArn": table.index_arn(index.name),
        }
        if index.included:
            shown["Projection"]["NonKeyAttributes"] = list(index.included)
        if index.billing is not None:
            billing = describe_billing(index.billing, now)
            billing.pop("BillingModeSummary", None)
            shown |= {"IndexStatus": _status(index, status, changed), **billing}
        if index.is_filling:
            shown["Backfilling"] = changed is None or changed.created is not index
        kind = "GlobalSecondaryIndexes" if index.is_global else "LocalSecondaryIndexes"
        described.setdefault(kind, []).append(shown)
    return described


def _status(index: Index, status: str, changed: Changed | None) -> str:
    if status in ("CREATING", "DELETING"):
        return status
    if changed is not None and index is changed.deleted:
        return "DELETING"
    if index.is_filling:
        return "CREATING"
    return "UPDATING" if changed is not None and index.name in changed.updated else "ACTIVE"
