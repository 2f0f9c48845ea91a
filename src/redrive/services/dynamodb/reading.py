"""The one way in which queries and scans answer a page of rows, of a table or of an index."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from redrive.core.documents import Document
from redrive.languages.dynamo import Condition, Item, Projection, encoded_item, holds, item_size, load_item, project
from redrive.services.dynamodb.model.capacity import read_units, scan_units, source_capacity
from redrive.services.dynamodb.model.items import key_of_item
from redrive.services.dynamodb.model.source import Source
from redrive.store.api import Transaction
from redrive.store.tables.items import ItemPage


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a request asks for of the rows: those that the filter keeps, and their parts, or only their number.

    With `fetches`, the entries of a local index are replaced by the items that they belong to.
    """

    kept: Condition | None
    projection: Projection | None
    is_count: bool = False
    fetches: bool = False


def answer_page(tx: Transaction, source: Source, page: ItemPage, wanted: Wanted) -> tuple[Document, list[int]]:
    """Build the answer for a page: filter, then project or only count. Also returns the sizes of fetched items."""
    rows: list[Item] = [encoded_item(stored.item) for stored in page.items]
    kept = rows if wanted.kept is None else [row for row in rows if holds(wanted.kept, row)]
    fetched: list[int] = []
    if wanted.fetches:
        kept = [item for row in kept if (item := _fetched(tx, source, row)) is not None]
        fetched = [item_size(item) for item in kept]
    answer: Document = {"Count": len(kept), "ScannedCount": len(rows)}
    if not wanted.is_count:
        answer["Items"] = kept if wanted.projection is None else [project(wanted.projection, row) for row in kept]
    if not page.complete:
        answer["LastEvaluatedKey"] = source.last_key(rows[-1])
    return answer, fetched


def query_cost(
    source: Source, page: ItemPage, fetched: list[int], return_consumed_capacity: str | None, consistent: bool | None
) -> Document:
    """Return the ConsumedCapacity of a query."""
    units = read_units(sum(stored.size_bytes for stored in page.items), consistent=consistent)
    return _cost(source, units, fetched, return_consumed_capacity, consistent)


def scan_cost(
    source: Source,
    sizes: Mapping[int, int],
    fetched: list[int],
    return_consumed_capacity: str | None,
    consistent: bool | None,
) -> Document:
    """Return the ConsumedCapacity of a scan. `sizes` are the bytes read from each partition."""
    units = scan_units(sizes.values(), consistent)
    return _cost(source, units, fetched, return_consumed_capacity, consistent)


def _cost(
    source: Source, units: float, fetched: list[int], return_consumed_capacity: str | None, consistent: bool | None
) -> Document:
    fetched_units = sum(read_units(size_bytes, consistent=consistent) for size_bytes in fetched)
    return source_capacity(source.table, source.index, return_consumed_capacity, units, fetched_units)


def _fetched(tx: Transaction, source: Source, entry: Item) -> Item | None:
    """Return the item of an entry; None if another node has deleted the item since the entry was read."""
    table = source.table
    data = tx.items.get(table.id, key_of_item(table, {name: entry[name] for name in table.key_names}))
    return None if data is None else load_item(data)
