"""Versioning: the states of a bucket, versions and delete markers, and what is told of them."""

from __future__ import annotations

import pytest

from redrive.services.s3.model.version_ids import (
    decode_upload_id,
    decode_version_id,
    encode_upload_id,
    encode_version_id,
)

SECRET = b"a secret"


@pytest.fixture
def versioned(call) -> None:
    set_versioning(call, "Enabled")


def set_versioning(call, status: str) -> None:
    call("PutBucketVersioning", VersioningConfiguration={"Status": status})


def put(call, body: bytes, key: str = "k") -> str:
    return str(call("PutObject", Key=key, Body=body).get("VersionId"))


def versions(call, **params: object) -> list[tuple[str, str, bool]]:
    """All versions as (key, version id, whether it is the latest), those that are no markers first."""
    answer = call("ListObjectVersions", **params)
    return [(one["Key"], one["VersionId"], one["IsLatest"]) for one in answer["Versions"] + answer["DeleteMarkers"]]


def test_states_of_versioning(call, refused) -> None:
    """A bucket is Enabled or Suspended once versioning was set, and never without it again."""
    assert call("GetBucketVersioning") == {}
    for status in ("Suspended", "Enabled", "Suspended"):
        set_versioning(call, status)
        assert call("GetBucketVersioning") == {"Status": status}

    wrong = [refused("PutBucketVersioning", VersioningConfiguration=one).code for one in ({}, {"Status": "enabled"})]
    assert wrong == ["IllegalVersioningConfigurationException", "MalformedXML"]


@pytest.mark.usefixtures("versioned")
def test_each_write_is_a_version_of_its_own(call) -> None:
    first, second = put(call, b"1"), put(call, b"2")

    assert len({first, second, "null"}) == 3
    assert [len(first), call("GetObject", Key="k")["VersionId"]] == [32, second]
    assert call("GetObject", Key="k", VersionId=first)["Body"] == b"1"
    assert versions(call) == [("k", second, True), ("k", first, False)]


def test_object_from_before_versioning_is_the_version_null(call) -> None:
    put(call, b"0")
    assert "VersionId" not in call("GetObject", Key="k")
    set_versioning(call, "Enabled")
    assert call("GetObject", Key="k")["VersionId"] == "null"

    new = put(call, b"1")

    assert call("GetObject", Key="k", VersionId="null")["Body"] == b"0"
    assert versions(call) == [("k", new, True), ("k", "null", False)]


@pytest.mark.usefixtures("versioned")
def test_suspended_bucket_replaces_the_version_null_and_keeps_others(call) -> None:
    kept = put(call, b"1")
    set_versioning(call, "Suspended")

    answers = [call("PutObject", Key="k", Body=body) for body in (b"2", b"3")]

    assert ["VersionId" in answer for answer in answers] == [False, False]
    assert call("HeadObject", Key="k")["VersionId"] == "null"
    assert versions(call) == [("k", "null", True), ("k", kept, False)]
    set_versioning(call, "Enabled")
    newest = put(call, b"4")
    set_versioning(call, "Suspended")
    put(call, b"5")
    assert versions(call) == [("k", "null", True), ("k", newest, False), ("k", kept, False)]


@pytest.mark.usefixtures("versioned")
def test_deletion_adds_a_marker_and_deleting_the_marker_brings_the_object_back(call, refused) -> None:
    version = put(call, b"1")
    marker = call("DeleteObject", Key="k")
    another = call("DeleteObject", Key="k")

    missing = refused("GetObject", Key="k")
    by_id = refused("GetObject", Key="k", VersionId=marker["VersionId"])

    assert (marker["DeleteMarker"], marker["VersionId"] != another["VersionId"]) == (True, True)
    assert (missing.code, missing.http_status, missing.members["x-amz-delete-marker"]) == ("NoSuchKey", 404, True)
    assert (by_id.code, by_id.http_status) == ("MethodNotAllowed", 405)
    assert (by_id.members["Method"], by_id.members["ResourceType"]) == ("GET", "DeleteMarker")
    assert call("ListObjectsV2")["KeyCount"] == 0
    for one in (another, marker):
        removed = call("DeleteObject", Key="k", VersionId=one["VersionId"])
        assert removed == {"DeleteMarker": True, "VersionId": one["VersionId"]}
    assert call("GetObject", Key="k")["VersionId"] == version


@pytest.mark.usefixtures("versioned")
def test_deleted_version_is_gone_for_good_and_the_one_before_is_current(call, refused) -> None:
    first, second = put(call, b"1"), put(call, b"2")

    assert call("DeleteObject", Key="k", VersionId=second) == {"VersionId": second}
    gone = refused("GetObject", Key="k", VersionId=second)

    assert (gone.code, gone.http_status, gone.members) == ("NoSuchVersion", 404, {"Key": "k", "VersionId": second})
    assert call("GetObject", Key="k")["VersionId"] == first
    assert call("DeleteObject", Key="k", VersionId=second) == {"VersionId": second}


@pytest.mark.usefixtures("versioned")
def test_id_that_was_never_given_is_invalid(call, refused) -> None:
    version = put(call, b"1")
    forged = version[:10] + ("AAAA" if version[10:14] != "AAAA" else "BBBB") + version[14:]

    errors = [refused(operation, Key="k", VersionId=forged) for operation in ("GetObject", "DeleteObject")]

    assert [(error.code, error.message) for error in errors] == [
        ("InvalidArgument", "Invalid version id specified")
    ] * 2


@pytest.mark.usefixtures("versioned")
def test_suspended_deletion_replaces_the_version_null_by_a_marker(call) -> None:
    kept = put(call, b"1")
    set_versioning(call, "Suspended")
    put(call, b"2")

    assert [call("DeleteObject", Key="k") for _ in range(2)] == [{"DeleteMarker": True, "VersionId": "null"}] * 2

    assert versions(call) == [("k", kept, False), ("k", "null", True)]


@pytest.mark.usefixtures("versioned")
def test_deletions_of_many_tell_their_markers(call) -> None:
    version = put(call, b"1")

    answer = call("DeleteObjects", Delete={"Objects": [{"Key": "k", "VersionId": version}, {"Key": "other"}]})

    removed, marked = answer["Deleted"]
    assert removed == {"Key": "k", "VersionId": version}
    assert (marked["DeleteMarker"], len(marked["DeleteMarkerVersionId"])) == (True, 32)
    again = {"Key": "other", "VersionId": marked["DeleteMarkerVersionId"]}
    assert call("DeleteObjects", Delete={"Objects": [again]})["Deleted"] == [
        {**again, "DeleteMarker": True, "DeleteMarkerVersionId": marked["DeleteMarkerVersionId"]}
    ]


@pytest.mark.usefixtures("versioned")
@pytest.mark.parametrize("size", [1, 2, 3, 7])
def test_pages_of_versions_have_each_version_once(call, size: int) -> None:
    for key in ("a", "b", "b/1", "c"):
        for body in (b"1", b"2", b"3"):
            put(call, body, key)
    call("DeleteObject", Key="b")
    everything = call("ListObjectVersions")
    found: list[tuple[str, str]] = []
    markers: dict[str, object] = {}
    for _ in range(20):
        page = call("ListObjectVersions", MaxKeys=size, **markers)
        assert len(page["Versions"]) + len(page["DeleteMarkers"]) <= size
        found += [(one["Key"], one["VersionId"]) for one in page["Versions"] + page["DeleteMarkers"]]
        if not page["IsTruncated"]:
            break
        markers = {"KeyMarker": page["NextKeyMarker"], "VersionIdMarker": page["NextVersionIdMarker"]}

    expected = [(one["Key"], one["VersionId"]) for one in everything["Versions"] + everything["DeleteMarkers"]]
    assert (sorted(found), len(set(found))) == (sorted(expected), 13)


@pytest.mark.usefixtures("versioned")
def test_markers_of_a_listing_of_versions(call, refused) -> None:
    for key in ("a", "b"):
        for body in (b"1", b"2"):
            put(call, body, key)

    after_key = call("ListObjectVersions", KeyMarker="a")
    alone = refused("ListObjectVersions", VersionIdMarker="x")

    assert [one["Key"] for one in after_key["Versions"]] == ["b", "b"]
    assert alone.message == "A version-id marker cannot be specified without a key marker."
    grouped = call("ListObjectVersions", Delimiter="a", MaxKeys=1)
    assert (grouped["CommonPrefixes"], grouped["NextKeyMarker"]) == ([{"Prefix": "a"}], "a")
    assert "NextVersionIdMarker" not in grouped


def test_ids_are_opaque_and_come_back() -> None:
    for number in (1, 2, 1_024, 2**63 - 1):
        version, upload = encode_version_id(number, SECRET), encode_upload_id(number, SECRET)
        assert (len(version), len(upload)) == (32, 128)
        assert (decode_version_id(version, SECRET), decode_upload_id(upload, SECRET)) == (number, number)
        assert decode_version_id(upload[:32], SECRET) is None
        assert decode_version_id(version, b"another") is None


@pytest.mark.parametrize("text", ["", "x", "é" * 32, "A" * 32, "A" * 31 + "=", "\x00" * 32])
def test_text_that_is_no_id_is_told_apart(text: str) -> None:
    assert (decode_version_id(text, SECRET), decode_upload_id(text * 4, SECRET)) == (None, None)
