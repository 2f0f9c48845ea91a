"""Provisioned concurrency of versions and aliases."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.services.lambda_.functions import ARN, Rig, archive

INVALID = "InvalidParameterValueException"
CONFLICT = "ResourceConflictException"


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


def provision(qualifier: str, count: int = 5) -> dict[str, Any]:
    """The parameters that provision concurrency."""
    return {"FunctionName": "worker", "Qualifier": qualifier, "ProvisionedConcurrentExecutions": count}


def test_allocation_is_in_progress_and_then_ready(rig: Rig) -> None:
    answer = rig.call("PutProvisionedConcurrencyConfig", **provision("live"))
    rig.advance(0.001)
    during = rig.call("GetProvisionedConcurrencyConfig", FunctionName="worker", Qualifier="live")
    rig.advance(1)
    after = rig.call("GetProvisionedConcurrencyConfig", FunctionName="worker", Qualifier="live")

    assert (answer["Status"], answer["AllocatedProvisionedConcurrentExecutions"]) == ("IN_PROGRESS", 0)
    assert during == answer
    assert after == {
        "RequestedProvisionedConcurrentExecutions": 5, "AvailableProvisionedConcurrentExecutions": 5,
        "AllocatedProvisionedConcurrentExecutions": 5, "Status": "READY", "LastModified": answer["LastModified"],
    }  # fmt: skip


def test_configurations_are_listed_and_deleted(rig: Rig) -> None:
    rig.call("PutProvisionedConcurrencyConfig", **provision("live"))
    rig.call("PutProvisionedConcurrencyConfig", **provision("2"))

    first = rig.call("ListProvisionedConcurrencyConfigs", FunctionName="worker", MaxItems=1)
    rest = rig.call("ListProvisionedConcurrencyConfigs", FunctionName="worker", Marker=first["NextMarker"])
    arns = [
        one["FunctionArn"] for one in first["ProvisionedConcurrencyConfigs"] + rest["ProvisionedConcurrencyConfigs"]
    ]
    for _ in range(2):
        rig.call("DeleteProvisionedConcurrencyConfig", FunctionName="worker", Qualifier="2")

    assert arns == [f"{ARN}worker:2", f"{ARN}worker:live"]
    assert rig.refusal("GetProvisionedConcurrencyConfig", FunctionName="worker", Qualifier="2") == (
        "ProvisionedConcurrencyConfigNotFoundException", "No Provisioned Concurrency Config found for this function",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        (
            "1", "live",
            "Alias can't be used for Provisioned Concurrency configuration on an already Provisioned version",
        ),
        ("live", "1", "Version is pointed by a Provisioned Concurrency alias"),
    ],
)  # fmt: skip
def test_alias_and_its_version_exclude_each_other(rig: Rig, first: str, second: str, message: str) -> None:
    rig.call("PutProvisionedConcurrencyConfig", **provision(first))

    assert rig.refusal("PutProvisionedConcurrencyConfig", **provision(second)) == (CONFLICT, message)
    assert rig.call("PutProvisionedConcurrencyConfig", **provision(first, 7))["Status"] == "IN_PROGRESS"


@pytest.mark.parametrize(
    ("qualifier", "count", "refusal"),
    [
        (
            "$LATEST", 1,
            (INVALID, "Provisioned Concurrency Configs cannot be applied to unpublished function versions."),
        ),
        ("7", 1, ("ResourceNotFoundException", f"Function not found: {ARN}worker:7")),
        ("gone", 1, ("ResourceNotFoundException", f"Cannot find alias arn: {ARN}worker:gone")),
        (
            "1", 901,
            (
                INVALID,
                "Specified ConcurrentExecutions for function is greater than account's unreserved concurrency [900].",
            ),
        ),
    ],
)  # fmt: skip
def test_allocation_that_cannot_be_is_refused(rig: Rig, qualifier: str, count: int, refusal: tuple[str, str]) -> None:
    assert rig.refusal("PutProvisionedConcurrencyConfig", **provision(qualifier, count)) == refusal


def test_reserved_concurrency_bounds_the_provisioned(rig: Rig) -> None:
    rig.call("PutFunctionConcurrency", FunctionName="worker", ReservedConcurrentExecutions=5)
    rig.call("PutProvisionedConcurrencyConfig", **provision("2", 3))

    assert rig.refusal("PutProvisionedConcurrencyConfig", **provision("1", 3)) == (
        INVALID,
        "Requested Provisioned Concurrency should not be greater than the reservedConcurrentExecution for function",
    )
    assert rig.refusal("PutFunctionConcurrency", FunctionName="worker", ReservedConcurrentExecutions=2) == (
        INVALID,
        " ReservedConcurrentExecutions  2 should not be lower than function's total provisioned concurrency [3].",
    )


def test_provisioned_concurrency_goes_with_its_alias(rig: Rig) -> None:
    rig.call("PutProvisionedConcurrencyConfig", **provision("live"))

    rig.call("DeleteAlias", FunctionName="worker", Name="live")

    found = rig.call("ListProvisionedConcurrencyConfigs", FunctionName="worker")
    assert found["ProvisionedConcurrencyConfigs"] == []
