"""Roles are created once per name, found, listed in pages, changed, tagged, and deleted when they are bare."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

from redrive.services.iam import limits

MISSING = ("NoSuchEntity", "The role with name ghost cannot be found.", 404)


def test_created_role_has_an_id_an_arn_and_the_documented_defaults(iam, trust):
    role = iam.create_role(RoleName="worker", Path="/jobs/", AssumeRolePolicyDocument=trust)["Role"]

    assert role["Arn"] == "arn:aws:iam::000000000000:role/jobs/worker"
    assert (role["RoleName"], role["Path"], role["MaxSessionDuration"]) == ("worker", "/jobs/", 3600)
    assert role["RoleId"].startswith("AROA")
    assert len(role["RoleId"]) == 21
    assert role["CreateDate"] == datetime(2025, 1, 1, tzinfo=UTC)
    assert role["AssumeRolePolicyDocument"] == json.loads(trust)
    assert iam.get_role(RoleName="worker")["Role"] == {**role, "RoleLastUsed": {}}


def test_policy_documents_are_percent_encoded_on_the_wire(world, role, allow):
    """Documents in answers are URL-encoded after RFC 3986: a space is `%20`, a slash `%2F`, and a tilde stays.

    Source: https://docs.aws.amazon.com/IAM/latest/APIReference/API_GetRolePolicy.html
    """
    document = allow("iam:*", "arn:aws:iam::*:role/~jobs/*")
    world.call("iam", "PutRolePolicy", RoleName="worker", PolicyName="own", PolicyDocument=document)

    raw = world.call("iam", "GetRolePolicy", RoleName="worker", PolicyName="own")["PolicyDocument"]

    assert raw.startswith("%7B%22Version%22%3A%20%222012-10-17%22%2C")
    assert "%22arn%3Aaws%3Aiam%3A%3A%2A%3Arole%2F~jobs%2F%2A%22" in raw


def test_roles_have_no_region_but_an_account(world, iam, role):
    found = world.client("iam", region="eu-west-1").get_role(RoleName="worker")["Role"]
    assert found == {**role, "RoleLastUsed": {}}
    assert world.client("iam", account="111111111111").list_roles()["Roles"] == []


def test_created_role_shows_its_tags_and_boundary(iam, trust):
    boundary = "arn:aws:iam::aws:policy/PowerUserAccess"
    iam.create_role(
        RoleName="worker", AssumeRolePolicyDocument=trust, MaxSessionDuration=7200, PermissionsBoundary=boundary,
        Tags=[{"Key": "team", "Value": "red"}],
    )  # fmt: skip

    role = iam.get_role(RoleName="worker")["Role"]

    assert role["MaxSessionDuration"] == 7200
    assert role["Tags"] == [{"Key": "team", "Value": "red"}]
    assert role["PermissionsBoundary"] == {"PermissionsBoundaryType": "Policy", "PermissionsBoundaryArn": boundary}


@pytest.mark.parametrize("name", ["worker", "Worker"])
def test_role_name_is_unique_without_letter_case(refusal, role, trust, name):
    expected = ("EntityAlreadyExists", f"Role with name {name} already exists.", 409)

    assert refusal("create_role", RoleName=name, AssumeRolePolicyDocument=trust) == expected


def test_role_is_found_with_its_letter_case_only(refusal, role):
    assert refusal("get_role", RoleName="Worker") == ("NoSuchEntity", "The role with name Worker cannot be found.", 404)


def test_trust_policy_that_cannot_be_read_is_malformed(iam, refusal):
    answer = refusal("create_role", RoleName="worker", AssumeRolePolicyDocument="{")

    assert answer == ("MalformedPolicyDocument", "This policy contains invalid Json", 400)
    assert iam.list_roles()["Roles"] == []


def test_trust_policy_may_have_2048_characters_besides_white_space(refusal, trust):
    document = json.loads(trust)
    document["Id"] = "x" * limits.TRUST_POLICY_CHARACTERS_MAX
    long = json.dumps(document)

    assert refusal("create_role", RoleName="worker", AssumeRolePolicyDocument=long) == (
        "LimitExceeded",
        "Cannot exceed quota for ACLSizePerRole: 2048",
        409,
    )


def test_white_space_does_not_count_towards_the_trust_policy(iam, trust):
    padded = trust.replace('"Statement"', " " * 3000 + '"Statement"')

    assert iam.create_role(RoleName="worker", AssumeRolePolicyDocument=padded)["Role"]["RoleName"] == "worker"


def test_boundary_must_be_a_managed_policy_that_exists(refusal, trust):
    gone = "arn:aws:iam::000000000000:policy/gone"
    not_a_policy = "arn:aws:sqs:us-east-1:000000000000:orders"
    create = {"RoleName": "worker", "AssumeRolePolicyDocument": trust}

    assert refusal("create_role", **create, PermissionsBoundary=gone) == (
        "NoSuchEntity",
        f"Scope ARN: {gone} does not exist or is not attachable.",
        404,
    )
    assert refusal("create_role", **create, PermissionsBoundary=not_a_policy) == (
        "InvalidInput",
        f"ARN {not_a_policy} is not valid.",
        400,
    )


def test_account_has_at_most_1000_roles(world, iam, refusal, trust, monkeypatch):
    monkeypatch.setattr(limits, "ROLES_MAX", 1)
    iam.create_role(RoleName="first", AssumeRolePolicyDocument=trust)

    assert refusal("create_role", RoleName="second", AssumeRolePolicyDocument=trust) == (
        "LimitExceeded",
        "Cannot exceed quota for RolesPerAccount: 1",
        409,
    )


def test_roles_are_listed_in_pages_without_tags_and_boundary(iam, trust):
    for name in ("c", "A", "b"):
        iam.create_role(RoleName=name, AssumeRolePolicyDocument=trust, Tags=[{"Key": "k", "Value": "v"}])

    first = iam.list_roles(MaxItems=2)
    second = iam.list_roles(MaxItems=2, Marker=first["Marker"])

    assert [role["RoleName"] for role in first["Roles"]] == ["A", "b"]
    assert first["IsTruncated"] is True
    assert [role["RoleName"] for role in second["Roles"]] == ["c"]
    assert second["IsTruncated"] is False
    assert "Marker" not in second
    assert "Tags" not in first["Roles"][0]


def test_list_of_roles_can_be_narrowed_to_a_path(iam, trust):
    iam.create_role(RoleName="a", Path="/jobs/nightly/", AssumeRolePolicyDocument=trust)
    iam.create_role(RoleName="b", AssumeRolePolicyDocument=trust)

    assert [role["RoleName"] for role in iam.list_roles(PathPrefix="/jobs/")["Roles"]] == ["a"]


def test_marker_that_no_list_gave_is_refused(refusal):
    assert refusal("list_roles", Marker="ä") == ("ValidationError", "Invalid Marker: ä", 400)


def test_update_changes_what_is_given_and_keeps_the_rest(iam, role):
    iam.update_role(RoleName="worker", Description="Works.")
    iam.update_role(RoleName="worker", MaxSessionDuration=7200)

    updated = iam.get_role(RoleName="worker")["Role"]

    assert (updated["Description"], updated["MaxSessionDuration"]) == ("Works.", 7200)
    assert iam.update_role_description(RoleName="worker", Description="Rests.")["Role"]["Description"] == "Rests."


def test_duration_of_sign_in_sessions_is_unset_until_given_and_after_a_reset(iam, refusal, role):
    assert "MaxSigninSessionDuration" not in iam.get_role(RoleName="worker")["Role"]

    iam.update_role(RoleName="worker", MaxSigninSessionDuration=86_400)
    iam.update_role(RoleName="worker", Description="Works.", ResetMaxSigninSessionDuration=False)
    assert iam.get_role(RoleName="worker")["Role"]["MaxSigninSessionDuration"] == 86_400

    both = refusal("update_role", RoleName="worker", MaxSigninSessionDuration=3600, ResetMaxSigninSessionDuration=True)
    assert both[0] == "InvalidInput"
    assert iam.get_role(RoleName="worker")["Role"]["MaxSigninSessionDuration"] == 86_400

    iam.update_role(RoleName="worker", ResetMaxSigninSessionDuration=True)
    assert "MaxSigninSessionDuration" not in iam.get_role(RoleName="worker")["Role"]


def test_trust_policy_is_replaced_whole(iam, refusal, role):
    changed = {
        "Version": "2012-10-17",
        "Statement": {"Effect": "Allow", "Principal": "*", "Action": "sts:AssumeRole"},
    }

    iam.update_assume_role_policy(RoleName="worker", PolicyDocument=json.dumps(changed))

    assert iam.get_role(RoleName="worker")["Role"]["AssumeRolePolicyDocument"] == changed
    assert refusal("update_assume_role_policy", RoleName="worker", PolicyDocument="[]")[0] == "MalformedPolicyDocument"


def test_role_with_policies_cannot_be_deleted(iam, refusal, role, allow):
    arn = "arn:aws:iam::aws:policy/AmazonSQSFullAccess"
    iam.put_role_policy(RoleName="worker", PolicyName="own", PolicyDocument=allow("sqs:*"))
    iam.attach_role_policy(RoleName="worker", PolicyArn=arn)

    conflict = "DeleteConflict"
    attached = refusal("delete_role", RoleName="worker")
    iam.detach_role_policy(RoleName="worker", PolicyArn=arn)
    inline = refusal("delete_role", RoleName="worker")
    iam.delete_role_policy(RoleName="worker", PolicyName="own")
    iam.delete_role(RoleName="worker")

    assert attached == (conflict, "Cannot delete entity, must detach all policies first.", 409)
    assert inline == (conflict, "Cannot delete entity, must delete policies first.", 409)
    assert refusal("get_role", RoleName="worker")[0] == "NoSuchEntity"


def test_role_has_no_instance_profiles(iam, role):
    """Terraform asks for them before it deletes a role.

    Source: https://docs.aws.amazon.com/IAM/latest/APIReference/API_ListInstanceProfilesForRole.html
    """
    answer = iam.list_instance_profiles_for_role(RoleName="worker")

    assert (answer["InstanceProfiles"], answer["IsTruncated"]) == ([], False)


def test_role_created_again_is_another_role(iam, role, trust):
    iam.delete_role(RoleName="worker")

    again = iam.create_role(RoleName="worker", AssumeRolePolicyDocument=trust)["Role"]

    assert again["RoleId"] != role["RoleId"]


def test_tags_are_merged_without_letter_case_and_listed_in_pages(iam, role):
    iam.tag_role(RoleName="worker", Tags=[{"Key": "Team", "Value": "red"}, {"Key": "cost", "Value": "1"}])
    iam.tag_role(RoleName="worker", Tags=[{"Key": "team", "Value": "blue"}])

    first = iam.list_role_tags(RoleName="worker", MaxItems=1)
    second = iam.list_role_tags(RoleName="worker", Marker=first["Marker"])

    assert first["Tags"] + second["Tags"] == [{"Key": "cost", "Value": "1"}, {"Key": "team", "Value": "blue"}]


def test_untagging_ignores_keys_that_are_not_there(iam, role):
    iam.tag_role(RoleName="worker", Tags=[{"Key": "team", "Value": "red"}, {"Key": "cost", "Value": "1"}])

    iam.untag_role(RoleName="worker", TagKeys=["TEAM", "other"])

    assert iam.list_role_tags(RoleName="worker")["Tags"] == [{"Key": "cost", "Value": "1"}]


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        (["a", "A"], "Duplicate tag keys found. Please note that Tag keys are case insensitive."),
        (["aws:x"], "aws: prefixed tag key names are not allowed for external use."),
    ],
)
def test_tag_keys_are_unique_and_not_of_aws(refusal, role, keys, message):
    tags = [{"Key": key, "Value": "v"} for key in keys]

    assert refusal("tag_role", RoleName="worker", Tags=tags) == ("InvalidInput", message, 400)


def test_role_has_at_most_50_tags(iam, refusal, role):
    iam.tag_role(RoleName="worker", Tags=[{"Key": f"k{number}", "Value": ""} for number in range(50)])

    refused = refusal("tag_role", RoleName="worker", Tags=[{"Key": "one more", "Value": ""}])

    assert refused == ("LimitExceeded", "Cannot exceed quota for TagsPerRole: 50", 409)


@pytest.mark.parametrize(
    ("operation", "params"),
    [
        ("get_role", {}),
        ("update_role", {}),
        ("update_role_description", {"Description": ""}),
        ("update_assume_role_policy", {"PolicyDocument": "{}"}),
        ("delete_role", {}),
        ("tag_role", {"Tags": []}),
        ("untag_role", {"TagKeys": []}),
        ("list_role_tags", {}),
        ("list_instance_profiles_for_role", {}),
        ("put_role_policy", {"PolicyName": "p", "PolicyDocument": "{}"}),
        ("get_role_policy", {"PolicyName": "p"}),
        ("list_role_policies", {}),
        ("delete_role_policy", {"PolicyName": "p"}),
        ("attach_role_policy", {"PolicyArn": "arn:aws:iam::aws:policy/AdministratorAccess"}),
        ("detach_role_policy", {"PolicyArn": "arn:aws:iam::aws:policy/AdministratorAccess"}),
        ("list_attached_role_policies", {}),
        ("put_role_permissions_boundary", {"PermissionsBoundary": "arn:aws:iam::aws:policy/AdministratorAccess"}),
        ("delete_role_permissions_boundary", {}),
    ],
)
def test_every_operation_refuses_a_role_that_is_not_there(refusal, operation, params):
    assert refusal(operation, RoleName="ghost", **params) == MISSING


def test_role_that_was_found_shows_when_it_was_last_used(iam, role):
    """Never, as far as is noted: an empty one, as AWS's of a role that was not used."""
    assert iam.get_role(RoleName="worker")["Role"]["RoleLastUsed"] == {}
