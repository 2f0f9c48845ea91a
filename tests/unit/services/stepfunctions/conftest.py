"""A world with a role that may do everything, and short ways to run machines in it."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from botocore.exceptions import ClientError

from redrive.testing.world import World

ROLE = "arn:aws:iam::000000000000:role/states"
_PRINCIPALS = ["states.amazonaws.com", "lambda.amazonaws.com", "events.amazonaws.com", "scheduler.amazonaws.com"]


@dataclass
class Machines:
    """Machines of a world. `run` creates one, starts an execution named `e`, and moves time."""

    world: World
    made: int = 0
    arns: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        trust = {"Effect": "Allow", "Principal": {"Service": _PRINCIPALS}, "Action": "sts:AssumeRole"}
        iam = self.world.client("iam")
        iam.create_role(
            RoleName="states", AssumeRolePolicyDocument=json.dumps({"Version": "2012-10-17", "Statement": [trust]})
        )
        everything = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "*", "Resource": "*"}]}
        iam.put_role_policy(RoleName="states", PolicyName="all", PolicyDocument=json.dumps(everything))
        self.sfn = self.world.client("stepfunctions")

    def create(self, *states: dict[str, Any], name: str = "", **top: Any) -> str:
        """A machine of these states, in their order; each goes to the next one unless it says otherwise."""
        self.made += 1
        arn = self.sfn.create_state_machine(
            name=name or f"m{self.made}", definition=definition(*states), roleArn=ROLE, **top
        )["stateMachineArn"]
        self.arns.append(arn)
        return str(arn)

    def start(self, machine: str, value: Any = None, name: str = "e") -> str:
        """Start an execution; returns its ARN."""
        started = self.sfn.start_execution(
            stateMachineArn=machine, input=json.dumps({} if value is None else value), name=name
        )
        self.world.settle()
        return str(started["executionArn"])

    def run(self, *states: dict[str, Any], value: Any = None, seconds: float = 0) -> Ran:
        """Create, start, and let so many seconds pass."""
        arn = self.start(self.create(*states), value)
        if seconds:
            self.world.advance(seconds=seconds)
        return self.ran(arn)

    def ran(self, arn: str) -> Ran:
        """An execution as it is now."""
        events = self.sfn.get_execution_history(executionArn=arn, maxResults=1000)["events"]
        return Ran(arn, self.sfn.describe_execution(executionArn=arn), events)

    def function(self, name: str, handler: Callable[..., Any]) -> str:
        """A function that is this handler; returns its ARN."""
        self.world.functions.register(name, handler)
        archive = io.BytesIO()
        with zipfile.ZipFile(archive, "w") as zipped:
            zipped.writestr("code.py", "def handler(event, context): ...")
        made = self.world.client("lambda").create_function(
            FunctionName=name, Runtime="python3.12", Handler="code.handler", Role=ROLE,
            Code={"ZipFile": archive.getvalue()},
        )  # fmt: skip
        self.world.settle()
        return str(made["FunctionArn"])


@dataclass
class Ran:
    """An execution: what DescribeExecution answers, and its events."""

    arn: str
    shown: dict[str, Any]
    events: list[dict[str, Any]]

    @property
    def status(self) -> str:
        return str(self.shown["status"])

    @property
    def output(self) -> Any:
        return json.loads(self.shown["output"])

    @property
    def failure(self) -> tuple[Any, Any]:
        return self.shown.get("error"), self.shown.get("cause")

    @property
    def links(self) -> str:
        """The events as `1<0 ExecutionStarted 2<0 …`."""
        return " ".join(f"{one['id']}<{one['previousEventId']} {one['type']}" for one in self.events)

    def details(self, number: int) -> dict[str, Any]:
        """The details of an event."""
        event = self.events[number - 1]
        return next((value for key, value in event.items() if key.endswith("Details")), {})


def definition(*states: dict[str, Any], **top: Any) -> str:
    """A definition of these states, named A, B, C … unless they have a Name."""
    states = tuple(dict(state) for state in states)
    names = [state.pop("Name", chr(ord("A") + place)) for place, state in enumerate(states)]
    for place, state in enumerate(states):
        if state["Type"] in ("Choice", "Succeed", "Fail") or "Next" in state or "End" in state:
            continue
        state.update({"Next": names[place + 1]} if place + 1 < len(states) else {"End": True})
    return json.dumps({"StartAt": names[0], "States": dict(zip(names, states, strict=True)), **top})


def code_of(failed: pytest.ExceptionInfo[ClientError]) -> str:
    """The code of a refused call."""
    return str(failed.value.response["Error"]["Code"])


def message_of(failed: pytest.ExceptionInfo[ClientError]) -> str:
    """The message of a refused call."""
    return str(failed.value.response["Error"]["Message"])


@pytest.fixture
def machines() -> Iterator[Machines]:
    world = World(seed=7)
    yield Machines(world)
    world.close()
