"""A role's inline policies, attached policies and boundary are put, found, listed and taken away."""

from __future__ import annotations

import json

import pytest

from redrive.services.iam import limits

SQS = "arn:aws:iam::aws:policy/AmazonSQSFullAccess"
LAMBDA = "arn:aws:iam::aws:policy/service-role/AWSLambdaBasicExecutionRole"
GONE = "arn:aws:iam::000000000000:policy/gone"


def test_inline_policy_is_given_back_as_it_was_put(iam, role, allow):
    iam.put_role_policy(RoleName="worker", PolicyName="own", PolicyDocument=allow("sqs:SendMessage"))
    iam.put_role_policy(RoleName="worker", PolicyName="own", PolicyDocument=allow("sqs:*"))

    found = iam.get_role_policy(RoleName="worker", PolicyName="own")

    assert (found["RoleName"], found["PolicyName"]) == ("worker", "own")
    assert found["PolicyDocument"] == json.loads(allow("sqs:*"))


def test_inline_policies_are_listed_by_name_in_pages(iam, role, allow):
    for name in ("b", "a"):
        iam.put_role_policy(RoleName="worker", PolicyName=name, PolicyDocument=allow("sqs:*"))

    first = iam.list_role_policies(RoleName="worker", MaxItems=1)
    second = iam.list_role_policies(RoleName="worker", Marker=first["Marker"])

    assert (first["PolicyNames"], first["IsTruncated"]) == (["a"], True)
    assert (second["PolicyNames"], second["IsTruncated"]) == (["b"], False)


@pytest.mark.parametrize("operation", ["get_role_policy", "delete_role_policy"])
def test_missing_inline_policy_is_named(refusal, role, operation):
    expected = ("NoSuchEntity", "The role policy with name own cannot be found.", 404)

    assert refusal(operation, RoleName="worker", PolicyName="own") == expected


def test_deleted_inline_policy_is_gone(iam, role, allow):
    iam.put_role_policy(RoleName="worker", PolicyName="own", PolicyDocument=allow("sqs:*"))

    iam.delete_role_policy(RoleName="worker", PolicyName="own")

    assert iam.list_role_policies(RoleName="worker")["PolicyNames"] == []


def test_malformed_inline_policy_changes_nothing(iam, refusal, role):
    document = json.dumps({"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "sqs:*"}]})

    assert refusal("put_role_policy", RoleName="worker", PolicyName="own", PolicyDocument=document) == (
        "MalformedPolicyDocument",
        "Policy statement must contain resources.",
        400,
    )
    assert iam.list_role_policies(RoleName="worker")["PolicyNames"] == []


def test_inline_policies_of_a_role_have_10240_characters_together(iam, refusal, role, allow):
    half = allow("sqs:*", f"arn:aws:sqs:us-east-1:000000000000:{'x' * 6000}")
    iam.put_role_policy(RoleName="worker", PolicyName="a", PolicyDocument=half)

    assert refusal("put_role_policy", RoleName="worker", PolicyName="b", PolicyDocument=half) == (
        "LimitExceeded",
        "Maximum policy size of 10240 bytes exceeded for role worker",
        409,
    )


def test_attached_policies_are_listed_by_name_and_path(iam, role):
    for arn in (LAMBDA, SQS, SQS):
        iam.attach_role_policy(RoleName="worker", PolicyArn=arn)

    everything = iam.list_attached_role_policies(RoleName="worker")
    narrowed = iam.list_attached_role_policies(RoleName="worker", PathPrefix="/service-role/")

    basic = {"PolicyName": "AWSLambdaBasicExecutionRole", "PolicyArn": LAMBDA}
    assert everything["AttachedPolicies"] == [{"PolicyName": "AmazonSQSFullAccess", "PolicyArn": SQS}, basic]
    assert everything["IsTruncated"] is False
    assert narrowed["AttachedPolicies"] == [basic]


def test_attached_policies_come_in_pages(iam, role):
    for arn in (LAMBDA, SQS):
        iam.attach_role_policy(RoleName="worker", PolicyArn=arn)

    first = iam.list_attached_role_policies(RoleName="worker", MaxItems=1)
    second = iam.list_attached_role_policies(RoleName="worker", MaxItems=1, Marker=first["Marker"])

    assert [policy["PolicyArn"] for policy in first["AttachedPolicies"] + second["AttachedPolicies"]] == [SQS, LAMBDA]


def test_detached_policy_is_gone_and_cannot_be_detached_again(iam, refusal, role):
    iam.attach_role_policy(RoleName="worker", PolicyArn=SQS)

    iam.detach_role_policy(RoleName="worker", PolicyArn=SQS)

    assert iam.list_attached_role_policies(RoleName="worker")["AttachedPolicies"] == []
    assert refusal("detach_role_policy", RoleName="worker", PolicyArn=SQS) == (
        "NoSuchEntity",
        f"Policy {SQS} was not found.",
        404,
    )


@pytest.mark.parametrize("arn", [GONE, "arn:aws:iam::aws:policy/service-role/AmazonSQSFullAccess"])
def test_policy_that_does_not_exist_cannot_be_attached(refusal, role, arn):
    expected = ("NoSuchEntity", f"Policy {arn} does not exist or is not attachable.", 404)

    assert refusal("attach_role_policy", RoleName="worker", PolicyArn=arn) == expected


def test_policy_of_another_account_cannot_be_attached(world, refusal, role, allow):
    other = world.client("iam", account="111111111111")
    arn = other.create_policy(PolicyName="theirs", PolicyDocument=allow("sqs:*"))["Policy"]["Arn"]

    assert refusal("attach_role_policy", RoleName="worker", PolicyArn=arn)[0] == "NoSuchEntity"


@pytest.mark.parametrize("operation", ["attach_role_policy", "detach_role_policy"])
def test_what_is_no_arn_is_invalid_input(refusal, role, operation):
    bad = "policy/AmazonSQSFullAccess"

    assert refusal(operation, RoleName="worker", PolicyArn=bad) == ("InvalidInput", f"ARN {bad} is not valid.", 400)


def test_role_has_at_most_ten_attached_policies(world, iam, refusal, role):
    arns = [policy["Arn"] for policy in iam.list_policies(Scope="AWS")["Policies"]]
    for arn in arns[: limits.POLICIES_PER_ROLE_MAX]:
        iam.attach_role_policy(RoleName="worker", PolicyArn=arn)

    assert refusal("attach_role_policy", RoleName="worker", PolicyArn=arns[limits.POLICIES_PER_ROLE_MAX]) == (
        "LimitExceeded",
        "Cannot exceed quota for PoliciesPerRole: 10",
        409,
    )


def test_boundary_is_put_shown_and_taken_away(iam, refusal, role):
    iam.put_role_permissions_boundary(RoleName="worker", PermissionsBoundary=SQS)
    bounded = iam.get_role(RoleName="worker")["Role"]["PermissionsBoundary"]

    iam.delete_role_permissions_boundary(RoleName="worker")

    assert bounded == {"PermissionsBoundaryType": "Policy", "PermissionsBoundaryArn": SQS}
    assert "PermissionsBoundary" not in iam.get_role(RoleName="worker")["Role"]
    assert refusal("delete_role_permissions_boundary", RoleName="worker")[0] == "NoSuchEntity"
    assert refusal("put_role_permissions_boundary", RoleName="worker", PermissionsBoundary=GONE)[0] == "NoSuchEntity"
