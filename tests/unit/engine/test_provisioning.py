"""A node keeps environments ready as soon as a commit asks for them."""

from __future__ import annotations

import io
import json
import queue
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import closing
from typing import Any

import pytest

from redrive.core.errors import Unavailable
from redrive.core.log import SilentLog
from redrive.delivery.outside.invocation import Provision
from redrive.engine.provisioning import Provisioning
from redrive.testing.world import World

WAIT_S = 20
"""Long enough for any machine. A node looks by itself after 30 seconds, so hearing nothing would fail."""


class Machine:
    """A machine that notes what it is to keep; its first answer is an error, if it is told so."""

    def __init__(self) -> None:
        self.asked: queue.Queue[Sequence[Provision]] = queue.Queue()
        self.is_broken = False

    def provide(self, wanted: Sequence[Provision]) -> None:
        self.asked.put(wanted)
        if self.is_broken:
            self.is_broken = False
            raise Unavailable("no process can be started")


@pytest.fixture
def world() -> Iterator[World]:
    with closing(World(seed=1)) as world:
        yield world


@pytest.fixture
def machine(world: World) -> Iterator[Machine]:
    machine = Machine()
    provisioning = Provisioning(world.store.run, machine, SilentLog())
    world.store.on_commit(provisioning.hear)
    provisioning.start()
    yield machine
    provisioning.stop()


@pytest.fixture
def functions(world: World) -> Any:
    """A client of Lambda, and a function with one version."""
    trust = json.dumps({"Version": "2012-10-17", "Statement": [
        {"Effect": "Allow", "Principal": {"Service": "lambda.amazonaws.com"}, "Action": "sts:AssumeRole"},
    ]})  # fmt: skip
    role = world.client("iam").create_role(RoleName="work", AssumeRolePolicyDocument=trust)
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as code:
        code.writestr("app.py", "")
    functions = world.client("lambda")
    functions.create_function(
        FunctionName="work", Runtime="python3.12", Handler="app.run", Role=role["Role"]["Arn"], Publish=True,
        Code={"ZipFile": archive.getvalue()},
    )  # fmt: skip
    return functions


def asked(machine: Machine) -> list[tuple[str, int]]:
    """What the machine is asked to keep next."""
    return [(one.invocation.version, one.count) for one in machine.asked.get(timeout=WAIT_S)]


def test_machine_is_asked_when_a_commit_changes_what_is_kept(functions: Any, machine: Machine) -> None:
    functions.put_provisioned_concurrency_config(FunctionName="work", Qualifier="1", ProvisionedConcurrentExecutions=3)
    first = asked(machine)

    functions.delete_provisioned_concurrency_config(FunctionName="work", Qualifier="1")
    later = iter(lambda: asked(machine), [])

    assert first == [("1", 3)]
    assert all(one == first for one in later)


def test_machine_is_asked_again_and_again_so_that_dead_environments_are_replaced(
    functions: Any, machine: Machine
) -> None:
    machine.is_broken = True
    functions.put_provisioned_concurrency_config(FunctionName="work", Qualifier="1", ProvisionedConcurrentExecutions=1)

    assert [asked(machine) for _ in range(2)] == [[("1", 1)]] * 2
