"""A role may do what its policies allow within its boundary, and a service may assume it if it is trusted."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable

import pytest

from redrive.core.errors import ServiceError
from redrive.core.scope import Caller, Scope
from redrive.services.iam import access
from redrive.services.iam.model.role import Role, home
from redrive.store.api import Transaction
from redrive.store.connection import SqliteDatabase
from redrive.store.tables.resources import ResourceCache, ResourceTable
from redrive.testing.world import World

ROLE = "arn:aws:iam::000000000000:role/worker"
QUEUE = "arn:aws:sqs:us-east-1:000000000000:orders"
SESSION = "arn:aws:sts::000000000000:assumed-role/worker/run-1"

Authorize = Callable[..., str]


def caller(role_arn: str = ROLE, session_name: str = "run-1", region: str = "us-east-1") -> Caller:
    return Caller(Scope("000000000000", region), "request-1", role_arn, session_name)


@pytest.fixture
def authorize(world: World) -> Authorize:
    """Ask whether the role's session may do this; the answer is the refusal's sentence, or nothing."""

    def authorize(action: str = "sqs:SendMessage", resource: str = QUEUE, who: Caller | None = None) -> str:
        try:
            world.store.run(lambda tx: access.authorize(tx, who or caller(), action, resource))
        except ServiceError as error:
            return error.message
        return ""

    return authorize


def test_role_without_policies_may_do_nothing(authorize, role):
    assert authorize() == (
        f"User: {SESSION} is not authorized to perform: sqs:SendMessage on resource: {QUEUE}"
        " because no identity-based policy allows the sqs:SendMessage action"
    )


def test_refusal_has_the_code_that_the_wire_spells_for_each_protocol(world, role):
    with pytest.raises(ServiceError) as caught:
        world.store.run(lambda tx: access.authorize(tx, caller(), "sqs:SendMessage", QUEUE))

    assert (caught.value.code, caught.value.http_status) == ("AccessDeniedException", None)


def test_inline_policy_allows_what_it_names(authorize, iam, role, allow):
    iam.put_role_policy(RoleName="worker", PolicyName="own", PolicyDocument=allow("sqs:SendMessage", QUEUE))

    assert authorize() == ""
    assert "sqs:DeleteMessage" in authorize("sqs:DeleteMessage")
    assert authorize(resource=f"{QUEUE}-dlq") != ""


def test_denial_under_a_condition_is_weighed_at_each_request(authorize, iam, role):
    """What was allowed in one context is not remembered for another."""
    elsewhere = {"StringEquals": {"aws:RequestedRegion": "eu-west-1"}}
    statements = [
        {"Effect": "Allow", "Action": "sqs:*", "Resource": "*"},
        {"Effect": "Deny", "Action": "sqs:*", "Resource": "*", "Condition": elsewhere},
    ]
    document = json.dumps({"Version": "2012-10-17", "Statement": statements})
    iam.put_role_policy(RoleName="worker", PolicyName="own", PolicyDocument=document)

    assert authorize() == authorize() == ""
    assert "explicit deny" in authorize(who=caller(region="eu-west-1"))


def test_denial_by_a_variable_is_weighed_at_each_request(authorize, iam, role):
    statements = [
        {"Effect": "Allow", "Action": "sqs:*", "Resource": "*"},
        {"Effect": "Deny", "Action": "sqs:*", "Resource": f"{QUEUE}-${{aws:RequestedRegion}}"},
    ]
    document = json.dumps({"Version": "2012-10-17", "Statement": statements})
    iam.put_role_policy(RoleName="worker", PolicyName="own", PolicyDocument=document)

    assert authorize() == ""
    assert "explicit deny" in authorize(resource=f"{QUEUE}-us-east-1")


def test_trust_under_a_condition_is_weighed_at_each_request(world, iam):
    source = {"StringEquals": {"aws:SourceArn": "arn:aws:lambda:us-east-1:000000000000:function:bad"}}
    principal = {"Principal": {"Service": "lambda.amazonaws.com"}, "Action": "sts:AssumeRole"}
    statements = [{"Effect": "Allow", **principal}, {"Effect": "Deny", **principal, "Condition": source}]
    document = json.dumps({"Version": "2012-10-17", "Statement": statements})
    iam.create_role(RoleName="worker", AssumeRolePolicyDocument=document)

    def assume(source_arn: str) -> str | None:
        assumed: Caller = world.store.run(
            lambda tx: access.assume_role(
                tx, ROLE, service="lambda.amazonaws.com", session_name="s", region="us-east-1", request_id="r",
                source_arn=source_arn,
            )
        )  # fmt: skip
        return assumed.role_arn

    assert assume("arn:aws:lambda:us-east-1:000000000000:function:f") == ROLE
    with pytest.raises(ServiceError):
        assume("arn:aws:lambda:us-east-1:000000000000:function:bad")


def test_attached_policy_of_aws_allows_what_it_names(authorize, iam, role):
    iam.attach_role_policy(RoleName="worker", PolicyArn="arn:aws:iam::aws:policy/AmazonSQSFullAccess")

    assert authorize() == ""
    assert authorize("dynamodb:GetItem", "arn:aws:dynamodb:us-east-1:000000000000:table/t") != ""


def test_attached_policy_counts_with_the_version_in_force(authorize, iam, role, allow):
    arn = iam.create_policy(PolicyName="p", PolicyDocument=allow("sqs:*"))["Policy"]["Arn"]
    iam.attach_role_policy(RoleName="worker", PolicyArn=arn)
    before = authorize()

    iam.create_policy_version(PolicyArn=arn, PolicyDocument=allow("logs:*"), SetAsDefault=True)

    assert before == ""
    assert authorize() != ""


def test_explicit_deny_wins_over_every_allow(authorize, iam, role, allow):
    iam.attach_role_policy(RoleName="worker", PolicyArn="arn:aws:iam::aws:policy/AdministratorAccess")
    iam.put_role_policy(RoleName="worker", PolicyName="no", PolicyDocument=allow("sqs:*", effect="Deny"))

    assert authorize().endswith("with an explicit deny in an identity-based policy")


def test_boundary_limits_what_policies_allow(authorize, iam, role):
    iam.attach_role_policy(RoleName="worker", PolicyArn="arn:aws:iam::aws:policy/AdministratorAccess")
    iam.put_role_permissions_boundary(
        RoleName="worker", PermissionsBoundary="arn:aws:iam::aws:policy/AmazonSQSReadOnlyAccess"
    )

    assert authorize().endswith("because no permissions boundary allows the sqs:SendMessage action")
    assert authorize("sqs:GetQueueAttributes") == ""


def test_role_that_is_gone_may_do_nothing(authorize, iam, role, allow):
    iam.put_role_policy(RoleName="worker", PolicyName="own", PolicyDocument=allow("sqs:*"))
    before = authorize()
    iam.delete_role_policy(RoleName="worker", PolicyName="own")
    iam.delete_role(RoleName="worker")

    assert before == ""
    assert authorize() != ""


def test_path_is_part_of_the_identity_of_a_role(authorize, iam, role, allow):
    iam.put_role_policy(RoleName="worker", PolicyName="own", PolicyDocument=allow("sqs:*"))

    assert authorize(who=caller("arn:aws:iam::000000000000:role/other/worker")) != ""


def test_account_needs_a_resource_policy_in_another_account_alone(authorize):
    """What AWS keeps for all accounts is in no other account."""
    account = Caller(Scope("000000000000", "us-east-1"), "request-1")

    assert authorize(who=account) == ""
    assert authorize("iam:GetPolicy", "arn:aws:iam::aws:policy/ReadOnlyAccess", who=account) == ""
    assert authorize("sqs:ListQueues", "*", who=account) == ""
    assert authorize(resource="arn:aws:sqs:us-east-1:111111111111:orders", who=account).endswith(
        "because no resource-based policy allows the sqs:SendMessage action"
    )


def test_policies_of_a_role_do_not_open_another_account(authorize, iam, role):
    iam.attach_role_policy(RoleName="worker", PolicyArn="arn:aws:iam::aws:policy/AdministratorAccess")

    assert authorize(resource="arn:aws:sqs:us-east-1:111111111111:orders") != ""


@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        ({"ArnEquals": {"aws:PrincipalArn": ROLE}}, True),
        ({"StringEquals": {"aws:PrincipalAccount": "000000000000"}}, True),
        ({"StringEquals": {"aws:PrincipalTag/team": "red"}}, True),
        ({"StringEquals": {"aws:PrincipalTag/team": "blue"}}, False),
        ({"StringEquals": {"aws:RequestedRegion": "us-east-1"}}, True),
        ({"StringEquals": {"aws:RequestedRegion": "eu-west-1"}}, False),
        ({"DateLessThan": {"aws:CurrentTime": "2025-01-01T00:00:01Z"}}, True),
        ({"DateGreaterThan": {"aws:CurrentTime": "2025-01-01T00:00:01Z"}}, False),
        ({"NumericEquals": {"aws:EpochTime": "1735689600"}}, True),
        ({"StringLike": {"aws:userid": "AROA*:run-1"}}, True),
        ({"StringEquals": {"aws:ResourceAccount": "000000000000"}}, True),
        ({"Bool": {"aws:SecureTransport": "true"}}, True),
    ],
)
def test_conditions_see_who_calls_when_and_where(authorize, iam, role, condition, holds):
    iam.tag_role(RoleName="worker", Tags=[{"Key": "team", "Value": "red"}])
    statement = {"Effect": "Allow", "Action": "*", "Resource": "*", "Condition": condition}
    document = json.dumps({"Version": "2012-10-17", "Statement": [statement]})
    iam.put_role_policy(RoleName="worker", PolicyName="own", PolicyDocument=document)

    assert (authorize() == "") is holds


def test_role_without_permission_cannot_send_to_a_queue(world, iam, role, allow):
    world.call("sqs", "CreateQueue", QueueName="orders")
    message = {"QueueUrl": "orders", "MessageBody": "1"}

    with pytest.raises(ServiceError, match="is not authorized to perform"):
        world.engine.call(caller(), "sqs", "SendMessage", message)

    iam.put_role_policy(RoleName="worker", PolicyName="own", PolicyDocument=allow("sqs:SendMessage", QUEUE))
    assert "MessageId" in world.engine.call(caller(), "sqs", "SendMessage", message)


def test_role_may_use_iam_only_as_its_policies_say(world, iam, role, allow):
    with pytest.raises(ServiceError, match=r"iam:GetRole on resource: .*role/worker"):
        world.engine.call(caller(), "iam", "GetRole", {"RoleName": "worker"})

    iam.put_role_policy(RoleName="worker", PolicyName="own", PolicyDocument=allow("iam:GetRole", ROLE))
    assert world.engine.call(caller(), "iam", "GetRole", {"RoleName": "worker"})["Role"]["Arn"] == ROLE


def test_decision_costs_no_statement_once_the_role_is_known(world, iam, role, allow):
    iam.put_role_policy(RoleName="worker", PolicyName="own", PolicyDocument=allow("sqs:*"))
    iam.attach_role_policy(RoleName="worker", PolicyArn="arn:aws:iam::aws:policy/AmazonSQSFullAccess")

    def step(tx: Transaction) -> None:
        where = home("000000000000")
        known = ResourceCache()
        known.remember((Role.KIND, str(where), "worker"), tx.resources.get(Role, where, "worker"))
        tx.resources = ResourceTable(SqliteDatabase(sqlite3.connect(":memory:")), known)  # It has no tables to ask.
        access.authorize(tx, caller(), "sqs:SendMessage", QUEUE)

    world.store.run(step)


def assume(
    world: World, *, service: str = "lambda.amazonaws.com", role_arn: str = ROLE, source: str | None = None
) -> Caller:
    return world.store.run(
        lambda tx: access.assume_role(
            tx, role_arn, service=service, session_name="orders", region="eu-west-1", request_id="request-1",
            source_arn=source,
        )
    )  # fmt: skip


def is_trusted(world: World, source: str | None) -> bool:
    try:
        assume(world, source=source)
    except ServiceError:
        return False
    return True


def test_service_that_is_trusted_becomes_a_session_of_the_role(world, role):
    session = assume(world)

    scope = Scope("000000000000", "eu-west-1")
    assert session == Caller(scope, "request-1", ROLE, "orders", invoked_by="lambda.amazonaws.com")
    assert session.principal_arn == "arn:aws:sts::000000000000:assumed-role/worker/orders"


@pytest.mark.parametrize(
    ("service", "role_arn"),
    [
        ("scheduler.amazonaws.com", ROLE),
        ("lambda.amazonaws.com", "arn:aws:iam::000000000000:role/ghost"),
        ("lambda.amazonaws.com", "arn:aws:iam::000000000000:role/other/worker"),
        ("lambda.amazonaws.com", "no arn"),
    ],
)
def test_service_that_is_not_trusted_is_refused(world, role, service, role_arn):
    with pytest.raises(ServiceError) as caught:
        assume(world, service=service, role_arn=role_arn)

    assert caught.value.code == "AccessDeniedException"
    assert caught.value.message == (
        f"User: {service} is not authorized to perform: sts:AssumeRole on resource: {role_arn}"
    )


@pytest.mark.parametrize(
    ("condition", "source", "trusted"),
    [
        ({"StringEquals": {"aws:SourceAccount": "000000000000"}}, QUEUE, True),
        ({"StringEquals": {"aws:SourceAccount": "111111111111"}}, QUEUE, False),
        ({"ArnLike": {"aws:SourceArn": "arn:aws:sqs:*:*:ord*"}}, QUEUE, True),
        ({"ArnLike": {"aws:SourceArn": "arn:aws:sqs:*:*:bills"}}, QUEUE, False),
        ({"ArnLike": {"aws:SourceArn": "arn:aws:sqs:*:*:ord*"}}, None, False),
        ({"StringEquals": {"aws:RequestedRegion": "eu-west-1"}}, None, True),
    ],
)
def test_trust_policy_sees_on_whose_behalf_a_service_acts(world, role, condition, source, trusted):
    """A trust policy protects against the confused deputy by aws:SourceArn and aws:SourceAccount.

    Source: https://docs.aws.amazon.com/IAM/latest/UserGuide/confused-deputy.html
    """
    statement = {
        "Effect": "Allow", "Principal": {"Service": "lambda.amazonaws.com"}, "Action": "sts:AssumeRole",
        "Condition": condition,
    }  # fmt: skip
    document = json.dumps({"Version": "2012-10-17", "Statement": [statement]})
    world.call("iam", "UpdateAssumeRolePolicy", RoleName="worker", PolicyDocument=document)

    assert is_trusted(world, source) is trusted
