"""Lifecycle rules: which are valid, what they are about, and when they do what."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from redrive.core.clock import DAY_MS, HOUR_MS, parse_instant
from redrive.services.s3.model.bucket import BUCKETS, Bucket
from redrive.services.s3.model.lifecycle import midnight_after
from redrive.store.api import Transaction
from redrive.store.tables.objects import ObjectVersion
from tests.unit.services.s3.desk import Desk

EXPIRES = {"Expiration": {"Days": 1}}
KIB = 1024


@pytest.fixture(autouse=True)
def _a_bucket(desk: Desk) -> None:
    desk.bucket()


def rule(action: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"ID": "r", "Status": "Enabled", "Filter": {}, **action, **more}


def put_rules(desk: Desk, *rules: dict[str, Any]) -> dict[str, Any]:
    configuration = {"Rules": list(rules)}
    return desk.call("PutBucketLifecycleConfiguration", Bucket="docs", LifecycleConfiguration=configuration)


def keys(desk: Desk) -> list[str]:
    return [one["Key"] for one in desk.call("ListObjectsV2", Bucket="docs").get("Contents", [])]


def versions(desk: Desk) -> tuple[list[str], list[str]]:
    """The keys of the versions and of the delete markers of the bucket."""

    def read(tx: Transaction) -> list[ObjectVersion]:
        bucket = tx.resources.get(Bucket, BUCKETS, "docs")
        assert bucket is not None
        return list(tx.objects.first(bucket.bucket_id, limit=100))

    found = desk.world.store.run(read)
    markers = [one.key.decode() for one in found if one.is_marker]
    return [one.key.decode() for one in found if not one.is_marker], markers


def keep_versions(desk: Desk) -> None:
    def enable(tx: Transaction) -> None:
        bucket = tx.resources.get(Bucket, BUCKETS, "docs")
        assert bucket is not None
        tx.resources.put(BUCKETS, replace(bucket, versioning="Enabled"))

    desk.world.store.run(enable)


@pytest.mark.parametrize(
    ("rules", "code"),
    [
        ([], "MalformedXML"),
        ([rule({})], "InvalidRequest"),
        ([rule(EXPIRES, Status="On")], "MalformedXML"),
        ([{"Status": "Enabled", **EXPIRES}], "MalformedXML"),
        ([rule(EXPIRES, Prefix="x")], "MalformedXML"),
        ([rule(EXPIRES, Filter={"Prefix": "x", "ObjectSizeLessThan": 5})], "MalformedXML"),
        ([rule(EXPIRES, Filter={"And": {"Prefix": "x"}})], "MalformedXML"),
        ([rule(EXPIRES, Filter={"And": {"Tags": [{"Key": "a", "Value": "1"}, {"Key": "a", "Value": "2"}]}})],
         "InvalidRequest"),
        ([rule({"Expiration": {"Days": 0}})], "InvalidArgument"),
        ([rule({"Expiration": {"Days": 1, "ExpiredObjectDeleteMarker": True}})], "MalformedXML"),
        ([rule({"Expiration": {"Date": 3_600_000}})], "InvalidArgument"),
        ([rule({"Expiration": {"Date": DAY_MS}})], ""),
        ([rule({"NoncurrentVersionExpiration": {"NoncurrentDays": 0}})], "InvalidArgument"),
        ([rule({"Transitions": [{"Days": 29, "StorageClass": "STANDARD_IA"}]})], "InvalidArgument"),
        ([rule({"Transitions": [{"Days": 1, "StorageClass": "STANDARD"}]})], "MalformedXML"),
        ([rule({"Transitions": [{"Days": 1, "StorageClass": "GLACIER"}], **EXPIRES})], "InvalidArgument"),
        ([rule(EXPIRES), rule(EXPIRES)], "InvalidArgument"),
        ([rule(EXPIRES, ID="x" * 256)], "InvalidArgument"),
        ([rule({"AbortIncompleteMultipartUpload": {"DaysAfterInitiation": 1}},
               Filter={"Tag": {"Key": "a", "Value": "1"}})], "InvalidRequest"),
        ([rule(EXPIRES, ID="a"), rule(EXPIRES, ID="b", Filter={"Prefix": "x"})], ""),
        ([{"Status": "Enabled", "Prefix": "", **EXPIRES}], ""),
    ],
)  # fmt: skip
def test_rules_that_s3_takes_and_refuses(rules: list[dict[str, Any]], code: str, desk: Desk) -> None:
    configuration = {"Rules": rules}

    found = desk.code("PutBucketLifecycleConfiguration", Bucket="docs", LifecycleConfiguration=configuration)

    assert found == code


def test_rules_are_answered_as_they_were_given_and_each_has_an_id(desk: Desk) -> None:
    put_rules(desk, {"Status": "Enabled", "Filter": {"Prefix": "x/"}, **EXPIRES})

    answer = desk.call("GetBucketLifecycleConfiguration", Bucket="docs")

    ((given_id, shown),) = [(one.pop("ID"), one) for one in map(dict, answer["Rules"])]
    assert (len(given_id), shown) == (48, {"Status": "Enabled", "Filter": {"Prefix": "x/"}, **EXPIRES})
    assert answer["TransitionDefaultMinimumObjectSize"] == "all_storage_classes_128K"


def test_bucket_without_rules_says_so(desk: Desk) -> None:
    put_rules(desk, rule(EXPIRES))

    desk.call("DeleteBucketLifecycle", Bucket="docs")

    assert desk.code("GetBucketLifecycleConfiguration", Bucket="docs") == "NoSuchLifecycleConfiguration"


@pytest.mark.parametrize(
    ("written", "midnight"),
    [
        ("2025-01-01T00:00:00Z", "2025-01-01T00:00:00Z"),
        ("2025-01-01T00:00:01Z", "2025-01-02T00:00:00Z"),
        ("2025-01-01T23:59:59Z", "2025-01-02T00:00:00Z"),
    ],
)
def test_due_instants_are_rounded_up_to_midnight(written: str, midnight: str) -> None:
    assert midnight_after(parse_instant(written)) == parse_instant(midnight)


def test_object_expires_at_the_midnight_after_its_days_and_not_before(desk: Desk) -> None:
    put_rules(desk, rule(EXPIRES))
    desk.world.advance(hours=10)
    desk.put("a")

    desk.world.advance(hours=37, minutes=59)
    before = keys(desk)
    desk.world.advance(minutes=1)

    assert (before, keys(desk)) == (["a"], [])


def test_header_says_when_a_current_version_expires_and_by_which_rule(desk: Desk) -> None:
    put_rules(desk, rule({"Expiration": {"Days": 5}}, ID="late"), rule({"Expiration": {"Days": 3}}, ID="a rule"))
    desk.world.advance(hours=10)

    written = desk.put("a")

    expected = 'expiry-date="Sun, 05 Jan 2025 00:00:00 GMT", rule-id="a%20rule"'
    assert written["Expiration"] == expected
    assert desk.call("HeadObject", Bucket="docs", Key="a")["Expiration"] == expected


@pytest.mark.parametrize(
    ("wanted", "left"),
    [
        ({"Prefix": "in/"}, ["big", "small"]),
        ({"Tag": {"Key": "team", "Value": "red"}}, ["in/a", "small"]),
        ({"ObjectSizeGreaterThan": 9}, ["in/a", "small"]),
        ({"ObjectSizeLessThan": 10}, ["big"]),
        ({"And": {"Prefix": "in/", "ObjectSizeGreaterThan": 9}}, ["big", "in/a", "small"]),
        ({"And": {"Prefix": "b", "Tags": [{"Key": "team", "Value": "red"}]}}, ["in/a", "small"]),
    ],
)
def test_rule_is_about_what_its_filter_says(wanted: dict[str, Any], left: list[str], desk: Desk) -> None:
    desk.put("in/a")
    desk.put("small")
    desk.put("big", b"x" * 10, Tagging="team=red")

    put_rules(desk, rule(EXPIRES, Filter=wanted))
    desk.world.advance(days=2)

    assert keys(desk) == left


def test_disabled_rule_does_nothing(desk: Desk) -> None:
    desk.put("a")

    put_rules(desk, rule(EXPIRES, Status="Disabled"))
    desk.world.advance(days=10)

    assert keys(desk) == ["a"]


def test_date_expires_everything_on_that_day(desk: Desk) -> None:
    desk.put("a")
    put_rules(desk, rule({"Expiration": {"Date": parse_instant("2025-03-01T00:00:00Z")}}))

    desk.world.advance(days=58)
    before = keys(desk)
    desk.world.advance(days=1)

    assert (before, keys(desk)) == (["a"], [])


def test_bucket_of_more_than_one_page_expires_in_one_midnight(desk: Desk) -> None:
    for number in range(501):
        desk.put(f"{number:03}")
    put_rules(desk, rule(EXPIRES))

    desk.world.advance(days=1)

    assert keys(desk) == []


def test_expired_object_gets_a_marker_where_versions_are_kept_and_the_version_goes_later(desk: Desk) -> None:
    keep_versions(desk)
    desk.put("a")
    put_rules(desk, rule({**EXPIRES, "NoncurrentVersionExpiration": {"NoncurrentDays": 2}}))

    desk.world.advance(days=1)
    expired = versions(desk)
    desk.world.advance(days=2)

    assert expired == (["a"], ["a"])
    assert versions(desk) == ([], [])


def test_newest_noncurrent_versions_are_kept_as_many_as_the_rule_says(desk: Desk) -> None:
    keep_versions(desk)
    ids = [desk.put("a")["VersionId"] for _ in range(4)]
    action = {"NoncurrentVersionExpiration": {"NoncurrentDays": 1, "NewerNoncurrentVersions": 2}}

    put_rules(desk, rule(action))
    desk.world.advance(days=1)

    codes = [desk.code("HeadObject", Bucket="docs", Key="a", VersionId=one) for one in ids]
    assert codes == ["NoSuchVersion", "", "", ""]


def test_noncurrent_days_count_from_the_next_version(desk: Desk) -> None:
    keep_versions(desk)
    desk.put("a")
    put_rules(desk, rule({"NoncurrentVersionExpiration": {"NoncurrentDays": 3}}))
    desk.world.advance(days=10)
    desk.put("a")

    desk.world.advance(days=2, hours=23)
    before = versions(desk)
    desk.world.advance(hours=1)

    assert [len(found[0]) for found in (before, versions(desk))] == [2, 1]


def test_marker_that_is_alone_is_taken_away_at_the_next_midnight(desk: Desk) -> None:
    keep_versions(desk)
    written = desk.put("a")
    put_rules(desk, rule({"Expiration": {"ExpiredObjectDeleteMarker": True}}))
    desk.world.advance(hours=1)
    desk.call("DeleteObject", Bucket="docs", Key="a")

    desk.world.advance(days=2)
    with_version = versions(desk)
    desk.call("DeleteObject", Bucket="docs", Key="a", VersionId=written["VersionId"])
    desk.world.advance(days=1)

    assert (with_version, versions(desk)) == ((["a"], ["a"]), ([], []))


def test_objects_of_128_kib_move_and_smaller_ones_stay_unless_the_rule_is_about_sizes(desk: Desk) -> None:
    desk.put("large", b"x" * 128 * KIB)
    desk.put("small")
    desk.put("tiny/a")
    move = {"Transitions": [{"Days": 1, "StorageClass": "GLACIER"}]}
    sized = {"And": {"Prefix": "tiny/", "ObjectSizeLessThan": KIB}}

    put_rules(desk, rule(move), rule(move, ID="sized", Filter=sized))
    desk.world.advance(days=1)

    contents = desk.call("ListObjectsV2", Bucket="docs")["Contents"]
    assert {one["Key"]: one["StorageClass"] for one in contents} == {
        "large": "GLACIER", "small": "STANDARD", "tiny/a": "GLACIER"
    }  # fmt: skip


def test_locked_version_outlives_its_rule_until_its_retention_ends(desk: Desk) -> None:
    desk.bucket("kept", ObjectLockEnabledForBucket=True)
    until = desk.world.now + 3 * DAY_MS + HOUR_MS
    first = desk.put("a", bucket="kept", ObjectLockMode="COMPLIANCE", ObjectLockRetainUntilDate=until)
    desk.put("a", bucket="kept")
    noncurrent = rule({"NoncurrentVersionExpiration": {"NoncurrentDays": 1}})
    desk.call("PutBucketLifecycleConfiguration", Bucket="kept", LifecycleConfiguration={"Rules": [noncurrent]})
    asked = {"Bucket": "kept", "Key": "a", "VersionId": first["VersionId"]}

    desk.world.advance(days=3)
    kept = desk.code("HeadObject", **asked)
    desk.world.advance(days=1)

    assert (kept, desk.code("HeadObject", **asked)) == ("", "NoSuchVersion")


def test_bucket_in_which_nothing_can_fall_due_soon_is_not_looked_at_each_day(desk: Desk) -> None:
    put_rules(desk, rule({"Expiration": {"Days": 30}}))
    desk.world.advance(days=1)

    next_look = desk.world.store.run(lambda tx: tx.timers.get("s3.lifecycle", "docs"))

    assert next_look == desk.world.now + 30 * DAY_MS


def test_deleted_bucket_is_looked_at_no_more(desk: Desk) -> None:
    put_rules(desk, rule(EXPIRES))

    desk.call("DeleteBucket", Bucket="docs")

    assert desk.world.store.run(lambda tx: tx.timers.get("s3.lifecycle", "docs")) is None


def test_upload_that_is_not_completed_is_aborted_after_its_days(desk: Desk) -> None:
    begun = desk.call("CreateMultipartUpload", Bucket="docs", Key="a")["UploadId"]
    part = {"Bucket": "docs", "Key": "a", "UploadId": begun, "PartNumber": 1, "Body": b"x"}
    desk.call("UploadPart", **part)
    put_rules(desk, rule({"AbortIncompleteMultipartUpload": {"DaysAfterInitiation": 2}}))

    desk.world.advance(days=1)
    before = desk.code("UploadPart", **part)
    desk.world.advance(days=1)

    assert (before, desk.code("UploadPart", **part)) == ("", "NoSuchUpload")
