"""Instance profiles: made, given a role, tagged, deleted."""

from __future__ import annotations

import contextlib
import json
import re
from typing import Any

import pytest
from botocore.exceptions import ClientError


@pytest.fixture
def profile(iam: Any, role: Any) -> dict[str, Any]:
    """An instance profile named `web` with the role `worker`."""
    made: dict[str, Any] = iam.create_instance_profile(
        InstanceProfileName="web", Path="/a/", Tags=[{"Key": "team", "Value": "blue"}]
    )["InstanceProfile"]
    iam.add_role_to_instance_profile(InstanceProfileName="web", RoleName="worker")
    return made


def test_profile_is_told_with_its_role(iam, role, profile):
    found = iam.get_instance_profile(InstanceProfileName="web")["InstanceProfile"]

    assert (profile["Roles"], [one["Arn"] for one in found["Roles"]]) == ([], [role["Arn"]])
    assert found["Arn"] == "arn:aws:iam::000000000000:instance-profile/a/web"
    assert re.fullmatch("AIPA[0-9A-F]{17}", found["InstanceProfileId"])
    assert found["Tags"] == [{"Key": "team", "Value": "blue"}]
    assert [one["InstanceProfileName"] for one in iam.list_instance_profiles()["InstanceProfiles"]] == ["web"]
    listed = iam.list_instance_profiles_for_role(RoleName="worker")["InstanceProfiles"]
    assert [one["InstanceProfileName"] for one in listed] == ["web"]


def test_profile_has_one_role_and_its_own_name(iam, trust, profile, refusal):
    iam.create_role(RoleName="other", AssumeRolePolicyDocument=trust)

    assert refusal("add_role_to_instance_profile", InstanceProfileName="web", RoleName="other") == (
        "LimitExceeded", "Cannot exceed quota for InstanceSessionsPerInstanceProfile: 1", 409,
    )  # fmt: skip
    assert refusal("create_instance_profile", InstanceProfileName="WEB") == (
        "EntityAlreadyExists", "Instance Profile WEB already exists.", 409,
    )  # fmt: skip
    assert refusal("get_instance_profile", InstanceProfileName="ghost") == (
        "NoSuchEntity", "Instance Profile ghost cannot be found.", 404,
    )  # fmt: skip


def test_profile_and_role_are_deleted_once_they_are_apart(iam, profile, refusal):
    sentence = "Cannot delete entity, must remove roles from instance profile first."

    assert refusal("delete_instance_profile", InstanceProfileName="web")[:2] == ("DeleteConflict", sentence)
    assert refusal("delete_role", RoleName="worker")[:2] == ("DeleteConflict", sentence)
    iam.remove_role_from_instance_profile(InstanceProfileName="web", RoleName="worker")
    assert refusal("remove_role_from_instance_profile", InstanceProfileName="web", RoleName="worker")[0] == (
        "NoSuchEntity"
    )  # fmt: skip
    iam.delete_role(RoleName="worker")
    iam.delete_instance_profile(InstanceProfileName="web")
    assert iam.list_instance_profiles()["InstanceProfiles"] == []


def test_tags_of_a_profile_change(iam, profile):
    iam.tag_instance_profile(InstanceProfileName="web", Tags=[{"Key": "stage", "Value": "dev"}])
    iam.untag_instance_profile(InstanceProfileName="web", TagKeys=["team"])

    assert iam.list_instance_profile_tags(InstanceProfileName="web")["Tags"] == [{"Key": "stage", "Value": "dev"}]


@pytest.mark.parametrize(("service", "passes"), [("ec2.amazonaws.com", True), ("lambda.amazonaws.com", False)])
def test_role_of_a_profile_is_passed_to_ec2(world, iam, role, refusal, service, passes):
    iam.create_instance_profile(InstanceProfileName="web")
    iam.create_user(UserName="ann")
    statements = [
        {"Effect": "Allow", "Action": "iam:AddRoleToInstanceProfile", "Resource": "*"},
        {"Effect": "Allow", "Action": "iam:PassRole", "Resource": "*",
         "Condition": {"StringEquals": {"iam:PassedToService": service}}},
    ]  # fmt: skip
    document = json.dumps({"Version": "2012-10-17", "Statement": statements})
    iam.put_user_policy(UserName="ann", PolicyName="p", PolicyDocument=document)
    key = iam.create_access_key(UserName="ann")["AccessKey"]
    ann = world.client(
        "iam", aws_access_key_id=key["AccessKeyId"], aws_secret_access_key=key["SecretAccessKey"]
    )  # fmt: skip

    with contextlib.nullcontext() if passes else pytest.raises(ClientError, match="iam:PassRole"):
        ann.add_role_to_instance_profile(InstanceProfileName="web", RoleName="worker")

    roles = iam.get_instance_profile(InstanceProfileName="web")["InstanceProfile"]["Roles"]
    assert bool(roles) is passes
