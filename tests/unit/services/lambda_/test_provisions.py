"""Which environments provisioned concurrency keeps ready."""

from __future__ import annotations

import pytest

from redrive.delivery.outside.invocation import PROVISIONS
from redrive.services.lambda_.provisions import provisions
from tests.unit.services.lambda_.functions import ARN, Rig, archive


@pytest.fixture(autouse=True)
def _versions(rig: Rig) -> None:
    """A function with the versions 1 and 2, and the alias `live` for version 1."""
    rig.create_function()
    rig.advance(1)
    rig.call("PublishVersion", FunctionName="worker")
    rig.call("UpdateFunctionCode", FunctionName="worker", ZipFile=archive("a = 2"))
    rig.advance(1)
    rig.call("PublishVersion", FunctionName="worker")
    rig.call("CreateAlias", FunctionName="worker", Name="live", FunctionVersion="1")


def provision(rig: Rig, qualifier: str, count: int = 5) -> None:
    rig.call(
        "PutProvisionedConcurrencyConfig", FunctionName="worker", Qualifier=qualifier,
        ProvisionedConcurrentExecutions=count,
    )  # fmt: skip


def kept(rig: Rig) -> list[tuple[str, str, int]]:
    """The ARN, the version and the number of what is kept ready."""
    found = rig.store.run(provisions)
    return [(one.invocation.function_arn, one.invocation.version, one.count) for one in found]


def test_versions_and_aliases_are_kept_ready(rig: Rig) -> None:
    provision(rig, "live", 3)
    provision(rig, "2")

    assert kept(rig) == [(f"{ARN}worker:2", "2", 5), (f"{ARN}worker:live", "1", 3)]


def test_versions_of_an_alias_with_weights_share_its_environments(rig: Rig) -> None:
    provision(rig, "live", 5)

    routing = {"AdditionalVersionWeights": {"2": 0.2}}
    rig.call("UpdateAlias", FunctionName="worker", Name="live", RoutingConfig=routing)

    assert sorted(kept(rig)) == [(f"{ARN}worker:live", "1", 4), (f"{ARN}worker:live", "2", 1)]


@pytest.mark.parametrize(
    ("operation", "params"),
    [
        ("DeleteProvisionedConcurrencyConfig", {"Qualifier": "live"}),
        ("DeleteAlias", {"Name": "live"}),
        ("DeleteFunction", {}),
    ],
)
def test_nothing_is_kept_for_what_is_deleted(rig: Rig, operation: str, params: dict[str, str]) -> None:
    heard: list[frozenset[str]] = []
    provision(rig, "live")
    rig.store.on_commit(heard.append)

    rig.call(operation, FunctionName="worker", **params)

    assert kept(rig) == []
    assert any(PROVISIONS in topics for topics in heard)


def test_change_of_what_is_kept_ready_is_told(rig: Rig) -> None:
    heard: list[frozenset[str]] = []
    rig.store.on_commit(heard.append)

    provision(rig, "live")
    rig.call("UpdateAlias", FunctionName="worker", Name="live", FunctionVersion="2")

    assert sum(PROVISIONS in topics for topics in heard) == 2
    assert kept(rig) == [(f"{ARN}worker:live", "2", 5)]
