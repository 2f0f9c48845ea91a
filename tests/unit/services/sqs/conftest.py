"""A world with one queue, and the words of a refusal."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from redrive.core.clock import VirtualClock
from redrive.core.entropy import SeededEntropy
from redrive.core.errors import ServiceError
from redrive.core.limits import Limits
from redrive.core.log import LineLog
from redrive.delivery.operation import Answer
from redrive.engine.build import build_engine
from redrive.engine.settings import Settings
from redrive.store.sqlite import SqliteStore
from redrive.testing.world import START, World
from redrive.wire.model.files import Models

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


@pytest.fixture
def fifo(call: Call) -> str:
    """The URL of a FIFO queue named `orders.fifo` with default attributes."""
    url: str = call("CreateQueue", QueueName="orders.fifo", Attributes={"FifoQueue": "true"})["QueueUrl"]
    return url


@pytest.fixture
def call_under(world: World) -> Iterator[Callable[[Limits], Call]]:
    """Operations of an engine that holds quotas, or does not; on a clock of its own."""
    stores: list[SqliteStore] = []

    def call_under(limits: Limits) -> Call:
        clock = VirtualClock(START)
        store = SqliteStore(None, clock=clock, entropy=SeededEntropy(1))
        stores.append(store)
        engine = build_engine(
            store,
            run=store.run,
            models=Models(),
            invoker=world.functions,
            log=LineLog(clock),
            settings=Settings(limits),
        )
        return lambda operation, **params: engine.call(world.caller(), "sqs", operation, params)

    yield call_under
    for store in stores:
        store.close()


def refused(call: Call, operation: str, **params: object) -> str | None:
    """The code of the error that an operation answers, or None if it succeeds."""
    try:
        call(operation, **params)
    except ServiceError as error:
        return error.code
    return None
