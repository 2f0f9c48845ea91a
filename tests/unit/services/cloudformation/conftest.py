"""A world, a client of CloudFormation, and what tests ask of stacks."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from botocore.exceptions import ClientError

from redrive.testing.world import World

Template = dict[str, Any]


class Stacks:
    """Stacks of a world, reached through boto3; each change is worked on until nothing is due any more."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.client = world.client("cloudformation")

    def create(self, name: str, resources: Template, *, outputs: Template | None = None, **params: Any) -> str:
        """Create a stack and let it run; answers its id."""
        body = _body(resources, outputs, params)
        answer = self.client.create_stack(StackName=name, TemplateBody=body, **params)
        self.world.settle()
        stack_id: str = answer["StackId"]
        return stack_id

    def update(self, name: str, resources: Template, *, outputs: Template | None = None, **params: Any) -> None:
        """Update a stack and let it run."""
        self.client.update_stack(StackName=name, TemplateBody=_body(resources, outputs, params), **params)
        self.world.settle()

    def delete(self, name: str, **params: Any) -> None:
        """Delete a stack and let it run."""
        self.client.delete_stack(StackName=name, **params)
        self.world.settle()

    def describe(self, name: str) -> dict[str, Any]:
        """The stack as DescribeStacks answers it."""
        stack: dict[str, Any] = self.client.describe_stacks(StackName=name)["Stacks"][0]
        return stack

    def status(self, name: str) -> str:
        """The stack's status."""
        return str(self.describe(name)["StackStatus"])

    def outputs(self, name: str) -> dict[str, str]:
        """The stack's outputs by key."""
        return {one["OutputKey"]: one["OutputValue"] for one in self.describe(name)["Outputs"]}

    def physical_id(self, name: str, logical_id: str) -> str:
        """The physical id of a resource."""
        detail = self.client.describe_stack_resource(StackName=name, LogicalResourceId=logical_id)
        return str(detail["StackResourceDetail"]["PhysicalResourceId"])

    def events(self, name: str) -> list[tuple[str, str, str]]:
        """(logical id, status, reason) of everything that happened, the first first."""
        events = self.client.describe_stack_events(StackName=name)["StackEvents"][::-1]
        return [
            (one["LogicalResourceId"], one["ResourceStatus"], one.get("ResourceStatusReason", "")) for one in events
        ]

    def reason(self, name: str, logical_id: str, status: str) -> str:
        """The reason that the latest event of this status gives."""
        return [reason for logical, told, reason in self.events(name) if (logical, told) == (logical_id, status)][-1]


def _body(resources: Template, outputs: Template | None, params: dict[str, Any]) -> str:
    sections = {"Resources": resources, "Outputs": outputs, "Parameters": params.pop("Declared", None)}
    return json.dumps({name: section for name, section in sections.items() if section is not None})


def queue(**properties: Any) -> Template:
    """A queue's part of a template."""
    return {"Type": "AWS::SQS::Queue", "Properties": properties}


def trust_for(service: str) -> dict[str, Any]:
    """The trust policy of a role that a service may assume."""
    statement = {"Effect": "Allow", "Principal": {"Service": service}, "Action": "sts:AssumeRole"}
    return {"Version": "2012-10-17", "Statement": [statement]}


Refusal = Callable[..., tuple[str, str]]


@pytest.fixture
def world() -> Iterator[World]:
    world = World(seed=1)
    yield world
    world.close()


@pytest.fixture
def stacks(world: World) -> Stacks:
    """Stacks of the world."""
    return Stacks(world)


@pytest.fixture
def refusal() -> Refusal:
    """(code, message) of the error that a call answers: `refusal(client.delete_stack, StackName="x")`."""

    def refusal(call: Callable[..., Any], *args: Any, **params: Any) -> tuple[str, str]:
        with pytest.raises(ClientError) as caught:
            call(*args, **params)
        error = caught.value.response["Error"]
        return error["Code"], error["Message"]

    return refusal
