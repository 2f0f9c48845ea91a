"""Policies of buckets: which are valid, and what they decide together with those of callers."""

from __future__ import annotations

from typing import Any

import pytest

from redrive.core.scope import canonical_user
from tests.unit.services.s3.desk import ALL, ANYBODY, OTHER, Desk, allow, deny, policy

DOCS = "arn:aws:s3:::docs"


@pytest.fixture(autouse=True)
def _a_bucket(desk: Desk) -> None:
    desk.bucket()
    desk.put("a")


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ("", "Policies must be valid JSON and the first byte must be '{'"),
        ("[]", "Policies must be valid JSON and the first byte must be '{'"),
        ("{}", "Missing required field Statement"),
        (policy(allow("s3:GetObject", f"{DOCS}/*", Principal={"AWS": "nobody"})), "Invalid principal in policy"),
        (policy(allow("s3:GetObject", "arn:aws:s3:::other/*", **ANYBODY)), "Policy has invalid resource"),
        (policy(allow("sqs:SendMessage", f"{DOCS}/*", **ANYBODY)), "Policy has invalid action"),
    ],
)
def test_invalid_policy_is_refused(document: str, message: str, desk: Desk) -> None:
    refused = desk.refusal("PutBucketPolicy", Bucket="docs", Policy=document)

    assert (refused.code, refused.message) == ("MalformedPolicy", message)


def test_bucket_without_a_policy_says_so_and_deleting_none_is_fine(desk: Desk) -> None:
    assert desk.code("GetBucketPolicy", Bucket="docs") == "NoSuchBucketPolicy"
    assert desk.code("GetBucketPolicyStatus", Bucket="docs") == "NoSuchBucketPolicy"
    assert desk.code("DeleteBucketPolicy", Bucket="docs") == ""


def test_role_without_a_permission_hears_which_one_it_lacks(desk: Desk) -> None:
    refused = desk.refusal("GetObject", desk.role("nobody"), Bucket="docs", Key="a")

    assert (refused.code, refused.http_status) == ("AccessDenied", 403)
    assert refused.message == (
        "User: arn:aws:sts::000000000000:assumed-role/nobody/s is not authorized to perform: s3:GetObject on resource: "
        '"arn:aws:s3:::docs/a" because no identity-based policy allows the s3:GetObject action'
    )


def test_policy_of_the_bucket_is_enough_for_a_role_of_its_own_account(desk: Desk) -> None:
    role = desk.role("reader")

    desk.set_policy(allow("s3:GetObject", f"{DOCS}/*", Principal={"AWS": role.role_arn}))

    assert desk.call("GetObject", role, Bucket="docs", Key="a")["Body"] == b"x"
    assert desk.code("PutObject", role, Bucket="docs", Key="a", Body=b"") == "AccessDenied"


def test_across_accounts_both_sides_have_to_allow(desk: Desk) -> None:
    may = desk.role("may", allow("s3:GetObject", f"{DOCS}/*"), account=OTHER)
    may_not = desk.role("may-not", account=OTHER)
    root = desk.of(account=OTHER)
    before = [desk.code("GetObject", caller, Bucket="docs", Key="a") for caller in (may, may_not, root)]

    desk.set_policy(allow("s3:GetObject", f"{DOCS}/*", Principal={"AWS": OTHER}))

    after = [desk.code("GetObject", caller, Bucket="docs", Key="a") for caller in (may, may_not, root)]
    assert before == ["AccessDenied"] * 3
    assert after == ["", "AccessDenied", ""]


def test_account_may_be_named_by_its_canonical_user(desk: Desk) -> None:
    desk.set_policy(allow("s3:GetObject", f"{DOCS}/*", Principal={"CanonicalUser": canonical_user(OTHER)}))

    assert desk.code("GetObject", desk.of(account=OTHER), Bucket="docs", Key="a") == ""
    assert desk.code("GetObject", desk.of(account="2" * 12), Bucket="docs", Key="a") == "AccessDenied"


def test_only_the_buckets_own_account_handles_its_policy(desk: Desk) -> None:
    desk.set_policy(allow("s3:*", ALL, Principal={"AWS": OTHER}))
    stranger = desk.of(account=OTHER)

    assert desk.refusal("GetBucketPolicy", stranger, Bucket="docs").http_status == 405
    assert desk.code("DeleteBucketPolicy", stranger, Bucket="docs") == "MethodNotAllowed"


def test_nobody_in_particular_reads_what_the_policy_opens_to_everyone(desk: Desk) -> None:
    before = desk.refusal("GetObject", desk.anyone, Bucket="docs", Key="a")
    desk.open_to_policies()

    desk.set_policy(allow("s3:GetObject", f"{DOCS}/*", **ANYBODY))

    assert (before.code, before.message) == ("AccessDenied", "Access Denied")
    assert desk.call("GetObject", desk.anyone, Bucket="docs", Key="a")["Body"] == b"x"
    assert desk.code("ListObjectsV2", desk.anyone, Bucket="docs") == "AccessDenied"
    assert desk.code("ListBuckets", desk.anyone) == "AccessDenied"
    assert desk.code("CreateBucket", desk.anyone, Bucket="mine") == "AccessDenied"


FIXED = {"Condition": {"StringEquals": {"aws:SourceArn": "arn:aws:sns:us-east-1:000000000000:t"}}}
OPEN = {"Condition": {"StringLike": {"aws:SourceArn": "arn:aws:sns:*"}}}


@pytest.mark.parametrize(
    ("more", "is_public"),
    [
        ({"Principal": "*"}, True),
        ({"Principal": {"AWS": "*"}}, True),
        ({"Principal": {"AWS": OTHER}}, False),
        ({"Principal": {"Service": "sns.amazonaws.com"}}, False),
        ({"Principal": "*", **FIXED}, False),
        ({"Principal": "*", **OPEN}, True),
        ({"Principal": "*", "Condition": {"IpAddress": {"aws:SourceIp": "10.0.0.0/16"}}}, False),
        ({"Principal": "*", "Condition": {"IpAddress": {"aws:SourceIp": "0.0.0.0/0"}}}, True),
        ({"Principal": "*", "Condition": {"StringEqualsIfExists": FIXED["Condition"]["StringEquals"]}}, True),
        ({"Principal": "*", "Condition": {"StringEquals": {"s3:prefix": "x"}}}, True),
    ],
)
def test_public_policy_is_refused_while_public_policies_are_blocked(
    more: dict[str, Any], is_public: bool, desk: Desk
) -> None:
    document = policy(allow("s3:GetObject", f"{DOCS}/*", **more))

    blocked = desk.code("PutBucketPolicy", Bucket="docs", Policy=document)
    desk.call("DeletePublicAccessBlock", Bucket="docs")
    desk.call("PutBucketPolicy", Bucket="docs", Policy=document)

    assert blocked == ("AccessDenied" if is_public else "")
    assert desk.call("GetBucketPolicyStatus", Bucket="docs") == {"PolicyStatus": {"IsPublic": is_public}}


def test_restricted_bucket_with_a_public_policy_serves_its_account_and_services_alone(desk: Desk) -> None:
    desk.open_to_policies()
    desk.set_policy(allow("s3:GetObject", f"{DOCS}/*", **ANYBODY))
    role, stranger = desk.role("reader"), desk.of(account=OTHER)

    desk.call("PutPublicAccessBlock", Bucket="docs", PublicAccessBlockConfiguration={"RestrictPublicBuckets": True})

    codes = [desk.code("GetObject", caller, Bucket="docs", Key="a") for caller in (role, stranger, desk.anyone)]
    assert codes == ["", "AccessDenied", "AccessDenied"]


def test_deny_binds_the_accounts_own_root_who_can_always_take_the_policy_away(desk: Desk) -> None:
    desk.set_policy(deny("s3:*", ALL, **ANYBODY))

    refused = desk.refusal("GetObject", Bucket="docs", Key="a")
    read = desk.code("GetBucketPolicy", Bucket="docs")
    desk.call("DeleteBucketPolicy", Bucket="docs")

    assert refused.message.endswith("with an explicit deny in a resource-based policy")
    assert read == ""
    assert desk.code("GetObject", Bucket="docs", Key="a") == ""


def test_deny_of_what_does_not_use_tls_refuses_nobody(desk: Desk) -> None:
    """The engine stands for AWS's endpoints: a policy that demands TLS, as CDK's bootstrap has, locks nobody out."""
    desk.set_policy(deny("s3:*", ALL, **ANYBODY, Condition={"Bool": {"aws:SecureTransport": "false"}}))

    assert desk.code("GetObject", Bucket="docs", Key="a") == ""


@pytest.mark.parametrize(
    ("condition", "operation", "params", "is_allowed"),
    [
        ({"StringEquals": {"s3:prefix": "in/"}}, "ListObjectsV2", {"Prefix": "in/"}, True),
        ({"StringEquals": {"s3:prefix": "in/"}}, "ListObjectsV2", {"Prefix": "out/"}, False),
        ({"NumericLessThanEquals": {"s3:max-keys": "10"}}, "ListObjectsV2", {"MaxKeys": 10}, True),
        ({"NumericLessThanEquals": {"s3:max-keys": "10"}}, "ListObjectsV2", {"MaxKeys": 11}, False),
        ({"StringEquals": {"s3:x-amz-server-side-encryption": "AES256"}}, "PutObject",
         {"Key": "b", "ServerSideEncryption": "AES256"}, True),
        ({"StringEquals": {"s3:x-amz-server-side-encryption": "AES256"}}, "PutObject", {"Key": "b"}, False),
        ({"StringEquals": {"s3:x-amz-acl": "bucket-owner-full-control"}}, "PutObject",
         {"Key": "b", "ACL": "bucket-owner-full-control"}, True),
        ({"StringEquals": {"s3:RequestObjectTag/team": "red"}}, "PutObject", {"Key": "b", "Tagging": "team=red"}, True),
        ({"StringEquals": {"s3:RequestObjectTag/team": "red"}}, "PutObject",
         {"Key": "b", "Tagging": "team=blue"}, False),
        ({"StringEquals": {"s3:ExistingObjectTag/team": "red"}}, "GetObject", {"Key": "red"}, True),
        ({"StringEquals": {"s3:ExistingObjectTag/team": "red"}}, "GetObject", {"Key": "a"}, False),
        ({"StringEquals": {"s3:ResourceAccount": "000000000000"}}, "GetObject", {"Key": "a"}, True),
    ],
)  # fmt: skip
def test_conditions_see_what_a_request_says_and_what_an_object_has(
    condition: dict[str, Any], operation: str, params: dict[str, Any], is_allowed: bool, desk: Desk
) -> None:
    desk.put("red", Tagging="team=red")
    role = desk.role("some", allow("s3:*", Condition=condition))

    given = {**params, **({"Body": b""} if operation == "PutObject" else {})}

    assert desk.code(operation, role, Bucket="docs", **given) == ("" if is_allowed else "AccessDenied")


def test_deny_by_the_tag_of_an_object_decides_where_the_policy_of_the_role_has_it(desk: Desk) -> None:
    desk.put("secret", Tagging="secret=yes")
    condition = {"StringEquals": {"s3:ExistingObjectTag/secret": "yes"}}
    role = desk.role("most", allow("s3:*"), deny("s3:GetObject", Condition=condition))

    assert desk.code("GetObject", role, Bucket="docs", Key="a") == ""
    assert desk.code("GetObject", role, Bucket="docs", Key="secret") == "AccessDenied"


def test_service_writes_for_the_resource_that_the_policy_names(desk: Desk) -> None:
    trail = "arn:aws:cloudtrail:us-east-1:000000000000:trail/all"
    desk.set_policy(
        allow("s3:PutObject", f"{DOCS}/logs/*", Principal={"Service": "cloudtrail.amazonaws.com"},
              Condition={"StringEquals": {"aws:SourceArn": trail}})
    )  # fmt: skip
    right = desk.service("cloudtrail.amazonaws.com", trail)
    wrong = desk.service("cloudtrail.amazonaws.com", trail + "2")

    assert desk.code("PutObject", right, Bucket="docs", Key="logs/1", Body=b"") == ""
    assert desk.code("PutObject", wrong, Bucket="docs", Key="logs/1", Body=b"") == "AccessDenied"
    assert desk.code("PutObject", right, Bucket="docs", Key="else", Body=b"") == "AccessDenied"


def test_missing_key_is_missing_only_for_those_who_may_list(desk: Desk) -> None:
    reader = desk.role("reader", allow("s3:GetObject"))
    lister = desk.role("lister", allow(["s3:GetObject", "s3:ListBucket"]))

    assert desk.code("GetObject", reader, Bucket="docs", Key="none") == "AccessDenied"
    assert desk.code("GetObject", lister, Bucket="docs", Key="none") == "NoSuchKey"
