"""Listings of objects: order, prefixes, delimiters, markers and tokens, at a constant price."""

from __future__ import annotations

import pytest

from redrive.services.s3.model.pages import decode_token, encode_token
from redrive.testing.world import World
from tests.unit.services.s3.test_objects import count_statements

KEYS = ["a", "f/a/1", "f/a/2", "f/b", "f/c/1", "g", "z%=+ é/x"]


@pytest.fixture
def filled(call) -> None:
    for key in reversed(KEYS):
        call("PutObject", Key=key, Body=b"x")


def keys(answer) -> list[str]:
    return [entry["Key"] for entry in answer["Contents"]]


def prefixes(answer) -> list[str]:
    return [entry["Prefix"] for entry in answer.get("CommonPrefixes", [])]


@pytest.mark.usefixtures("filled")
def test_objects_are_listed_in_order_with_what_is_known_of_them(call) -> None:
    answer = call("ListObjectsV2")
    owned = call("ListObjectsV2", FetchOwner=True)["Contents"][0]
    first = call("ListObjects")

    assert (keys(answer), answer["KeyCount"], answer["IsTruncated"]) == (KEYS, 7, False)
    entry = answer["Contents"][0]
    assert (entry["Size"], entry["StorageClass"], entry["ChecksumAlgorithm"]) == (1, "STANDARD", ["CRC64NVME"])
    assert ("Owner" in entry, list(owned["Owner"]), len(owned["Owner"]["ID"])) == (False, ["ID"], 64)
    assert ("Owner" in first["Contents"][0], first["Marker"], "NextMarker" in first) == (True, "", False)


@pytest.mark.usefixtures("filled")
def test_common_prefix_stands_for_its_keys_and_counts_once(call) -> None:
    answer = call("ListObjectsV2", Prefix="f/", Delimiter="/")

    assert (keys(answer), prefixes(answer), answer["KeyCount"]) == (["f/b"], ["f/a/", "f/c/"], 3)
    assert (answer["Prefix"], answer["Delimiter"]) == ("f/", "/")


@pytest.mark.usefixtures("filled")
@pytest.mark.parametrize("operation", ["ListObjects", "ListObjectsV2"])
def test_marker_under_a_common_prefix_skips_the_rest_of_it(call, operation: str) -> None:
    marker = {"ListObjects": "Marker", "ListObjectsV2": "StartAfter"}[operation]

    answer = call(operation, Prefix="f/", Delimiter="/", **{marker: "f/a/1"})

    assert (keys(answer), prefixes(answer), answer[marker]) == (["f/b"], ["f/c/"], "f/a/1")


@pytest.mark.usefixtures("filled")
def test_next_marker_is_given_only_with_a_delimiter(call) -> None:
    plain = call("ListObjects", MaxKeys=2)
    grouped = call("ListObjects", MaxKeys=2, Delimiter="/")

    assert (plain["IsTruncated"], "NextMarker" in plain) == (True, False)
    assert (grouped["IsTruncated"], grouped["NextMarker"]) == (True, "f/")


@pytest.mark.usefixtures("filled")
@pytest.mark.parametrize("size", [1, 2, 3, 6, 7])
@pytest.mark.parametrize("delimiter", ["", "/", "a"])
def test_tokens_lead_through_all_pages(call, size: int, delimiter: str) -> None:
    params = {"Delimiter": delimiter} if delimiter else {}
    whole = call("ListObjectsV2", **params)
    found: list[str] = []
    token: dict[str, object] = {}
    for _ in range(10):
        page = call("ListObjectsV2", MaxKeys=size, **params, **token)
        found += [*keys(page), *prefixes(page)]
        if not page["IsTruncated"]:
            break
        token = {"ContinuationToken": page["NextContinuationToken"], "StartAfter": "zzz"}

    assert (sorted(found), "NextContinuationToken" in page) == (sorted([*keys(whole), *prefixes(whole)]), False)


@pytest.mark.usefixtures("filled")
def test_sizes_of_pages(call, refused) -> None:
    """A page has up to 1,000 entries, and none if none are asked for."""
    nothing = call("ListObjectsV2", MaxKeys=0)

    assert (nothing["KeyCount"], nothing["IsTruncated"], nothing["MaxKeys"]) == (0, False, 0)
    assert call("ListObjectsV2", MaxKeys=5_000)["MaxKeys"] == 1_000
    assert refused("ListObjectsV2", MaxKeys=-1).code == "InvalidArgument"


@pytest.mark.usefixtures("filled")
def test_encoding_by_url(call, refused) -> None:
    """Keys and prefixes are percent-encoded if the request asks for it."""
    answer = call("ListObjectsV2", EncodingType="url", Prefix="z", Delimiter="/")
    full = call("ListObjectsV2", EncodingType="url", StartAfter="g+")

    assert (prefixes(answer), answer["EncodingType"]) == (["z%25%3D%2B+%C3%A9/"], "url")
    assert (keys(full), full["StartAfter"]) == (["z%25%3D%2B+%C3%A9/x"], "g%2B")
    assert [refused("ListObjectsV2", EncodingType=one).message for one in ("", "xml")] == [
        "Invalid Encoding Method specified in Request"
    ] * 2


@pytest.mark.parametrize("token", ["", "x", "AAAAAAAA", "é"])
def test_token_that_was_never_given_is_refused(refused, token: str) -> None:
    error = refused("ListObjectsV2", ContinuationToken=token)

    assert error.message == "The continuation token provided is incorrect"
    assert error.members == {"ArgumentName": "continuation-token", "ArgumentValue": token}


def test_token_has_any_key() -> None:
    """A token gives back the key that a page has ended with, whatever bytes it has."""
    for key in (b"", b"a/b", "é😀".encode(), b"\x00\xff"):
        assert decode_token(encode_token(key)) == key


def test_page_costs_as_many_statements_however_many_keys_there_are(world: World, call) -> None:
    counts = []
    for number in range(300):
        call("PutObject", Key=f"{number:04}", Body=b"")
        if number in {30, 299}:
            counts.append(count_statements(world, lambda: call("ListObjectsV2", MaxKeys=10)))

    assert counts == [1, 1]


def test_keys_under_a_common_prefix_are_not_read(world: World, call) -> None:
    """Each common prefix costs one statement of a few rows, whether ten keys are under it, or a hundred."""
    read = {}
    for count in (10, 100):
        for prefix in "ab":
            for number in range(count):
                call("PutObject", Key=f"{prefix}/{number:04}", Body=b"")
        read[count] = count_statements(world, lambda: call("ListObjectsV2", Delimiter="/"))

    assert read[100] == read[10] == 3
