"""Access control lists of buckets and objects."""

from __future__ import annotations

from typing import Any

import pytest

from redrive.core.scope import canonical_user
from tests.unit.services.s3.desk import ACCOUNT, OTHER, Desk

OWNER = {"ID": canonical_user(ACCOUNT)}
OWNERS_GRANT = {"Grantee": {**OWNER, "Type": "CanonicalUser"}, "Permission": "FULL_CONTROL"}
EVERYONE = "http://acs.amazonaws.com/groups/global/AllUsers"
KNOWN = "http://acs.amazonaws.com/groups/global/AuthenticatedUsers"


def group(uri: str, permission: str) -> dict[str, Any]:
    return {"Grantee": {"Type": "Group", "URI": uri}, "Permission": permission}


@pytest.fixture(autouse=True)
def _a_bucket(desk: Desk) -> None:
    desk.bucket()
    desk.put("a")


def test_acl_of_what_nobody_has_shared_gives_everything_to_the_owner(desk: Desk) -> None:
    expected = {"Owner": OWNER, "Grants": [OWNERS_GRANT]}

    assert desk.call("GetBucketAcl", Bucket="docs") == expected
    assert desk.call("GetObjectAcl", Bucket="docs", Key="a") == expected


@pytest.mark.parametrize("acl", ["public-read", "authenticated-read", "log-delivery-write"])
def test_bucket_whose_owner_owns_everything_has_no_acls(acl: str, desk: Desk) -> None:
    refused = desk.refusal("PutBucketAcl", Bucket="docs", ACL=acl)

    assert (refused.code, refused.message) == ("AccessControlListNotSupported", "The bucket does not allow ACLs")
    assert desk.code("PutObjectAcl", Bucket="docs", Key="a", ACL=acl) == "AccessControlListNotSupported"
    assert desk.code("PutObject", Bucket="docs", Key="b", Body=b"", ACL=acl) == "AccessControlListNotSupported"


@pytest.mark.parametrize("acl", ["private", "bucket-owner-full-control"])
def test_acls_that_change_nothing_are_taken_everywhere(acl: str, desk: Desk) -> None:
    assert desk.code("PutObject", Bucket="docs", Key="b", Body=b"", ACL=acl) == ""
    assert desk.code("PutBucketAcl", Bucket="docs", ACL=acl) == ""


def test_public_acl_is_refused_while_public_acls_are_blocked(desk: Desk) -> None:
    controls = {"Rules": [{"ObjectOwnership": "ObjectWriter"}]}
    desk.call("PutBucketOwnershipControls", Bucket="docs", OwnershipControls=controls)

    assert desk.code("PutBucketAcl", Bucket="docs", ACL="public-read") == "AccessDenied"
    assert desk.code("PutObject", Bucket="docs", Key="b", Body=b"", ACL="public-read") == "AccessDenied"
    assert desk.code("CreateBucket", Bucket="open", ACL="public-read", ObjectOwnership="ObjectWriter") == (
        "InvalidBucketAclWithBlockPublicAccessError"
    )
    assert desk.code("CreateBucket", Bucket="open", ACL="public-read") == "InvalidBucketAclWithObjectOwnership"


def test_public_bucket_is_listed_by_everyone_and_its_objects_stay_private(desk: Desk) -> None:
    desk.open_to_policies()

    desk.call("PutBucketAcl", Bucket="docs", ACL="public-read")

    assert desk.call("GetBucketAcl", Bucket="docs")["Grants"] == [OWNERS_GRANT, group(EVERYONE, "READ")]
    assert desk.code("ListObjectsV2", desk.anyone, Bucket="docs") == ""
    assert desk.code("GetObject", desk.anyone, Bucket="docs", Key="a") == "AccessDenied"
    assert desk.code("PutObject", desk.anyone, Bucket="docs", Key="b", Body=b"") == "AccessDenied"


def test_public_object_is_read_by_everyone_until_public_acls_are_ignored(desk: Desk) -> None:
    desk.open_to_policies()
    desk.put("b", ACL="public-read")
    read = desk.code("GetObject", desk.anyone, Bucket="docs", Key="b")

    desk.call("PutPublicAccessBlock", Bucket="docs", PublicAccessBlockConfiguration={"IgnorePublicAcls": True})

    assert (read, desk.code("GetObject", desk.anyone, Bucket="docs", Key="b")) == ("", "AccessDenied")


def test_object_for_authenticated_users_is_read_by_every_account_and_not_by_strangers(desk: Desk) -> None:
    desk.open_to_policies()

    desk.call("PutObjectAcl", Bucket="docs", Key="a", ACL="authenticated-read")

    assert desk.call("GetObjectAcl", Bucket="docs", Key="a")["Grants"] == [OWNERS_GRANT, group(KNOWN, "READ")]
    assert desk.code("GetObject", desk.of(account=OTHER), Bucket="docs", Key="a") == ""
    assert desk.code("GetObject", desk.anyone, Bucket="docs", Key="a") == "AccessDenied"


def test_grant_by_header_is_for_the_account_that_it_names(desk: Desk) -> None:
    desk.open_to_policies()

    desk.call("PutBucketAcl", Bucket="docs", GrantWrite=f'id="{canonical_user(OTHER)}"', GrantRead=f"uri={KNOWN}")

    assert desk.code("PutObject", desk.of(account=OTHER), Bucket="docs", Key="b", Body=b"") == ""
    assert desk.code("PutObject", desk.of(account="2" * 12), Bucket="docs", Key="b", Body=b"") == "AccessDenied"
    assert desk.code("ListObjectsV2", desk.of(account="2" * 12), Bucket="docs") == ""


def test_grant_by_document_replaces_all_others(desk: Desk) -> None:
    desk.open_to_policies()
    desk.call("PutBucketAcl", Bucket="docs", ACL="public-read")
    grants = [OWNERS_GRANT, {"Grantee": {"Type": "CanonicalUser", "ID": canonical_user(OTHER)}, "Permission": "READ"}]

    desk.call("PutBucketAcl", Bucket="docs", AccessControlPolicy={"Owner": OWNER, "Grants": grants})

    assert desk.call("GetBucketAcl", Bucket="docs") == {"Owner": OWNER, "Grants": grants}
    assert desk.code("ListObjectsV2", desk.anyone, Bucket="docs") == "AccessDenied"


@pytest.mark.parametrize(
    ("params", "code"),
    [
        ({}, "MissingSecurityHeader"),
        ({"ACL": "open"}, "InvalidArgument"),
        ({"ACL": "private", "GrantRead": f"uri={KNOWN}"}, "InvalidRequest"),
        ({"GrantRead": "everyone"}, "InvalidArgument"),
        ({"GrantRead": "id=me"}, "InvalidArgument"),
        ({"GrantRead": "uri=http://example.com"}, "InvalidArgument"),
        ({"GrantRead": "emailAddress=me@example.com"}, "MethodNotAllowed"),
        ({"AccessControlPolicy": {"Owner": OWNER}}, "MalformedACLError"),
        ({"AccessControlPolicy": {"Owner": OWNER, "Grants": [{"Permission": "READ"}]}}, "MalformedACLError"),
    ],
)
def test_invalid_acl_is_refused(params: dict[str, Any], code: str, desk: Desk) -> None:
    desk.open_to_policies()

    assert desk.code("PutBucketAcl", Bucket="docs", **params) == code


def test_bucket_that_others_may_use_by_its_acl_cannot_lose_its_acls(desk: Desk) -> None:
    desk.open_to_policies()
    desk.call("PutBucketAcl", Bucket="docs", ACL="public-read")
    enforced = {"Rules": [{"ObjectOwnership": "BucketOwnerEnforced"}]}

    refused = desk.code("PutBucketOwnershipControls", Bucket="docs", OwnershipControls=enforced)

    assert refused == "InvalidBucketAclWithObjectOwnership"


def test_controls_and_blocks_that_were_deleted_are_not_found(desk: Desk) -> None:
    desk.call("DeleteBucketOwnershipControls", Bucket="docs")
    desk.call("DeletePublicAccessBlock", Bucket="docs")

    assert desk.code("GetBucketOwnershipControls", Bucket="docs") == "OwnershipControlsNotFoundError"
    assert desk.code("GetPublicAccessBlock", Bucket="docs") == "NoSuchPublicAccessBlockConfiguration"


@pytest.mark.parametrize("header", [{"ACL": "private"}, {"GrantRead": f'uri="{KNOWN}"'}])
def test_acl_in_the_body_beside_one_in_headers_is_unexpected(header: dict[str, Any], desk: Desk) -> None:
    desk.open_to_policies()
    document = {"Owner": OWNER, "Grants": [OWNERS_GRANT]}

    refused = desk.refusal("PutObjectAcl", Bucket="docs", Key="a", AccessControlPolicy=document, **header)

    assert (refused.code, refused.message) == ("UnexpectedContent", "This request does not support content")
