"""The metrics of runs: concurrency, provisioned concurrency, and the versions of an alias."""

from __future__ import annotations

from dataclasses import replace

import pytest

from redrive.store.tables.metrics import dimensions_text
from tests.unit.services.lambda_.functions import Rig, answered


def sums(rig: Rig, name: str) -> dict[str, float]:
    """The sums of a metric, by the text of its dimensions."""
    found = rig.store.counted.sums()
    return {series.watched.dimensions: value for series, value in found.items() if series.name == name}


@pytest.fixture(autouse=True)
def _alias(rig: Rig) -> None:
    """A function with version 1, and the alias `live` for it."""
    rig.create_function()
    rig.advance(1)
    rig.call("PublishVersion", FunctionName="worker")
    rig.call("CreateAlias", FunctionName="worker", Name="live", FunctionVersion="1")


def concurrent(rig: Rig, of_function: int, in_all: int, unreserved: int = 0) -> None:
    """Let runs end so that so many were under way."""
    rig.invoker.answer = lambda _: replace(
        answered(1), concurrent=of_function, concurrent_in_all=in_all, concurrent_unreserved=unreserved
    )  # fmt: skip


def test_concurrency_is_counted_for_the_function_and_for_the_account(rig: Rig) -> None:
    concurrent(rig, 3, 7, 5)

    rig.call("Invoke", FunctionName="worker")

    found = sums(rig, "ConcurrentExecutions")
    assert found[dimensions_text({"FunctionName": "worker"})] == 3
    assert found[dimensions_text({})] == 7
    assert sums(rig, "UnreservedConcurrentExecutions") == {dimensions_text({}): 5}


def test_runs_of_an_alias_are_counted_by_executed_version(rig: Rig) -> None:
    rig.call("Invoke", FunctionName="worker:live")
    rig.call("Invoke", FunctionName="worker:1")

    found = sums(rig, "Invocations")
    aliased = {"FunctionName": "worker", "Resource": "worker:live"}
    assert found[dimensions_text(aliased)] == 1
    assert found[dimensions_text({**aliased, "ExecutedVersion": "1"})] == 1
    assert found[dimensions_text({"FunctionName": "worker", "Resource": "worker:1"})] == 1
    assert found[dimensions_text({"FunctionName": "worker"})] == 2


@pytest.mark.parametrize(
    ("under_way", "invocations", "spilled", "use"), [(1, 1.0, None, 0.5), (2, 1.0, None, 1.0), (3, None, 1.0, 1.0)]
)
def test_what_is_over_the_provisioned_concurrency_spills_over(
    rig: Rig, under_way: int, invocations: float | None, spilled: float | None, use: float
) -> None:
    rig.call(
        "PutProvisionedConcurrencyConfig", FunctionName="worker", Qualifier="live", ProvisionedConcurrentExecutions=2
    )
    concurrent(rig, under_way, under_way)

    rig.call("Invoke", FunctionName="worker:live")
    rig.call("Invoke", FunctionName="worker")

    aliased = dimensions_text({"FunctionName": "worker", "Resource": "worker:live"})
    assert sums(rig, "ProvisionedConcurrencyInvocations").get(aliased) == invocations
    assert sums(rig, "ProvisionedConcurrencySpilloverInvocations").get(aliased) == spilled
    assert sums(rig, "ProvisionedConcurrencyUtilization")[aliased] == use


def test_stopped_function_counts_its_throttles(rig: Rig) -> None:
    rig.call("PutFunctionConcurrency", FunctionName="worker", ReservedConcurrentExecutions=0)

    code, _ = rig.refusal("Invoke", FunctionName="worker")

    assert code == "TooManyRequestsException"
    assert sums(rig, "Throttles")[dimensions_text({"FunctionName": "worker"})] == 1
