"""Tags of objects: in the header of a write, and by operations of their own."""

from __future__ import annotations

import pytest

TAGS = [{"Key": "a", "Value": "1"}, {"Key": "b c", "Value": ""}]


def test_tags_are_set_read_counted_and_removed(call) -> None:
    call("PutObject", Key="k", Body=b"")

    assert call("PutObjectTagging", Key="k", Tagging={"TagSet": TAGS}) == {}
    assert call("GetObjectTagging", Key="k") == {"TagSet": TAGS}
    assert (call("HeadObject", Key="k")["TagCount"], call("GetObject", Key="k")["TagCount"]) == (2, 2)
    call("DeleteObjectTagging", Key="k")
    assert call("GetObjectTagging", Key="k") == {"TagSet": []}
    assert "TagCount" not in call("HeadObject", Key="k")


def test_overwriting_an_object_removes_its_tags(call) -> None:
    call("PutObject", Key="k", Body=b"", Tagging="a=1&b")
    assert call("GetObjectTagging", Key="k")["TagSet"] == [{"Key": "a", "Value": "1"}, {"Key": "b", "Value": ""}]

    call("PutObject", Key="k", Body=b"")

    assert call("GetObjectTagging", Key="k")["TagSet"] == []


@pytest.mark.parametrize("header", ["a=1&a=2", "=1", "a=b=c", "%ff=1", "a=1&"])
def test_malformed_header_of_tags(refused, header: str) -> None:
    error = refused("PutObject", Key="k", Body=b"", Tagging=header)

    assert error.message == (
        "The header 'x-amz-tagging' shall be encoded as UTF-8 then URLEncoded URL query parameters without tag name "
        "duplicates."
    )


@pytest.mark.parametrize(
    ("tags", "message"),
    [
        ([("a", "1"), ("a", "2")], "Cannot provide multiple Tags with the same key"),
        ([("a" * 129, "")], "The TagKey you have provided is invalid"),
        ([("a,b", "")], "The TagKey you have provided is invalid"),
        ([("a", "v" * 257)], "The TagValue you have provided is invalid"),
        ([("a", "1,2")], "The TagValue you have provided is invalid"),
        ([("aws:x", "")], "Your TagKey cannot be prefixed with aws:"),
        ([(str(number), "") for number in range(11)], "Object tags cannot be greater than 10"),
    ],
)
def test_tags_that_an_object_cannot_have(call, refused, tags: list[tuple[str, str]], message: str) -> None:
    call("PutObject", Key="k", Body=b"")
    given = [{"Key": key, "Value": value} for key, value in tags]

    error = refused("PutObjectTagging", Key="k", Tagging={"TagSet": given})

    assert (error.message, error.http_status) == (message, 400)
    assert call("GetObjectTagging", Key="k")["TagSet"] == []


def test_tags_belong_to_a_version(call, refused) -> None:
    call("PutBucketVersioning", VersioningConfiguration={"Status": "Enabled"})
    first = call("PutObject", Key="k", Body=b"")["VersionId"]
    second = call("PutObject", Key="k", Body=b"")["VersionId"]

    answer = call("PutObjectTagging", Key="k", VersionId=first, Tagging={"TagSet": TAGS})

    assert answer == {"VersionId": first}
    assert call("GetObjectTagging", Key="k") == {"TagSet": [], "VersionId": second}
    assert call("GetObjectTagging", Key="k", VersionId=first)["TagSet"] == TAGS
    marker = call("DeleteObject", Key="k")["VersionId"]
    assert refused("PutObjectTagging", Key="k", VersionId=marker, Tagging={"TagSet": []}).code == "MethodNotAllowed"
    assert refused("GetObjectTagging", Key="k").code == "NoSuchKey"
