"""Who may do what with objects: what each call needs, what a caller without permissions hears, and who owns what."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from redrive.core.scope import canonical_user
from tests.unit.services.s3.desk import OTHER, Desk, allow, deny

DOCS = "arn:aws:s3:::docs"
MISSING = {"Bucket": "docs", "Key": "none"}


@pytest.fixture(autouse=True)
def _a_bucket(desk: Desk) -> None:
    desk.bucket()
    desk.put("a", Tagging="t=1")


@pytest.mark.parametrize(
    ("operation", "params"),
    [
        ("GetObject", {}),
        ("HeadObject", {}),
        ("GetObjectAttributes", {"ObjectAttributes": ["ETag"]}),
        ("GetObjectTagging", {}),
        ("CopyObject", {"Key": "b", "CopySource": "docs/none"}),
    ],
)
def test_who_may_not_list_hears_403_of_a_missing_key(operation: str, params: dict[str, Any], desk: Desk) -> None:
    listing = deny("s3:ListBucket")
    reader, lister = desk.role("reader", allow("s3:*"), listing), desk.role("lister", allow("s3:*"))

    refused = desk.refusal(operation, reader, **{**MISSING, **params})
    missing = desk.refusal(operation, lister, **{**MISSING, **params})

    assert (refused.code, refused.http_status) == ("AccessDenied", 403)
    assert f'is not authorized to perform: s3:ListBucket on resource: "{DOCS}"' in refused.message
    assert (missing.code, missing.http_status) == ("NoSuchKey", 404)


@pytest.mark.parametrize("operation", ["ListObjects", "ListObjectsV2", "ListObjectVersions", "ListMultipartUploads"])
@pytest.mark.parametrize(
    ("condition", "params", "is_allowed"),
    [
        ({"StringLike": {"s3:prefix": "home/*"}}, {"Prefix": "home/bob/"}, True),
        ({"StringLike": {"s3:prefix": "home/*"}}, {"Prefix": "other/"}, False),
        ({"StringLike": {"s3:prefix": "home/*"}}, {}, False),
        ({"StringEquals": {"s3:delimiter": "/"}}, {"Delimiter": "/"}, True),
        ({"StringEquals": {"s3:delimiter": "/"}}, {"Delimiter": "-"}, False),
    ],
)
def test_lists_are_judged_by_what_they_list(
    operation: str, condition: dict[str, Any], params: dict[str, Any], is_allowed: bool, desk: Desk
) -> None:
    role = desk.role("some", allow("s3:List*", DOCS, Condition=condition))

    assert desk.code(operation, role, Bucket="docs", **params) == ("" if is_allowed else "AccessDenied")


@pytest.mark.parametrize("operation", ["ListObjects", "ListObjectsV2", "ListObjectVersions"])
def test_number_of_keys_of_a_list_is_judged(operation: str, desk: Desk) -> None:
    role = desk.role("some", allow("s3:List*", DOCS, Condition={"NumericLessThanEquals": {"s3:max-keys": "10"}}))

    assert desk.code(operation, role, Bucket="docs", MaxKeys=10) == ""
    assert desk.code(operation, role, Bucket="docs", MaxKeys=11) == "AccessDenied"


@pytest.mark.parametrize(
    ("operation", "action", "params"),
    [
        ("GetObject", "s3:GetObjectVersion", {}),
        ("HeadObject", "s3:GetObjectVersion", {}),
        ("GetObjectTagging", "s3:GetObjectVersionTagging", {}),
        ("PutObjectTagging", "s3:PutObjectVersionTagging", {"Tagging": {"TagSet": []}}),
        ("DeleteObjectTagging", "s3:DeleteObjectVersionTagging", {}),
        ("GetObjectAcl", "s3:GetObjectVersionAcl", {}),
        ("PutObjectAcl", "s3:PutObjectVersionAcl", {"ACL": "private"}),
        ("DeleteObject", "s3:DeleteObjectVersion", {}),
    ],
)
def test_a_version_has_actions_of_its_own(operation: str, action: str, params: dict[str, Any], desk: Desk) -> None:
    desk.call("PutBucketVersioning", Bucket="docs", VersioningConfiguration={"Status": "Enabled"})
    version = desk.put("v")["VersionId"]
    one = {"Bucket": "docs", "Key": "v", "VersionId": version, **params}
    others = desk.role("others", allow("s3:*"), deny(action))
    this = desk.role("this", allow(action))

    assert f"perform: {action} on resource" in desk.refusal(operation, others, **one).message
    assert desk.code(operation, this, **one) == ""


@pytest.mark.parametrize(
    ("lacking", "copied", "is_allowed"),
    [
        ("nothing", {}, True),
        ("s3:GetObject", {}, False),
        ("s3:PutObject", {}, False),
        ("s3:PutObjectTagging", {}, False),
        ("s3:PutObjectTagging", {"TaggingDirective": "REPLACE"}, True),
        ("s3:GetObjectVersion", {}, True),
    ],
)
def test_a_copy_needs_both_sides_and_tags_where_it_has_tags(
    lacking: str, copied: dict[str, Any], is_allowed: bool, desk: Desk
) -> None:
    desk.bucket("target")
    role = desk.role("some", allow("s3:*"), *([] if lacking == "nothing" else [deny(lacking)]))

    code = desk.code("CopyObject", role, Bucket="target", Key="b", CopySource="docs/a", **copied)

    assert code == ("" if is_allowed else "AccessDenied")


def test_parts_are_written_as_objects_are_and_listed_and_aborted_by_actions_of_their_own(desk: Desk) -> None:
    writer = desk.role("writer", allow("s3:PutObject"))
    reader = desk.role("reader", allow(["s3:ListMultipartUploadParts", "s3:ListBucketMultipartUploads"]))
    aborter = desk.role("aborter", allow("s3:AbortMultipartUpload"))
    upload = desk.call("CreateMultipartUpload", writer, Bucket="docs", Key="p")["UploadId"]
    one: dict[str, Any] = {"Bucket": "docs", "Key": "p", "UploadId": upload}
    part = {**one, "PartNumber": 1}

    assert desk.code("UploadPart", writer, **part, Body=b"x") == ""
    assert desk.code("UploadPart", reader, **part, Body=b"x") == "AccessDenied"
    assert desk.code("UploadPartCopy", writer, **part, CopySource="docs/a") == "AccessDenied"
    assert desk.code("ListParts", writer, **one) == "AccessDenied"
    assert desk.code("ListParts", reader, **one) == ""
    assert desk.code("ListMultipartUploads", reader, Bucket="docs") == ""
    assert desk.code("ListMultipartUploads", writer, Bucket="docs") == "AccessDenied"
    assert desk.code("AbortMultipartUpload", writer, **one) == "AccessDenied"
    assert desk.code("AbortMultipartUpload", aborter, **one) == ""


def opened_to_other(desk: Desk) -> None:
    desk.set_policy(allow("s3:*", [DOCS, f"{DOCS}/*"], Principal={"AWS": f"arn:aws:iam::{OTHER}:root"}))


def owners(desk: Desk) -> dict[str, str]:
    listed = desk.call("ListObjectsV2", Bucket="docs", FetchOwner=True)["Contents"]
    return {one["Key"]: one["Owner"]["ID"] for one in listed}


def test_bucket_owner_owns_what_other_accounts_write(desk: Desk) -> None:
    opened_to_other(desk)
    desk.call("PutObject", desk.of(account=OTHER), Bucket="docs", Key="theirs", Body=b"x")
    reader = desk.role("reader", allow("s3:GetObject"))

    assert owners(desk)["theirs"] == canonical_user("000000000000")
    assert desk.code("GetObject", reader, Bucket="docs", Key="theirs") == ""


@pytest.mark.parametrize(
    ("ownership", "acl", "owner"),
    [
        ("ObjectWriter", "bucket-owner-full-control", OTHER),
        ("BucketOwnerPreferred", "private", OTHER),
        ("BucketOwnerPreferred", "bucket-owner-full-control", "000000000000"),
    ],
)
def test_writer_owns_an_object_unless_it_is_given_to_a_bucket_that_takes_it(
    ownership: str, acl: str, owner: str, desk: Desk
) -> None:
    controls = {"Rules": [{"ObjectOwnership": ownership}]}
    desk.call("PutBucketOwnershipControls", Bucket="docs", OwnershipControls=controls)
    opened_to_other(desk)

    desk.call("PutObject", desk.of(account=OTHER), Bucket="docs", Key="theirs", Body=b"x", ACL=acl)

    assert owners(desk)["theirs"] == canonical_user(owner)


@pytest.mark.parametrize(("address", "is_allowed"), [("203.0.113.9", True), ("198.51.100.1", False)])
def test_policies_see_where_a_request_comes_from(address: str, is_allowed: bool, desk: Desk) -> None:
    condition = {"IpAddress": {"aws:SourceIp": "203.0.113.0/24"}}
    role = desk.role("some", allow("s3:GetObject", Condition=condition))
    elsewhere = {"NotIpAddress": condition["IpAddress"]}
    desk.set_policy(deny("s3:DeleteObject", f"{DOCS}/*", Principal="*", Condition=elsewhere))
    caller, owner = replace(role, source_ip=address), replace(desk.owner, source_ip=address)

    assert desk.code("GetObject", caller, Bucket="docs", Key="a") == ("" if is_allowed else "AccessDenied")
    assert desk.code("DeleteObject", owner, Bucket="docs", Key="a") == ("" if is_allowed else "AccessDenied")
