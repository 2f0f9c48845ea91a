"""SELECT as pages of Query and Scan, which are asked as the operations they are: indexes, costs and limits are theirs.

Whoever may SELECT need not be allowed to Query, so the reads happen as the table's account.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass

from redrive.core.documents import Document
from redrive.core.errors import ServiceError
from redrive.core.scope import Caller
from redrive.languages.dynamo import Item, RangeOperator, equal, holds, item_size
from redrive.languages.partiql import Keys, Reach, Select, reaches_of
from redrive.services.dynamodb import limits
from redrive.services.dynamodb.model.statements import (
    check_order,
    check_projected,
    index_keys,
    next_token,
    ordered,
    read_token,
    row_of,
    table_keys,
)
from redrive.services.dynamodb.model.table import Table, invalid
from redrive.services.dynamodb.operations.reads import query, scan
from redrive.store.api import Transaction

_REWORDED = {
    "The table does not have the specified index": "The table does not have the specified index",
    "Consistent reads are not supported on global secondary indexes": (
        "Strongly consistent read is not supported on Global Secondary Indexes"
    ),
}
"""What Query and Scan say, and what PartiQL says in its place."""


@dataclass(frozen=True, slots=True)
class Plan:
    """A SELECT on a table: its queries in their order, or None for a scan."""

    select: Select
    table: Table
    keys: Keys
    reaches: Sequence[Reach] | None
    forward: bool = True


@dataclass(frozen=True, slots=True)
class Page:
    """How a page of a SELECT is read."""

    limit: int | None = None
    start: Item | None = None
    consistent: bool | None = None
    return_consumed_capacity: str | None = None


def plan_of(select: Select, table: Table) -> Plan:
    """Return how a SELECT is read. Errors: ValidationException for an index or an order that the table lacks."""
    keys = keys_of(table, select.source.index)
    index = None if select.source.index is None else table.find_index(select.source.index)
    if index is not None:
        check_projected(select, index)
    reaches = reaches_of(select.where, keys)
    check_order(select, keys, reaches)
    if reaches is None:
        return Plan(select, table, keys, None)
    in_order, forward = ordered(select, keys, reaches)
    return Plan(select, table, keys, in_order, forward)


def keys_of(table: Table, index_name: str | None) -> Keys:
    """Return the key of a table or of its index. Errors: ValidationException if the table lacks the index."""
    if index_name is None:
        return table_keys(table)
    index = table.find_index(index_name)
    if index is None:
        raise invalid("The table does not have the specified index")
    return index_keys(table, index) or Keys(index.hash_keys[0], "")


def read_page(tx: Transaction, caller: Caller, plan: Plan, page: Page, token: str | None) -> Document:
    """Return the answer of ExecuteStatement for one page. Errors: ValidationException."""
    if token is not None:
        page = dataclasses.replace(page, start=read_token(token, plan.table))
    owner = dataclasses.replace(caller, scope=plan.table.scope, role_arn=None, user_arn=None)
    try:
        found = _scanned(tx, owner, plan, page) if plan.reaches is None else _queried(tx, owner, plan, page)
    except ServiceError as error:
        raise _reworded(error) from None
    answer: Document = {"Items": [row_of(plan.select.projection, item) for item in found.items]}
    if found.last is not None:
        answer |= {"LastEvaluatedKey": found.last, "NextToken": next_token(found.last)}
    if found.consumed is not None:
        answer["ConsumedCapacity"] = found.consumed
    return answer


@dataclass(slots=True)
class _Found:
    """What was read: the items that the filters let through, the key to go on after, and the cost."""

    items: list[Item]
    last: Item | None = None
    consumed: Document | None = None


def _scanned(tx: Transaction, owner: Caller, plan: Plan, page: Page) -> _Found:
    answer = scan(
        tx, owner, table_name=plan.table.name, index_name=plan.select.source.index, exclusive_start_key=page.start,
        limit=page.limit, consistent_read=page.consistent, return_consumed_capacity=page.return_consumed_capacity,
    )  # fmt: skip
    where = plan.select.where
    items = [item for item in answer["Items"] if where is None or holds(where, item)]
    return _Found(items, answer.get("LastEvaluatedKey"), answer.get("ConsumedCapacity"))


def _queried(tx: Transaction, owner: Caller, plan: Plan, page: Page) -> _Found:
    """Read the queries one after another, until the page is full."""
    found, left, size_bytes = _Found([]), page.limit, 0
    rest = _after(plan, page.start)
    for number, (reach, start) in enumerate(rest):
        text, names, values = _key_condition(plan.keys, reach)
        answer = query(
            tx, owner, table_name=plan.table.name, index_name=plan.select.source.index, exclusive_start_key=start,
            limit=left, consistent_read=page.consistent, return_consumed_capacity=page.return_consumed_capacity,
            key_condition_expression=text, expression_attribute_names=names, expression_attribute_values=values,
            scan_index_forward=plan.forward,
        )  # fmt: skip
        read: list[Item] = answer["Items"]
        found.items += [item for item in read if reach.filter is None or holds(reach.filter, item)]
        found.consumed = _added(found.consumed, answer.get("ConsumedCapacity"))
        found.last = answer.get("LastEvaluatedKey")
        if found.last is not None:
            return found
        size_bytes += sum(map(item_size, read))
        left = None if left is None else left - len(read)
        is_full = left == 0 or size_bytes >= limits.PAGE_BYTES_MAX
        if is_full and read and number + 1 < len(rest):
            found.last = {name: read[-1][name] for name in _place_names(plan)}
            return found
    return found


def _after(plan: Plan, start: Item | None) -> list[tuple[Reach, Item | None]]:
    """The queries after a key, each with the key after which it begins. Errors: ValidationException."""
    assert plan.reaches is not None
    if start is None:
        return [(reach, None) for reach in plan.reaches]
    for at, reach in enumerate(plan.reaches):
        hash_value, range_value = start.get(plan.keys.hash_key), start.get(plan.keys.range_key or "")
        if hash_value is None or not equal(hash_value, reach.key.hash_value):
            continue
        if range_value is not None and not reach.is_within(range_value):
            continue  # Several queries may have one partition key.
        rest: list[tuple[Reach, Item | None]] = [(later, None) for later in plan.reaches[at + 1 :]]
        return rest if _is_single(plan, reach) else [(reach, start), *rest]
    raise invalid("The provided starting key is invalid")


def _is_single(plan: Plan, reach: Reach) -> bool:
    """Whether a query finds one item at most, so that nothing follows a start key."""
    if plan.select.source.index is not None:
        return False
    ranged = reach.key.range
    return plan.keys.range_key is None or (ranged is not None and ranged.operator is RangeOperator.EQ)


def _place_names(plan: Plan) -> list[str]:
    """The attributes of a LastEvaluatedKey."""
    own = [plan.keys.hash_key, *([plan.keys.range_key] if plan.keys.range_key else [])]
    return list(dict.fromkeys([*plan.table.key_names, *own]))


def _key_condition(keys: Keys, reach: Reach) -> tuple[str, dict[str, str], dict[str, object]]:
    """The key condition of a query as Query takes it: the expression, its names, its values."""
    text = "#h = :h"
    names: dict[str, str] = {"#h": keys.hash_key}
    values: dict[str, object] = {":h": reach.key.hash_value}
    ranged = reach.key.range
    if ranged is not None:
        names["#r"] = str(keys.range_key)
        values |= {f":r{number}": value for number, value in enumerate(ranged.values)}
        text = f"{text} AND {_RANGES.get(ranged.operator, f'#r {ranged.operator.value} :r0')}"
    return text, names, values


_RANGES = {
    RangeOperator.BETWEEN: "#r BETWEEN :r0 AND :r1",
    RangeOperator.BEGINS_WITH: "begins_with(#r, :r0)",
}


def _added(one: Document | None, other: Document | None) -> Document | None:
    """The sum of two ConsumedCapacity: numbers are added, maps member by member."""
    if one is None or other is None:
        return one or other
    total = dict(one)
    for name, value in other.items():
        if isinstance(value, dict):
            total[name] = _added(total.get(name), value)
        elif isinstance(value, int | float):
            total[name] = total.get(name, 0.0) + value
    return total


def _reworded(error: ServiceError) -> ServiceError:
    for said, instead in _REWORDED.items():
        if error.message.startswith(said):
            return invalid(instead)
    return error
