"""Buckets: their names, Regions and owners, lists of them, and their tags."""

from __future__ import annotations

from typing import Any

import pytest

from redrive.core.scope import canonical_user
from tests.unit.services.s3.desk import ACCOUNT, OTHER, Desk, allow


def in_region(region: str) -> dict[str, Any]:
    return {"CreateBucketConfiguration": {"LocationConstraint": region}}


@pytest.mark.parametrize(
    "name",
    ["ab", "a" * 64, "Docs", "a_b", "-ab", "ab-", "a..b", "192.168.5.4", "xn--a", "a-s3alias", "a--ol-s3", "sthree-a"],
)
def test_bucket_with_an_invalid_name_is_refused(name: str, desk: Desk) -> None:
    refused = desk.refusal("CreateBucket", Bucket=name)

    assert (refused.code, refused.members) == ("InvalidBucketName", {"BucketName": name})


def test_new_bucket_blocks_public_access_and_owns_its_objects_and_encrypts(desk: Desk) -> None:
    answer = desk.call("CreateBucket", Bucket="docs")

    blocked = desk.call("GetPublicAccessBlock", Bucket="docs")["PublicAccessBlockConfiguration"]
    controls = desk.call("GetBucketOwnershipControls", Bucket="docs")["OwnershipControls"]
    encryption = desk.call("GetBucketEncryption", Bucket="docs")["ServerSideEncryptionConfiguration"]
    assert answer == {"Location": "/docs", "BucketArn": "arn:aws:s3:::docs"}
    assert (len(blocked), set(blocked.values())) == (4, {True})
    assert controls == {"Rules": [{"ObjectOwnership": "BucketOwnerEnforced"}]}
    assert encryption["Rules"][0]["ApplyServerSideEncryptionByDefault"] == {"SSEAlgorithm": "AES256"}


def test_creating_ones_own_bucket_again_changes_nothing_in_the_first_region_and_is_refused_elsewhere(
    desk: Desk,
) -> None:
    tagged: Any = {"CreateBucketConfiguration": {"Tags": [{"Key": "a", "Value": "1"}]}}
    desk.bucket(**tagged)
    ireland = desk.of(region="eu-west-1")
    desk.call("CreateBucket", ireland, Bucket="green", **in_region("eu-west-1"))

    desk.call("CreateBucket", Bucket="docs")
    with_tags = desk.refusal("CreateBucket", Bucket="docs", **tagged)
    elsewhere = desk.refusal("CreateBucket", ireland, Bucket="green", **in_region("eu-west-1"))

    assert desk.call("GetBucketTagging", Bucket="docs")["TagSet"] == [{"Key": "a", "Value": "1"}]
    assert with_tags.code == elsewhere.code == "BucketAlreadyOwnedByYou"


def test_name_of_another_accounts_bucket_is_not_available(desk: Desk) -> None:
    desk.bucket()

    refused = desk.refusal("CreateBucket", desk.of(account=OTHER), Bucket="docs")

    assert (refused.code, refused.http_status) == ("BucketAlreadyExists", 409)


@pytest.mark.parametrize(
    ("caller_region", "constraint", "code"),
    [
        ("us-east-1", "us-east-1", "InvalidLocationConstraint"),
        ("us-east-1", "moon", "InvalidLocationConstraint"),
        ("eu-west-1", None, "IllegalLocationConstraintException"),
        ("eu-west-1", "eu-central-1", "IllegalLocationConstraintException"),
        ("us-east-1", "EU", ""),
        ("us-east-1", "eu-central-1", ""),
        ("eu-central-1", "eu-central-1", ""),
    ],
)
def test_bucket_is_made_in_the_region_of_its_constraint(
    caller_region: str, constraint: str | None, code: str, desk: Desk
) -> None:
    given = {} if constraint is None else in_region(constraint)

    assert desk.code("CreateBucket", desk.of(region=caller_region), Bucket="docs", **given) == code


def test_location_is_empty_in_the_first_region_and_may_be_asked_from_everywhere(desk: Desk) -> None:
    desk.bucket()
    desk.bucket("green", **in_region("EU"))

    assert desk.call("GetBucketLocation", Bucket="docs") == {"LocationConstraint": None}
    assert desk.call("GetBucketLocation", Bucket="green") == {"LocationConstraint": "eu-west-1"}


def test_request_for_another_region_says_which_region_is_right(desk: Desk) -> None:
    """AWS's SDKs sign again for the Region in the error."""
    desk.bucket("green", **in_region("eu-west-1"))

    refused = desk.refusal("HeadBucket", Bucket="green")
    answered = desk.call("HeadBucket", desk.of(region="eu-west-1"), Bucket="green")

    assert refused.code == "AuthorizationHeaderMalformed"
    assert refused.members == {"Region": "eu-west-1", "x-amz-bucket-region": "eu-west-1"}
    assert answered["BucketRegion"] == "eu-west-1"


def test_bucket_of_another_account_is_denied_and_a_missing_one_is_missing(desk: Desk) -> None:
    desk.bucket()
    stranger = desk.of(account=OTHER)

    denied = desk.refusal("HeadBucket", stranger, Bucket="docs")
    missing = desk.refusal("HeadBucket", stranger, Bucket="nothing")

    assert (denied.code, denied.message) == ("AccessDenied", "Access Denied")
    assert (missing.code, missing.members) == ("NoSuchBucket", {"BucketName": "nothing"})


def test_expected_owner_has_to_be_the_owner_and_an_account(desk: Desk) -> None:
    desk.bucket()

    assert desk.code("HeadBucket", Bucket="docs", ExpectedBucketOwner=ACCOUNT) == ""
    assert desk.code("HeadBucket", Bucket="docs", ExpectedBucketOwner=OTHER) == "AccessDenied"
    assert desk.code("HeadBucket", Bucket="docs", ExpectedBucketOwner="me") == "InvalidBucketOwnerAWSAccountID"


def test_list_has_the_accounts_own_buckets_by_name(desk: Desk) -> None:
    desk.bucket("beta")
    desk.bucket("alpha", **in_region("eu-west-1"))
    desk.call("CreateBucket", desk.of(account=OTHER), Bucket="gamma")

    answer = desk.call("ListBuckets")

    assert [one["Name"] for one in answer["Buckets"]] == ["alpha", "beta"]
    assert set(answer["Buckets"][0]) == {"Name", "CreationDate", "BucketArn"}
    assert answer["Owner"] == {"ID": canonical_user(ACCOUNT)}


def test_list_pages_and_filters_by_prefix_and_region(desk: Desk) -> None:
    for name in ("x1", "x2", "x3", "y1"):
        desk.bucket(f"name-{name}")
    desk.bucket("name-x9", **in_region("eu-west-1"))

    first = desk.call("ListBuckets", MaxBuckets=2, Prefix="name-x")
    second = desk.call("ListBuckets", MaxBuckets=2, Prefix="name-x", ContinuationToken=first["ContinuationToken"])
    there = desk.call("ListBuckets", BucketRegion="eu-west-1")

    assert [one["Name"] for one in first["Buckets"] + second["Buckets"]] == [f"name-x{n}" for n in (1, 2, 3, 9)]
    assert "ContinuationToken" not in second
    assert [(one["Name"], one["BucketRegion"]) for one in there["Buckets"]] == [("name-x9", "eu-west-1")]


@pytest.mark.parametrize(
    "params", [{"MaxBuckets": 0}, {"MaxBuckets": 10_001}, {"BucketRegion": "moon"}, {"ContinuationToken": "?"}]
)
def test_list_refuses_what_it_does_not_know(params: dict[str, Any], desk: Desk) -> None:
    assert desk.code("ListBuckets", **params) in ("InvalidArgument", "ValidationException")


def test_only_an_empty_bucket_is_deleted_and_its_name_is_free_then(desk: Desk) -> None:
    desk.bucket()
    desk.put("a")

    refused = desk.refusal("DeleteBucket", Bucket="docs")
    desk.call("DeleteObject", Bucket="docs", Key="a")
    desk.call("DeleteBucket", Bucket="docs")

    assert (refused.code, refused.message) == ("BucketNotEmpty", "The bucket you tried to delete is not empty")
    assert desk.code("HeadBucket", Bucket="docs") == "NoSuchBucket"
    assert desk.code("CreateBucket", desk.of(account=OTHER), Bucket="docs") == ""


def test_making_a_bucket_needs_a_permission_for_each_thing_that_it_is_to_have(desk: Desk) -> None:
    plain = desk.role("plain", allow("s3:CreateBucket"))
    more = desk.role("more", allow(["s3:CreateBucket", "s3:PutBucketOwnershipControls", "s3:TagResource"]))
    wanted: Any = {
        "ObjectOwnership": "ObjectWriter",
        "CreateBucketConfiguration": {"Tags": [{"Key": "a", "Value": "1"}]},
    }

    refused = desk.refusal("CreateBucket", plain, Bucket="docs", **wanted)

    assert "s3:PutBucketOwnershipControls" in refused.message
    assert desk.code("CreateBucket", plain, Bucket="docs") == ""
    assert desk.code("CreateBucket", more, Bucket="more", **wanted) == ""


def test_bucket_without_tags_says_so(desk: Desk) -> None:
    desk.bucket()
    desk.call("PutBucketTagging", Bucket="docs", Tagging={"TagSet": [{"Key": "team", "Value": "a b"}]})
    kept = desk.call("GetBucketTagging", Bucket="docs")

    desk.call("DeleteBucketTagging", Bucket="docs")

    assert kept == {"TagSet": [{"Key": "team", "Value": "a b"}]}
    assert desk.code("GetBucketTagging", Bucket="docs") == "NoSuchTagSet"


@pytest.mark.parametrize(
    ("tags", "message"),
    [
        ([("a", "1"), ("a", "2")], "Cannot provide multiple Tags with the same key"),
        ([("a,b", "1")], "The TagKey you have provided is invalid"),
        ([("a", "x" * 257)], "The TagValue you have provided is invalid"),
        ([("aws:x", "1")], "System tags cannot be added/updated by requester"),
    ],
)
def test_invalid_tags_of_a_bucket_are_refused(tags: list[tuple[str, str]], message: str, desk: Desk) -> None:
    desk.bucket()

    refused = desk.refusal(
        "PutBucketTagging", Bucket="docs", Tagging={"TagSet": [{"Key": key, "Value": value} for key, value in tags]}
    )

    assert (refused.code, refused.message) == ("InvalidTag", message)


def test_policies_see_the_tags_of_a_bucket_only_if_it_is_told_so(desk: Desk) -> None:
    desk.bucket()
    desk.call("PutBucketTagging", Bucket="docs", Tagging={"TagSet": [{"Key": "team", "Value": "red"}]})
    red = desk.role("red", allow("s3:ListBucket", Condition={"StringEquals": {"aws:ResourceTag/team": "red"}}))

    before = desk.code("HeadBucket", red, Bucket="docs")
    desk.call("PutBucketAbac", Bucket="docs", AbacStatus={"Status": "Enabled"})

    assert (before, desk.code("HeadBucket", red, Bucket="docs")) == ("AccessDenied", "")
    assert desk.call("GetBucketAbac", Bucket="docs") == {"AbacStatus": {"Status": "Enabled"}}


def test_uploads_that_were_begun_end_with_their_bucket(desk: Desk) -> None:
    desk.bucket()
    begun = desk.call("CreateMultipartUpload", Bucket="docs", Key="a")["UploadId"]
    desk.call("UploadPart", Bucket="docs", Key="a", UploadId=begun, PartNumber=1, Body=b"x")

    desk.call("DeleteBucket", Bucket="docs")

    rows = desk.world.store.run(lambda tx: tx.uploads.parts(1, after=0, limit=10))
    desk.bucket()
    assert rows == []
    assert desk.code("ListParts", Bucket="docs", Key="a", UploadId=begun) == "NoSuchUpload"
