"""Aliases: what they point to, weights, and who may use them."""

from __future__ import annotations

import json
from collections import Counter
from contextlib import nullcontext

import pytest

from redrive.core.errors import ServiceError
from redrive.core.scope import Caller, Scope
from tests.unit.services.lambda_.functions import ARN, Rig, archive

INVALID = "InvalidParameterValueException"
NOT_FOUND = "ResourceNotFoundException"
ALIAS = f"{ARN}worker:live"


@pytest.fixture(autouse=True)
def _versions(rig: Rig) -> None:
    """A function with the versions 1 and 2."""
    rig.create_function()
    rig.advance(1)
    rig.call("PublishVersion", FunctionName="worker")
    rig.call("UpdateFunctionCode", FunctionName="worker", ZipFile=archive("a = 2"))
    rig.advance(1)
    rig.call("PublishVersion", FunctionName="worker")


def create(rig: Rig, version: str = "1", name: str = "live", **params: object) -> dict[str, object]:
    return rig.call("CreateAlias", FunctionName="worker", Name=name, FunctionVersion=version, **params)


def test_alias_shows_no_routing_without_weights(rig: Rig) -> None:
    created = create(rig)

    assert created == {
        "AliasArn": ALIAS, "Name": "live", "FunctionVersion": "1", "Description": "",
        "RevisionId": created["RevisionId"],
    }  # fmt: skip
    assert rig.call("GetAlias", FunctionName="worker", Name="live") == created


def test_function_is_found_and_run_by_its_alias(rig: Rig) -> None:
    create(rig)

    found = rig.call("GetFunctionConfiguration", FunctionName="worker:live")
    answer = rig.call("Invoke", FunctionName=ALIAS)

    assert (found["FunctionArn"], found["Version"]) == (ALIAS, "1")
    assert answer["ExecutedVersion"] == "1"
    (ran,) = rig.invoker.invocations
    assert (ran.function_arn, ran.version) == (ALIAS, "1")


def test_events_that_wait_run_the_version_of_the_alias_when_they_start(rig: Rig) -> None:
    create(rig)
    rig.call("Invoke", FunctionName=ALIAS, InvocationType="Event")

    rig.call("UpdateAlias", FunctionName="worker", Name="live", FunctionVersion="2")
    rig.advance(0)

    assert [ran.version for ran in rig.invoker.invocations] == ["2"]


def test_weight_is_the_share_of_the_additional_version(rig: Rig) -> None:
    create(rig, RoutingConfig={"AdditionalVersionWeights": {"2": 0.25}})

    counted = Counter(rig.call("Invoke", FunctionName=ALIAS)["ExecutedVersion"] for _ in range(400))

    assert counted.keys() == {"1", "2"}
    assert 60 <= counted["2"] <= 140


@pytest.mark.parametrize(("weight", "version"), [(0.0, "1"), (1.0, "2")])
def test_weights_of_nothing_and_of_all_are_exact(rig: Rig, weight: float, version: str) -> None:
    create(rig, RoutingConfig={"AdditionalVersionWeights": {"2": weight}})

    assert {rig.call("Invoke", FunctionName=ALIAS)["ExecutedVersion"] for _ in range(30)} == {version}


def test_empty_weights_remove_the_routing(rig: Rig) -> None:
    routing = {"AdditionalVersionWeights": {"2": 0.5}}
    created = create(rig, RoutingConfig=routing)

    kept = rig.call("UpdateAlias", FunctionName="worker", Name="live", Description="d")
    emptied = rig.call(
        "UpdateAlias", FunctionName="worker", Name="live", RoutingConfig={"AdditionalVersionWeights": {}}
    )

    assert created["RoutingConfig"] == kept["RoutingConfig"] == routing
    assert "RoutingConfig" not in emptied
    assert len({created["RevisionId"], kept["RevisionId"], emptied["RevisionId"]}) == 3


@pytest.mark.parametrize(
    ("version", "weights", "refusal"),
    [
        (
            "1", {"2": 0.1, "3": 0.1},
            (INVALID, "Number of items in AdditionalVersionWeights cannot be greater than 1"),
        ),
        (
            "1", {"1": 0.5},
            (
                INVALID, "Invalid function version 1. Function version 1 is already included in routing configuration."
            ),
        ),
        (
            "$LATEST", {"1": 0.5},
            (INVALID, "$LATEST is not supported for an alias pointing to more than 1 version"),
        ),
        ("1", {"7": 0.5}, (NOT_FOUND, f"Function not found: {ARN}worker:7")),
        ("7", {}, (NOT_FOUND, f"Function not found: {ARN}worker:7")),
    ],
)  # fmt: skip
def test_alias_that_cannot_be_is_refused(
    rig: Rig, version: str, weights: dict[str, float], refusal: tuple[str, str]
) -> None:
    given = {"FunctionName": "worker", "Name": "live", "FunctionVersion": version}

    assert rig.refusal("CreateAlias", **given, RoutingConfig={"AdditionalVersionWeights": weights}) == refusal


def test_weight_over_one_is_refused(rig: Rig) -> None:
    code, message = rig.refusal(
        "CreateAlias", FunctionName="worker", Name="live", FunctionVersion="1",
        RoutingConfig={"AdditionalVersionWeights": {"2": 2.0}},
    )  # fmt: skip

    assert code == "ValidationException"
    assert "additionalVersionWeights' failed to satisfy constraint: Map value must satisfy constraint: [" in message


def test_versions_of_weights_share_the_role(rig: Rig) -> None:
    rig.call("UpdateFunctionConfiguration", FunctionName="worker", Role="arn:aws:iam::000000000000:role/other")
    rig.advance(1)
    rig.call("PublishVersion", FunctionName="worker")

    given = {"FunctionName": "worker", "Name": "live", "FunctionVersion": "1"}
    assert rig.refusal("CreateAlias", **given, RoutingConfig={"AdditionalVersionWeights": {"3": 0.5}})[0] == INVALID


def test_errors_of_aliases_are_those_of_aws(rig: Rig) -> None:
    create(rig)
    named = {"FunctionName": "worker", "Name": "gone"}

    twice = rig.refusal("CreateAlias", FunctionName="worker", Name="live", FunctionVersion="2")
    assert twice == ("ResourceConflictException", f"Alias already exists: {ALIAS}")
    assert rig.refusal("GetAlias", **named) == (NOT_FOUND, f"Cannot find alias arn: {ARN}worker:gone")
    assert rig.refusal("UpdateAlias", **named) == (NOT_FOUND, f"Alias not found: {ARN}worker:gone")
    stale = rig.refusal("UpdateAlias", FunctionName="worker", Name="live", RevisionId="x")
    assert stale[0] == "PreconditionFailedException"
    assert rig.call("DeleteAlias", **named) == {}
    assert rig.refusal("Invoke", FunctionName="worker:gone") == (NOT_FOUND, f"Function not found: {ARN}worker:gone")
    assert rig.refusal("DeleteFunction", FunctionName="worker:live") == (
        INVALID, "Deletion of aliases is not currently supported.",
    )  # fmt: skip


def test_version_that_an_alias_uses_is_not_deleted(rig: Rig) -> None:
    create(rig, RoutingConfig={"AdditionalVersionWeights": {"2": 0.5}})

    code, message = rig.refusal("DeleteFunction", FunctionName="worker", Qualifier="2")
    rig.call("DeleteAlias", FunctionName="worker", Name="live")

    assert code == "ResourceConflictException"
    assert message == "Unable to delete version because the following aliases reference it: [live]"
    assert rig.call("DeleteFunction", FunctionName="worker", Qualifier="2") == {"StatusCode": 204}


def test_aliases_are_listed_by_name_and_by_primary_version(rig: Rig) -> None:
    create(rig, "1", "a", RoutingConfig={"AdditionalVersionWeights": {"2": 0.5}})
    create(rig, "2", "b")
    create(rig, "2", "c")

    first = rig.call("ListAliases", FunctionName="worker", MaxItems=2)
    rest = rig.call("ListAliases", FunctionName="worker", Marker=first["NextMarker"])
    of_two = rig.call("ListAliases", FunctionName="worker", FunctionVersion="2")

    assert [one["Name"] for one in first["Aliases"] + rest["Aliases"]] == ["a", "b", "c"]
    assert [one["Name"] for one in of_two["Aliases"]] == ["b", "c"]


def test_each_qualifier_has_a_policy_of_its_own(rig: Rig) -> None:
    create(rig)
    given = {"Action": "lambda:InvokeFunction", "Principal": "111122223333"}
    rig.call("AddPermission", FunctionName="worker", StatementId="all", **given)
    answer = rig.call("AddPermission", FunctionName="worker", Qualifier="live", StatementId="live", **given)

    policy = json.loads(rig.call("GetPolicy", FunctionName="worker", Qualifier="live")["Policy"])

    assert json.loads(answer["Statement"])["Resource"] == ALIAS
    assert [one["Sid"] for one in policy["Statement"]] == ["live"]
    rig.call("RemovePermission", FunctionName="worker:live", StatementId="live")
    assert rig.refusal("GetPolicy", FunctionName="worker:live")[0] == NOT_FOUND
    assert rig.refusal("RemovePermission", FunctionName="worker:live", StatementId="live") == (
        NOT_FOUND, "No policy is associated with the given resource.",
    )  # fmt: skip
    assert rig.call("GetPolicy", FunctionName="worker")["RevisionId"]
    gone = rig.refusal("AddPermission", FunctionName="worker:gone", StatementId="x", **given)
    assert gone == (NOT_FOUND, f"Cannot find alias arn: {ARN}worker:gone")


@pytest.mark.parametrize(("called", "is_allowed"), [("live", True), ("1", False), ("", False)])
def test_permission_for_an_alias_is_for_that_alias_alone(rig: Rig, called: str, *, is_allowed: bool) -> None:
    create(rig)
    given = {"Action": "lambda:InvokeFunction", "Principal": "111122223333", "StatementId": "s"}
    rig.call("AddPermission", FunctionName="worker", Qualifier="live", **given)
    stranger = Caller(Scope("111122223333", "us-east-1"), "r", None, "test")
    arn = f"{ARN}worker:{called}" if called else f"{ARN}worker"

    with nullcontext() if is_allowed else pytest.raises(ServiceError, match="not authorized") as refused:
        rig.engine.call(stranger, "lambda", "Invoke", {"FunctionName": arn})

    assert (refused is None) is is_allowed


def test_policy_and_event_configuration_go_with_the_alias(rig: Rig) -> None:
    create(rig)
    rig.call("PutFunctionEventInvokeConfig", FunctionName="worker:live", MaximumRetryAttempts=0)
    rig.call(
        "AddPermission", FunctionName="worker:live", StatementId="s", Action="lambda:InvokeFunction", Principal="*"
    )

    rig.call("DeleteAlias", FunctionName="worker", Name="live")
    create(rig)

    assert rig.refusal("GetPolicy", FunctionName="worker:live")[0] == NOT_FOUND
    assert rig.refusal("GetFunctionEventInvokeConfig", FunctionName="worker:live") == (
        NOT_FOUND, f"The function {ALIAS} doesn't have an EventInvokeConfig",
    )  # fmt: skip
