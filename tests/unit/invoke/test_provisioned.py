"""Environments that are ready before the first call, with real processes."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from redrive.core.clock import VirtualClock
from redrive.core.entropy import SeededEntropy
from redrive.core.log import SilentLog
from redrive.core.sessions import Issuer
from redrive.delivery.outside.invocation import Invocation, InvocationResult, Provision
from redrive.invoke.process import Limits, ProcessInvoker
from tests.unit.invoke.functions import ENDPOINT_URL, archive, invocation

PLAIN = """
import os
kind = os.environ["AWS_LAMBDA_INITIALIZATION_TYPE"]
print("loaded", kind)
def handler(event, context):
    if event == "exit":
        os._exit(3)
    return {"pid": os.getpid(), "kind": kind}
"""
ALIAS = "arn:aws:lambda:eu-west-1:123456789012:function:plain:live"
IN_ADVANCE = "provisioned-concurrency"


class Warnings(SilentLog):
    """Keeps the functions of warnings."""

    def __init__(self) -> None:
        self.arns: list[object] = []

    def warning(self, event: str, **facts: object) -> None:
        if event != "environment incomplete":  # The machine lacks a runtime of its own for the function.
            self.arns.append((event, facts["function_arn"]))


@pytest.fixture
def log() -> Warnings:
    return Warnings()


@pytest.fixture
def invoker(tmp_path: Path, log: Warnings) -> Iterator[ProcessInvoker]:
    code = {"plain": archive({"app.py": PLAIN}), "broken": archive({"app.py": "import no_such_module"})}
    invoker = ProcessInvoker(
        code.__getitem__, tmp_path, endpoint_url=ENDPOINT_URL, clock=VirtualClock(1_760_000_000_000),
        entropy=SeededEntropy(1), issuer=Issuer(b"secret"), limits=Limits(provisioned_max=2), log=log,
    )  # fmt: skip
    yield invoker
    invoker.close()


def live(event: object = None) -> Invocation:
    """A run of version 1 by an alias."""
    return invocation("plain", event, function_arn=ALIAS, version="1")


def seen(result: InvocationResult) -> Any:
    return json.loads(result.payload)


def test_environment_is_initialized_before_the_first_call(invoker: ProcessInvoker) -> None:
    invoker.provide([Provision(live(), 1)])

    first, second = invoker.invoke(live()), invoker.invoke(live())

    assert seen(first)["kind"] == IN_ADVANCE
    assert seen(first) == seen(second)
    assert first.init_ms is None
    assert [line.text for line in first.lines] == [f"loaded {IN_ADVANCE}"]


def test_calls_by_another_qualifier_start_environments_on_demand(invoker: ProcessInvoker) -> None:
    invoker.provide([Provision(live(), 1)])

    other = invoker.invoke(invocation("plain", function_arn=ALIAS.replace("live", "1"), version="1"))

    assert seen(other)["kind"] == "on-demand"
    assert other.init_ms is not None


def test_environment_that_dies_is_replaced(invoker: ProcessInvoker) -> None:
    invoker.provide([Provision(live(), 1)])
    pid = seen(invoker.invoke(live()))["pid"]
    invoker.invoke(live("exit"))

    invoker.provide([Provision(live(), 1)])
    after = seen(invoker.invoke(live()))

    assert after["kind"] == IN_ADVANCE
    assert after["pid"] != pid


def test_environments_are_given_up_with_their_configuration(invoker: ProcessInvoker) -> None:
    invoker.provide([Provision(live(), 1)])
    pid = seen(invoker.invoke(live()))["pid"]

    invoker.provide([])

    with pytest.raises(ProcessLookupError):
        os.kill(pid, signal.SIGCONT)
    assert seen(invoker.invoke(live()))["kind"] == "on-demand"


def test_function_that_cannot_be_loaded_is_left_alone_for_a_while(invoker: ProcessInvoker, log: Warnings) -> None:
    broken = Provision(invocation("broken", function_arn=ALIAS, version="1"), 2)

    for _ in range(3):
        invoker.provide([broken])

    assert log.arns == [("environment not provided", ALIAS)]


def test_environments_beyond_what_the_machine_is_to_hold_are_told_once(invoker: ProcessInvoker, log: Warnings) -> None:
    for _ in range(2):
        invoker.provide([Provision(live(), 3)])

    assert log.arns == [("environments not provided", ALIAS)]
