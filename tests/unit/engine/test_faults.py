"""Faults on functions, as callers, events and queues meet them; and the switches of an engine."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Iterator
from typing import Any

import pytest
from botocore.exceptions import ClientError

from redrive.delivery.faults import Fault, add_fault
from redrive.delivery.invocation import FunctionCode, Invocation, InvocationStatus
from redrive.engine.faults import FaultyInvoker
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
