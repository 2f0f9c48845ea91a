"""Users: made, found, renamed, deleted; what their policies allow; and their access keys."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from botocore.exceptions import ClientError

from redrive.core.errors import ServiceError
from redrive.core.scope import Caller, Scope
from redrive.services.iam import access, limits
from redrive.services.iam.model.role import home
from redrive.services.iam.model.user import User

ACCOUNT = "000000000000"
ANN = f"arn:aws:iam::{ACCOUNT}:user/ann"
QUEUE = f"arn:aws:sqs:us-east-1:{ACCOUNT}:orders"


@pytest.fixture
def ann(iam: Any) -> dict[str, Any]:
    """A user named `ann`."""
    user: dict[str, Any] = iam.create_user(UserName="ann", Tags=[{"Key": "team", "Value": "blue"}])["User"]
    return user


@pytest.fixture
def authorize(world) -> Callable[..., str]:
    """Ask whether ann may do this; the answer is the refusal's sentence, or nothing."""
    caller = Caller(Scope(ACCOUNT, "us-east-1"), "request-1", user_arn=ANN)

    def authorize(action: str = "sqs:SendMessage", policy: str = "") -> str:
        try:
            world.store.run(lambda tx: access.authorize(tx, caller, action, QUEUE, policy=policy))
        except ServiceError as error:
            return error.message
        return ""

    return authorize


def key_of(iam: Any) -> dict[str, Any]:
    key: dict[str, Any] = iam.create_access_key(UserName="ann")["AccessKey"]
    return key


def as_user(world: Any, service: str, key: dict[str, Any], token: str | None = None) -> Any:
    return world.client(
        service, aws_access_key_id=key["AccessKeyId"], aws_secret_access_key=key["SecretAccessKey"],
        aws_session_token=token,
    )  # fmt: skip


def test_user_is_created_and_found(iam, ann):
    assert iam.get_user(UserName="ann")["User"] == ann
    assert (ann["Arn"], ann["Path"], ann["Tags"]) == (ANN, "/", [{"Key": "team", "Value": "blue"}])
    assert re.fullmatch("AIDA[0-9A-F]{17}", ann["UserId"])


def test_user_name_is_unique_without_letter_case(iam, ann, refusal):
    assert refusal("create_user", UserName="ANN") == (
        "EntityAlreadyExists", "User with name ANN already exists.", 409,
    )  # fmt: skip
    assert refusal("get_user", UserName="ANN")[1] == "The user with name ANN cannot be found."


def test_users_are_listed_in_pages_by_path(iam, ann):
    iam.create_user(UserName="bob", Path="/ops/")

    first = iam.list_users(MaxItems=1)

    assert [user["UserName"] for user in first["Users"]] == ["ann"]
    assert [user["UserName"] for user in iam.list_users(Marker=first["Marker"])["Users"]] == ["bob"]
    assert [user["Arn"] for user in iam.list_users(PathPrefix="/ops/")["Users"]] == [
        f"arn:aws:iam::{ACCOUNT}:user/ops/bob"
    ]
    assert "Tags" not in first["Users"][0]


def test_renamed_user_keeps_id_keys_and_policies(world, iam, ann, allow):
    key = key_of(iam)
    iam.put_user_policy(UserName="ann", PolicyName="own", PolicyDocument=allow("sqs:ListQueues"))

    iam.update_user(UserName="ann", NewUserName="Anna", NewPath="/ops/")

    told = as_user(world, "sts", key).get_caller_identity()
    assert told["Arn"] == f"arn:aws:iam::{ACCOUNT}:user/ops/Anna"
    assert told["UserId"] == ann["UserId"]
    as_user(world, "sqs", key).list_queues()
    assert iam.list_access_keys(UserName="Anna")["AccessKeyMetadata"][0]["UserName"] == "Anna"


def test_user_is_not_renamed_to_another(iam, ann, refusal):
    iam.create_user(UserName="bob")

    assert refusal("update_user", UserName="ann", NewUserName="Bob")[0] == "EntityAlreadyExists"
    iam.update_user(UserName="ann", NewUserName="Ann")
    assert iam.get_user(UserName="Ann")["User"]["UserId"] == ann["UserId"]


def test_user_with_keys_or_policies_cannot_be_deleted(iam, ann, refusal, allow):
    key_id = key_of(iam)["AccessKeyId"]
    iam.attach_user_policy(UserName="ann", PolicyArn="arn:aws:iam::aws:policy/AdministratorAccess")
    iam.put_user_policy(UserName="ann", PolicyName="own", PolicyDocument=allow("sqs:*"))

    told = [refusal("delete_user", UserName="ann")]
    iam.delete_access_key(UserName="ann", AccessKeyId=key_id)
    told.append(refusal("delete_user", UserName="ann"))
    iam.detach_user_policy(UserName="ann", PolicyArn="arn:aws:iam::aws:policy/AdministratorAccess")
    told.append(refusal("delete_user", UserName="ann"))
    iam.delete_user_policy(UserName="ann", PolicyName="own")
    iam.delete_user(UserName="ann")

    assert [code for code, _, _ in told] == ["DeleteConflict"] * 3
    assert [message for _, message, _ in told] == [
        "Cannot delete entity, must delete access keys first.",
        "Cannot delete entity, must detach all policies first.",
        "Cannot delete entity, must delete policies first.",
    ]
    assert refusal("get_user", UserName="ann")[0] == "NoSuchEntity"


def test_tags_are_merged_and_taken_away(iam, ann):
    iam.tag_user(UserName="ann", Tags=[{"Key": "TEAM", "Value": "red"}, {"Key": "a", "Value": "b"}])
    iam.untag_user(UserName="ann", TagKeys=["a"])

    assert iam.list_user_tags(UserName="ann")["Tags"] == [{"Key": "TEAM", "Value": "red"}]


def test_user_is_in_no_group(iam, ann):
    assert iam.list_groups_for_user(UserName="ann")["Groups"] == []


def test_user_without_policies_may_do_nothing(ann, authorize):
    assert authorize() == (
        f"User: {ANN} is not authorized to perform: sqs:SendMessage on resource: {QUEUE}"
        " because no identity-based policy allows the sqs:SendMessage action"
    )


def test_policies_of_a_user_decide(iam, ann, authorize, allow):
    iam.put_user_policy(UserName="ann", PolicyName="own", PolicyDocument=allow("sqs:SendMessage", QUEUE))
    assert authorize() == ""
    assert "no identity-based policy" in authorize("sqs:DeleteMessage")

    iam.attach_user_policy(UserName="ann", PolicyArn="arn:aws:iam::aws:policy/AmazonSQSFullAccess")
    assert authorize("sqs:DeleteMessage") == ""

    iam.put_user_policy(UserName="ann", PolicyName="no", PolicyDocument=allow("sqs:*", effect="Deny"))
    assert "with an explicit deny in an identity-based policy" in authorize()


def test_boundary_of_a_user_holds(iam, ann, authorize, allow, refusal):
    arn = iam.create_policy(PolicyName="bound", PolicyDocument=allow("sqs:SendMessage"))["Policy"]["Arn"]
    iam.put_user_policy(UserName="ann", PolicyName="own", PolicyDocument=allow("*"))
    iam.put_user_permissions_boundary(UserName="ann", PermissionsBoundary=arn)

    assert authorize() == ""
    assert "no permissions boundary allows" in authorize("sqs:DeleteMessage")
    assert iam.get_user(UserName="ann")["User"]["PermissionsBoundary"]["PermissionsBoundaryArn"] == arn
    iam.delete_user_permissions_boundary(UserName="ann")
    assert authorize("sqs:DeleteMessage") == ""
    assert refusal("delete_user_permissions_boundary", UserName="ann")[0] == "NoSuchEntity"


def test_conditions_see_the_user(iam, ann, authorize):
    condition = {
        "StringEquals": {"aws:username": "ann", "aws:userid": ann["UserId"], "aws:PrincipalTag/team": "blue"},
        "ArnEquals": {"aws:PrincipalArn": ANN},
    }
    statement = {"Effect": "Allow", "Action": "sqs:*", "Resource": "*", "Condition": condition}
    document = json.dumps({"Version": "2012-10-17", "Statement": [statement]})
    iam.put_user_policy(UserName="ann", PolicyName="own", PolicyDocument=document)

    assert authorize() == ""
    iam.tag_user(UserName="ann", Tags=[{"Key": "team", "Value": "red"}])
    assert authorize() != ""


def test_resource_policy_that_names_the_user_is_enough(ann, authorize):
    statement = {"Effect": "Allow", "Principal": {"AWS": ANN}, "Action": "sqs:SendMessage", "Resource": QUEUE}
    policy = json.dumps({"Version": "2012-10-17", "Statement": [statement]})

    assert authorize(policy=policy) == ""
    assert authorize(policy=policy.replace("user/ann", "user/bob")) != ""


def test_user_that_is_gone_may_do_nothing(authorize):
    assert "no identity-based policy allows" in authorize()


@pytest.mark.parametrize(("trusted", "own", "may"), [
    (ANN, "", True),
    (f"arn:aws:iam::{ACCOUNT}:user/bob", "*", False),
    (f"arn:aws:iam::{ACCOUNT}:root", "", False),
    (f"arn:aws:iam::{ACCOUNT}:root", "sts:AssumeRole", True),
])  # fmt: skip
def test_user_assumes_a_role_that_trusts_them(world, iam, ann, allow, trusted, own, may):
    """Named by the trust policy, a user needs no policy; trusted as part of the account, their own must allow it."""
    trust = {"Effect": "Allow", "Principal": {"AWS": trusted}, "Action": "sts:AssumeRole"}
    document = json.dumps({"Version": "2012-10-17", "Statement": [trust]})
    arn = iam.create_role(RoleName="worker", AssumeRolePolicyDocument=document)["Role"]["Arn"]
    for action in filter(None, [own]):
        iam.put_user_policy(UserName="ann", PolicyName="own", PolicyDocument=allow(action))
    sts = as_user(world, "sts", key_of(iam))

    with contextlib.nullcontext() if may else pytest.raises(ClientError, match="AccessDenied"):
        sts.assume_role(RoleArn=arn, RoleSessionName="run")


def test_session_of_a_user_acts_as_the_user(world, iam, ann, allow):
    iam.put_user_policy(UserName="ann", PolicyName="own", PolicyDocument=allow("sqs:ListQueues"))

    made = as_user(world, "sts", key_of(iam)).get_session_token()["Credentials"]

    session = {"AccessKeyId": made["AccessKeyId"], "SecretAccessKey": made["SecretAccessKey"]}
    assert as_user(world, "sts", session, made["SessionToken"]).get_caller_identity() | {"ResponseMetadata": 0} == {
        "UserId": ann["UserId"], "Account": ACCOUNT, "Arn": ANN, "ResponseMetadata": 0,
    }  # fmt: skip
    as_user(world, "sqs", session, made["SessionToken"]).list_queues()
    with pytest.raises(ClientError, match="AccessDenied"):
        as_user(world, "sqs", session, made["SessionToken"]).create_queue(QueueName="q")


def test_user_looks_after_their_own_keys_without_naming_themselves(world, iam, ann, allow, refusal):
    iam.put_user_policy(UserName="ann", PolicyName="own", PolicyDocument=allow("iam:*", ANN))
    own = as_user(world, "iam", key_of(iam))

    second = own.create_access_key()["AccessKey"]

    assert own.get_user()["User"]["UserName"] == "ann"
    assert {key["AccessKeyId"] for key in own.list_access_keys()["AccessKeyMetadata"]} > {second["AccessKeyId"]}
    assert refusal("create_access_key") == (
        "ValidationError", "Must specify userName when calling with non-User credentials", 400,
    )  # fmt: skip


def test_user_has_two_keys_at_most(iam, ann, refusal):
    keys = [key_of(iam), key_of(iam)]

    assert refusal("create_access_key", UserName="ann") == (
        "LimitExceeded", "Cannot exceed quota for AccessKeysPerUser: 2", 409,
    )  # fmt: skip
    assert {len(key["SecretAccessKey"]) for key in keys} == {40}
    listed = iam.list_access_keys(UserName="ann")["AccessKeyMetadata"]
    assert {key["AccessKeyId"] for key in listed} == {key["AccessKeyId"] for key in keys}
    assert all("SecretAccessKey" not in key and key["Status"] == "Active" for key in listed)


def test_key_of_another_user_is_not_found(iam, ann, refusal):
    iam.create_user(UserName="bob")
    key_id = key_of(iam)["AccessKeyId"]

    assert refusal("delete_access_key", UserName="bob", AccessKeyId=key_id) == (
        "NoSuchEntity", f"The Access Key with id {key_id} cannot be found.", 404,
    )  # fmt: skip


def test_last_use_of_a_key_is_told_to_a_quarter_of_an_hour(world, iam, ann):
    key = key_of(iam)
    told = iam.get_access_key_last_used(AccessKeyId=key["AccessKeyId"])
    assert (told["UserName"], told["AccessKeyLastUsed"]) == ("ann", {"ServiceName": "N/A", "Region": "N/A"})

    as_user(world, "sts", key).get_caller_identity()
    used = iam.get_access_key_last_used(AccessKeyId=key["AccessKeyId"])["AccessKeyLastUsed"]
    world.advance(minutes=14)
    as_user(world, "sts", key).get_caller_identity()
    same = iam.get_access_key_last_used(AccessKeyId=key["AccessKeyId"])["AccessKeyLastUsed"]
    world.advance(minutes=1)
    as_user(world, "sts", key).get_caller_identity()
    later = iam.get_access_key_last_used(AccessKeyId=key["AccessKeyId"])["AccessKeyLastUsed"]

    assert (used["ServiceName"], used["Region"]) == ("sts", "us-east-1")
    assert used == same
    assert (later["LastUsedDate"] - used["LastUsedDate"]).total_seconds() == 15 * 60
    assert used["LastUsedDate"].tzinfo is not None
    assert used["LastUsedDate"] >= datetime(2025, 1, 1, tzinfo=UTC)


def test_policy_attached_to_a_user_is_in_use(iam, ann, allow, refusal):
    arn = iam.create_policy(PolicyName="p", PolicyDocument=allow("sqs:*"))["Policy"]["Arn"]
    iam.attach_user_policy(UserName="ann", PolicyArn=arn)

    assert iam.get_policy(PolicyArn=arn)["Policy"]["AttachmentCount"] == 1
    assert [user["UserName"] for user in iam.list_entities_for_policy(PolicyArn=arn)["PolicyUsers"]] == ["ann"]
    assert refusal("delete_policy", PolicyArn=arn)[0] == "DeleteConflict"
    assert iam.list_attached_user_policies(UserName="ann")["AttachedPolicies"] == [
        {"PolicyName": "p", "PolicyArn": arn}
    ]


def test_inline_policies_of_a_user_have_2048_characters_together(iam, ann, allow, refusal):
    resource = QUEUE + "x" * (2_048 - len(allow("sqs:*", QUEUE).replace(" ", "")))
    iam.put_user_policy(UserName="ann", PolicyName="full", PolicyDocument=allow("sqs:*", resource))

    code, message, _ = refusal("put_user_policy", UserName="ann", PolicyName="more", PolicyDocument=allow("sqs:*"))

    assert (code, message) == ("LimitExceeded", "Maximum policy size of 2048 bytes exceeded for user ann")
    assert iam.list_user_policies(UserName="ann")["PolicyNames"] == ["full"]


def test_policy_of_a_user_is_simulated(iam, ann, allow):
    iam.put_user_policy(UserName="ann", PolicyName="own", PolicyDocument=allow("sqs:SendMessage"))

    told = iam.simulate_principal_policy(PolicySourceArn=ANN, ActionNames=["sqs:SendMessage", "sqs:DeleteMessage"])

    assert [result["EvalDecision"] for result in told["EvaluationResults"]] == ["allowed", "implicitDeny"]


def test_account_has_at_most_5000_users(world, iam, refusal):
    def fill(tx: Any) -> None:
        for number in range(limits.USERS_MAX):
            tx.resources.put(home(ACCOUNT), User(f"u{number}", "/", "AIDA", ACCOUNT, 0))

    world.store.run(fill)

    assert refusal("create_user", UserName="more")[:2] == (
        "LimitExceeded", "Cannot exceed quota for UsersPerAccount: 5000",
    )  # fmt: skip
