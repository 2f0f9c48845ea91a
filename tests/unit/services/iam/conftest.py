"""A world, its IAM client, a role, and the words of a refusal."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from botocore.exceptions import ClientError

from redrive.testing.world import World

Refusal = Callable[..., tuple[str, str, int]]

TRUST = {
    "Version": "2012-10-17",
    "Statement": [
        {"Effect": "Allow", "Principal": {"Service": "lambda.amazonaws.com"}, "Action": "sts:AssumeRole"},
    ],
}


def policy(action: str, resource: str = "*", effect: str = "Allow") -> str:
    """A policy document of one statement."""
    statement = {"Effect": effect, "Action": action, "Resource": resource}
    return json.dumps({"Version": "2012-10-17", "Statement": [statement]})


@pytest.fixture(scope="session")
def one_world() -> Iterator[World]:
    """A world for all tests: its clock stands still, and clients are costly to make."""
    world = World(seed=1)
    yield world
    world.close()


@pytest.fixture(scope="session")
def one_client(one_world: World) -> Any:
    return one_world.client("iam")


@pytest.fixture
def world(one_world: World) -> Iterator[World]:
    yield one_world
    one_world.store.reset()


@pytest.fixture
def iam(world: World, one_client: Any) -> Any:
    return one_client


@pytest.fixture
def refusal(iam: Any) -> Refusal:
    """(code, message, status) of the error that an operation answers: `refusal("get_role", RoleName="x")`."""

    def refusal(operation: str, **params: object) -> tuple[str, str, int]:
        with pytest.raises(ClientError) as caught:
            getattr(iam, operation)(**params)
        error, meta = caught.value.response["Error"], caught.value.response["ResponseMetadata"]
        return error["Code"], error["Message"], meta["HTTPStatusCode"]

    return refusal


@pytest.fixture
def trust() -> str:
    """A trust policy that names Lambda."""
    return json.dumps(TRUST)


@pytest.fixture
def allow() -> Callable[..., str]:
    """`allow("sqs:SendMessage")` is a policy document; `resource` and `effect` may be given."""
    return policy


@pytest.fixture
def role(iam: Any, trust: str) -> dict[str, Any]:
    """A role named `worker`."""
    described: dict[str, Any] = iam.create_role(RoleName="worker", AssumeRolePolicyDocument=trust)["Role"]
    return described
