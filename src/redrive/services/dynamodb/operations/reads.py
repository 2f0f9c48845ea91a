"""Reads of many items: Query reads one hash key in the order of range keys; Scan reads a whole table.

The filter applies after the page limit, so a page may be empty although more pages follow.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from redrive.core.documents import Document
from redrive.core.scope import Caller
from redrive.delivery.operation import operation
from redrive.languages.dynamo import (
    Condition,
    KeyCondition,
    LegacyCondition,
    Placeholders,
    Projection,
    RangeOperator,
    bounds_of,
    check_expressions_given,
    check_hash_key,
    check_key_types,
    check_not_mixed,
    encode_key,
    filter_condition,
    holds,
    legacy_key_condition,
    load_item,
    parse_condition,
    parse_key_condition,
    project,
    read_item,
)
from redrive.services.dynamodb import limits
from redrive.services.dynamodb.model.capacity import is_capacity_wanted, read_capacity, read_units, scan_capacity
from redrive.services.dynamodb.model.items import is_key, key_attributes, key_of_item
from redrive.services.dynamodb.model.requests import (
    check_key_not_filtered,
    check_no_index,
    check_segment,
    check_select,
    invalid_start,
    projection_of,
)
from redrive.services.dynamodb.model.table import Table, invalid
from redrive.services.dynamodb.operations.tables import authorize, require_table
from redrive.services.dynamodb.throttling import Usage, spend
from redrive.store.api import Transaction
from redrive.store.tables.items import ItemKey, ItemPage, RangeKeys, just_after, segment_of


@operation("Query")
def query(
    tx: Transaction,
    caller: Caller,
    *,
    table_name: str,
    index_name: str | None = None,
    select: str | None = None,
    attributes_to_get: Sequence[str] | None = None,
    limit: int | None = None,
    consistent_read: bool | None = None,
    key_conditions: Mapping[str, LegacyCondition] | None = None,
    query_filter: Mapping[str, LegacyCondition] | None = None,
    conditional_operator: str | None = None,
    scan_index_forward: bool | None = None,
    exclusive_start_key: Mapping[str, object] | None = None,
    return_consumed_capacity: str | None = None,
    projection_expression: str | None = None,
    filter_expression: str | None = None,
    key_condition_expression: str | None = None,
    expression_attribute_names: Mapping[str, str] | None = None,
    expression_attribute_values: Mapping[str, object] | None = None,
) -> Document:
    """Return a page of the items with one hash key, in ascending or descending order of the range keys.

    Errors: ValidationException; ResourceNotFoundException.
    Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_Query.html
    """
    reference = authorize(tx, caller, "Query", table_name)
    valuing = {"FilterExpression": filter_expression, "KeyConditionExpression": key_condition_expression}
    naming = {"ProjectionExpression": projection_expression, **valuing}
    legacy = {
        "AttributesToGet": attributes_to_get, "QueryFilter": query_filter, "ConditionalOperator": conditional_operator,
    }  # fmt: skip
    if key_condition_expression is not None:
        legacy["KeyConditions"] = key_conditions  # AWS accepts KeyConditions together with other expressions.
    check_not_mixed(legacy, naming)
    check_expressions_given(expression_attribute_names, expression_attribute_values, naming, valuing)
    check_select(select, index_name, attributes_to_get, projection_expression)
    if key_conditions is None and key_condition_expression is None:
        raise invalid("Either the KeyConditions or KeyConditionExpression parameter must be specified in the request.")
    placeholders = Placeholders(expression_attribute_names, expression_attribute_values)
    wanted, kind = _filter_of(placeholders, filter_expression, query_filter, conditional_operator, "QueryFilter")
    projection = projection_of(placeholders, projection_expression, attributes_to_get)
    table = require_table(tx, caller, reference)
    check_no_index(index_name)
    condition = _key_condition_of(table, placeholders, key_condition_expression, key_conditions)
    placeholders.check_all_used()
    check_key_not_filtered(table, wanted, kind)
    forward = scan_index_forward is not False
    within = _range_keys(condition)
    hash_key = encode_key(condition.hash_value)
    is_single = table.range_key is None or (
        condition.range is not None and condition.range.operator is RangeOperator.EQ
    )
    if exclusive_start_key is not None:
        start = _start_key(table, exclusive_start_key)
        if is_single:
            raise invalid("The query can return at most one row and cannot be restarted")
        within = _behind(start, hash_key, within, forward=forward)
    page = tx.items.query(
        table.id, hash_key, within, forward=forward, limit=limit, bytes_max=limits.PAGE_BYTES_MAX
    )  # fmt: skip
    spend(tx, table, Usage.READ, lambda: read_units(_size_of(page), consistent=consistent_read), "Query")
    if is_single:
        page = ItemPage(page.items, complete=True)
    return {
        **_answer(table, page, wanted, projection, is_count=select == "COUNT"),
        **read_capacity(table, return_consumed_capacity, _size_of(page), consistent_read),
    }


@operation("Scan")
def scan(
    tx: Transaction,
    caller: Caller,
    *,
    table_name: str,
    index_name: str | None = None,
    attributes_to_get: Sequence[str] | None = None,
    limit: int | None = None,
    select: str | None = None,
    scan_filter: Mapping[str, LegacyCondition] | None = None,
    conditional_operator: str | None = None,
    exclusive_start_key: Mapping[str, object] | None = None,
    return_consumed_capacity: str | None = None,
    total_segments: int | None = None,
    segment: int | None = None,
    projection_expression: str | None = None,
    filter_expression: str | None = None,
    expression_attribute_names: Mapping[str, str] | None = None,
    expression_attribute_values: Mapping[str, object] | None = None,
    consistent_read: bool | None = None,
) -> Document:
    """Return a page of the items of a table or a segment. Items with the same hash key follow each other, in order.

    Errors: ValidationException; ResourceNotFoundException.
    Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_Scan.html
    """
    reference = authorize(tx, caller, "Scan", table_name)
    valuing = {"FilterExpression": filter_expression}
    naming = {"ProjectionExpression": projection_expression, **valuing}
    check_not_mixed(
        {
            "AttributesToGet": attributes_to_get, "ScanFilter": scan_filter,
            "ConditionalOperator": conditional_operator,
        },
        naming,
    )  # fmt: skip
    check_expressions_given(expression_attribute_names, expression_attribute_values, naming, valuing)
    check_select(select, index_name, attributes_to_get, projection_expression)
    check_segment(segment, total_segments)
    placeholders = Placeholders(expression_attribute_names, expression_attribute_values)
    wanted, _ = _filter_of(placeholders, filter_expression, scan_filter, conditional_operator, "ScanFilter")
    projection = projection_of(placeholders, projection_expression, attributes_to_get)
    placeholders.check_all_used()
    table = require_table(tx, caller, reference)
    check_no_index(index_name)
    index, count = segment or 0, total_segments or 1
    after = None
    if exclusive_start_key is not None:
        after = _start_key(table, exclusive_start_key, problem="The provided key element does not match the schema")
    if after is not None and segment_of(after, count) != index:
        raise invalid_start(
            "Invalid ExclusiveStartKey. Please use ExclusiveStartKey with correct Segment. "
            f"TotalSegments: {count} Segment: {index}"
        )
    page = tx.items.scan(
        table.id, after=after, segment=index, segments=count, limit=limit, bytes_max=limits.PAGE_BYTES_MAX
    )
    spend(tx, table, Usage.READ, lambda: read_units(_size_of(page), consistent=consistent_read), "Scan")
    answer = _answer(table, page, wanted, projection, is_count=select == "COUNT")
    if is_capacity_wanted(return_consumed_capacity):
        sizes = _sizes_by_partition(table, page, after, index, count)
        answer |= scan_capacity(table, return_consumed_capacity, sizes, consistent_read)
    return answer


def _sizes_by_partition(
    table: Table, page: ItemPage, after: ItemKey | None, segment: int, segments: int
) -> dict[int, int]:
    """Return the bytes of each partition on a scan's page, including empty partitions up to the page's end."""
    partitions = table.billing.partitions
    first, last = (
        segment * partitions // segments, ((segment + 1) * partitions - 1) // segments,
    )  # fmt: skip
    if after is not None:
        first = segment_of(after, partitions)
    if not page.complete:
        last = segment_of(page.items[-1].key, partitions)
    sizes = dict.fromkeys(range(first, last + 1), 0)
    for stored in page.items:
        sizes[segment_of(stored.key, partitions)] += stored.size_bytes
    return sizes


def _filter_of(
    placeholders: Placeholders,
    filter_expression: str | None,
    conditions: Mapping[str, LegacyCondition] | None,
    conditional_operator: str | None,
    legacy_name: str,
) -> tuple[Condition | None, str]:
    """Return the filter from either parameter, or None, and the parameter's name in AWS's messages."""
    if filter_expression is not None:
        return parse_condition(filter_expression, placeholders, "FilterExpression"), "Filter Expression"
    return filter_condition(conditions, conditional_operator), legacy_name


def _key_condition_of(
    table: Table,
    placeholders: Placeholders,
    expression: str | None,
    conditions: Mapping[str, LegacyCondition] | None,
) -> KeyCondition:
    if expression is not None:
        condition = parse_key_condition(expression, placeholders, table.hash_key, table.range_key)
    else:
        condition = legacy_key_condition(conditions or {}, table.hash_key, table.range_key)
    range_type = None if table.range_key is None else table.attributes[table.range_key]
    check_key_types(condition, table.attributes[table.hash_key], range_type)
    check_hash_key(table.hash_key, condition.hash_value)
    return condition


def _range_keys(condition: KeyCondition) -> RangeKeys:
    """Return the range of range keys that satisfy a condition."""
    everything = RangeKeys()
    if condition.range is None:
        return everything
    bounds = bounds_of(condition.range)
    low, high = bounds.low, bounds.high
    if low is None:
        low = everything.low
    elif not bounds.low_included:
        low = just_after(low)
    if high is None:
        high = everything.high
    elif bounds.high_included:
        high = just_after(high)
    return RangeKeys(low, high)


def _start_key(table: Table, raw: Mapping[str, object], *, problem: str = "") -> ItemKey:
    """Return the key after which a page begins. Errors: ValidationException, whose message includes `problem`."""
    key = read_item(raw)
    if not is_key(table, key):
        raise invalid_start(problem)
    return key_of_item(table, key)


def _behind(start: ItemKey, hash_key: bytes, within: RangeKeys, *, forward: bool) -> RangeKeys:
    """Return the part of the range after a start key.

    Errors: ValidationException for a start key outside of the range.
    """
    if start.hash_key != hash_key:
        raise invalid("The provided starting key is outside query boundaries based on provided conditions")
    if not within.low <= start.range_key < within.high:
        raise invalid("The provided starting key does not match the range key predicate")
    if forward:
        return RangeKeys(just_after(start.range_key), within.high)
    return RangeKeys(within.low, start.range_key)


def _size_of(page: ItemPage) -> int:
    return sum(stored.size_bytes for stored in page.items)


def _answer(
    table: Table, page: ItemPage, wanted: Condition | None, projection: Projection | None, *, is_count: bool
) -> Document:
    """Build the answer of Query and Scan for a page: filter, then project or only count."""
    items = [load_item(stored.item) for stored in page.items]
    kept = items if wanted is None else [item for item in items if holds(wanted, item)]
    answer: Document = {"Count": len(kept), "ScannedCount": len(items)}
    if not is_count:
        answer["Items"] = kept if projection is None else [project(projection, item) for item in kept]
    if not page.complete:
        answer["LastEvaluatedKey"] = key_attributes(table, items[-1])
    return answer
