"""Faults on functions, as callers, events and queues meet them; and the switches of an engine."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest
from botocore.exceptions import ClientError

from redrive.delivery.faults import Fault, add_fault
from redrive.delivery.outside.invocation import FunctionCode, Invocation, InvocationStatus
from redrive.engine.faults import FaultyInvoker
from redrive.engine.services import BoundServices
from redrive.store.api import Step
from redrive.store.files.opening import SharedMemory
from redrive.store.sqlite import SqliteStore
from redrive.testing.world import World

FUNCTION = "arn:aws:lambda:us-east-1:000000000000:function:work"
TRUST = {
    "Version": "2012-10-17",
    "Statement": [{"Effect": "Allow", "Principal": {"Service": "lambda.amazonaws.com"}, "Action": "sts:AssumeRole"}],
}


class Shop:
    """A world with a function that counts its runs."""

    def __init__(self) -> None:
        self.world = World(seed=1)
        self.runs: list[Any] = []
        self.functions = self.world.client("lambda")
        role = self.world.client("iam").create_role(RoleName="work", AssumeRolePolicyDocument=json.dumps(TRUST))
        archive = io.BytesIO()
        with zipfile.ZipFile(archive, "w") as code:
            code.writestr("app.py", "")
        self.functions.create_function(
            FunctionName="work", Runtime="python3.12", Handler="app.run", Role=role["Role"]["Arn"],
            Code={"ZipFile": archive.getvalue()},
        )  # fmt: skip
        self.world.functions.register("work", lambda event, _: self.runs.append(event))

    def add(self, code: str, **choices: Any) -> None:
        self.world.store.run(lambda tx: add_fault(tx, Fault("", f"{FUNCTION}*", code, "no", times=1, **choices)))

    def invoke(self, **more: Any) -> Any:
        return self.functions.invoke(FunctionName="work", **more)


@pytest.fixture
def shop() -> Iterator[Shop]:
    shop = Shop()
    yield shop
    shop.world.close()


@pytest.mark.parametrize(
    ("code", "seen"),
    [("TooManyRequestsException", "TooManyRequestsException"), ("InternalServerError", "ServiceException")],
)
def test_error_of_the_service_is_what_the_caller_gets_and_nothing_runs(code: str, seen: str, shop: Shop) -> None:
    shop.add(code)

    with pytest.raises(ClientError) as caught:
        shop.invoke()

    assert caught.value.response["Error"]["Code"] == seen
    assert shop.runs == []
    assert "FunctionError" not in shop.invoke()
    assert len(shop.runs) == 1


def test_any_other_error_is_the_functions_own(shop: Shop) -> None:
    shop.add("KeyError")

    answer = shop.invoke()

    assert answer["FunctionError"] == "Unhandled"
    assert json.loads(answer["Payload"].read()) == {"errorMessage": "no", "errorType": "KeyError"}
    assert shop.runs == []


def test_function_slower_than_its_timeout_times_out(shop: Shop) -> None:
    shop.add("", latency_ms=3_000)

    answer = shop.invoke()

    assert answer["FunctionError"] == "Unhandled"
    assert json.loads(answer["Payload"].read())["errorType"] == "Sandbox.Timedout"
    assert shop.runs == []


def test_slow_function_within_its_timeout_runs(shop: Shop) -> None:
    shop.add("", latency_ms=2_999)

    assert "FunctionError" not in shop.invoke()
    assert len(shop.runs) == 1


def test_event_is_tried_again_after_a_fault(shop: Shop) -> None:
    shop.add("KeyError")

    shop.invoke(InvocationType="Event", Payload=b'{"n": 1}')
    shop.world.settle()
    assert shop.runs == []
    shop.world.advance(minutes=2)

    assert shop.runs == [{"n": 1}]


def test_slow_run_in_real_time_is_waited_for_until_the_server_stops(shop: Shop) -> None:
    shop.add("KeyError", latency_ms=2_000)
    faulty = FaultyInvoker(shop.world.functions, shop.world.store.run, real_time=True)
    faulty.close()

    result = faulty.invoke(an_invocation())

    assert (result.status, result.duration_ms) == (InvocationStatus.FUNCTION_ERROR, 2_000)


def an_invocation() -> Invocation:
    return Invocation(
        "request", FUNCTION, "work", "$LATEST", "1", FunctionCode("", "app.run", "python3.12"), b"{}", 3_000, 128,
        "role", "logs",
    )  # fmt: skip


def test_run_without_faults_costs_no_transaction(shop: Shop) -> None:
    faulty, ran = counted(shop)

    for _ in range(3):
        faulty.invoke(an_invocation())

    assert len(ran) == 1  # The first one learned that there are none.


def test_fault_added_after_many_runs_without_any_strikes_the_next_run(shop: Shop) -> None:
    faulty, ran = counted(shop)
    faulty.invoke(an_invocation())
    faulty.invoke(an_invocation())
    shop.add("KeyError")

    struck = faulty.invoke(an_invocation())

    assert struck.status is InvocationStatus.FUNCTION_ERROR
    assert len(ran) == 2


def test_fault_added_while_a_run_asks_strikes_the_run_after_it(shop: Shop) -> None:
    """The run's transaction saw none; what was announced before its answer was kept must not be overlooked."""
    store = shop.world.store

    def run_and_be_overtaken(step: Step[Any]) -> Any:
        answer = store.run(step)
        if not shop.runs:
            shop.add("KeyError")
        return answer

    faulty = FaultyInvoker(shop.world.functions, run_and_be_overtaken, real_time=False, commits=store)
    faulty.invoke(an_invocation())

    assert faulty.invoke(an_invocation()).status is InvocationStatus.FUNCTION_ERROR


def test_fault_that_another_node_has_added_strikes(shop: Shop) -> None:
    """What a node remembers of faults is dropped when it finds that another has committed."""
    with (
        closing(SharedMemory()) as memory,
        closing(SqliteStore(memory, clock=shop.world.clock, entropy=shop.world.entropy)) as one,
        closing(SqliteStore(memory, clock=shop.world.clock, entropy=shop.world.entropy)) as other,
    ):
        for store in (one, other):
            store.bind(BoundServices(shop.world.engine.registry))
        faulty = FaultyInvoker(shop.world.functions, one.run, real_time=False, commits=one)
        faulty.invoke(an_invocation())
        faulty.invoke(an_invocation())
        other.run(lambda tx: add_fault(tx, Fault("", f"{FUNCTION}*", "KeyError", "no", times=1)))
        one.run(lambda tx: tx.timers.next("kind"))  # As a claim, which comes before each run.

        assert faulty.invoke(an_invocation()).status is InvocationStatus.FUNCTION_ERROR


def counted(shop: Shop) -> tuple[FaultyInvoker, list[Step[Any]]]:
    """An invoker over the shop's store, and the transactions that it has asked for."""
    store, ran = shop.world.store, []

    def run(step: Step[Any]) -> Any:
        ran.append(step)
        return store.run(step)

    return FaultyInvoker(shop.world.functions, run, real_time=False, commits=store), ran
