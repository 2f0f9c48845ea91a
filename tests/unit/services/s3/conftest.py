"""A world with a bucket, and its operations called in process."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from redrive.core.documents import Document
from redrive.core.errors import ServiceError
from redrive.testing.world import World

Call = Callable[..., Document]


@pytest.fixture
def world() -> Iterator[World]:
    world = World(seed=1)
    world.call("s3", "CreateBucket", Bucket="b")
    yield world
    world.close()


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
