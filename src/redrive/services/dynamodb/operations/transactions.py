"""Transactions: write up to 100 items of any tables together or not at all, or read up to 100 at one instant."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from redrive.core.documents import Document
from redrive.core.errors import ServiceError
from redrive.core.scope import Caller
from redrive.delivery.operation import operation
from redrive.languages.dynamo import EmptyKey, Item, Placeholders, check_expressions_given, item_size, project
from redrive.services.dynamodb import limits
from redrive.services.dynamodb.item_collections import batch_collection_metrics
from redrive.services.dynamodb.model.capacity import (
    Cost,
    batch_capacity,
    is_capacity_wanted,
    read_units,
    write_cost,
)
from redrive.services.dynamodb.model.items import read_key
from redrive.services.dynamodb.model.requests import projection_of
from redrive.services.dynamodb.model.table import Table, invalid
from redrive.services.dynamodb.model.transactions import (
    NOT_TO_BLAME,
    PERMISSIONS,
    Action,
    blame,
    blamed,
    cancelled,
    digest_of,
    read_action,
)
from redrive.services.dynamodb.operations.tables import authorize, require_table
from redrive.services.dynamodb.throttling import Usage, is_metered, spend_together
from redrive.services.dynamodb.writing import delete, find_item, put, reserve
from redrive.store.api import Transaction
from redrive.store.tables.items import ItemKey
from redrive.store.tables.tokens import UsedToken

TOKENS = "dynamodb.TransactWriteItems"
"""The kind under which client request tokens are stored."""


@operation("TransactWriteItems")
def transact_write_items(
    tx: Transaction,
    caller: Caller,
    *,
    transact_items: Sequence[Document],
    return_consumed_capacity: str | None = None,
    return_item_collection_metrics: str | None = None,
    client_request_token: str | None = None,
) -> Document:
    """Put, update, delete and check up to 100 items, all or none. A token makes the request idempotent for ten minutes.

    Errors: ValidationException; ResourceNotFoundException; IdempotentParameterMismatchException;
    TransactionCanceledException with a reason for each action.
    Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TransactWriteItems.html
    """
    actions = [read_action(entry) for entry in transact_items]
    references = [authorize(tx, caller, PERMISSIONS[action.kind], action.table_name) for action in actions]
    tables = [require_table(tx, caller, reference) for reference in references]
    keys = _keys_of(actions, tables)
    check_distinct(tables, keys)
    check_size(sum(action.size_bytes for action in actions))
    reserve(tx, zip(tables, keys, strict=True))
    olds = [find_item(tx, table, key) for table, key in zip(tables, keys, strict=True)]
    if client_request_token is not None and not is_first_use(
        tx, caller, TOKENS, client_request_token, digest_of(transact_items)
    ):
        return spent_of(tables, [read_cost(old) for old in olds], return_consumed_capacity, "ReadCapacityUnits")
    news = _outcomes(actions, tables, olds)
    costs: Sequence[Cost] = ()
    if is_capacity_wanted(return_consumed_capacity) or any(is_metered(tx, table) for table in tables):
        costs = [write_cost(table, old, new) for table, old, new in zip(tables, olds, news, strict=True)]
        spend_together(tx, tables, Usage.WRITE, costs, "TransactWriteItems")
    for place, (table, key, old, new) in enumerate(zip(tables, keys, olds, news, strict=True)):
        try:
            if new is None:
                delete(tx, table, key)
            elif new is not old:
                put(tx, table, key, new, item_size(new), old=old)
        except ServiceError as error:
            raise blamed(place, error, len(actions)) from None
    written = [
        (table, action.given) for table, action in zip(tables, actions, strict=True) if action.kind != "ConditionCheck"
    ]
    return {
        **spent_of(tables, costs, return_consumed_capacity, "WriteCapacityUnits"),
        **batch_collection_metrics(tx, return_item_collection_metrics, written),
    }


@operation("TransactGetItems")
def transact_get_items(
    tx: Transaction,
    caller: Caller,
    *,
    transact_items: Sequence[Document],
    return_consumed_capacity: str | None = None,
) -> Document:
    """Return up to 100 items by their keys, as of one instant, in the order of the request; no Item if there is none.

    Errors: ValidationException; ResourceNotFoundException; TransactionCanceledException (an invalid key).
    Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TransactGetItems.html
    """
    gets = [entry["Get"] for entry in transact_items]
    projections = []
    for get in gets:
        names, text = get.get("ExpressionAttributeNames"), get.get("ProjectionExpression")
        check_expressions_given(names, None, {"ProjectionExpression": text}, {})
        placeholders = Placeholders(names)
        projections.append(projection_of(placeholders, text, None))
        placeholders.check_all_used()
    references = [authorize(tx, caller, "GetItem", get["TableName"]) for get in gets]
    tables = [require_table(tx, caller, reference) for reference in references]
    keys = [_key_of_get(place, gets[place], table, len(gets)) for place, table in enumerate(tables)]
    check_distinct(tables, keys)
    # So that no transaction writes some of them between two reads.
    reserve(tx, zip(tables, keys, strict=True))
    items = [find_item(tx, table, key) for table, key in zip(tables, keys, strict=True)]
    check_size(sum(item_size(item) for item in items if item is not None))
    costs = [read_cost(item) for item in items]
    spend_together(tx, tables, Usage.READ, costs, "TransactGetItems")
    shown = [
        item if item is None or projection is None else project(projection, item)
        for item, projection in zip(items, projections, strict=True)
    ]
    return {
        "Responses": [{} if item is None else {"Item": item} for item in shown],
        **spent_of(tables, costs, return_consumed_capacity, "ReadCapacityUnits"),
    }


def _key_of_get(place: int, get: Document, table: Table, count: int) -> ItemKey:
    """Return the key in a Get. Errors: TransactionCanceledException."""
    try:
        return read_key(table, get["Key"])[1]
    except ServiceError as error:
        raise blamed(place, error, count) from None


def check_distinct(tables: Sequence[Table], keys: Sequence[ItemKey]) -> None:
    """Refuse two actions on the same item. Errors: ValidationException."""
    if len({(table.id, key) for table, key in zip(tables, keys, strict=True)}) != len(keys):
        raise invalid("Transaction request cannot include multiple operations on one item")


def _keys_of(actions: Sequence[Action], tables: Sequence[Table]) -> list[ItemKey]:
    """Return the keys of the actions. The first invalid key cancels the transaction; later keys are not checked.

    Errors: TransactionCanceledException; ValidationException for a key with an empty value.
    """
    keys: list[ItemKey] = []
    for place, (action, table) in enumerate(zip(actions, tables, strict=True)):
        try:
            keys.append(action.key(table))
        except EmptyKey:
            raise
        except ServiceError as error:
            raise blamed(place, error, len(actions)) from None
    return keys


def _outcomes(actions: Sequence[Action], tables: Sequence[Table], olds: Sequence[Item | None]) -> list[Item | None]:
    """Return the items after the actions. The error lists every action that failed.

    Errors: TransactionCanceledException; ValidationException for a key of an index with an empty value.
    """
    news: list[Item | None] = []
    reasons: list[Document] = []
    for action, table, old in zip(actions, tables, olds, strict=True):
        try:
            news.append(action.outcome(table, old))
        except EmptyKey:
            raise
        except ServiceError as error:
            reasons.append(blame(error))
        else:
            reasons.append(NOT_TO_BLAME)
    if len(news) != len(actions):
        raise cancelled(reasons)
    return news


def is_first_use(tx: Transaction, caller: Caller, kind: str, token: str, digest: str) -> bool:
    """Record the use of this token for a kind of transactions. Returns whether it was not used in the last ten minutes.

    Errors: IdempotentParameterMismatchException if the token was used for another request.
    """
    used = tx.tokens.find(kind, caller.scope, token, tx.now)
    if used is not None:
        if used.digest != digest:
            message = "The ClientRequestToken was used for another transaction within the last 10 minutes."
            raise ServiceError("IdempotentParameterMismatchException", message)
        return False
    expires_at = tx.now + limits.TRANSACTION_TOKEN_MS
    tx.tokens.keep(kind, caller.scope, token, UsedToken(digest, {}), expires_at=expires_at)
    return True


def check_size(size_bytes: int) -> None:
    """Refuse a transaction of more than 4 MB. Errors: ValidationException."""
    if size_bytes > limits.TRANSACTION_BYTES_MAX:
        raise invalid("Transaction payload size cannot exceed 4 MB")


def read_cost(item: Item | None) -> Cost:
    """Return the cost of reading an item, which a transaction pays twice."""
    return Cost(read_units(item_size(item or {}), consistent=True))


def spent_of(
    tables: Sequence[Table], costs: Sequence[Cost], return_consumed_capacity: str | None, spent_as: str
) -> Document:
    """Return the ConsumedCapacity of a transaction, by tables; empty if not requested."""
    if not is_capacity_wanted(return_consumed_capacity):
        return {}
    units: dict[str, Cost] = defaultdict(Cost)
    for table, cost in zip(tables, costs, strict=True):
        units[table.name] += cost.times(limits.TRANSACTION_UNITS_FACTOR)
    return batch_capacity(units, return_consumed_capacity, spent_as=spent_as)
