"""What a stack consists of is made by whoever asked for it, or by the stack's role; CloudFormation has no rights."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from redrive.core.errors import ServiceError
from redrive.core.scope import Caller, Scope
from redrive.testing.world import World
from tests.unit.services.cloudformation.conftest import Stacks, Template, queue, trust_for

ACCOUNT = "000000000000"
WORKER = Caller(Scope(ACCOUNT, "us-east-1"), "request-1", f"arn:aws:iam::{ACCOUNT}:role/worker", "run-1")
DEPLOYER = f"arn:aws:iam::{ACCOUNT}:role/deployer"
OTHER = f"arn:aws:iam::{ACCOUNT}:role/other"
CLOUDFORMATION = "cloudformation.amazonaws.com"

GRANTING_ROLE: Template = {
    "Type": "AWS::IAM::Role",
    "Properties": {
        "AssumeRolePolicyDocument": trust_for("lambda.amazonaws.com"),
        "ManagedPolicyArns": ["arn:aws:iam::aws:policy/AdministratorAccess"],
    },
}

Allow = Callable[..., None]


@pytest.fixture
def allow(world: World) -> Allow:
    """`allow("deployer", "sqs:*", …)` makes a role, or lets an existing one do these things and no others.

    The role `worker` is that of the caller; the others can be assumed by CloudFormation.
    """
    iam = world.client("iam")

    def allow(name: str, *actions: str, trusted: str = CLOUDFORMATION) -> None:
        if name not in [role["RoleName"] for role in iam.list_roles()["Roles"]]:
            iam.create_role(RoleName=name, AssumeRolePolicyDocument=json.dumps(trust_for(trusted)))
        statement = {"Effect": "Allow", "Action": list(actions), "Resource": "*"}
        document = json.dumps({"Version": "2012-10-17", "Statement": [statement]})
        iam.put_role_policy(RoleName=name, PolicyName="own", PolicyDocument=document)

    return allow


@pytest.fixture
def ask(world: World) -> Callable[..., dict[str, Any]]:
    """`ask("CreateStack", StackName="s", …)` asks as the role `worker`, and lets the stacks run."""

    def ask(operation: str, *, resources: Template | None = None, **params: object) -> dict[str, Any]:
        body = {} if resources is None else {"TemplateBody": json.dumps({"Resources": resources})}
        answer = world.engine.call(WORKER, "cloudformation", operation, {**body, **params})
        world.settle()
        return answer

    return ask


def refused(ask: Callable[..., object], operation: str, **params: object) -> tuple[str, str]:
    with pytest.raises(ServiceError) as caught:
        ask(operation, **params)
    return caught.value.code, caught.value.message


def denied(who: str, session: str, action: str) -> str:
    return f"User: arn:aws:sts::{ACCOUNT}:assumed-role/{who}/{session} is not authorized to perform: {action} on"


def queues(world: World) -> Sequence[str]:
    return [str(url).rsplit("/", 1)[-1] for url in world.client("sqs").list_queues().get("QueueUrls", [])]


def test_role_that_may_only_deploy_cannot_make_a_role_by_a_stack(world, stacks: Stacks, allow: Allow, ask) -> None:
    """The escalation: `cloudformation:*` alone would make an administrator."""
    allow("worker", "cloudformation:*")

    ask("CreateStack", StackName="s", resources={"Admin": GRANTING_ROLE}, Capabilities=["CAPABILITY_IAM"])

    reason = stacks.reason("s", "Admin", "CREATE_FAILED")
    assert reason.startswith('Resource handler returned message: "' + denied("worker", "run-1", "iam:CreateRole"))
    assert "HandlerErrorCode: AccessDenied" in reason
    assert stacks.status("s") == "ROLLBACK_COMPLETE"
    assert [role["RoleName"] for role in world.client("iam").list_roles()["Roles"]] == ["worker"]


def test_stack_is_made_changed_and_deleted_with_the_rights_of_its_callers(world, stacks, allow, ask) -> None:
    allow("worker", "cloudformation:*", "sqs:*")
    ask("CreateStack", StackName="s", resources={"Q": queue(QueueName="q")})
    allow("worker", "cloudformation:*", "sqs:GetQueue*")

    ask("UpdateStack", StackName="s", resources={"Q": queue(QueueName="q", DelaySeconds=5)})
    changed = stacks.reason("s", "Q", "UPDATE_FAILED")
    ask("DeleteStack", StackName="s")

    assert denied("worker", "run-1", "sqs:SetQueueAttributes") in changed
    assert denied("worker", "run-1", "sqs:DeleteQueue") in stacks.reason("s", "Q", "DELETE_FAILED")
    assert (stacks.status("s"), queues(world)) == ("DELETE_FAILED", ["q"])
    stacks.delete("s")
    assert queues(world) == []


def test_caller_whose_role_is_gone_meanwhile_may_do_nothing(world, stacks, allow) -> None:
    allow("worker", "cloudformation:*", "sqs:*")
    body = json.dumps({"Resources": {"Q": queue(QueueName="q")}})
    world.engine.call(WORKER, "cloudformation", "CreateStack", {"StackName": "s", "TemplateBody": body})
    world.client("iam").delete_role_policy(RoleName="worker", PolicyName="own")
    world.client("iam").delete_role(RoleName="worker")

    world.settle()

    assert denied("worker", "run-1", "sqs:GetQueueUrl") in stacks.reason("s", "Q", "CREATE_FAILED")
    assert queues(world) == []


def test_stack_with_a_role_is_made_with_the_rights_of_that_role(world, stacks, allow, ask) -> None:
    allow("worker", "cloudformation:*", "iam:PassRole")
    allow("deployer", "sqs:*")
    resources = {"Q": queue(QueueName="q"), "Admin": {**GRANTING_ROLE, "DependsOn": "Q"}}

    ask(
        "CreateStack", StackName="s", RoleARN=DEPLOYER, resources=resources, Capabilities=["CAPABILITY_IAM"],
        OnFailure="DO_NOTHING",
    )  # fmt: skip

    assert queues(world) == ["q"]
    assert denied("deployer", "AWSCloudFormation", "iam:CreateRole") in stacks.reason("s", "Admin", "CREATE_FAILED")


@pytest.mark.parametrize(
    ("operation", "stack", "params"),
    [
        ("CreateStack", "new", {"resources": {"Q": queue()}}),
        ("UpdateStack", "old", {"resources": {"Q": queue(DelaySeconds=1)}}),
        ("DeleteStack", "old", {}),
        ("CreateChangeSet", "old", {"resources": {"Q": queue(DelaySeconds=1)}, "ChangeSetName": "c"}),
    ],
)
def test_role_is_passed_only_by_whom_iam_allows_it(stacks, allow, ask, operation, stack, params) -> None:
    stacks.create("old", {"Q": queue()})
    allow("worker", "cloudformation:*")
    allow("deployer", "sqs:*")

    code, message = refused(ask, operation, StackName=stack, RoleARN=DEPLOYER, **params)

    assert code == "AccessDeniedException"
    assert message.startswith(denied("worker", "run-1", "iam:PassRole") + f" resource: {DEPLOYER}")


def test_role_may_be_passed_for_cloudformation_alone(world, allow, ask) -> None:
    allow("worker", "cloudformation:*")
    allow("deployer", "sqs:*")
    document = {
        "Effect": "Allow", "Action": "iam:PassRole", "Resource": DEPLOYER,
        "Condition": {"StringEquals": {"iam:PassedToService": CLOUDFORMATION}},
    }  # fmt: skip
    text = json.dumps({"Version": "2012-10-17", "Statement": [document]})
    world.client("iam").put_role_policy(RoleName="worker", PolicyName="pass", PolicyDocument=text)

    ask("CreateStack", StackName="s", RoleARN=DEPLOYER, resources={"Q": queue(QueueName="q")})

    assert queues(world) == ["q"]


@pytest.mark.parametrize("role", [DEPLOYER, f"arn:aws:iam::{ACCOUNT}:role/none"])
def test_role_that_does_not_trust_cloudformation_is_refused(stacks, allow, refusal, role) -> None:
    allow("deployer", "sqs:*", trusted="lambda.amazonaws.com")

    code, message = refusal(stacks.create, "s", {"Q": queue()}, RoleARN=role)

    assert (code, message) == ("ValidationError", f"Role {role} is invalid or cannot be assumed")


def test_role_stays_the_stacks_for_whoever_may_operate_on_it(world, stacks, allow, ask) -> None:
    """As AWS says: later operations use it even for users who may not pass it."""
    allow("worker", "cloudformation:*")
    allow("deployer", "sqs:*")
    stacks.create("s", {"Q": queue(QueueName="q")}, RoleARN=DEPLOYER)

    ask("UpdateStack", StackName="s", resources={"Q": queue(QueueName="q", DelaySeconds=7), "R": queue(QueueName="r")})
    updated = (stacks.status("s"), queues(world))
    ask("DeleteStack", StackName="s")

    assert updated == ("UPDATE_COMPLETE", ["q", "r"])
    assert queues(world) == []


def test_role_of_an_update_replaces_that_of_the_stack_also_if_the_update_fails(stacks, allow) -> None:
    allow("deployer", "sqs:*")
    allow("other", "sqs:GetQueue*")
    stacks.create("s", {"Q": queue(QueueName="q")}, RoleARN=DEPLOYER)

    stacks.update("s", {"Q": queue(QueueName="q", DelaySeconds=7)}, RoleARN=OTHER)

    assert denied("other", "AWSCloudFormation", "sqs:SetQueueAttributes") in stacks.reason("s", "Q", "UPDATE_FAILED")
    assert (stacks.status("s"), stacks.describe("s")["RoleARN"]) == ("UPDATE_ROLLBACK_COMPLETE", OTHER)


def test_role_that_is_gone_holds_the_stack_until_it_gets_another(world, stacks, allow, refusal) -> None:
    allow("deployer", "sqs:*")
    allow("other", "sqs:*")
    stacks.create("s", {"Q": queue(QueueName="q")}, RoleARN=DEPLOYER)
    world.client("iam").delete_role_policy(RoleName="deployer", PolicyName="own")
    world.client("iam").delete_role(RoleName="deployer")

    assert refusal(stacks.delete, "s")[1] == f"Role {DEPLOYER} is invalid or cannot be assumed"
    stacks.delete("s", RoleARN=OTHER)
    assert queues(world) == []


def test_rollback_has_no_other_rights_than_what_it_takes_back(world, stacks, allow, ask) -> None:
    allow("worker", "cloudformation:*", "sqs:CreateQueue", "sqs:GetQueue*")
    broken = {"Dead": queue(QueueName="dead"), "Bad": {**queue(DelaySeconds=5_000), "DependsOn": "Dead"}}

    ask("CreateStack", StackName="s", resources=broken)

    assert denied("worker", "run-1", "sqs:DeleteQueue") in stacks.reason("s", "Dead", "DELETE_FAILED")
    assert (stacks.status("s"), queues(world)) == ("ROLLBACK_FAILED", ["dead"])


def test_change_set_is_executed_as_its_role_or_as_whoever_executes_it(world, stacks, allow, ask) -> None:
    allow("worker", "cloudformation:*")
    allow("deployer", "sqs:*")
    body = {name: json.dumps({"Resources": {"Q": queue(QueueName=name)}}) for name in ("own", "passed")}
    create = world.client("cloudformation").create_change_set
    create(StackName="own", ChangeSetName="c", ChangeSetType="CREATE", TemplateBody=body["own"])
    create(StackName="passed", ChangeSetName="c", ChangeSetType="CREATE", TemplateBody=body["passed"], RoleARN=DEPLOYER)

    ask("ExecuteChangeSet", StackName="own", ChangeSetName="c")
    ask("ExecuteChangeSet", StackName="passed", ChangeSetName="c")

    assert denied("worker", "run-1", "sqs:GetQueueUrl") in stacks.reason("own", "Q", "CREATE_FAILED")
    assert (stacks.status("passed"), queues(world)) == ("CREATE_COMPLETE", ["passed"])


def test_group_that_may_not_be_looked_at_fails_instead_of_waiting(world, stacks, allow, ask) -> None:
    """While a schedule group goes, its state is asked for; who may not ask gets a reason, not a defect."""
    stacks.create("s", {"G": {"Type": "AWS::Scheduler::ScheduleGroup", "Properties": {"Name": "g"}}})
    allow("worker", "cloudformation:*", "scheduler:DeleteScheduleGroup")

    ask("DeleteStack", StackName="s")

    assert denied("worker", "run-1", "scheduler:GetScheduleGroup") in stacks.reason("s", "G", "DELETE_FAILED")
