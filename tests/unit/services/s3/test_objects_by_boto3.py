"""Objects as boto3 sees them, through the wire: statuses, headers, transfers in parts."""

from __future__ import annotations

import io

import pytest
from boto3.s3.transfer import TransferConfig
from botocore.exceptions import ClientError

from redrive.testing.world import World

MB = 1024 * 1024
IN_PARTS = TransferConfig(multipart_threshold=5 * MB, multipart_chunksize=5 * MB, use_threads=False)


@pytest.fixture
def s3(world: World):
    return world.client("s3")


def status_of(answer) -> int:
    return int(answer["ResponseMetadata"]["HTTPStatusCode"])


def refusal(call, **params: object):
    with pytest.raises(ClientError) as failed:
        call(Bucket="b", **params)
    return failed.value.response


def test_statuses_of_reads(s3) -> None:
    """A part of an object is 206, an unchanged object 304, a deletion 204."""
    s3.put_object(Bucket="b", Key="k", Body=b"hello")

    whole, piece = s3.get_object(Bucket="b", Key="k"), s3.get_object(Bucket="b", Key="k", Range="bytes=1-2")
    unchanged = refusal(s3.get_object, Key="k", IfNoneMatch=whole["ETag"])

    assert (status_of(whole), status_of(piece), piece["Body"].read()) == (200, 206, b"el")
    assert status_of(s3.head_object(Bucket="b", Key="k", PartNumber=1)) == 206
    assert (status_of(unchanged), unchanged["Error"]["Code"]) == (304, "304")
    headers = unchanged["ResponseMetadata"]["HTTPHeaders"]
    assert (headers["etag"], headers["last-modified"]) == (whole["ETag"], "Wed, 01 Jan 2025 00:00:00 GMT")
    assert status_of(s3.delete_object(Bucket="b", Key="k")) == 204


def test_delete_marker_is_told_by_headers(s3) -> None:
    s3.put_bucket_versioning(Bucket="b", VersioningConfiguration={"Status": "Enabled"})
    marker = s3.delete_object(Bucket="b", Key="k")

    missing = refusal(s3.get_object, Key="k")
    by_id = refusal(s3.head_object, Key="k", VersionId=marker["VersionId"])

    assert marker["DeleteMarker"] is True
    assert (missing["Error"]["Code"], missing["Error"]["Key"]) == ("NoSuchKey", "k")
    headers = missing["ResponseMetadata"]["HTTPHeaders"]
    assert (headers["x-amz-delete-marker"], headers["x-amz-version-id"]) == ("true", marker["VersionId"])
    assert (status_of(by_id), by_id["Error"]["Code"]) == (405, "405")


def test_transfers_in_parts(s3) -> None:
    """What boto3 uploads and copies in parts is downloaded as it was."""
    body = bytes(range(256)) * 4 * 1024 * 11
    s3.upload_fileobj(io.BytesIO(body), "b", "large", ExtraArgs={"Metadata": {"a": "b"}}, Config=IN_PARTS)
    s3.copy({"Bucket": "b", "Key": "large"}, "b", "copy", Config=IN_PARTS)

    read = {"large": io.BytesIO(), "copy": io.BytesIO()}
    for key, file in read.items():
        s3.download_fileobj("b", key, file, Config=IN_PARTS)

    assert [file.getvalue() == body for file in read.values()] == [True, True]
    head = s3.head_object(Bucket="b", Key="large", ChecksumMode="ENABLED")
    assert (head["ETag"].endswith('-3"'), head["Metadata"], head["ChecksumType"]) == (True, {"a": "b"}, "COMPOSITE")


def test_pages_of_listings(s3) -> None:
    """boto3's paginators give each key once."""
    keys = ["a", "a b/é+%&", "x/1", "x/2", "\x01odd"]
    for key in keys:
        s3.put_object(Bucket="b", Key=key, Body=b"")

    for name in ("list_objects", "list_objects_v2"):
        pages = s3.get_paginator(name).paginate(Bucket="b", PaginationConfig={"PageSize": 2})
        assert [one["Key"] for page in pages for one in page["Contents"]] == sorted(keys)
    versions = s3.get_paginator("list_object_versions").paginate(Bucket="b", PaginationConfig={"PageSize": 2})
    assert [one["Key"] for page in versions for one in page["Versions"]] == sorted(keys)


def test_many_are_deleted(s3) -> None:
    """Deletions of many tell for each key what became of it."""
    for key in "abc":
        s3.put_object(Bucket="b", Key=key, Body=b"")

    answer = s3.delete_objects(Bucket="b", Delete={"Objects": [{"Key": "a"}, {"Key": "b", "VersionId": "x"}]})

    assert [one["Key"] for one in answer["Deleted"]] == ["a"]
    assert [(one["Key"], one["Code"]) for one in answer["Errors"]] == [("b", "NoSuchVersion")]


def test_what_is_refused_by_name(s3) -> None:
    """GetObjectTorrent is not implemented, and says so."""
    s3.put_object(Bucket="b", Key="k", Body=b"")

    torrent = refusal(s3.get_object_torrent, Key="k")

    assert (status_of(torrent), torrent["Error"]["Code"]) == (501, "NotImplemented")
