"""A world with one queue, and the words of a refusal."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from redrive.core.errors import ServiceError
from redrive.delivery.operation import Answer
from redrive.testing.world import World

Call = Callable[..., dict[str, Any]]
Refusal = Callable[..., tuple[str, str]]
Begin = Callable[..., Answer]


@pytest.fixture
def world() -> Iterator[World]:
    world = World(seed=1)
    yield world
    world.close()


@pytest.fixture
def call(world: World) -> Call:
    """Run an operation of SQS: `call("SendMessage", QueueUrl="orders", MessageBody="1")`."""
    return lambda operation, **params: world.call("sqs", operation, **params)


@pytest.fixture
def begin(world: World) -> Begin:
    """The first answer of an operation, which may be to wait."""

    def begin(operation: str, **params: object) -> Answer:
        return world.store.run(lambda tx: world.engine.registry.begin(tx, world.caller(), "sqs", operation, params))

    return begin


@pytest.fixture
def refusal(call: Call) -> Refusal:
    """(code, message) of the error that an operation answers."""

    def refusal(operation: str, **params: object) -> tuple[str, str]:
        with pytest.raises(ServiceError) as caught:
            call(operation, **params)
        return caught.value.code, caught.value.message

    return refusal


@pytest.fixture
def queue(call: Call) -> str:
    """The URL of a queue named `orders` with default attributes."""
    url: str = call("CreateQueue", QueueName="orders")["QueueUrl"]
    return url
