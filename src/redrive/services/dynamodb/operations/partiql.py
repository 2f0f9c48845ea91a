"""Statements of PartiQL: one, a batch of them, or a transaction.

A statement is parsed before its table is looked up, and its parameters are put in before that, too.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from redrive.core.documents import Document
from redrive.core.errors import ServiceError
from redrive.core.scope import Caller
from redrive.delivery.operation import operation
from redrive.languages.dynamo import Condition, EmptyKey, Item, holds, item_size, read_value
from redrive.languages.partiql import Exists, Select, Statement, bind, full_key_of, parse
from redrive.services.dynamodb.model.capacity import (
    Cost,
    batch_capacity,
    read_units,
    write_capacity,
    write_cost,
    write_units,
)
from redrive.services.dynamodb.model.items import read_key
from redrive.services.dynamodb.model.statements import (
    PERMISSIONS,
    RAN_CODES,
    Write,
    batch_error,
    check_transactional,
    in_transaction,
    row_of,
    write_of,
)
from redrive.services.dynamodb.model.table import Table, invalid, not_found, refer_to_table
from redrive.services.dynamodb.model.transactions import NOT_TO_BLAME, blame, blamed, cancelled, digest_of
from redrive.services.dynamodb.operations.selecting import Page, Plan, plan_of, read_page
from redrive.services.dynamodb.operations.tables import find_table
from redrive.services.dynamodb.operations.transactions import (
    check_distinct,
    check_size,
    is_first_use,
    read_cost,
    spent_of,
)
from redrive.services.dynamodb.policies import policy_of
from redrive.services.dynamodb.throttling import Usage, exceeded, is_within, spend, spend_together
from redrive.services.dynamodb.writing import delete, find_item, put, reserve
from redrive.store.api import Transaction
from redrive.store.tables.items import ItemKey

TOKENS = "dynamodb.ExecuteTransaction"
"""The kind under which client request tokens are stored."""


@operation("ExecuteStatement")
def execute_statement(
    tx: Transaction,
    caller: Caller,
    *,
    statement: str,
    parameters: Sequence[Mapping[str, object]] | None = None,
    consistent_read: bool | None = None,
    next_token: str | None = None,
    return_consumed_capacity: str | None = None,
    limit: int | None = None,
    return_values_on_condition_check_failure: str | None = None,
) -> Document:
    """Run one statement. A SELECT answers a page; a write answers what its RETURNING asks for.

    Errors: ValidationException; ResourceNotFoundException; ConditionalCheckFailedException; DuplicateItemException.
    Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_ExecuteStatement.html
    """
    bound = _read(statement, parameters)
    if isinstance(bound, Exists):
        raise invalid("EXISTS can only be used in transactions")
    if isinstance(bound, Select):
        plan = _plan_of(tx, caller, bound, "ExecuteStatement")
        page = Page(limit, None, consistent_read, return_consumed_capacity)
        return read_page(tx, caller, plan, page, next_token)
    table = _table_of(tx, caller, bound, "ExecuteStatement")
    _check_no_index(bound)
    write = write_of(bound, table, return_values_on_condition_check_failure)
    key = write.key()
    reserve(tx, [(table, key)])
    old = find_item(tx, table, key)
    new = write.outcome(old)
    spend(tx, table, Usage.WRITE, lambda: write_units((old, new)), "ExecuteStatement")
    _store(tx, write, key, old, new)
    returned = write.returned(old, new)
    return {
        "Items": [] if returned is None else [returned],
        **write_capacity(table, return_consumed_capacity, old, new),
    }


@operation("BatchExecuteStatement")
def batch_execute_statement(
    tx: Transaction, caller: Caller, *, statements: Sequence[Document], return_consumed_capacity: str | None = None
) -> Document:
    """Run up to 25 statements that read, or 25 that write. Each has its own answer: a table, an item, or an error.

    Errors: ValidationException if the batch mixes reads and writes.
    Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_BatchExecuteStatement.html
    """
    members = [_member_of(tx, caller, entry) for entry in statements]
    kinds = {isinstance(member, _Get) for member in members if not isinstance(member, ServiceError)}
    if len(kinds) > 1:
        raise invalid("A batch cannot have both read and write statements")
    reserve(tx, [(member.table, member.key) for member in members if isinstance(member, _Put)])
    spent: dict[str, Cost] = defaultdict(Cost)
    responses = [_response(tx, member, spent) for member in members]
    return {"Responses": responses, **batch_capacity(spent, return_consumed_capacity)}


@operation("ExecuteTransaction")
def execute_transaction(
    tx: Transaction,
    caller: Caller,
    *,
    transact_statements: Sequence[Document],
    client_request_token: str | None = None,
    return_consumed_capacity: str | None = None,
) -> Document:
    """Run up to 100 statements together: all that write, or none; or statements that read, as of one instant.

    Errors: ValidationException; ResourceNotFoundException; IdempotentParameterMismatchException;
    TransactionCanceledException with a reason for each statement.
    Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_ExecuteTransaction.html
    """
    bound = [_transactional(place, entry) for place, entry in enumerate(transact_statements)]
    if len({isinstance(each, Select) for each in bound}) > 1:
        raise invalid("A transaction cannot have both read and write statements")
    tables = [_table_of(tx, caller, each, "ExecuteTransaction") for each in bound]
    if isinstance(bound[0], Select):
        return _read_together(tx, bound, tables, return_consumed_capacity)
    writes = [
        _write_in(place, each, table, entry.get("ReturnValuesOnConditionCheckFailure"))
        for place, (each, table, entry) in enumerate(zip(bound, tables, transact_statements, strict=True))
    ]
    keys = _keys_of(writes)
    check_distinct(tables, keys)
    check_size(sum(item_size(write.given) for write in writes))
    reserve(tx, zip(tables, keys, strict=True))
    olds = [find_item(tx, table, key) for table, key in zip(tables, keys, strict=True)]
    digest = digest_of(transact_statements)
    if client_request_token is not None and not is_first_use(tx, caller, TOKENS, client_request_token, digest):
        costs = [read_cost(old) for old in olds]
        return {"Responses": [], **spent_of(tables, costs, return_consumed_capacity, "ReadCapacityUnits")}
    news = _outcomes(writes, olds)
    costs = [write_cost(table, old, new) for table, old, new in zip(tables, olds, news, strict=True)]
    spend_together(tx, tables, Usage.WRITE, costs, "ExecuteTransaction")
    for place, (write, key, old, new) in enumerate(zip(writes, keys, olds, news, strict=True)):
        try:
            _store(tx, write, key, old, new)
        except ServiceError as error:
            raise blamed(place, error, len(writes)) from None
    return {"Responses": [], **spent_of(tables, costs, return_consumed_capacity, "WriteCapacityUnits")}


@dataclass(frozen=True, slots=True)
class _Get:
    """A SELECT of one item in a batch, or in a transaction."""

    select: Select
    table: Table
    key: ItemKey
    rest: Condition | None
    consistent: bool

    def shown(self, found: Item | None) -> Item | None:
        """What the SELECT shows of an item; None if the rest of the WHERE clause does not hold."""
        if found is None or (self.rest is not None and not holds(self.rest, found)):
            return None
        return row_of(self.select.projection, found)


@dataclass(frozen=True, slots=True)
class _Put:
    """A write in a batch."""

    write: Write
    key: ItemKey

    @property
    def table(self) -> Table:
        return self.write.table


def _read(text: str, parameters: Sequence[Mapping[str, object]] | None) -> Statement:
    """Return the statement of a request. Errors: ValidationException."""
    parsed = parse(text)
    return bind(parsed, [read_value(value) for value in parameters or ()])


def _table_of(tx: Transaction, caller: Caller, bound: Statement, operation_name: str) -> Table:
    """Return a statement's table, if the caller may run the statement. Errors: as the operations."""
    return _reached(tx, caller, bound, operation_name)[0]


def _plan_of(tx: Transaction, caller: Caller, select: Select, operation_name: str) -> Plan:
    """Return how a SELECT is read, if the caller may run it. Errors: as the operations."""
    plan = _reached(tx, caller, select, operation_name)[1]
    assert plan is not None, "a SELECT has a plan"
    return plan


def _reached(tx: Transaction, caller: Caller, bound: Statement, operation_name: str) -> tuple[Table, Plan | None]:
    """Return a statement's table, and how a SELECT reads it. Permissions may depend on whether it is a scan.

    Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/ql-iam.html
    """
    reference = refer_to_table(caller, bound.source.table)
    table = find_table(tx, caller, reference)
    context = {"dynamodb:EnclosingOperation": (operation_name,)}
    plan = plan_of(bound, table) if isinstance(bound, Select) and table is not None else None
    if plan is not None:
        context["dynamodb:FullTableScan"] = ("true" if plan.reaches is None else "false",)
    resource = reference.arn if bound.source.index is None else f"{reference.arn}/index/{bound.source.index}"
    policy = policy_of(tx, reference.scope, reference.name)
    tx.services.authorize(
        tx, caller, f"dynamodb:{PERMISSIONS[type(bound)]}", resource, context=context, policy=policy
    )  # fmt: skip
    if table is None:
        raise not_found()
    return table, plan


def _check_no_index(bound: Statement) -> None:
    if bound.source.index is not None:
        raise invalid("Writes on indices are not supported: name the table alone")


def _store(tx: Transaction, write: Write, key: ItemKey, old: Item | None, new: Item | None) -> None:
    """Store what a statement made of an item, if it changed the item."""
    if new is None:
        if old is not None:
            delete(tx, write.table, key)
    elif new is not old:
        put(tx, write.table, key, new, item_size(new), old=old)


def _member_of(tx: Transaction, caller: Caller, entry: Document) -> _Get | _Put | ServiceError:
    """Return a statement of a batch, or the error that it answers."""
    try:
        bound = _read(entry["Statement"], entry.get("Parameters"))
        if isinstance(bound, Exists):
            raise invalid("EXISTS can only be used in transactions")
        table = _table_of(tx, caller, bound, "BatchExecuteStatement")
        if isinstance(bound, Select):
            return _get_of(bound, table, consistent=bool(entry.get("ConsistentRead")))
        _check_no_index(bound)
        write = write_of(bound, table)
        return _Put(write, write.key())
    except ServiceError as error:
        return error


def _get_of(select: Select, table: Table, *, consistent: bool) -> _Get:
    """Return the read of one item. Errors: ValidationException if the WHERE clause does not have the whole key."""
    found = full_key_of(select.where, table.key_names)
    if found is None:
        raise invalid(
            "Select statements within BatchExecuteStatement must specify the primary key in the where clause."
        )
    _, key = read_key(table, found[0])
    return _Get(select, table, key, found[1], consistent)


def _response(tx: Transaction, member: _Get | _Put | ServiceError, spent: dict[str, Cost]) -> Document:
    """Run a statement of a batch; returns its answer."""
    if isinstance(member, ServiceError):
        return {"Error": batch_error(member)}
    old = find_item(tx, member.table, member.key)
    if isinstance(member, _Get):
        cost = read_units(item_size(old or {}), consistent=member.consistent)
        if not is_within(tx, member.table, Usage.READ, lambda: cost, "BatchExecuteStatement"):
            return {"Error": batch_error(exceeded())}
        spent[member.table.name] += Cost(cost)
        shown = member.shown(old)
    else:
        try:
            new = member.write.outcome(old)
            spend(tx, member.table, Usage.WRITE, lambda: write_units((old, new)), "BatchExecuteStatement")
            with tx.savepoint():
                _store(tx, member.write, member.key, old, new)
        except ServiceError as error:
            ran = {"TableName": member.table.name} if error.code in RAN_CODES else {}
            return {"Error": batch_error(error), **ran}
        spent[member.table.name] += write_cost(member.table, old, new)
        shown = member.write.returned(old, new)
    return {"TableName": member.table.name, **({} if shown is None else {"Item": shown})}


def _transactional(place: int, entry: Document) -> Statement:
    """Return a statement of a transaction. Errors: ValidationException, which tells the place."""
    try:
        bound = _read(entry["Statement"], entry.get("Parameters"))
        check_transactional(bound)
    except ServiceError as error:
        raise in_transaction(place, error) from None
    return bound


def _write_in(place: int, bound: Statement, table: Table, on_failure: str | None) -> Write:
    assert not isinstance(bound, Select), "reads are not mixed with writes"
    try:
        return write_of(bound, table, on_failure)
    except ServiceError as error:
        raise in_transaction(place, error) from None


def _keys_of(writes: Sequence[Write]) -> list[ItemKey]:
    """Return the keys of the writes. The first that is invalid cancels the transaction.

    Errors: TransactionCanceledException; ValidationException for a key with an empty value.
    """
    keys: list[ItemKey] = []
    for place, write in enumerate(writes):
        try:
            keys.append(write.key())
        except EmptyKey:
            raise
        except ServiceError as error:
            raise blamed(place, error, len(writes)) from None
    return keys


def _outcomes(writes: Sequence[Write], olds: Sequence[Item | None]) -> list[Item | None]:
    """Return the items after the writes. Errors: TransactionCanceledException, with every write that failed."""
    news: list[Item | None] = []
    reasons: list[Document] = []
    for write, old in zip(writes, olds, strict=True):
        try:
            news.append(write.outcome(old))
        except ServiceError as error:
            is_duplicate = error.code == "DuplicateItemException"
            reasons.append({"Code": "DuplicateItem", "Message": error.message} if is_duplicate else blame(error))
        else:
            reasons.append(NOT_TO_BLAME)
    if len(news) != len(writes):
        raise cancelled(reasons)
    return news


def _read_together(
    tx: Transaction, bound: Sequence[Statement], tables: Sequence[Table], return_consumed_capacity: str | None
) -> Document:
    """Run the SELECTs of a transaction: an answer for each, without Item where there is no item."""
    gets: list[_Get] = []
    for place, (select, table) in enumerate(zip(bound, tables, strict=True)):
        assert isinstance(select, Select), "reads are not mixed with writes"
        found = full_key_of(select.where, table.key_names)
        if found is None:
            problem = "Where clause does not contain a mandatory equality on all key attributes"
            raise in_transaction(place, invalid(problem))
        gets.append(_get_of(select, table, consistent=True))
    keys = [get.key for get in gets]
    check_distinct(tables, keys)
    reserve(tx, zip(tables, keys, strict=True))
    items = [find_item(tx, get.table, get.key) for get in gets]
    check_size(sum(item_size(item) for item in items if item is not None))
    costs = [read_cost(item) for item in items]
    spend_together(tx, tables, Usage.READ, costs, "ExecuteTransaction")
    shown = [get.shown(item) for get, item in zip(gets, items, strict=True)]
    return {
        "Responses": [{} if item is None else {"Item": item} for item in shown],
        **spent_of(tables, costs, return_consumed_capacity, "ReadCapacityUnits"),
    }
