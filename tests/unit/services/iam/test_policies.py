"""Managed policies are created with a first version, get up to five, and are deleted when nothing uses them."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from redrive.services.iam import limits

ADMIN = "arn:aws:iam::aws:policy/AdministratorAccess"
ARN = "arn:aws:iam::000000000000:policy/jobs/senders"
GONE = "arn:aws:iam::000000000000:policy/gone"
TOO_MANY_VERSIONS = (
    "A managed policy can have up to 5 versions. Before you create a new version, you must delete an existing version."
)


@pytest.fixture
def managed(iam, allow):
    """A managed policy named `senders` under the path `/jobs/`."""
    return iam.create_policy(
        PolicyName="senders", Path="/jobs/", PolicyDocument=allow("sqs:SendMessage"), Description="May send.",
        Tags=[{"Key": "team", "Value": "red"}],
    )["Policy"]  # fmt: skip


def test_created_policy_has_an_id_an_arn_and_version_one(managed):
    assert managed["Arn"] == ARN
    assert managed["PolicyId"].startswith("ANPA")
    assert len(managed["PolicyId"]) == 21
    assert (managed["DefaultVersionId"], managed["AttachmentCount"], managed["IsAttachable"]) == ("v1", 0, True)
    assert managed["CreateDate"] == managed["UpdateDate"] == datetime(2025, 1, 1, tzinfo=UTC)


def test_found_policy_has_description_tags_and_usage(iam, managed, role):
    iam.attach_role_policy(RoleName="worker", PolicyArn=ARN)
    iam.put_role_permissions_boundary(RoleName="worker", PermissionsBoundary=ARN)

    found = iam.get_policy(PolicyArn=ARN)["Policy"]

    assert found["Description"] == "May send."
    assert found["Tags"] == [{"Key": "team", "Value": "red"}]
    assert (found["AttachmentCount"], found["PermissionsBoundaryUsageCount"]) == (1, 1)


@pytest.mark.parametrize("name", ["senders", "SENDERS"])
def test_policy_name_is_unique_whatever_its_path_and_letter_case(refusal, managed, allow, name):
    expected = ("EntityAlreadyExists", f"A policy called {name} already exists. Duplicate names are not allowed.", 409)

    assert refusal("create_policy", PolicyName=name, PolicyDocument=allow("sqs:*")) == expected


def test_malformed_policy_is_not_created(iam, refusal):
    answer = refusal("create_policy", PolicyName="p", PolicyDocument="nonsense")

    assert answer == ("MalformedPolicyDocument", "Syntax errors in policy.", 400)
    assert iam.list_policies(Scope="Local")["Policies"] == []


def test_managed_policy_may_have_6144_characters(refusal, allow):
    document = allow("sqs:*", f"arn:aws:sqs:us-east-1:000000000000:{'x' * limits.MANAGED_POLICY_CHARACTERS_MAX}")

    assert refusal("create_policy", PolicyName="p", PolicyDocument=document) == (
        "LimitExceeded",
        "Cannot exceed quota for PolicySize: 6144",
        409,
    )


def test_account_has_at_most_1500_policies(refusal, managed, allow, monkeypatch):
    monkeypatch.setattr(limits, "CUSTOMER_POLICIES_MAX", 1)

    assert refusal("create_policy", PolicyName="p", PolicyDocument=allow("sqs:*")) == (
        "LimitExceeded",
        "Cannot exceed quota for PoliciesPerAccount: 1",
        409,
    )


def test_policies_of_aws_exist_from_the_start(iam):
    basic = "arn:aws:iam::aws:policy/service-role/AWSLambdaBasicExecutionRole"

    found = iam.get_policy(PolicyArn=basic)["Policy"]
    version = iam.get_policy_version(PolicyArn=basic, VersionId=found["DefaultVersionId"])["PolicyVersion"]

    assert (found["PolicyName"], found["Path"]) == ("AWSLambdaBasicExecutionRole", "/service-role/")
    assert "logs:PutLogEvents" in version["Document"]["Statement"][0]["Action"]


@pytest.mark.parametrize(
    ("scope", "local", "of_aws"), [("Local", True, False), ("AWS", False, True), ("All", True, True)]
)
def test_policies_are_listed_by_scope(iam, managed, scope, local, of_aws):
    arns = [policy["Arn"] for policy in iam.list_policies(Scope=scope)["Policies"]]

    assert (ARN in arns, ADMIN in arns) == (local, of_aws)


def test_list_of_policies_can_be_narrowed_by_path_and_use(iam, managed, role):
    iam.attach_role_policy(RoleName="worker", PolicyArn=ADMIN)
    iam.put_role_permissions_boundary(RoleName="worker", PermissionsBoundary=ARN)

    def arns(**params: Any) -> list[str]:
        return [policy["Arn"] for policy in iam.list_policies(**params)["Policies"]]

    assert arns(PathPrefix="/jobs/") == [ARN]
    assert arns(OnlyAttached=True) == [ADMIN]
    assert arns(PolicyUsageFilter="PermissionsPolicy") == [ADMIN]
    assert arns(PolicyUsageFilter="PermissionsBoundary") == [ARN]


def test_paginator_finds_every_policy_once(iam, managed):
    pages = iam.get_paginator("list_policies").paginate(PaginationConfig={"PageSize": 5})

    arns = [policy["Arn"] for page in pages for policy in page["Policies"]]

    assert len(arns) == len(set(arns)) > 20
    assert sorted(arns) == sorted(policy["Arn"] for policy in iam.list_policies(MaxItems=1000)["Policies"])


def test_versions_are_numbered_and_one_is_in_force(iam, managed, allow):
    second = iam.create_policy_version(PolicyArn=ARN, PolicyDocument=allow("sqs:*"))["PolicyVersion"]
    third = iam.create_policy_version(PolicyArn=ARN, PolicyDocument=allow("*"), SetAsDefault=True)["PolicyVersion"]

    assert (second["VersionId"], second["IsDefaultVersion"]) == ("v2", False)
    assert (third["VersionId"], third["IsDefaultVersion"]) == ("v3", True)
    assert iam.get_policy(PolicyArn=ARN)["Policy"]["DefaultVersionId"] == "v3"
    found = iam.get_policy_version(PolicyArn=ARN, VersionId="v2")["PolicyVersion"]
    assert found["Document"] == json.loads(allow("sqs:*"))


def test_versions_are_listed_newest_first_in_pages(iam, managed, allow):
    for _ in range(2):
        iam.create_policy_version(PolicyArn=ARN, PolicyDocument=allow("sqs:*"))

    first = iam.list_policy_versions(PolicyArn=ARN, MaxItems=2)
    second = iam.list_policy_versions(PolicyArn=ARN, Marker=first["Marker"])

    assert [version["VersionId"] for version in first["Versions"] + second["Versions"]] == ["v3", "v2", "v1"]
    assert "Document" not in first["Versions"][0]


def test_sixth_version_is_refused(iam, refusal, managed, allow):
    for _ in range(4):
        iam.create_policy_version(PolicyArn=ARN, PolicyDocument=allow("sqs:*"))

    assert refusal("create_policy_version", PolicyArn=ARN, PolicyDocument=allow("sqs:*")) == (
        "LimitExceeded",
        TOO_MANY_VERSIONS,
        409,
    )


def test_number_of_a_deleted_version_is_not_used_again(iam, managed, allow):
    iam.create_policy_version(PolicyArn=ARN, PolicyDocument=allow("sqs:*"))
    iam.delete_policy_version(PolicyArn=ARN, VersionId="v2")

    created = iam.create_policy_version(PolicyArn=ARN, PolicyDocument=allow("sqs:*"))

    assert created["PolicyVersion"]["VersionId"] == "v3"


def test_version_in_force_cannot_be_deleted(iam, refusal, managed, allow):
    expected = ("DeleteConflict", "Cannot delete the default version of a policy.", 409)
    assert refusal("delete_policy_version", PolicyArn=ARN, VersionId="v1") == expected

    iam.create_policy_version(PolicyArn=ARN, PolicyDocument=allow("sqs:*"))
    iam.set_default_policy_version(PolicyArn=ARN, VersionId="v2")
    iam.delete_policy_version(PolicyArn=ARN, VersionId="v1")

    assert [version["VersionId"] for version in iam.list_policy_versions(PolicyArn=ARN)["Versions"]] == ["v2"]


@pytest.mark.parametrize("operation", ["get_policy_version", "set_default_policy_version", "delete_policy_version"])
def test_missing_version_is_named(refusal, managed, operation):
    expected = ("NoSuchEntity", f"Policy {ARN} version v9 does not exist or is not attachable.", 404)

    assert refusal(operation, PolicyArn=ARN, VersionId="v9") == expected


def test_policy_in_use_or_with_versions_cannot_be_deleted(iam, refusal, managed, role, allow):
    in_use = ("DeleteConflict", "Cannot delete a policy attached to entities.", 409)
    iam.attach_role_policy(RoleName="worker", PolicyArn=ARN)
    assert refusal("delete_policy", PolicyArn=ARN) == in_use
    iam.detach_role_policy(RoleName="worker", PolicyArn=ARN)

    iam.put_role_permissions_boundary(RoleName="worker", PermissionsBoundary=ARN)
    assert refusal("delete_policy", PolicyArn=ARN) == in_use
    iam.delete_role_permissions_boundary(RoleName="worker")

    iam.create_policy_version(PolicyArn=ARN, PolicyDocument=allow("sqs:*"))
    assert refusal("delete_policy", PolicyArn=ARN)[1].startswith("This policy has more than one version.")
    iam.delete_policy_version(PolicyArn=ARN, VersionId="v2")

    iam.delete_policy(PolicyArn=ARN)
    assert refusal("get_policy", PolicyArn=ARN) == ("NoSuchEntity", f"Policy {ARN} was not found.", 404)


@pytest.mark.parametrize(
    ("operation", "params"),
    [
        ("delete_policy", {}),
        ("create_policy_version", {"PolicyDocument": "{}"}),
        ("set_default_policy_version", {"VersionId": "v1"}),
        ("delete_policy_version", {"VersionId": "v1"}),
        ("tag_policy", {"Tags": []}),
        ("untag_policy", {"TagKeys": []}),
    ],
)
def test_policies_of_aws_cannot_be_changed(refusal, operation, params):
    code, message, status = refusal(operation, PolicyArn=ADMIN, **params)

    assert (code, status) == ("AccessDenied", 403)
    assert "is not authorized to perform: iam:" in message


@pytest.mark.parametrize(
    ("operation", "params"),
    [
        ("get_policy", {}),
        ("delete_policy", {}),
        ("create_policy_version", {"PolicyDocument": "{}"}),
        ("get_policy_version", {"VersionId": "v1"}),
        ("list_policy_versions", {}),
        ("set_default_policy_version", {"VersionId": "v1"}),
        ("delete_policy_version", {"VersionId": "v1"}),
        ("list_entities_for_policy", {}),
        ("tag_policy", {"Tags": []}),
        ("untag_policy", {"TagKeys": []}),
        ("list_policy_tags", {}),
    ],
)
def test_every_operation_refuses_a_policy_that_is_not_there(refusal, operation, params):
    assert refusal(operation, PolicyArn=GONE, **params) == ("NoSuchEntity", f"Policy {GONE} was not found.", 404)
    malformed = "this is not an arn at all"
    expected = ("InvalidInput", f"ARN {malformed} is not valid.", 400)
    assert refusal(operation, PolicyArn=malformed, **params) == expected


def test_entities_of_a_policy_are_the_roles_that_use_it(iam, managed, role, trust):
    other = iam.create_role(RoleName="bounded", Path="/jobs/", AssumeRolePolicyDocument=trust)["Role"]
    iam.attach_role_policy(RoleName="worker", PolicyArn=ARN)
    iam.put_role_permissions_boundary(RoleName="bounded", PermissionsBoundary=ARN)

    def names(**params: str) -> list[str]:
        return [used["RoleName"] for used in iam.list_entities_for_policy(PolicyArn=ARN, **params)["PolicyRoles"]]

    everything = iam.list_entities_for_policy(PolicyArn=ARN)
    assert everything["PolicyRoles"][0] == {"RoleName": "bounded", "RoleId": other["RoleId"]}
    assert (everything["PolicyGroups"], everything["PolicyUsers"]) == ([], [])
    assert names(EntityFilter="Role") == ["bounded", "worker"]
    assert names(EntityFilter="User") == []
    assert names(PathPrefix="/jobs/") == ["bounded"]
    assert names(PolicyUsageFilter="PermissionsPolicy") == ["worker"]
    assert names(PolicyUsageFilter="PermissionsBoundary") == ["bounded"]


def test_tags_of_a_policy_are_given_and_taken_away(iam, managed):
    iam.tag_policy(PolicyArn=ARN, Tags=[{"Key": "cost", "Value": "1"}])
    iam.untag_policy(PolicyArn=ARN, TagKeys=["team"])

    assert iam.list_policy_tags(PolicyArn=ARN)["Tags"] == [{"Key": "cost", "Value": "1"}]


def test_policy_without_tags_shows_an_empty_list(iam, allow):
    arn = iam.create_policy(PolicyName="plain", PolicyDocument=allow("sqs:*"))["Policy"]["Arn"]

    assert iam.get_policy(PolicyArn=arn)["Policy"]["Tags"] == []


@pytest.mark.parametrize("version", [{}, {"Version": "2008-10-17"}])
def test_managed_policy_is_of_the_current_version(iam, managed, allow, version):
    """Source: https://github.com/Meteor-Community-Packages/Meteor-CollectionFS/issues/630"""
    document = json.dumps({**version, "Statement": json.loads(allow("sqs:*"))["Statement"]})
    message = "Policy document must be version 2012-10-17 or greater."

    with pytest.raises(iam.exceptions.MalformedPolicyDocumentException, match=message):
        iam.create_policy(PolicyName="old", PolicyDocument=document)
    with pytest.raises(iam.exceptions.MalformedPolicyDocumentException, match=message):
        iam.create_policy_version(PolicyArn=ARN, PolicyDocument=document)


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ({"Resource": "arn:aws:iam::xxx:role/bastion"}, "The policy failed legacy parsing"),
        ({"Action": "s q s:SendMessage"}, "Vendor s q s is not valid"),
    ],
)
def test_policy_with_an_impossible_account_or_vendor_is_refused(iam, statement, message):
    """Source: https://github.com/99designs/iamy/issues/65"""
    whole = {"Effect": "Allow", "Action": "sqs:*", "Resource": "*", **statement}
    document = json.dumps({"Version": "2012-10-17", "Statement": whole})

    with pytest.raises(iam.exceptions.MalformedPolicyDocumentException, match=message):
        iam.create_policy(PolicyName="bad", PolicyDocument=document)


@pytest.mark.parametrize("account", ["", "*", "12345678901?", "${aws:PrincipalAccount}", "aws", "123456789012"])
def test_accounts_in_patterns_are_taken(iam, account):
    whole = {"Effect": "Allow", "Action": "iam:*", "Resource": f"arn:aws:iam::{account}:role/x"}

    iam.create_policy(PolicyName="p", PolicyDocument=json.dumps({"Version": "2012-10-17", "Statement": whole}))
