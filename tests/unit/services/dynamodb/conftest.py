"""A world with one table of orders under customer and order number, and the words of a refusal."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from redrive.core.errors import ServiceError
from redrive.testing.world import World

Call = Callable[..., dict[str, Any]]
Refusal = Callable[..., tuple[str, str]]
Statements = Callable[..., int]

ORDERS = {
    "TableName": "orders",
    "KeySchema": [
        {"AttributeName": "customer", "KeyType": "HASH"},
        {"AttributeName": "order_no", "KeyType": "RANGE"},
    ],
    "AttributeDefinitions": [
        {"AttributeName": "customer", "AttributeType": "S"},
        {"AttributeName": "order_no", "AttributeType": "N"},
    ],
    "BillingMode": "PAY_PER_REQUEST",
}
"""CreateTable's parameters for the table of most tests."""


@pytest.fixture
def world() -> Iterator[World]:
    world = World(seed=1)
    yield world
    world.close()


@pytest.fixture
def call(world: World) -> Call:
    """Run an operation: `call("GetItem", TableName="orders", Key=…)`."""
    return lambda operation, **params: world.call("dynamodb", operation, **params)


@pytest.fixture
def refusal(call: Call) -> Refusal:
    """(code, message) of the error that an operation answers."""

    def refusal(operation: str, **params: object) -> tuple[str, str]:
        with pytest.raises(ServiceError) as caught:
            call(operation, **params)
        return caught.value.code, caught.value.message

    return refusal


@pytest.fixture
def orders(call: Call) -> str:
    """The name of an empty table: hash key `customer` (S), range key `order_no` (N)."""
    call("CreateTable", **ORDERS)
    return "orders"


@pytest.fixture
def put(call: Call, orders: str) -> Callable[..., None]:
    """Put an order: `put("ann", 1, note={"S": "gift"})`."""

    def put(customer: str, number: object, **attributes: object) -> None:
        call(
            "PutItem",
            TableName=orders,
            Item={"customer": {"S": customer}, "order_no": {"N": str(number)}, **attributes},
        )

    return put


@pytest.fixture
def statements(world: World, call: Call) -> Statements:
    """How many statements on tables an operation runs."""

    def statements(operation: str, **params: object) -> int:
        seen: list[str] = []
        world.store.connection.set_trace_callback(seen.append)
        call(operation, **params)
        world.store.connection.set_trace_callback(None)
        return len([sql for sql in seen if not sql.startswith(("BEGIN", "COMMIT", "SAVEPOINT", "RELEASE"))])

    return statements


def key(customer: str, number: object) -> dict[str, dict[str, str]]:
    """The key of an order."""
    return {"customer": {"S": customer}, "order_no": {"N": str(number)}}
