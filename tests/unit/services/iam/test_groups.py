"""Groups: made, filled, renamed, deleted; and what their policies allow to the users in them."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from redrive.core.errors import ServiceError
from redrive.core.scope import Caller, Scope
from redrive.services.iam import access, limits

ACCOUNT = "000000000000"
ANN = f"arn:aws:iam::{ACCOUNT}:user/ann"
ADMINS = f"arn:aws:iam::{ACCOUNT}:group/staff/admins"
QUEUE = f"arn:aws:sqs:us-east-1:{ACCOUNT}:orders"


@pytest.fixture
def admins(iam: Any) -> dict[str, Any]:
    """A group named `admins` with the user `ann` in it."""
    group: dict[str, Any] = iam.create_group(GroupName="admins", Path="/staff/")["Group"]
    iam.create_user(UserName="ann")
    iam.add_user_to_group(GroupName="admins", UserName="ann")
    return group


@pytest.fixture
def refused(world) -> Callable[[], str]:
    """The sentence with which ann is refused to send to a queue; empty if she may."""
    caller = Caller(Scope(ACCOUNT, "us-east-1"), "request-1", user_arn=ANN)

    def refused() -> str:
        try:
            world.store.run(lambda tx: access.authorize(tx, caller, "sqs:SendMessage", QUEUE))
        except ServiceError as error:
            return error.message
        return ""

    return refused


def test_group_is_created_and_found_with_its_users(iam, admins):
    found = iam.get_group(GroupName="admins")

    assert (found["Group"], [user["UserName"] for user in found["Users"]]) == (admins, ["ann"])
    assert admins["Arn"] == ADMINS
    assert re.fullmatch("AGPA[0-9A-F]{17}", admins["GroupId"])
    assert [group["GroupName"] for group in iam.list_groups()["Groups"]] == ["admins"]
    assert iam.list_groups(PathPrefix="/other/")["Groups"] == []
    assert iam.list_groups_for_user(UserName="ann")["Groups"] == [admins]


def test_group_name_is_unique_without_letter_case(refusal, admins):
    assert refusal("create_group", GroupName="ADMINS") == (
        "EntityAlreadyExists", "Group with name ADMINS already exists.", 409,
    )  # fmt: skip
    assert refusal("get_group", GroupName="ADMINS") == (
        "NoSuchEntity", "The group with name ADMINS cannot be found.", 404,
    )  # fmt: skip


def test_inline_policy_of_a_group_allows_its_users(iam, admins, allow, refused):
    before = refused()
    iam.put_group_policy(GroupName="admins", PolicyName="send", PolicyDocument=allow("sqs:SendMessage"))
    within = refused()
    iam.remove_user_from_group(GroupName="admins", UserName="ann")

    assert (bool(before), within, bool(refused())) == (True, "", True)


def test_policy_attached_to_a_group_allows_its_users(iam, admins, allow, refused):
    arn = iam.create_policy(PolicyName="send", PolicyDocument=allow("sqs:SendMessage"))["Policy"]["Arn"]
    iam.attach_group_policy(GroupName="admins", PolicyArn=arn)
    attached = refused()
    listed = iam.list_attached_group_policies(GroupName="admins")["AttachedPolicies"]
    entities = iam.list_entities_for_policy(PolicyArn=arn)
    count = iam.get_policy(PolicyArn=arn)["Policy"]["AttachmentCount"]
    iam.detach_group_policy(GroupName="admins", PolicyArn=arn)

    assert (attached, bool(refused())) == ("", True)
    assert listed == [{"PolicyName": "send", "PolicyArn": arn}]
    assert entities["PolicyGroups"] == [{"GroupName": "admins", "GroupId": admins["GroupId"]}]
    assert count == 1


def test_denial_of_a_group_goes_before_what_the_user_is_allowed(iam, admins, allow, refused):
    iam.put_user_policy(UserName="ann", PolicyName="p", PolicyDocument=allow("sqs:*"))
    iam.put_group_policy(
        GroupName="admins", PolicyName="p", PolicyDocument=allow("sqs:SendMessage", effect="Deny")
    )  # fmt: skip

    assert "explicit deny in an identity-based policy" in refused()


def test_policy_of_a_group_is_bounded_by_the_boundary_of_the_user(iam, admins, allow, refused):
    iam.put_group_policy(GroupName="admins", PolicyName="p", PolicyDocument=allow("sqs:*"))
    boundary = iam.create_policy(PolicyName="b", PolicyDocument=allow("sqs:ReceiveMessage"))["Policy"]["Arn"]
    iam.put_user_permissions_boundary(UserName="ann", PermissionsBoundary=boundary)

    assert "no permissions boundary allows" in refused()


def test_simulation_names_the_policy_of_the_group(iam, admins, allow):
    iam.put_group_policy(GroupName="admins", PolicyName="send", PolicyDocument=allow("sqs:SendMessage"))

    answer = iam.simulate_principal_policy(PolicySourceArn=ANN, ActionNames=["sqs:SendMessage"])

    (result,) = answer["EvaluationResults"]
    assert (result["EvalDecision"], result["MatchedStatements"]) == (
        "allowed", [{"SourcePolicyId": f"{ADMINS}/send"}],
    )  # fmt: skip


def test_inline_policies_of_a_group_are_told_and_deleted(iam, admins, allow, refusal):
    iam.put_group_policy(GroupName="admins", PolicyName="send", PolicyDocument=allow("sqs:SendMessage"))
    told = iam.get_group_policy(GroupName="admins", PolicyName="send")
    names = iam.list_group_policies(GroupName="admins")["PolicyNames"]
    iam.delete_group_policy(GroupName="admins", PolicyName="send")

    assert (told["GroupName"], told["PolicyDocument"]["Statement"][0]["Action"]) == ("admins", "sqs:SendMessage")
    assert names == ["send"]
    assert refusal("get_group_policy", GroupName="admins", PolicyName="send") == (
        "NoSuchEntity", "The group policy with name send cannot be found.", 404,
    )  # fmt: skip


def test_inline_policies_of_a_group_have_5120_characters_at_most(iam, admins, allow, refusal):
    document = allow("sqs:SendMessage", "arn:aws:sqs:*:*:" + "q" * limits.GROUP_INLINE_POLICIES_CHARACTERS_MAX)

    assert refusal("put_group_policy", GroupName="admins", PolicyName="p", PolicyDocument=document) == (
        "LimitExceeded", "Maximum policy size of 5120 bytes exceeded for group admins", 409,
    )  # fmt: skip


def test_renamed_group_keeps_its_users_and_policies(iam, admins, allow, refused):
    iam.put_group_policy(GroupName="admins", PolicyName="send", PolicyDocument=allow("sqs:SendMessage"))

    iam.update_group(GroupName="admins", NewGroupName="staff", NewPath="/")

    assert refused() == ""
    assert [user["UserName"] for user in iam.get_group(GroupName="staff")["Users"]] == ["ann"]
    assert iam.list_groups_for_user(UserName="ann")["Groups"][0]["GroupId"] == admins["GroupId"]


def test_group_is_deleted_when_it_is_empty(iam, admins, allow, refusal):
    iam.put_group_policy(GroupName="admins", PolicyName="send", PolicyDocument=allow("sqs:SendMessage"))
    conflict = "Cannot delete entity, must {} first."

    assert refusal("delete_group", GroupName="admins")[:2] == (
        "DeleteConflict", conflict.format("remove users from group"),
    )  # fmt: skip
    assert refusal("delete_user", UserName="ann")[1] == conflict.format("remove users from group")
    iam.remove_user_from_group(GroupName="admins", UserName="ann")
    iam.delete_user(UserName="ann")
    assert refusal("delete_group", GroupName="admins")[1] == conflict.format("delete policies")
    iam.delete_group_policy(GroupName="admins", PolicyName="send")
    iam.delete_group(GroupName="admins")
    assert iam.list_groups()["Groups"] == []


def test_user_is_in_ten_groups_at_most_and_in_each_once(iam, admins, refusal):
    for number in range(limits.GROUPS_PER_USER_MAX):
        iam.create_group(GroupName=f"g{number}")
    for number in range(limits.GROUPS_PER_USER_MAX - 1):
        iam.add_user_to_group(GroupName=f"g{number}", UserName="ann")
    iam.add_user_to_group(GroupName="g0", UserName="ann")

    assert refusal("add_user_to_group", GroupName="g9", UserName="ann") == (
        "LimitExceeded", "Cannot exceed quota for GroupsPerUser: 10", 409,
    )  # fmt: skip
    assert refusal("add_user_to_group", GroupName="g9", UserName="bob")[1] == (
        "The user with name bob cannot be found."
    )  # fmt: skip
