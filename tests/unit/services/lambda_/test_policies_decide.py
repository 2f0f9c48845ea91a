"""Resource policies decide: for roles of the account, for other accounts, and for services with their sources."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from redrive.core.errors import ServiceError
from redrive.core.scope import Caller
from redrive.testing.world import World
from tests.unit.services.lambda_.functions import ARN, ROLE, Rig, archive
from tests.unit.services.lambda_.test_wire import TRUST

STRANGER = "111122223333"
INVOKE = {"Action": "lambda:InvokeFunction"}
RULE = "arn:aws:events:us-east-1:000000000000:rule/r"
NOT_FOUND = "ResourceNotFoundException"


@pytest.fixture(scope="module")
def shared() -> Iterator[World]:
    """A function with version 1 and the alias `live`, and a role without permissions."""
    world = World(seed=1)
    for role in ("worker", "plain"):
        world.client("iam").create_role(RoleName=role, AssumeRolePolicyDocument=json.dumps(TRUST))
    world.call(
        "lambda", "CreateFunction", FunctionName="worker", Runtime="python3.12", Role=ROLE, Handler="app.handler",
        Code={"ZipFile": archive()}, Publish=True,
    )  # fmt: skip
    world.call("lambda", "CreateAlias", FunctionName="worker", Name="live", FunctionVersion="1")
    yield world
    world.close()


def may_invoke(world: World, caller: Caller, qualifier: str = "", **statement: Any) -> bool:
    """Whether a caller may invoke the function, with this statement in the policy of the qualifier."""
    named = {"FunctionName": "worker", "StatementId": "s"} | ({"Qualifier": qualifier} if qualifier else {})
    world.call("lambda", "AddPermission", **named, **INVOKE, **statement)
    try:
        world.engine.call(caller, "lambda", "Invoke", {"FunctionName": f"{ARN}worker{qualifier and ':' + qualifier}"})
    except ServiceError as error:
        assert error.code == "AccessDeniedException"  # noqa: PT017 - what is refused is told by the answer.
        return False
    finally:
        world.call("lambda", "RemovePermission", **named)
    return True


@pytest.mark.parametrize(
    ("principal", "is_allowed"),
    [("arn:aws:iam::000000000000:role/plain", True), ("*", True), (STRANGER, False)],
)
def test_policy_is_enough_for_a_role_of_the_account(shared: World, principal: str, *, is_allowed: bool) -> None:
    caller = replace(shared.caller(), role_arn="arn:aws:iam::000000000000:role/plain", session_name="s")

    assert may_invoke(shared, caller, Principal=principal) is is_allowed


@pytest.mark.parametrize(
    ("principal", "conditions", "is_allowed"),
    [
        (STRANGER, {}, True),
        ("*", {}, True),
        ("444455556666", {}, False),
        ("*", {"PrincipalOrgID": "o-0123456789"}, False),
        ("*", {"EventSourceToken": "t"}, False),
        ("*", {"SourceAccount": STRANGER}, False),
    ],
)
@pytest.mark.parametrize("qualifier", ["", "live", "1"])
def test_other_account_needs_a_statement_that_fits(
    shared: World, principal: str, conditions: dict[str, str], qualifier: str, *, is_allowed: bool
) -> None:
    caller = shared.caller(account=STRANGER)

    assert may_invoke(shared, caller, qualifier, Principal=principal, **conditions) is is_allowed


@pytest.mark.parametrize(
    ("conditions", "is_allowed"),
    [
        ({}, True),
        ({"SourceArn": RULE}, True),
        ({"SourceArn": RULE, "SourceAccount": "000000000000"}, True),
        ({"SourceArn": f"{RULE}2"}, False),
        ({"SourceAccount": STRANGER}, False),
    ],
)
def test_service_needs_a_statement_for_its_source(
    shared: World, conditions: dict[str, str], *, is_allowed: bool
) -> None:
    caller = replace(shared.caller(), service="events.amazonaws.com", source_arn=RULE)

    assert may_invoke(shared, caller, Principal="events.amazonaws.com", **conditions) is is_allowed


def test_policy_is_replaced_read_and_deleted_as_a_document(rig: Rig) -> None:
    rig.create_function()
    statement = {
        "Effect": "Allow", "Principal": {"AWS": f"arn:aws:iam::{STRANGER}:root"}, "Action": "lambda:InvokeFunction",
        "Resource": f"{ARN}worker",
    }  # fmt: skip
    document = json.dumps({"Version": "2012-10-17", "Statement": [statement]})
    rig.call("AddPermission", FunctionName="worker", StatementId="old", Principal="*", **INVOKE)

    put = rig.call("PutResourcePolicy", ResourceArn=f"{ARN}worker", Policy=document)

    assert [one["Principal"] for one in json.loads(put["Policy"])["Statement"]] == [statement["Principal"]]
    assert rig.call("GetResourcePolicy", ResourceArn=f"{ARN}worker") == put
    assert rig.call("GetPolicy", FunctionName="worker") == put
    stale = "00000000-0000-0000-0000-000000000000"
    refused = rig.refusal("PutResourcePolicy", ResourceArn=f"{ARN}worker", Policy=document, RevisionId=stale)
    assert refused[0] == "PreconditionFailedException"
    rig.call("DeleteResourcePolicy", ResourceArn=f"{ARN}worker")
    assert rig.refusal("GetResourcePolicy", ResourceArn=f"{ARN}worker")[0] == NOT_FOUND


@pytest.mark.parametrize("text", ["no json", "{}", '{"Version": "2012-10-17", "Statement": []}', "[]"])
def test_document_that_is_no_policy_is_refused(rig: Rig, text: str) -> None:
    rig.create_function()

    code, _ = rig.refusal("PutResourcePolicy", ResourceArn=f"{ARN}worker", Policy=text)

    assert code == "InvalidParameterValueException"
