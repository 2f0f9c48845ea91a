"""Single items: put, get, update, delete, each by its key and optionally with a condition.

A condition and its write share one transaction, so no other write can come between them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from redrive.core.documents import Document
from redrive.core.scope import Caller
from redrive.delivery.operation import operation
from redrive.languages.dynamo import (
    AttributeUpdate,
    Condition,
    ExpectedAttribute,
    Item,
    Placeholders,
    Update,
    apply_update,
    attribute_updates,
    check_expressions_given,
    check_item_size,
    check_not_mixed,
    check_updated_size,
    creates_item,
    holds,
    item_size,
    parse_update,
    project,
    project_paths,
    read_item,
    touched_paths,
)
from redrive.services.dynamodb.item_collections import collection_metrics
from redrive.services.dynamodb.model.capacity import (
    is_capacity_wanted,
    read_capacity,
    read_units,
    write_capacity,
    write_units,
)
from redrive.services.dynamodb.model.entries import check_index_keys
from redrive.services.dynamodb.model.items import (
    check_key_kept,
    failed_condition,
    key_of_item,
    read_key,
)
from redrive.services.dynamodb.model.requests import (
    check_returned,
    condition_of,
    detected,
    projection_of,
    read_write_condition,
)
from redrive.services.dynamodb.operations.tables import authorize, require_table
from redrive.services.dynamodb.throttling import Usage, is_metered, spend
from redrive.services.dynamodb.writing import delete, find_item, put, read_item_at, reserve
from redrive.store.api import Transaction


@operation("PutItem")
def put_item(
    tx: Transaction,
    caller: Caller,
    *,
    table_name: str,
    item: Mapping[str, object],
    expected: Mapping[str, ExpectedAttribute] | None = None,
    return_values: str | None = None,
    return_consumed_capacity: str | None = None,
    return_item_collection_metrics: str | None = None,
    conditional_operator: str | None = None,
    condition_expression: str | None = None,
    expression_attribute_names: Mapping[str, str] | None = None,
    expression_attribute_values: Mapping[str, object] | None = None,
    return_values_on_condition_check_failure: str | None = None,
) -> Document:
    """Store an item; it replaces an existing item with the same key.

    Errors: ValidationException; ResourceNotFoundException; ConditionalCheckFailedException.
    Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_PutItem.html
    """
    reference = authorize(tx, caller, "PutItem", table_name)
    check_returned(return_values, "ALL_OLD")
    with detected:
        new = read_item(item)
        condition = read_write_condition(
            expected=expected, conditional_operator=conditional_operator, condition_expression=condition_expression,
            names=expression_attribute_names, values=expression_attribute_values,
        )  # fmt: skip
    size_bytes = check_item_size(new)
    table = require_table(tx, caller, reference)
    key = key_of_item(table, new)
    check_index_keys(table, new)
    reserve(tx, [(table, key)])
    old = None
    is_asked = return_values == "ALL_OLD" or is_capacity_wanted(return_consumed_capacity) or is_metered(tx, table)
    if condition is not None or is_asked or table.is_followed:
        old = find_item(tx, table, key)
        _check(condition, old, return_values_on_condition_check_failure)
    spend(tx, table, Usage.WRITE, lambda: write_units((old, new)), "PutItem")
    put(tx, table, key, new, size_bytes, old=old)
    return {
        **_attributes(old if return_values == "ALL_OLD" else None),
        **write_capacity(table, return_consumed_capacity, old, new),
        **collection_metrics(tx, table, return_item_collection_metrics, new),
    }


@operation("GetItem")
def get_item(
    tx: Transaction,
    caller: Caller,
    *,
    table_name: str,
    key: Mapping[str, object],
    attributes_to_get: Sequence[str] | None = None,
    consistent_read: bool | None = None,
    return_consumed_capacity: str | None = None,
    projection_expression: str | None = None,
    expression_attribute_names: Mapping[str, str] | None = None,
) -> Document:
    """Return the item with this key, or the requested parts of it. Every read sees the latest write.

    Errors: ValidationException; ResourceNotFoundException.
    Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_GetItem.html
    """
    reference = authorize(tx, caller, "GetItem", table_name)
    texts = {"ProjectionExpression": projection_expression}
    check_not_mixed({"AttributesToGet": attributes_to_get}, texts)
    check_expressions_given(expression_attribute_names, None, texts, {})
    placeholders = Placeholders(expression_attribute_names)
    projection = projection_of(placeholders, projection_expression, attributes_to_get)
    placeholders.check_all_used()
    table = require_table(tx, caller, reference)
    _, encoded = read_key(table, key)
    found = read_item_at(tx, table, encoded)
    spend(tx, table, Usage.READ, lambda: read_units(_size_of(found), consistent=consistent_read), "GetItem")
    answer: Document = {}
    if found is not None:
        answer["Item"] = found if projection is None else project(projection, found)
    if is_capacity_wanted(return_consumed_capacity):
        answer |= read_capacity(table, return_consumed_capacity, _size_of(found), consistent_read)
    return answer


@operation("UpdateItem")
def update_item(
    tx: Transaction,
    caller: Caller,
    *,
    table_name: str,
    key: Mapping[str, object],
    attribute_updates: Mapping[str, AttributeUpdate] | None = None,
    expected: Mapping[str, ExpectedAttribute] | None = None,
    conditional_operator: str | None = None,
    return_values: str | None = None,
    return_consumed_capacity: str | None = None,
    return_item_collection_metrics: str | None = None,
    update_expression: str | None = None,
    condition_expression: str | None = None,
    expression_attribute_names: Mapping[str, str] | None = None,
    expression_attribute_values: Mapping[str, object] | None = None,
    return_values_on_condition_check_failure: str | None = None,
) -> Document:
    """Change attributes of an item. If there is none, create it, unless the update only deletes attributes.

    Errors: ValidationException; ResourceNotFoundException; ConditionalCheckFailedException.
    Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_UpdateItem.html
    """
    reference = authorize(tx, caller, "UpdateItem", table_name)
    texts = {"UpdateExpression": update_expression, "ConditionExpression": condition_expression}
    check_not_mixed(
        {"AttributeUpdates": attribute_updates, "Expected": expected, "ConditionalOperator": conditional_operator},
        texts,
    )
    check_expressions_given(expression_attribute_names, expression_attribute_values, texts, texts)
    with detected:
        placeholders = Placeholders(expression_attribute_names, expression_attribute_values)
        update = _update_of(placeholders, update_expression, attribute_updates)
        condition = condition_of(placeholders, condition_expression, expected, conditional_operator)
        placeholders.check_all_used()
    table = require_table(tx, caller, reference)
    check_key_kept(table, update)
    read, encoded = read_key(table, key)
    reserve(tx, [(table, encoded)])
    old = find_item(tx, table, encoded)
    _check(condition, old, return_values_on_condition_check_failure)
    new: Item = {}
    if old is not None or creates_item(update):
        new = apply_update(update, read if old is None else old)
        spend(tx, table, Usage.WRITE, lambda: write_units((old, new)), "UpdateItem")
        put(tx, table, encoded, new, check_updated_size(new), old=old)
    return {
        **_attributes(_returned(return_values, update, old, new)),
        **write_capacity(table, return_consumed_capacity, old, new),
        **collection_metrics(tx, table, return_item_collection_metrics, read),
    }


@operation("DeleteItem")
def delete_item(
    tx: Transaction,
    caller: Caller,
    *,
    table_name: str,
    key: Mapping[str, object],
    expected: Mapping[str, ExpectedAttribute] | None = None,
    conditional_operator: str | None = None,
    return_values: str | None = None,
    return_consumed_capacity: str | None = None,
    return_item_collection_metrics: str | None = None,
    condition_expression: str | None = None,
    expression_attribute_names: Mapping[str, str] | None = None,
    expression_attribute_values: Mapping[str, object] | None = None,
    return_values_on_condition_check_failure: str | None = None,
) -> Document:
    """Delete the item with this key; a missing item is not an error.

    Errors: ValidationException; ResourceNotFoundException; ConditionalCheckFailedException.
    Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_DeleteItem.html
    """
    reference = authorize(tx, caller, "DeleteItem", table_name)
    check_returned(return_values, "ALL_OLD")
    with detected:
        condition = read_write_condition(
            expected=expected, conditional_operator=conditional_operator, condition_expression=condition_expression,
            names=expression_attribute_names, values=expression_attribute_values,
        )  # fmt: skip
    table = require_table(tx, caller, reference)
    read, encoded = read_key(table, key)
    reserve(tx, [(table, encoded)])
    if condition is not None:
        _check(condition, find_item(tx, table, encoded), return_values_on_condition_check_failure)
    spend(tx, table, Usage.WRITE, lambda: write_units((find_item(tx, table, encoded),)), "DeleteItem")
    old = delete(tx, table, encoded)
    return {
        **_attributes(old if return_values == "ALL_OLD" else None),
        **write_capacity(table, return_consumed_capacity, old, None),
        **collection_metrics(tx, table, return_item_collection_metrics, read),
    }


def _check(condition: Condition | None, old: Item | None, on_failure: str | None) -> None:
    """Check a condition against the present item. Errors: ConditionalCheckFailedException."""
    if condition is not None and not holds(condition, old or {}):
        raise failed_condition(old, on_failure)


def _update_of(
    placeholders: Placeholders, update_expression: str | None, updates: Mapping[str, AttributeUpdate] | None
) -> Update:
    """Return the update from either parameter, or an empty update, which only makes sure that the item exists."""
    if update_expression is not None:
        return parse_update(update_expression, placeholders)
    return attribute_updates(updates or {})


def _returned(return_values: str | None, update: Update, old: Item | None, new: Item) -> Item | None:
    """Return the part of the old or new item that UpdateItem answers, or None."""
    match return_values:
        case "ALL_OLD":
            return old
        case "ALL_NEW":
            return new
        case "UPDATED_OLD":
            return project_paths(touched_paths(update), old or {})
        case "UPDATED_NEW":
            return project_paths(touched_paths(update), new)
        case _:
            return None


def _size_of(found: Item | None) -> int:
    return 0 if found is None else item_size(found)


def _attributes(item: Item | None) -> Document:
    return {"Attributes": item} if item else {}
