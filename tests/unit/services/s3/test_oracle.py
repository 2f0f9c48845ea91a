"""A bucket against a slow oracle: lists of versions in memory, after any sequence of calls."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from redrive.core.errors import ServiceError
from redrive.testing.world import World

KEYS = ["a", "a/b", "a/b/c", "a/é", "é"]
LISTINGS = [
    (prefix, delimiter, after, size)
    for prefix in ("", "a/") for delimiter in ("", "/", "b") for after in ("", "a/b", "b") for size in (1, 3)
]  # fmt: skip


@dataclass(slots=True)
class Version:
    id: str
    body: bytes | None
    """None for a delete marker."""


@dataclass(slots=True)
class Oracle:
    """The versions of each key, the newest first."""

    state: str = ""
    keys: dict[str, list[Version]] = field(default_factory=dict)

    def add(self, key: str, body: bytes | None, version_id: str | None) -> None:
        """Write a version. One without an id replaces the one that had none."""
        versions = self.keys.setdefault(key, [])
        if self.state != "Enabled":
            versions[:] = [version for version in versions if version.id != "null"]
            version_id = "null"
        versions.insert(0, Version(version_id or "", body))

    def remove(self, key: str, version_id: str) -> None:
        versions = self.keys.get(key, [])
        versions[:] = [version for version in versions if version.id != version_id]

    def body(self, key: str) -> bytes | None:
        versions = self.keys.get(key, [])
        return versions[0].body if versions else None

    def rows(self) -> list[tuple[str, str, bool, bool]]:
        """All versions in order: key, id, whether it is the latest, whether it is a marker."""
        return [
            (key, version.id, place == 0, version.body is None)
            for key in sorted(self.keys, key=str.encode)
            for place, version in enumerate(self.keys[key])
        ]

    def listed(self, prefix: str, delimiter: str, after: str) -> list[str]:
        """Current keys and common prefixes after a marker, in order."""
        found: list[str] = []
        skipped = common_prefix(after, prefix, delimiter)
        for key in sorted(self.keys, key=str.encode):
            is_before = key.encode() <= after.encode() or (skipped is not None and key.startswith(skipped))
            if is_before or not key.startswith(prefix) or self.body(key) is None:
                continue
            shown = common_prefix(key, prefix, delimiter) or key
            if shown not in found:
                found.append(shown)
        return found


def common_prefix(key: str, prefix: str, delimiter: str) -> str | None:
    if not delimiter or not key.startswith(prefix) or delimiter not in key[len(prefix) :]:
        return None
    return prefix + key[len(prefix) :].split(delimiter, maxsplit=1)[0] + delimiter


# A version `null` under a newer version, which a suspended bucket replaces: random sequences hardly ever have it.
BURIED_NULL = [
    ("put", "a", b"1"),
    ("state", "Enabled", None),
    ("put", "a", b"2"),
    ("state", "Suspended", None),
    ("put", "a", b"3"),
    ("delete", "a", None),
]

PUT = st.tuples(st.just("put"), st.sampled_from(KEYS), st.binary(max_size=3))
STATE = st.tuples(st.just("state"), st.sampled_from(["Enabled", "Suspended"]), st.none())
CHANGES = st.lists(
    st.one_of(
        PUT,
        PUT,
        STATE,
        st.tuples(st.just("copy"), st.sampled_from(KEYS), st.sampled_from(KEYS)),
        st.tuples(st.just("delete"), st.sampled_from(KEYS), st.none()),
        st.tuples(st.just("erase"), st.integers(0, 30), st.none()),
    ),
    min_size=5,
    max_size=30,
)


@settings(max_examples=60)
@given(CHANGES)
@example(BURIED_NULL)
def test_bucket_is_as_its_oracle(changes) -> None:
    world, oracle = World(), Oracle()
    world.call("s3", "CreateBucket", Bucket="b")
    for change in changes:
        apply(world, oracle, *change)

    assert [read(world, key) for key in KEYS] == [oracle.body(key) for key in KEYS]
    assert pages_of_versions(world) == oracle.rows()
    for prefix, delimiter, after, size in LISTINGS:
        assert pages(world, prefix, delimiter, after, size) == oracle.listed(prefix, delimiter, after)
    world.close()


def apply(world: World, oracle: Oracle, kind: str, what, value) -> None:
    """Change the bucket and the oracle alike."""
    match kind:
        case "put":
            answer = world.call("s3", "PutObject", Bucket="b", Key=what, Body=value)
            oracle.add(what, value, answer.get("VersionId"))
        case "copy":
            copy(world, oracle, what, value)
        case "delete":
            answer = world.call("s3", "DeleteObject", Bucket="b", Key=what)
            if oracle.state:
                oracle.add(what, None, answer["VersionId"])
            else:
                oracle.remove(what, "null")
        case "erase":
            rows = oracle.rows()
            if rows:
                key, version_id, *_ = rows[what % len(rows)]
                world.call("s3", "DeleteObject", Bucket="b", Key=key, VersionId=version_id)
                oracle.remove(key, version_id)
        case _:
            world.call("s3", "PutBucketVersioning", Bucket="b", VersioningConfiguration={"Status": what})
            oracle.state = what


def copy(world: World, oracle: Oracle, source: str, target: str) -> None:
    body = oracle.body(source)
    params = {"Bucket": "b", "Key": target, "CopySource": f"b/{source}", "MetadataDirective": "REPLACE"}
    if body is None:
        with pytest.raises(ServiceError, match="NoSuchKey"):
            world.call("s3", "CopyObject", **params)
        return
    oracle.add(target, body, world.call("s3", "CopyObject", **params).get("VersionId"))


def read(world: World, key: str) -> bytes | None:
    try:
        return bytes(world.call("s3", "GetObject", Bucket="b", Key=key)["Body"])
    except ServiceError as error:
        return None if error.code == "NoSuchKey" else error.code.encode()


def pages(world: World, prefix: str, delimiter: str, after: str, size: int) -> list[str]:
    """What all pages of a listing show, in the order of their bytes."""
    found: list[str] = []
    given: dict[str, object] = {"Prefix": prefix, "MaxKeys": size, "StartAfter": after}
    if delimiter:
        given["Delimiter"] = delimiter
    while True:
        page = world.call("s3", "ListObjectsV2", Bucket="b", **given)
        shown = [one["Key"] for one in page["Contents"]] + [one["Prefix"] for one in page.get("CommonPrefixes", [])]
        found += sorted(shown, key=str.encode)
        assert page["KeyCount"] == len(shown) <= size
        if not page["IsTruncated"]:
            return found
        given["ContinuationToken"] = page["NextContinuationToken"]


def pages_of_versions(world: World) -> list[tuple[str, str, bool, bool]]:
    """What a listing of versions shows, in pages of one entry: a larger page has versions and markers apart."""
    found: list[tuple[str, str, bool, bool]] = []
    markers: dict[str, object] = {}
    while True:
        page = world.call("s3", "ListObjectVersions", Bucket="b", MaxKeys=1, **markers)
        assert len(page["Versions"]) + len(page["DeleteMarkers"]) <= 1
        found += [(one["Key"], one["VersionId"], one["IsLatest"], False) for one in page["Versions"]]
        found += [(one["Key"], one["VersionId"], one["IsLatest"], True) for one in page["DeleteMarkers"]]
        if not page["IsTruncated"]:
            return found
        markers = {"KeyMarker": page["NextKeyMarker"], "VersionIdMarker": page["NextVersionIdMarker"]}
