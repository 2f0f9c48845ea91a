"""A world with a bucket, and its operations called in process."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from redrive.core.documents import Document
from redrive.core.errors import ServiceError
from redrive.services.s3.model.bucket import BUCKETS, Bucket
from redrive.testing.world import START, World
from tests.unit.services.s3.desk import Desk

Call = Callable[..., Document]


@pytest.fixture
def world() -> Iterator[World]:
    world = World(seed=1)
    # CreateBucket takes no name as short as that.
    world.store.run(lambda tx: tx.resources.put(BUCKETS, Bucket("b", world.account, world.region, START, "bucket-1")))
    yield world
    world.close()


@pytest.fixture
def desk() -> Iterator[Desk]:
    desk = Desk()
    yield desk
    desk.world.close()


@pytest.fixture
def call(world: World) -> Call:
    """Call an operation on the bucket `b`, or on another one."""

    def run(operation: str, **params: object) -> Document:
        return world.call("s3", operation, **{"Bucket": "b", **params})

    return run


@pytest.fixture
def refused(call: Call) -> Callable[..., ServiceError]:
    """The error of a call."""

    def run(operation: str, **params: object) -> ServiceError:
        with pytest.raises(ServiceError) as failed:
            call(operation, **params)
        return failed.value

    return run
