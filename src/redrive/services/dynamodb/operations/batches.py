"""Batches of items from any tables: put and delete up to 25, or get up to 100.

The whole batch is checked before any part of it runs. Here a batch runs in one transaction, which AWS does not promise.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

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
from redrive.services.dynamodb.model.items import key_within, matched_key, read_key
from redrive.services.dynamodb.model.requests import projection_of
from redrive.services.dynamodb.model.table import Table, invalid
from redrive.services.dynamodb.operations.tables import authorize, require_table
from redrive.services.dynamodb.throttling import Usage, exceeded, is_metered, is_within
from redrive.services.dynamodb.writing import delete, find_item, put, reserve
from redrive.store.api import Transaction
from redrive.store.tables.items import ItemKey


@dataclass(frozen=True, slots=True)
class _Write:
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
    writes: list[_Write] = []
    asked: list[tuple[str, Document]] = []
    for name, requests in request_items.items():
        table = require_table(tx, caller, references[name])
        writes += [_write_of(table, request) for request in requests]
        asked += [(name, request) for request in requests]
    _check_distinct((write.table, write.key) for write in writes)
    spent: dict[str, Cost] = defaultdict(Cost)
    reserve(tx, ((write.table, write.key) for write in writes))
    is_asked = is_capacity_wanted(return_consumed_capacity)
    unprocessed: dict[str, list[Document]] = defaultdict(list)
    for write, (name, request) in zip(writes, asked, strict=True):
        is_read = is_asked or (write.table.is_followed and write.item is not None) or is_metered(tx, write.table)
        old = find_item(tx, write.table, write.key) if is_read else None
        if not is_within(tx, write.table, Usage.WRITE, partial(write_units, (old, write.item)), "BatchWriteItem"):
            unprocessed[name].append(request)
            continue
        if is_asked:
            spent[write.table.name] += write_cost(write.table, old, write.item)
        if write.item is None:
            delete(tx, write.table, write.key)
        else:
            put(tx, write.table, write.key, write.item, write.size_bytes, old=old)
    if sum(map(len, unprocessed.values())) == len(writes) > 0:
        raise exceeded()
    return {
        "UnprocessedItems": dict(unprocessed),
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


def _write_of(table: Table, request: Document) -> _Write:
    """Build the write for one request. Errors: ValidationException."""
    match {name: given for name, given in request.items() if given is not None}:
        case {"PutRequest": {"Item": raw}, **others} if not others:
            item = read_item(raw)
            size_bytes = check_item_size(item)
            key = matched_key(table, key_within(table, item))
            check_index_keys(table, item)
            return _Write(table, key, item, item, size_bytes)
        case {"DeleteRequest": {"Key": raw}, **others} if not others:
            given, key = read_key(table, raw)
            return _Write(table, key, given, None)
        case _:
            raise invalid("Supplied WriteRequest must contain exactly one of PutRequest and DeleteRequest")


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
