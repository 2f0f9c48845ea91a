"""Reads of many items: Query reads one hash key in the order of range keys; Scan reads all. Both also read an index.

The filter applies after the page limit, so a page may be empty although more pages follow.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from redrive.core.documents import Document
from redrive.core.scope import Caller
from redrive.delivery.operation import operation
from redrive.languages.dynamo import (
    Condition,
    KeyTerm,
    LegacyCondition,
    Placeholders,
    Projection,
    RangeOperator,
    check_expressions_given,
    check_not_mixed,
    filter_condition,
    legacy_key_terms,
    parse_condition,
    parse_key_terms,
)
from redrive.services.dynamodb import limits
from redrive.services.dynamodb.model.capacity import is_capacity_wanted, read_units
from redrive.services.dynamodb.model.requests import (
    attributes_of,
    check_key_not_filtered,
    check_segment,
    check_select,
    invalid_start,
    projection_of,
)
from redrive.services.dynamodb.model.source import Source, check_filter_projected, needs_items, source_of
from redrive.services.dynamodb.model.table import invalid
from redrive.services.dynamodb.operations.tables import authorize, require_table
from redrive.services.dynamodb.reading import Wanted, answer_page, query_cost, scan_cost
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
    reference = authorize(tx, caller, "Query", table_name, index_name=index_name)
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
    kept, kind = _filter_of(placeholders, filter_expression, query_filter, conditional_operator, "QueryFilter")
    projection = projection_of(placeholders, projection_expression, attributes_to_get)
    source = source_of(require_table(tx, caller, reference), index_name, consistent=consistent_read)
    condition = source.key_condition(_terms_of(source, placeholders, key_condition_expression, key_conditions))
    placeholders.check_all_used()
    check_key_not_filtered(source.key_names, kept, kind)
    wanted = _wanted(source, select, kept, projection)
    forward = scan_index_forward is not False
    within = source.range_of(condition)
    hash_key = source.hash_key(condition)
    is_single = source.index is None and (
        not source.range_keys or (condition.range is not None and condition.range.operator is RangeOperator.EQ)
    )
    if exclusive_start_key is not None:
        start = source.start_key(exclusive_start_key)
        if is_single:
            raise invalid("The query can return at most one row and cannot be restarted")
        within = _behind(start, hash_key, within, forward=forward)
    page = tx.items.query(
        source.id, hash_key, within, forward=forward, limit=limit, bytes_max=limits.PAGE_BYTES_MAX
    )  # fmt: skip
    spend(tx, source.table, Usage.READ, lambda: read_units(_size_of(page), consistent=consistent_read), "Query")
    if is_single:
        page = ItemPage(page.items, complete=True)
    answer, fetched = answer_page(tx, source, page, wanted)
    if is_capacity_wanted(return_consumed_capacity):
        answer |= query_cost(source, page, fetched, return_consumed_capacity, consistent_read)
    return answer


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
    reference = authorize(tx, caller, "Scan", table_name, index_name=index_name)
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
    kept, _ = _filter_of(placeholders, filter_expression, scan_filter, conditional_operator, "ScanFilter")
    projection = projection_of(placeholders, projection_expression, attributes_to_get)
    placeholders.check_all_used()
    source = source_of(require_table(tx, caller, reference), index_name, consistent=consistent_read)
    wanted = _wanted(source, select, kept, projection)
    part, count = segment or 0, total_segments or 1
    after = None
    if exclusive_start_key is not None:
        after = source.start_key(exclusive_start_key, "The provided key element does not match the schema")
    if after is not None and segment_of(after, count) != part:
        raise invalid_start(
            "Invalid ExclusiveStartKey. Please use ExclusiveStartKey with correct Segment. "
            f"TotalSegments: {count} Segment: {part}"
        )
    page = tx.items.scan(
        source.id, after=after, segment=part, segments=count, limit=limit, bytes_max=limits.PAGE_BYTES_MAX
    )
    spend(tx, source.table, Usage.READ, lambda: read_units(_size_of(page), consistent=consistent_read), "Scan")
    answer, fetched = answer_page(tx, source, page, wanted)
    if is_capacity_wanted(return_consumed_capacity):
        sizes = _sizes_by_partition(source, page, after, part, count)
        answer |= scan_cost(source, sizes, fetched, return_consumed_capacity, consistent_read)
    return answer


def _sizes_by_partition(
    source: Source, page: ItemPage, after: ItemKey | None, segment: int, segments: int
) -> dict[int, int]:
    """Return the bytes of each partition on a scan's page, including empty partitions up to the page's end."""
    partitions = source.billing.partitions
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


def _terms_of(
    source: Source,
    placeholders: Placeholders,
    expression: str | None,
    conditions: Mapping[str, LegacyCondition] | None,
) -> Sequence[KeyTerm]:
    """Return the terms of the key condition from either parameter. Errors: ValidationException."""
    if expression is not None:
        return parse_key_terms(expression, placeholders)
    names_max = max(2, len(source.key_names))
    return legacy_key_terms(conditions or {}, source.hash_keys[0], terms_max=names_max)


def _wanted(source: Source, select: str | None, kept: Condition | None, projection: Projection | None) -> Wanted:
    """Return what a request asks for of the rows. Errors: ValidationException for what an index does not have."""
    fetches = False
    if source.index is not None:
        chosen = None if projection is None else [path.attribute for path in projection.paths]
        fetches = needs_items(source, select, chosen)
        if kept is not None:
            check_filter_projected(source, attributes_of(kept))
    return Wanted(kept, projection, is_count=select == "COUNT", fetches=fetches)


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
