"""Object lock: what keeps a version of an object, from whom, and for how long."""

from __future__ import annotations

from typing import Any

import pytest

from redrive.core.clock import DAY_MS
from tests.unit.services.s3.desk import Desk, allow

PROTECTED = "Access Denied because object protected by object lock."


@pytest.fixture(autouse=True)
def _buckets(desk: Desk) -> None:
    desk.bucket("kept", ObjectLockEnabledForBucket=True)
    desk.bucket("docs")


def put(desk: Desk, **params: Any) -> str:
    """The id of a new version in the bucket with object lock."""
    return str(desk.put("a", bucket="kept", **params)["VersionId"])


def in_days(desk: Desk, days: int) -> int:
    return desk.world.now + days * DAY_MS


def retained(desk: Desk, mode: str, days: int) -> dict[str, Any]:
    return {"ObjectLockMode": mode, "ObjectLockRetainUntilDate": in_days(desk, days)}


def delete(desk: Desk, version: str, caller: Any = None, **more: Any) -> str:
    return desk.code("DeleteObject", caller, Bucket="kept", Key="a", VersionId=version, **more)


def test_bucket_with_object_lock_keeps_versions(desk: Desk) -> None:
    assert desk.call("GetObjectLockConfiguration", Bucket="kept") == {
        "ObjectLockConfiguration": {"ObjectLockEnabled": "Enabled"}
    }
    assert desk.code("GetObjectLockConfiguration", Bucket="docs") == "ObjectLockConfigurationNotFoundError"
    assert len(put(desk)) > 4


def test_object_lock_needs_versioning(desk: Desk) -> None:
    refused = desk.refusal(
        "PutObjectLockConfiguration", Bucket="docs", ObjectLockConfiguration={"ObjectLockEnabled": "Enabled"}
    )

    assert (refused.code, refused.http_status) == ("InvalidBucketState", 409)


@pytest.mark.parametrize(
    ("default", "code"),
    [
        ({"Mode": "GOVERNANCE"}, "MalformedXML"),
        ({"Mode": "GOVERNANCE", "Days": 1, "Years": 1}, "MalformedXML"),
        ({"Mode": "NONE", "Days": 1}, "MalformedXML"),
        ({"Mode": "GOVERNANCE", "Days": 0}, "InvalidArgument"),
        ({"Mode": "GOVERNANCE", "Years": 101}, "InvalidArgument"),
        ({"Mode": "GOVERNANCE", "Days": 1}, ""),
    ],
)
def test_default_retention_has_a_mode_and_one_period(default: dict[str, Any], code: str, desk: Desk) -> None:
    configuration = {"ObjectLockEnabled": "Enabled", "Rule": {"DefaultRetention": default}}

    found = desk.code("PutObjectLockConfiguration", Bucket="kept", ObjectLockConfiguration=configuration)

    assert found == code


def test_default_retention_is_given_to_what_is_written_from_then_on(desk: Desk) -> None:
    before = put(desk)
    rule = {"DefaultRetention": {"Mode": "COMPLIANCE", "Years": 1}}
    configuration = {"ObjectLockEnabled": "Enabled", "Rule": rule}
    desk.call("PutObjectLockConfiguration", Bucket="kept", ObjectLockConfiguration=configuration)

    after = put(desk)

    kept = desk.call("GetObjectRetention", Bucket="kept", Key="a", VersionId=after)["Retention"]
    assert kept == {"Mode": "COMPLIANCE", "RetainUntilDate": in_days(desk, 365)}
    assert desk.code("GetObjectRetention", Bucket="kept", Key="a", VersionId=before) == "NoSuchObjectLockConfiguration"


def test_version_under_compliance_is_deleted_by_nobody_before_its_time(desk: Desk) -> None:
    version = put(desk, **retained(desk, "COMPLIANCE", 2))

    refused = desk.refusal("DeleteObject", Bucket="kept", Key="a", VersionId=version, BypassGovernanceRetention=True)
    desk.world.advance(days=2)

    assert (refused.code, refused.message) == ("AccessDenied", PROTECTED)
    assert delete(desk, version) == ""


def test_version_under_governance_is_deleted_by_who_bypasses_and_may(desk: Desk) -> None:
    version = put(desk, **retained(desk, "GOVERNANCE", 2))
    deleter = desk.role("deleter", allow("s3:DeleteObjectVersion"))

    assert delete(desk, version) == "AccessDenied"
    assert delete(desk, version, deleter, BypassGovernanceRetention=True) == "AccessDenied"
    assert delete(desk, version, BypassGovernanceRetention=True) == ""


def test_deleting_without_a_version_adds_a_marker_also_to_what_is_locked(desk: Desk) -> None:
    put(desk, **retained(desk, "COMPLIANCE", 2))

    assert desk.call("DeleteObject", Bucket="kept", Key="a")["DeleteMarker"] is True


def test_legal_hold_keeps_a_version_until_it_is_lifted(desk: Desk) -> None:
    version = put(desk, ObjectLockLegalHoldStatus="ON")
    held = delete(desk, version, BypassGovernanceRetention=True)

    desk.call("PutObjectLegalHold", Bucket="kept", Key="a", LegalHold={"Status": "OFF"})

    assert desk.call("GetObjectLegalHold", Bucket="kept", Key="a") == {"LegalHold": {"Status": "OFF"}}
    assert (held, delete(desk, version)) == ("AccessDenied", "")


@pytest.mark.parametrize(
    ("present", "wanted", "plain", "bypassing"),
    [
        (("GOVERNANCE", 2), ("GOVERNANCE", 3), "", ""),
        (("GOVERNANCE", 2), ("COMPLIANCE", 2), "", ""),
        (("GOVERNANCE", 2), ("GOVERNANCE", 1), "AccessDenied", ""),
        (("GOVERNANCE", 2), None, "AccessDenied", ""),
        (("COMPLIANCE", 2), ("COMPLIANCE", 3), "", ""),
        (("COMPLIANCE", 2), ("COMPLIANCE", 1), "AccessDenied", "AccessDenied"),
        (("COMPLIANCE", 2), ("GOVERNANCE", 3), "AccessDenied", "AccessDenied"),
        (("COMPLIANCE", 2), None, "AccessDenied", "AccessDenied"),
    ],
)
def test_retention_is_extended_freely_and_loosened_by_few(
    present: tuple[str, int], wanted: tuple[str, int] | None, plain: str, bypassing: str, desk: Desk
) -> None:
    put(desk, **retained(desk, *present))
    retention = {} if wanted is None else {"Mode": wanted[0], "RetainUntilDate": in_days(desk, wanted[1])}
    given: Any = {"Bucket": "kept", "Key": "a", "Retention": retention}

    codes = (
        desk.code("PutObjectRetention", **given),
        desk.code("PutObjectRetention", **given, BypassGovernanceRetention=True),
    )

    assert codes == (plain, bypassing)


@pytest.mark.parametrize(
    ("params", "code"),
    [
        ({"ObjectLockMode": "GOVERNANCE"}, "InvalidArgument"),
        ({"ObjectLockRetainUntilDate": 4_000_000_000_000}, "InvalidArgument"),
        ({"ObjectLockMode": "NONE", "ObjectLockRetainUntilDate": 4_000_000_000_000}, "InvalidArgument"),
        ({"ObjectLockMode": "GOVERNANCE", "ObjectLockRetainUntilDate": 1_000}, "InvalidArgument"),
    ],
)
def test_retention_that_makes_no_sense_is_refused(params: dict[str, Any], code: str, desk: Desk) -> None:
    assert desk.code("PutObject", Bucket="kept", Key="a", Body=b"", **params) == code


def test_bucket_without_object_lock_takes_no_locks(desk: Desk) -> None:
    desk.put("a")
    until: Any = retained(desk, "GOVERNANCE", 1)
    hold: Any = {"Bucket": "docs", "Key": "a", "LegalHold": {"Status": "ON"}}

    codes = [
        desk.code("PutObject", Bucket="docs", Key="b", Body=b"", **until),
        desk.code("PutObjectLegalHold", **hold),
        desk.code("GetObjectLegalHold", Bucket="docs", Key="a"),
        desk.code("DeleteObject", Bucket="docs", Key="a", BypassGovernanceRetention=True),
    ]

    assert codes == ["InvalidRequest"] * 4
