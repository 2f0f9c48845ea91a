"""Batches of items from any tables: put and delete up to 25, or get up to 100.

The whole batch is checked before any part of it runs. Here a batch runs in one transaction, which AWS does not promise.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple, cast

from redrive.core.documents import Document
from redrive.core.scope import Caller
from redrive.delivery.operation import operation
from redrive.languages.dynamo import (
    Item,
    Placeholders,
    Projection,
    check_expressions_given,
    check_item_size,
    check_not_mixed,
    item_size,
    project,
    read_item,
)
from redrive.services.dynamodb import limits
from redrive.services.dynamodb.item_collections import batch_collection_metrics
from redrive.services.dynamodb.model.capacity import (
    Cost,
    batch_capacity,
    is_capacity_wanted,
    read_units,
    write_cost,
    write_units,
)
from redrive.services.dynamodb.model.entries import check_index_keys
from redrive.services.dynamodb.model.items import key_of_put, read_key
from redrive.services.dynamodb.model.requests import projection_of
from redrive.services.dynamodb.model.table import Table, invalid
from redrive.services.dynamodb.operations.tables import authorize, require_table
from redrive.services.dynamodb.throttling import Usage, exceeded, is_metered, is_within
from redrive.services.dynamodb.writing import delete, find_item, put, put_unread, reserve
from redrive.store.api import Transaction
from redrive.store.tables.items import ItemKey


class _Write(NamedTuple):
    """One request of BatchWriteItem; a request without an item deletes. `given` is the item or its key."""

    table: Table
    key: ItemKey
    given: Item
    item: Item | None
    size_bytes: int = 0


@dataclass(frozen=True, slots=True)
class _Read:
    """One key of BatchGetItem. `asked_as` is the table's name in the request, `raw_key` the key in the request."""

    asked_as: str
    table: Table
    raw_key: Mapping[str, object]
    key: ItemKey
    projection: Projection | None
    consistent: bool


@operation("BatchWriteItem")
def batch_write_item(
    tx: Transaction,
    caller: Caller,
    *,
    request_items: Mapping[str, Sequence[Document]],
    return_consumed_capacity: str | None = None,
    return_item_collection_metrics: str | None = None,
) -> Document:
    """Put and delete up to 25 items. One invalid request fails the whole batch.

    UnprocessedItems are those that exceed the throughput of their tables.
    Errors: ValidationException; ResourceNotFoundException; ProvisionedThroughputExceededException if that is all.
    Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_BatchWriteItem.html
    """
    if sum(map(len, request_items.values())) > limits.BATCH_WRITES_MAX:
        raise invalid("Too many items requested for the BatchWriteItem call")
    references = {name: authorize(tx, caller, "BatchWriteItem", name) for name in request_items}
    tables = {name: require_table(tx, caller, references[name]) for name in request_items}
    asked = {name: [_write_of(tables[name], one) for one in requests] for name, requests in request_items.items()}
    writes = [write for of_table in asked.values() for write in of_table]
    _check_distinct((write.table, write.key) for write in writes)
    spent: dict[str, Cost] = defaultdict(Cost)
    reserve(tx, ((write.table, write.key) for write in writes))
    unprocessed: dict[str, list[Document]] = {}
    is_asked = is_capacity_wanted(return_consumed_capacity)
    if is_asked or any(table.is_followed or is_metered(tx, table) for table in tables.values()):
        unprocessed = _write_each(tx, asked, request_items, spent if is_asked else None)
    else:
        for name, table in tables.items():
            _write_unread(tx, table, asked[name])
    if sum(map(len, unprocessed.values())) == len(writes) > 0:
        raise exceeded()
    return {
        "UnprocessedItems": unprocessed,
        **batch_capacity(spent, return_consumed_capacity),
        **batch_collection_metrics(
            tx, return_item_collection_metrics, [(write.table, write.given) for write in writes]
        ),
    }  # fmt: skip


@operation("BatchGetItem")
def batch_get_item(
    tx: Transaction,
    caller: Caller,
    *,
    request_items: Mapping[str, Document],
    return_consumed_capacity: str | None = None,
) -> Document:
    """Get up to 100 items by their keys, up to 16 MB and within the throughput; the others are UnprocessedKeys.

    A key without an item has no entry in the answer.
    Errors: ValidationException; ResourceNotFoundException; ProvisionedThroughputExceededException if no key is left.
    Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_BatchGetItem.html
    """
    if sum(len(asked["Keys"]) for asked in request_items.values()) > limits.BATCH_GETS_MAX:
        raise invalid("Too many items requested for the BatchGetItem call")
    references = {name: authorize(tx, caller, "BatchGetItem", name) for name in request_items}
    projections = {name: _projection_of(asked) for name, asked in request_items.items()}
    reads: list[_Read] = []
    for name, asked in request_items.items():
        table = require_table(tx, caller, references[name])
        consistent = bool(asked.get("ConsistentRead"))
        for raw in asked["Keys"]:
            _, key = read_key(table, raw)
            reads.append(_Read(name, table, raw, key, projections[name], consistent))
    _check_distinct((read.table, read.key) for read in reads)
    responses: dict[str, list[Item]] = {name: [] for name in request_items}
    spent: dict[str, Cost] = defaultdict(Cost)
    size_bytes = 0
    throttled: list[_Read] = []
    for place, read in enumerate(reads):
        item = find_item(tx, read.table, read.key)
        item_bytes = item_size(item or {})
        cost = partial(read_units, item_bytes, consistent=read.consistent)
        if not is_within(tx, read.table, Usage.READ, cost, "BatchGetItem"):
            throttled.append(read)
            continue
        if size_bytes + item_bytes > limits.BATCH_GET_BYTES_MAX:
            left = reads[place:]
            break
        size_bytes += item_bytes
        spent[read.table.name] += Cost(read_units(item_bytes, consistent=read.consistent))
        if item is not None:
            responses[read.asked_as].append(item if read.projection is None else project(read.projection, item))
    else:
        left = []
    if len(throttled) == len(reads) > 0:
        raise exceeded()
    unprocessed = _unprocessed(request_items, [*throttled, *left])
    return {
        "Responses": responses, "UnprocessedKeys": unprocessed, **batch_capacity(spent, return_consumed_capacity),
    }  # fmt: skip


def _write_each(
    tx: Transaction,
    asked: Mapping[str, Sequence[_Write]],
    request_items: Mapping[str, Sequence[Document]],
    spent: dict[str, Cost] | None,
) -> dict[str, list[Document]]:
    """Write items one after another. Returns the requests that are beyond the throughput of their tables.

    The costs are added to `spent` if it is given.
    """
    unprocessed: dict[str, list[Document]] = defaultdict(list)
    for name, writes in asked.items():
        for write, request in zip(writes, request_items[name], strict=True):
            table, item = write.table, write.item
            is_read = spent is not None or (table.is_followed and item is not None) or is_metered(tx, table)
            old = find_item(tx, table, write.key) if is_read else None
            if not is_within(tx, table, Usage.WRITE, partial(write_units, (old, item)), "BatchWriteItem"):
                unprocessed[name].append(request)
                continue
            if spent is not None:
                spent[table.name] += write_cost(table, old, item)
            if item is None:
                delete(tx, table, write.key)
            else:
                put(tx, table, write.key, item, write.size_bytes, old=old)
    return dict(unprocessed)


def _write_unread(tx: Transaction, table: Table, writes: Sequence[_Write]) -> None:
    """Write items of a table that nothing follows and nobody meters, so that no present item is read."""
    put_unread(tx, table, [(write.key, write.item, write.size_bytes) for write in writes if write.item is not None])
    for write in writes:
        if write.item is None:
            delete(tx, table, write.key)


def _write_of(table: Table, request: Document) -> _Write:
    """Build the write for one request. Errors: ValidationException."""
    put, deletion = request.get("PutRequest"), request.get("DeleteRequest")
    if (put is None) == (deletion is None):
        raise invalid("Supplied WriteRequest must contain exactly one of PutRequest and DeleteRequest")
    if put is None:
        given, key = read_key(table, cast("Document", deletion)["Key"])
        return _Write(table, key, given, None)
    item = read_item(put["Item"])
    size_bytes = check_item_size(item)
    key = key_of_put(table, item)
    check_index_keys(table, item)
    return _Write(table, key, item, item, size_bytes)


def _projection_of(asked: Document) -> Projection | None:
    """Return the projection for one table, or None. Errors: ValidationException."""
    names, text = asked.get("ExpressionAttributeNames"), asked.get("ProjectionExpression")
    texts = {"ProjectionExpression": text}
    check_not_mixed({"AttributesToGet": asked.get("AttributesToGet")}, texts)
    check_expressions_given(names, None, texts, {})
    placeholders = Placeholders(names)
    projection = projection_of(placeholders, text, asked.get("AttributesToGet"))
    placeholders.check_all_used()
    return projection


def _unprocessed(request_items: Mapping[str, Document], reads: Sequence[_Read]) -> dict[str, Document]:
    """Return a request for the remaining keys, which the client can send unchanged."""
    keys: dict[str, list[Mapping[str, object]]] = {}
    for read in reads:
        keys.setdefault(read.asked_as, []).append(read.raw_key)
    return {name: {**request_items[name], "Keys": left} for name, left in keys.items()}


def _check_distinct(places: Iterable[tuple[Table, ItemKey]]) -> None:
    """Refuse a batch that contains an item twice. Errors: ValidationException."""
    named = [(table.id, key) for table, key in places]
    if len(set(named)) != len(named):
        raise invalid("Provided list of item keys contains duplicates")
