"""A role is passed to a service only by whom `iam:PassRole` allows it, for that service and its resource."""

from __future__ import annotations

import io
import json
import zipfile
from typing import Any

import pytest

from redrive.core.errors import ServiceError
from redrive.core.scope import Caller, Scope
from redrive.testing.world import World

PASSED = "arn:aws:iam::000000000000:role/passed"
SCHEDULE = "arn:aws:scheduler:us-east-1:000000000000:schedule/default/nightly"
FUNCTION = "arn:aws:lambda:us-east-1:000000000000:function:worker"
WORKER = Caller(Scope("000000000000", "us-east-1"), "request-1", "arn:aws:iam::000000000000:role/worker", "run-1")


def archive() -> bytes:
    """A zip archive with one module."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as file:
        file.writestr(zipfile.ZipInfo("app.py"), "def handler(event, context): ...\n")
    return content.getvalue()


CALLS: dict[str, tuple[str, dict[str, Any]]] = {
    "CreateSchedule": (
        "scheduler",
        {
            "Name": "nightly", "ScheduleExpression": "rate(1 hour)", "FlexibleTimeWindow": {"Mode": "OFF"},
            "Target": {"Arn": "arn:aws:sqs:us-east-1:000000000000:orders", "RoleArn": PASSED},
        },
    ),
    "CreateFunction": (
        "lambda",
        {
            "FunctionName": "worker", "Role": PASSED, "Runtime": "python3.12", "Handler": "app.handler",
            "Code": {"ZipFile": archive()},
        },
    ),
}  # fmt: skip
CALLS["UpdateSchedule"] = CALLS["CreateSchedule"]
CALLS["UpdateFunctionConfiguration"] = ("lambda", {"FunctionName": "worker", "Role": PASSED})


@pytest.fixture
def world(world: World, iam: Any, role: dict[str, Any]) -> World:
    """A world with a schedule, a function, and the role `passed` that both services may assume."""
    services = ["scheduler.amazonaws.com", "lambda.amazonaws.com"]
    statement = {"Effect": "Allow", "Principal": {"Service": services}, "Action": "sts:AssumeRole"}
    trust = json.dumps({"Version": "2012-10-17", "Statement": statement})
    iam.create_role(RoleName="passed", AssumeRolePolicyDocument=trust)
    return world


def refusal(world: World, operation: str, who: Caller = WORKER, **changed: object) -> str:
    """The sentence with which a call is refused, or nothing."""
    service, params = CALLS[operation]
    try:
        world.engine.call(who, service, operation, {**params, **changed})
    except ServiceError as error:
        return error.message
    return ""


@pytest.mark.parametrize(
    ("policy", "operations"),
    [
        ("AmazonEventBridgeSchedulerFullAccess", ["CreateSchedule", "UpdateSchedule"]),
        ("AWSLambda_FullAccess", ["CreateFunction", "UpdateFunctionConfiguration"]),
    ],
)
def test_managed_policies_let_roles_be_passed_to_their_service(world, iam, policy, operations):
    """Both allow PassRole only where `iam:PassedToService` is their own service."""
    iam.attach_role_policy(RoleName="worker", PolicyArn=f"arn:aws:iam::aws:policy/{policy}")

    assert [refusal(world, operation) for operation in operations] == ["", ""]


@pytest.mark.parametrize("operation", ["CreateSchedule", "CreateFunction"])
@pytest.mark.parametrize(
    ("condition", "allowing"),
    [
        ({"StringEquals": {"iam:PassedToService": "scheduler.amazonaws.com"}}, "CreateSchedule"),
        ({"StringEquals": {"iam:PassedToService": "lambda.amazonaws.com"}}, "CreateFunction"),
        ({"ArnLike": {"iam:AssociatedResourceArn": SCHEDULE}}, "CreateSchedule"),
        ({"ArnLike": {"iam:AssociatedResourceArn": FUNCTION}}, "CreateFunction"),
    ],
)
def test_role_is_passed_only_where_the_condition_holds(world, iam, operation, condition, allowing):
    statements = [
        {"Effect": "Allow", "Action": ["scheduler:*", "lambda:*"], "Resource": "*"},
        {"Effect": "Allow", "Action": "iam:PassRole", "Resource": PASSED, "Condition": condition},
    ]
    document = json.dumps({"Version": "2012-10-17", "Statement": statements})
    iam.put_role_policy(RoleName="worker", PolicyName="own", PolicyDocument=document)

    refused = refusal(world, operation)

    assert ("iam:PassRole on resource" in refused) is (operation != allowing)


def test_function_that_keeps_its_role_passes_none(world, iam, allow):
    refusal(world, "CreateFunction", world.caller())
    iam.put_role_policy(RoleName="worker", PolicyName="own", PolicyDocument=allow("lambda:*"))
    change = {"FunctionName": "worker", "Timeout": 5}

    assert world.engine.call(WORKER, "lambda", "UpdateFunctionConfiguration", change)["Timeout"] == 5
    assert "iam:PassRole" in refusal(world, "UpdateFunctionConfiguration")


@pytest.mark.parametrize("operation", ["CreateSchedule", "CreateFunction"])
def test_no_account_may_pass_a_role_of_another(world, operation):
    """Source: https://docs.aws.amazon.com/IAM/latest/UserGuide/id_roles_use_passrole.html"""
    stranger = world.caller(account="111111111111")

    assert "pass" in refusal(world, operation, stranger).lower()
