"""CopyObject: directives, copies in place, conditions on the source, and shared bodies."""

from __future__ import annotations

import base64
import hashlib

import pytest

from redrive.delivery.checksums import digests_of
from redrive.testing.world import World
from tests.unit.services.s3.test_objects import referenced
from tests.unit.services.s3.test_uploads import LARGE, LAST, begin, complete, content, send


@pytest.fixture
def source(call) -> str:
    answer = call(
        "PutObject", Key="a b/é", Body=b"hello", ContentType="text/plain", Metadata={"m": "1"}, Tagging="t=1",
        StorageClass="STANDARD_IA", CacheControl="no-store",
    )  # fmt: skip
    return str(answer["ETag"])


@pytest.mark.usefixtures("source")
@pytest.mark.parametrize("header", ["b/a b/é", "/b/a%20b/%C3%A9", "b%2Fa%20b/é"])
def test_copy_has_body_metadata_and_tags_but_not_the_storage_class(call, header: str) -> None:
    answer = call("CopyObject", Key="k", CopySource=header, Metadata={"ignored": "x"}, Tagging="ignored=x")

    got = call("GetObject", Key="k")
    assert (got["Body"], got["ContentType"], got["Metadata"]) == (b"hello", "text/plain", {"m": "1"})
    assert (got["CacheControl"], got["TagCount"], "StorageClass" in got) == ("no-store", 1, False)
    assert call("GetObjectTagging", Key="k")["TagSet"] == [{"Key": "t", "Value": "1"}]
    assert (answer["CopyObjectResult"]["ETag"], "VersionId" in answer) == (got["ETag"], False)


@pytest.mark.usefixtures("source")
def test_replace_takes_only_what_the_request_gives(call) -> None:
    directives = {"MetadataDirective": "REPLACE", "TaggingDirective": "REPLACE"}
    call("CopyObject", Key="k", CopySource="b/a b/é", Metadata={"n": "2"}, StorageClass="GLACIER_IR", **directives)

    head = call("HeadObject", Key="k")

    assert (head["ContentType"], head["Metadata"]) == ("binary/octet-stream", {"n": "2"})
    assert (head["StorageClass"], "TagCount" in head, "CacheControl" in head) == ("GLACIER_IR", False, False)


@pytest.mark.usefixtures("source")
@pytest.mark.parametrize(
    ("change", "allowed"),
    [
        ({}, False),
        ({"ACL": "private"}, False),
        ({"MetadataDirective": "REPLACE"}, True),
        ({"StorageClass": "STANDARD"}, True),
        ({"ServerSideEncryption": "AES256"}, True),
        ({"WebsiteRedirectLocation": "/x"}, True),
    ],
)
def test_copy_onto_itself_needs_a_change(call, refused, change, allowed: bool) -> None:
    params = {"Key": "a b/é", "CopySource": "b/a b/é", **change}

    if allowed:
        assert call("CopyObject", **params)["CopyObjectResult"]["ETag"]
    else:
        error = refused("CopyObject", **params)
        assert error.message.startswith("This copy request is illegal because it is trying to copy an object to itself")


@pytest.mark.parametrize(
    ("conditions", "failing"),
    [
        ({"IfMatch": "other"}, "If-Match"),
        ({"IfNoneMatch": "ETAG"}, "If-None-Match"),
        ({"IfUnmodifiedSince": -1}, "If-Unmodified-Since"),
        ({"IfModifiedSince": 0}, "If-Modified-Since"),
        ({"IfMatch": "ETAG", "IfUnmodifiedSince": -1}, None),
        ({"IfNoneMatch": "ETAG", "IfUnmodifiedSince": -1}, "If-Unmodified-Since"),
        ({"IfNoneMatch": "other", "IfModifiedSince": -1}, None),
    ],
)
def test_conditions_on_the_source(world: World, call, refused, source, conditions, failing: str | None) -> None:
    """A condition on the source that does not hold is 412, and never 304."""
    params = {
        f"CopySource{name}": world.now + 1_000 * value if isinstance(value, int) else value.replace("ETAG", source)
        for name, value in conditions.items()
    }

    if failing is None:
        assert call("CopyObject", Key="k", CopySource="b/a b/é", **params)
    else:
        error = refused("CopyObject", Key="k", CopySource="b/a b/é", **params)
        assert (error.http_status, error.members) == (412, {"Condition": f"x-amz-copy-source-{failing}"})


@pytest.mark.usefixtures("source")
def test_conditions_on_the_destination(call, refused) -> None:
    """The conditions of a write count for the destination of a copy."""
    call("CopyObject", Key="k", CopySource="b/a b/é", IfNoneMatch="*")

    assert refused("CopyObject", Key="k", CopySource="b/a b/é", IfNoneMatch="*").code == "PreconditionFailed"
    assert refused("CopyObject", Key="new", CopySource="b/a b/é", IfMatch="x").code == "NoSuchKey"


@pytest.mark.parametrize("header", ["b", "b/", "/", "", "/b", "b/k?versionId=", "%ff/k"])
def test_source_that_names_no_object(refused, header: str) -> None:
    error = refused("CopyObject", Key="k", CopySource=header)

    assert (error.code, error.message) == ("InvalidArgument", "Invalid copy source object key")
    assert error.members == {"ArgumentName": "x-amz-copy-source", "ArgumentValue": header}


def test_missing_sources(call, refused) -> None:
    """A source that is missing, or is a delete marker, is told."""
    call("PutBucketVersioning", VersioningConfiguration={"Status": "Enabled"})
    call("PutObject", Key="gone", Body=b"")
    marker = call("DeleteObject", Key="gone")["VersionId"]

    missing = [refused("CopyObject", Key="k", CopySource=f"b/{key}") for key in ("none", "gone")]
    by_id = refused("CopyObject", Key="k", CopySource=f"b/gone?versionId={marker}")

    assert [(error.code, error.members["Key"]) for error in missing] == [("NoSuchKey", "none"), ("NoSuchKey", "gone")]
    assert by_id.message == "The source of a copy request may not specifically refer to a delete marker by version id."
    assert refused("CopyObject", Key="k", CopySource="none/k").code == "NoSuchBucket"


def test_version_is_brought_back_by_a_copy(call) -> None:
    call("PutBucketVersioning", VersioningConfiguration={"Status": "Enabled"})
    first = call("PutObject", Key="k", Body=b"1")["VersionId"]
    call("PutObject", Key="k", Body=b"2")

    answer = call("CopyObject", Key="k", CopySource=f"b/k?versionId={first}")

    assert (answer["CopySourceVersionId"], len(answer["VersionId"])) == (first, 32)
    assert call("GetObject", Key="k")["Body"] == b"1"


def test_large_body_is_shared_until_nobody_has_it(world: World, call) -> None:
    call("PutObject", Key="a", Body=LARGE)

    call("CopyObject", Key="b", CopySource="b/a")
    call("CopyObject", Key="b", CopySource="b/b", MetadataDirective="REPLACE")
    assert [count for _, count in referenced(world)] == [2]
    call("DeleteObject", Key="a")

    assert [count for _, count in referenced(world)] == [1]
    assert content(world, call("GetObject", Key="b")["Body"]) == LARGE
    call("DeleteObject", Key="b")
    assert [count for _, count in referenced(world)] == [0]


def test_copy_of_an_object_of_parts_has_none(call) -> None:
    upload = begin(call)
    complete(call, upload, send(call, upload, LARGE, LAST))

    result = call("CopyObject", Key="copy", CopySource="b/k")["CopyObjectResult"]

    crc = base64.b64encode(digests_of(LARGE + LAST)["CRC64NVME"]).decode()
    assert result["ETag"] == f'"{hashlib.md5(LARGE + LAST, usedforsecurity=False).hexdigest()}"'
    assert (result["ChecksumCRC64NVME"], result["ChecksumType"]) == (crc, "FULL_OBJECT")
    assert "ObjectParts" not in call("GetObjectAttributes", Key="copy", ObjectAttributes=["ObjectParts", "ETag"])


@pytest.mark.usefixtures("source")
def test_copy_gets_the_checksum_that_is_asked_for(call) -> None:
    result = call("CopyObject", Key="k", CopySource="b/a b/é", ChecksumAlgorithm="SHA256")["CopyObjectResult"]

    assert result["ChecksumSHA256"] == base64.b64encode(hashlib.sha256(b"hello").digest()).decode()
