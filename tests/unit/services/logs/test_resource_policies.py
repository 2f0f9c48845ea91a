"""Resource policies of CloudWatch Logs: AWS services write to log groups by them."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from redrive.core.errors import ServiceError
from redrive.core.scope import Caller, Scope
from redrive.testing.world import World

GROUP = "arn:aws:logs:us-east-1:000000000000:log-group:/aws/events/orders"
SERVICE = Caller(Scope("000000000000", "us-east-1"), "r", service="events.amazonaws.com", source_arn="arn:aws:events:us-east-1:000000000000:rule/r")  # fmt: skip  # noqa: E501


@pytest.fixture
def world() -> Iterator[World]:
    world = World(seed=1)
    world.call("logs", "CreateLogGroup", logGroupName="/aws/events/orders")
    yield world
    world.close()


def policy(principal: str = "events.amazonaws.com") -> str:
    statement = {
        "Effect": "Allow", "Principal": {"Service": [principal]}, "Resource": f"{GROUP}:*",
        "Action": ["logs:CreateLogStream", "logs:PutLogEvents"],
    }  # fmt: skip
    return json.dumps({"Version": "2012-10-17", "Statement": [statement]})


def write(world: World) -> None:
    """Create a stream as EventBridge does."""
    params = {"logGroupName": "/aws/events/orders", "logStreamName": "s"}
    world.store.run(lambda tx: tx.services.call(tx, SERVICE, "logs", "CreateLogStream", params))


def refused(world: World, operation: str, **params: object) -> str:
    with pytest.raises(ServiceError) as caught:
        world.call("logs", operation, **params)
    return caught.value.code


def test_service_writes_only_where_a_policy_allows_it() -> None:
    world = World(seed=1)
    world.call("logs", "CreateLogGroup", logGroupName="/aws/events/orders")
    with pytest.raises(ServiceError) as caught:
        write(world)
    world.call("logs", "PutResourcePolicy", policyName="p", policyDocument=policy())

    write(world)

    assert caught.value.code == "AccessDeniedException"
    world.close()


def test_policy_for_another_service_allows_nothing(world: World) -> None:
    world.call("logs", "PutResourcePolicy", policyName="p", policyDocument=policy("delivery.logs.amazonaws.com"))

    with pytest.raises(ServiceError):
        write(world)


def test_policy_of_a_group_counts_as_well(world: World) -> None:
    world.call("logs", "PutResourcePolicy", resourceArn=GROUP, policyDocument=policy())

    write(world)

    (shown,) = world.call("logs", "DescribeResourcePolicies", resourceArn=GROUP)["resourcePolicies"]
    assert (shown["policyScope"], shown["resourceArn"]) == ("RESOURCE", GROUP)


def test_policies_are_replaced_listed_and_deleted_by_name(world: World) -> None:
    for name in ("a", "b", "a"):
        world.call("logs", "PutResourcePolicy", policyName=name, policyDocument=policy())
    first = world.call("logs", "DescribeResourcePolicies", limit=1)
    second = world.call("logs", "DescribeResourcePolicies", limit=1, nextToken=first["nextToken"])

    world.call("logs", "DeleteResourcePolicy", policyName="a")

    left = world.call("logs", "DescribeResourcePolicies")["resourcePolicies"]
    assert [one["policyName"] for one in (*first["resourcePolicies"], *second["resourcePolicies"])] == ["a", "b"]
    assert [one["policyName"] for one in left] == ["b"]


def test_account_has_ten_policies(world: World) -> None:
    for number in range(10):
        world.call("logs", "PutResourcePolicy", policyName=f"p{number}", policyDocument=policy())

    code = refused(world, "PutResourcePolicy", policyName="one-more", policyDocument=policy())

    assert code == "LimitExceededException"


@pytest.mark.parametrize(("operation", "params", "code"), [
    ("PutResourcePolicy", {"policyName": "p", "policyDocument": "{}"}, "InvalidParameterException"),
    ("PutResourcePolicy", {"policyDocument": policy()}, "InvalidParameterException"),
    ("PutResourcePolicy", {"resourceArn": GROUP.replace("orders", "gone"), "policyDocument": policy()},
     "ResourceNotFoundException"),
    ("DeleteResourcePolicy", {"policyName": "gone"}, "ResourceNotFoundException"),
    ("PutResourcePolicy", {"policyName": "p", "policyDocument": policy(), "expectedRevisionId": "x"},
     "OperationAbortedException"),
])  # fmt: skip
def test_wrong_policies_are_refused(world: World, operation: str, params: dict[str, str], code: str) -> None:
    assert refused(world, operation, **params) == code
