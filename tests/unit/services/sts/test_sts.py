"""STS says who calls, and gives sessions of roles to those whom the roles trust."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from botocore.exceptions import ClientError

from redrive.testing.world import World

ACCOUNT = "000000000000"
OTHER = "111111111111"
ROLE = f"arn:aws:iam::{ACCOUNT}:role/jobs/worker"
ROOT = {"AWS": f"arn:aws:iam::{ACCOUNT}:root"}


@pytest.fixture(scope="module")
def one_world() -> Iterator[World]:
    """A world for all tests: its clock stands still, and clients are costly to make."""
    world = World(seed=1)
    yield world
    world.close()


@pytest.fixture(scope="module")
def one_client(one_world: World) -> Any:
    return one_world.client("sts")


@pytest.fixture
def world(one_world: World) -> Iterator[World]:
    yield one_world
    one_world.store.reset()


@pytest.fixture
def sts(world: World, one_client: Any) -> Any:
    return one_client


def document(**statement: object) -> str:
    """A policy document of one statement."""
    return json.dumps({"Version": "2012-10-17", "Statement": [{"Effect": "Allow", **statement}]})


def create_role(world: World, name: str = "worker", *, path: str = "/jobs/", account: str = ACCOUNT, **trust: object):
    """A role whose trust policy has one statement; it names the account unless `Principal` is given."""
    trusted = {"Action": "sts:AssumeRole", "Principal": ROOT, **trust}
    params = {"RoleName": name, "Path": path, "AssumeRolePolicyDocument": document(**trusted)}
    return world.engine.call(world.caller(account=account), "iam", "CreateRole", params)["Role"]


def as_session(world: World, credentials: dict[str, Any], service: str = "sts") -> Any:
    """A client with temporary credentials."""
    return world.client(
        service,
        aws_access_key_id=credentials["AccessKeyId"],
        aws_secret_access_key=credentials["SecretAccessKey"],
        aws_session_token=credentials["SessionToken"],
    )


def refusal(operation: Any, **params: object) -> tuple[str, str, int]:
    """(code, message, status) of the error that an operation answers."""
    with pytest.raises(ClientError) as caught:
        operation(**params)
    error = caught.value.response["Error"]
    return error["Code"], error["Message"], caught.value.response["ResponseMetadata"]["HTTPStatusCode"]


def is_allowed(operation: Any, **params: object) -> bool:
    """Whether an operation answers rather than to deny access."""
    try:
        operation(**params)
    except ClientError as error:
        if error.response["Error"]["Code"] != "AccessDenied":
            raise
        return False
    return True


def denied(who: str, role_arn: str) -> tuple[str, str, int]:
    message = f"User: {who} is not authorized to perform: sts:AssumeRole on resource: {role_arn}"
    return ("AccessDenied", message, 403)


def test_accounts_own_credentials_are_its_root(sts):
    identity = sts.get_caller_identity()

    assert (identity["UserId"], identity["Account"]) == (ACCOUNT, ACCOUNT)
    assert identity["Arn"] == f"arn:aws:iam::{ACCOUNT}:root"


def test_assumed_role_gives_credentials_of_an_hour(world, sts):
    role = create_role(world)

    answer = sts.assume_role(RoleArn=ROLE, RoleSessionName="run-1")

    credentials = answer["Credentials"]
    assert answer["AssumedRoleUser"] == {
        "AssumedRoleId": f"{role['RoleId']}:run-1",
        "Arn": f"arn:aws:sts::{ACCOUNT}:assumed-role/worker/run-1",
    }
    assert credentials["AccessKeyId"].startswith("ASIA")
    assert (len(credentials["AccessKeyId"]), len(credentials["SecretAccessKey"])) == (20, 40)
    assert credentials["Expiration"] == datetime(2025, 1, 1, 1, tzinfo=UTC)
    assert (
        credentials["SessionToken"]
        != sts.assume_role(RoleArn=ROLE, RoleSessionName="run-1")["Credentials"]["SessionToken"]
    )


def test_session_of_a_role_knows_itself(world, sts):
    role = create_role(world)
    session = as_session(world, sts.assume_role(RoleArn=ROLE, RoleSessionName="run-1")["Credentials"])

    identity = session.get_caller_identity()

    assert (identity["UserId"], identity["Account"]) == (f"{role['RoleId']}:run-1", ACCOUNT)
    assert identity["Arn"] == f"arn:aws:sts::{ACCOUNT}:assumed-role/worker/run-1"


def test_session_of_a_role_that_is_gone_is_nobody(world, sts):
    create_role(world)
    session = as_session(world, sts.assume_role(RoleArn=ROLE, RoleSessionName="run-1")["Credentials"])
    world.call("iam", "DeleteRole", RoleName="worker")

    assert refusal(session.get_caller_identity) == (
        "InvalidClientTokenId",
        "The security token included in the request is invalid.",
        403,
    )


def test_session_may_do_what_the_role_may(world, sts):
    create_role(world)
    session = sts.assume_role(RoleArn=ROLE, RoleSessionName="run-1")["Credentials"]
    list_queues = as_session(world, session, "sqs").list_queues

    code, message, _ = refusal(list_queues)
    policy = document(Action="sqs:ListQueues", Resource="*")
    world.call("iam", "PutRolePolicy", RoleName="worker", PolicyName="p", PolicyDocument=policy)

    assert code in ("AccessDenied", "AccessDeniedException")
    assert "assumed-role/worker/run-1 is not authorized to perform: sqs:ListQueues" in message
    assert list_queues()["ResponseMetadata"]["HTTPStatusCode"] == 200


@pytest.mark.parametrize("role_arn", [f"{ROLE}s", f"arn:aws:iam::{ACCOUNT}:role/worker", "not an arn, but long enough"])
def test_role_that_is_not_there_cannot_be_assumed(world, sts, role_arn):
    create_role(world)

    assert refusal(sts.assume_role, RoleArn=role_arn, RoleSessionName="run-1") == denied(
        f"arn:aws:iam::{ACCOUNT}:root", role_arn
    )


def test_role_that_trusts_only_a_service_cannot_be_assumed(world, sts):
    create_role(world, Principal={"Service": "lambda.amazonaws.com"})

    assert refusal(sts.assume_role, RoleArn=ROLE, RoleSessionName="run-1") == denied(
        f"arn:aws:iam::{ACCOUNT}:root", ROLE
    )


def test_role_that_trusts_another_account_is_assumed_from_there_only(world, sts):
    create_role(world, Principal={"AWS": OTHER})

    answer = world.client("sts", account=OTHER).assume_role(RoleArn=ROLE, RoleSessionName="run-1")

    assert answer["AssumedRoleUser"]["Arn"] == f"arn:aws:sts::{ACCOUNT}:assumed-role/worker/run-1"
    assert refusal(sts.assume_role, RoleArn=ROLE, RoleSessionName="run-1")[0] == "AccessDenied"


@pytest.mark.parametrize(
    ("condition", "params", "trusted"),
    [
        ({"StringEquals": {"sts:ExternalId": "secret"}}, {"ExternalId": "secret"}, True),
        ({"StringEquals": {"sts:ExternalId": "secret"}}, {"ExternalId": "other"}, False),
        ({"StringEquals": {"sts:ExternalId": "secret"}}, {}, False),
        ({"StringLike": {"sts:RoleSessionName": "run-*"}}, {}, True),
        ({"StringLike": {"sts:RoleSessionName": "test-*"}}, {}, False),
        ({"StringEquals": {"aws:RequestedRegion": "us-east-1"}}, {}, True),
        ({"DateLessThan": {"aws:CurrentTime": "2025-01-01T00:00:00Z"}}, {}, False),
    ],
)
def test_trust_policy_may_ask_for_conditions(world, sts, condition, params, trusted):
    create_role(world, Condition=condition)

    assert is_allowed(sts.assume_role, RoleArn=ROLE, RoleSessionName="run-1", **params) is trusted


def chained(world: World, policy: str | None = None, boundary: str | None = None) -> Any:
    """The STS client of a session of a role `first`, with a policy and a boundary."""
    create_role(world, "first", path="/")
    if policy is not None:
        world.call("iam", "PutRolePolicy", RoleName="first", PolicyName="own", PolicyDocument=policy)
    if boundary is not None:
        world.call("iam", "PutRolePermissionsBoundary", RoleName="first", PermissionsBoundary=boundary)
    arn = f"arn:aws:iam::{ACCOUNT}:role/first"
    return as_session(world, world.call("sts", "AssumeRole", RoleArn=arn, RoleSessionName="one")["Credentials"])


MAY_ASSUME = document(Action="sts:AssumeRole", Resource="*")
FORBIDDEN = json.dumps(
    {"Version": "2012-10-17", "Statement": [{"Effect": "Deny", "Action": "sts:AssumeRole", "Resource": "*"}]}
)
FIRST = {"AWS": f"arn:aws:iam::{ACCOUNT}:role/first"}
SQS_ONLY = "arn:aws:iam::aws:policy/AmazonSQSFullAccess"


@pytest.mark.parametrize(
    ("principal", "policy", "boundary", "allowed"),
    [
        (ROOT, MAY_ASSUME, None, True),
        (ROOT, None, None, False),
        (FIRST, None, None, True),
        (FIRST, FORBIDDEN, None, False),
        (FIRST, None, SQS_ONLY, False),
        (ROOT, MAY_ASSUME, SQS_ONLY, False),
        ({"AWS": OTHER}, MAY_ASSUME, None, False),
    ],
)
def test_role_assumes_another_if_trusted_and_not_forbidden(world, principal, policy, boundary, allowed):
    """A trust policy that names the account leaves the rest to the caller's policies; one that names the role does not.

    Source: https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_evaluation-logic_policy-eval-basics-single-account.html
    """
    create_role(world, Principal=principal)
    session = chained(world, policy, boundary)

    assert is_allowed(session.assume_role, RoleArn=ROLE, RoleSessionName="two") is allowed


@pytest.mark.parametrize(("policy", "allowed"), [(MAY_ASSUME, True), (None, False)])
def test_role_of_another_account_needs_both_sides(world, policy, allowed):
    create_role(world, account=OTHER, Principal=FIRST)
    session = chained(world, policy)

    theirs = f"arn:aws:iam::{OTHER}:role/jobs/worker"
    assert is_allowed(session.assume_role, RoleArn=theirs, RoleSessionName="two") is allowed


def test_refused_session_is_named_by_its_own_arn(world):
    create_role(world)
    session = chained(world)

    assert refusal(session.assume_role, RoleArn=ROLE, RoleSessionName="two") == denied(
        f"arn:aws:sts::{ACCOUNT}:assumed-role/first/one", ROLE
    )


def test_session_lasts_as_long_as_the_role_allows(world, sts):
    create_role(world)
    too_long = refusal(sts.assume_role, RoleArn=ROLE, RoleSessionName="run-1", DurationSeconds=7200)
    world.call("iam", "UpdateRole", RoleName="worker", MaxSessionDuration=7200)

    credentials = sts.assume_role(RoleArn=ROLE, RoleSessionName="run-1", DurationSeconds=7200)["Credentials"]

    message = "The requested DurationSeconds exceeds the MaxSessionDuration set for this role."
    assert too_long == ("ValidationError", message, 400)
    assert credentials["Expiration"] == datetime(2025, 1, 1, 2, tzinfo=UTC)


def test_session_begun_by_a_session_lasts_an_hour_at_most(world):
    create_role(world)
    world.call("iam", "UpdateRole", RoleName="worker", MaxSessionDuration=7200)
    session = chained(world, MAY_ASSUME)

    assert refusal(session.assume_role, RoleArn=ROLE, RoleSessionName="two", DurationSeconds=7200) == (
        "ValidationError",
        "The requested DurationSeconds exceeds the 1 hour session limit for roles assumed by role chaining.",
        400,
    )


@pytest.mark.parametrize(
    ("member", "value"),
    [
        ("Policy", MAY_ASSUME),
        ("PolicyArns", [{"arn": SQS_ONLY}]),
        ("Tags", [{"Key": "team", "Value": "red"}]),
        ("TransitiveTagKeys", ["team"]),
        ("SourceIdentity", "bob"),
    ],
)
def test_what_a_session_cannot_carry_is_refused_rather_than_forgotten(world, sts, member, value):
    create_role(world)

    code, message, status = refusal(sts.assume_role, RoleArn=ROLE, RoleSessionName="run-1", **{member: value})

    assert (code, status) == ("NotImplemented", 501)
    assert message == f"redrive does not implement {member} of sessions: leave it out."


def test_code_of_an_mfa_device_is_never_right(world, sts):
    create_role(world)
    expected = ("AccessDenied", "MultiFactorAuthentication failed with invalid MFA one time pass code.", 403)
    device = {"SerialNumber": f"arn:aws:iam::{ACCOUNT}:mfa/me", "TokenCode": "123456"}

    assert refusal(sts.assume_role, RoleArn=ROLE, RoleSessionName="run-1", **device) == expected
    assert refusal(sts.get_session_token, **device) == expected


def test_session_token_stands_for_the_account_for_twelve_hours(world):
    credentials = world.client("sts", account=OTHER).get_session_token()["Credentials"]

    assert credentials["Expiration"] == datetime(2025, 1, 1, 12, tzinfo=UTC)
    assert as_session(world, credentials).get_caller_identity()["Arn"] == f"arn:aws:iam::{OTHER}:root"


def test_session_token_lasts_as_long_as_asked(sts):
    credentials = sts.get_session_token(DurationSeconds=900)["Credentials"]

    assert credentials["Expiration"] == datetime(2025, 1, 1, 0, 15, tzinfo=UTC)


def test_session_of_a_role_has_no_session_token(world):
    assert refusal(chained(world).get_session_token) == (
        "AccessDenied",
        "Cannot call GetSessionToken with session credentials",
        403,
    )
