"""PutObject, GetObject, HeadObject and DeleteObject, as AWS documents and answers them."""

from __future__ import annotations

import base64
import hashlib

import pytest

from redrive.delivery.bodies import Content, Received, Segment
from redrive.delivery.checksums import digests_of
from redrive.store.api import Transaction
from redrive.testing.world import World

HELLO = "5d41402abc4b2a76b9719d911017c592"


def test_object_is_read_as_it_was_written(call) -> None:
    put = call("PutObject", Key="k", Body=b"hello", ContentType="text/plain", CacheControl="no-store")
    got = call("GetObject", Key="k")

    assert (put["ETag"], put["ServerSideEncryption"]) == (f'"{HELLO}"', "AES256")
    assert (got["Body"], got["ContentLength"], got["ETag"]) == (b"hello", 5, put["ETag"])
    assert (got["ContentType"], got["CacheControl"], got["AcceptRanges"]) == ("text/plain", "no-store", "bytes")
    assert not {"VersionId", "StorageClass", "TagCount", "ContentRange", "ChecksumType"} & got.keys()


def test_object_without_a_checksum_gets_crc64nvme(call) -> None:
    put = call("PutObject", Key="k", Body=b"123456789", ChecksumAlgorithm="SHA256")

    head = call("HeadObject", Key="k", ChecksumMode="ENABLED")

    # The check value of CRC-64/NVME: https://reveng.sourceforge.io/crc-catalogue/17plus.htm
    expected = base64.b64encode(bytes.fromhex("ae8b14860a799888")).decode()
    assert (put["ChecksumCRC64NVME"], put["ChecksumType"]) == (expected, "FULL_OBJECT")
    assert head["ChecksumCRC64NVME"] == expected


@pytest.mark.parametrize(("algorithm", "member"), [("sha256", "ChecksumSHA256"), ("sha1", "ChecksumSHA1")])
def test_declared_checksum_is_checked_and_kept(call, refused, algorithm: str, member: str) -> None:
    right = base64.b64encode(hashlib.new(algorithm, b"hello").digest()).decode()
    wrong = base64.b64encode(hashlib.new(algorithm, b"hallo").digest()).decode()

    put = call("PutObject", Key="k", Body=b"hello", **{member: right})
    mismatch = refused("PutObject", Key="other", Body=b"hello", **{member: wrong})
    malformed = refused("PutObject", Key="other", Body=b"hello", **{member: "abc"})

    assert put[member] == right
    assert (mismatch.code, mismatch.message) == (
        "BadDigest", f"The {algorithm.upper()} you specified did not match the calculated checksum.",
    )  # fmt: skip
    assert (malformed.code, malformed.message) == (
        "InvalidRequest", f"Value for x-amz-checksum-{algorithm} header is invalid.",
    )  # fmt: skip
    assert refused("HeadObject", Key="other").code == "NoSuchKey"


def test_two_checksums_are_refused(refused) -> None:
    """A request declares one checksum at most."""
    error = refused("PutObject", Key="k", Body=b"", ChecksumCRC32="AAAAAA==", ChecksumSHA1="x")

    assert (error.code, error.http_status) == ("InvalidRequest", 400)
    assert error.message == "Expecting a single x-amz-checksum- header. Multiple checksum Types are not allowed."


def test_content_md5_is_checked(call, refused) -> None:
    """Content-MD5 has to be the MD5 of what came, in base64."""
    md5 = base64.b64encode(bytes.fromhex(HELLO)).decode()

    call("PutObject", Key="k", Body=b"hello", ContentMD5=md5)
    mismatch = refused("PutObject", Key="k", Body=b"hallo", ContentMD5=md5)
    malformed = refused("PutObject", Key="k", Body=b"hello", ContentMD5="!!")

    assert (mismatch.code, mismatch.members["ExpectedDigest"]) == ("BadDigest", HELLO)
    assert (malformed.code, malformed.members) == ("InvalidDigest", {"Content-MD5": "!!"})
    assert call("GetObject", Key="k")["Body"] == b"hello"


@pytest.mark.parametrize(
    ("range", "body", "content_range"),
    [
        ("bytes=0-0", b"0", "bytes 0-0/10"),
        ("bytes=2-4", b"234", "bytes 2-4/10"),
        ("bytes=7-", b"789", "bytes 7-9/10"),
        ("bytes=7-100", b"789", "bytes 7-9/10"),
        ("bytes=-3", b"789", "bytes 7-9/10"),
        ("bytes=-30", b"0123456789", "bytes 0-9/10"),
        ("bytes=4-2", b"0123456789", None),
        ("bytes=0-1,3-4", b"0123456789", None),
        ("bytes=--1", b"0123456789", None),
        ("chars=0-1", b"0123456789", None),
        ("", b"0123456789", None),
    ],
)
def test_range_is_served_clipped_or_ignored(call, range: str, body: bytes, content_range: str | None) -> None:
    call("PutObject", Key="k", Body=b"0123456789")

    got = call("GetObject", Key="k", Range=range)

    assert (got["Body"], got.get("ContentRange"), got["ContentLength"]) == (body, content_range, len(body))


@pytest.mark.parametrize("range", ["bytes=10-", "bytes=10-12", "bytes=-0"])
def test_range_after_the_end_is_refused(call, refused, range: str) -> None:
    call("PutObject", Key="k", Body=b"0123456789")

    error = refused("GetObject", Key="k", Range=range)

    assert (error.code, error.http_status) == ("InvalidRange", 416)
    assert error.members == {"RangeRequested": range, "ActualObjectSize": "10"}


def test_checksum_is_shown_for_the_whole_object_only(call) -> None:
    call("PutObject", Key="k", Body=b"0123456789")

    whole = call("GetObject", Key="k", Range="bytes=0-9", ChecksumMode="ENABLED")
    piece = call("GetObject", Key="k", Range="bytes=0-8", ChecksumMode="ENABLED")

    assert ("ChecksumCRC64NVME" in whole, "ChecksumCRC64NVME" in piece) == (True, False)


def test_part_number_of_an_object_without_parts(call, refused) -> None:
    call("PutObject", Key="k", Body=b"hello")

    got = call("GetObject", Key="k", PartNumber=1)
    both = refused("GetObject", Key="k", PartNumber=1, Range="bytes=0-1")
    second = refused("GetObject", Key="k", PartNumber=2)

    assert (got["Body"], got["ContentRange"], "PartsCount" in got) == (b"hello", "bytes 0-4/5", False)
    assert both.message == "Cannot specify both Range header and partNumber query parameter"
    assert (second.code, second.http_status, second.members["ActualPartCount"]) == ("InvalidPartNumber", 416, "1")


@pytest.mark.parametrize(
    ("conditions", "status"),
    [
        ({"IfMatch": HELLO}, 200),
        ({"IfMatch": f'"{HELLO}"'}, 200),
        ({"IfMatch": "*"}, 200),
        ({"IfMatch": "other"}, 412),
        ({"IfNoneMatch": HELLO}, 304),
        ({"IfNoneMatch": "other"}, 200),
        ({"IfModifiedSince": -1}, 200),
        ({"IfModifiedSince": 999}, 304),
        ({"IfModifiedSince": 10_000_000}, 200),
        ({"IfUnmodifiedSince": -1}, 412),
        ({"IfUnmodifiedSince": 0}, 200),
        ({"IfMatch": HELLO, "IfUnmodifiedSince": -1}, 200),
        ({"IfNoneMatch": HELLO, "IfModifiedSince": -1}, 304),
    ],
)
def test_conditions_of_reads(world: World, call, conditions, status: int) -> None:
    """A read is answered, refused or unchanged, as its conditions say."""
    written_at = world.now
    call("PutObject", Key="k", Body=b"hello")
    world.advance(seconds=60)
    params = {
        name: written_at + value if isinstance(value, int) else value for name, value in conditions.items()
    }  # fmt: skip

    assert [status_of(call, operation, **params) for operation in ("GetObject", "HeadObject")] == [status, status]


def status_of(call, operation: str, **params: object) -> int:
    from redrive.core.errors import ServiceError  # noqa: PLC0415 - a helper of one test.

    try:
        call(operation, Key="k", **params)
    except ServiceError as error:
        return error.http_status or 0
    return 200


@pytest.mark.parametrize(
    ("conditions", "exists", "code"),
    [
        ({"IfNoneMatch": "*"}, True, "PreconditionFailed"),
        ({"IfNoneMatch": "*"}, False, ""),
        ({"IfNoneMatch": HELLO}, False, "NotImplemented"),
        ({"IfMatch": HELLO}, True, ""),
        ({"IfMatch": "other"}, True, "PreconditionFailed"),
        ({"IfMatch": HELLO}, False, "NoSuchKey"),
        ({"IfMatch": "*"}, True, "NotImplemented"),
        ({"IfMatch": HELLO, "IfNoneMatch": "*"}, True, "NotImplemented"),
    ],
)
def test_conditions_of_writes(call, conditions, exists: bool, code: str) -> None:
    """A write happens only if its condition holds; other conditions are not implemented."""
    if exists:
        call("PutObject", Key="k", Body=b"hello")

    assert code_of(call, "PutObject", Key="k", Body=b"new", **conditions) == code


def code_of(call, operation: str, **params: object) -> str:
    from redrive.core.errors import ServiceError  # noqa: PLC0415 - a helper of one test.

    try:
        call(operation, **params)
    except ServiceError as error:
        return error.code
    return ""


def test_metadata_is_decoded_kept_and_encoded(call) -> None:
    given = {"Plain": "a b", "Coded": "=?UTF-8?B?YWJj?=", "Text": "naïve =?text", "under_score": "", "jp": "日本"}
    call("PutObject", Key="k", Body=b"", Metadata=given)

    assert call("HeadObject", Key="k")["Metadata"] == {
        "plain": "a b",
        "coded": "abc",
        "text": "=?UTF-8?Q?na=C3=AFve_=3D=3Ftext?=",
        "under_score": "",
        "jp": "=?UTF-8?B?5pel5pys?=",
    }


def test_what_is_too_long_is_refused(call, refused) -> None:
    call("PutObject", Key="é" * 512, Body=b"", Metadata={"a": "x" * 2047})

    key = refused("PutObject", Key="é" * 512 + "x", Body=b"")
    metadata = refused("PutObject", Key="k", Body=b"", Metadata={"a": "x" * 2048})

    assert (key.code, key.members) == ("KeyTooLongError", {"Size": "1025", "MaxSizeAllowed": "1024"})
    assert (metadata.code, metadata.members) == ("MetadataTooLarge", {"Size": "2049", "MaxSizeAllowed": "2048"})


def test_half_of_a_surrogate_pair_is_refused(refused) -> None:
    """JSON of another service can bring such a text, and no store holds it."""
    half = chr(0xD800)
    wrong: list[dict[str, object]] = [
        {"Key": half},
        {"Key": "k", "ContentType": half},
        {"Key": "k", "Metadata": {"a": half}},
    ]

    assert {refused("PutObject", Body=b"", **params).code for params in wrong} == {"InvalidArgument"}
    assert refused("PutObject", Key="k", Body=b"", ChecksumCRC32=half).code == "InvalidArgument"


def test_overrides_replace_headers_of_the_answer_alone(call, refused) -> None:
    call("PutObject", Key="k", Body=b"", ContentType="text/plain")

    got = call("GetObject", Key="k", ResponseContentType="text/csv", ResponseExpires=1_000)
    refusal = refused("GetObject", Key="k", ResponseContentDisposition="日本")

    assert (got["ContentType"], got["Expires"]) == ("text/csv", 1_000)
    assert refusal.message == "Header value cannot be represented using ISO-8859-1."
    assert call("GetObject", Key="k")["ContentType"] == "text/plain"


def test_storage_class_is_shown_unless_standard_and_archives_are_not_read(call, refused) -> None:
    for storage_class in ("STANDARD", "STANDARD_IA", "GLACIER"):
        call("PutObject", Key=storage_class, Body=b"", StorageClass=storage_class)

    assert "StorageClass" not in call("GetObject", Key="STANDARD")
    assert call("GetObject", Key="STANDARD_IA")["StorageClass"] == "STANDARD_IA"
    assert call("HeadObject", Key="GLACIER")["StorageClass"] == "GLACIER"
    archived = refused("GetObject", Key="GLACIER")
    assert (archived.code, archived.members) == ("InvalidObjectState", {"StorageClass": "GLACIER"})
    wrong = refused("PutObject", Key="k", Body=b"", StorageClass="COLD")
    assert (wrong.code, wrong.members) == ("InvalidStorageClass", {"StorageClassRequested": "COLD"})


def test_encoding_of_the_transfer_is_not_that_of_the_object(call) -> None:
    call("PutObject", Key="a", Body=b"", ContentEncoding="gzip,aws-chunked")
    call("PutObject", Key="b", Body=b"", ContentEncoding="aws-chunked")

    assert call("HeadObject", Key="a")["ContentEncoding"] == "gzip"
    assert "ContentEncoding" not in call("HeadObject", Key="b")


@pytest.mark.parametrize(
    "key", ["a//b", "../x", "/", " ", "a\x00b", "\ufeff", "😀/é", "%2F", "a+b&c=d?e#f", "\x01\x7f"]
)
def test_odd_key_is_a_key(call, key: str) -> None:
    call("PutObject", Key=key, Body=key.encode())

    assert call("GetObject", Key=key)["Body"] == key.encode()
    assert [entry["Key"] for entry in call("ListObjectsV2")["Contents"]] == [key]
    call("DeleteObject", Key=key)
    assert call("ListObjectsV2")["KeyCount"] == 0


def test_missing_object_and_missing_bucket(refused) -> None:
    """What is missing is told by its name: the key, the bucket, the version."""
    key, bucket = refused("GetObject", Key="k"), refused("GetObject", Bucket="none", Key="k")
    version = refused("GetObject", Key="k", VersionId="x")

    assert (key.code, key.http_status, key.members) == ("NoSuchKey", 404, {"Key": "k"})
    assert (bucket.code, bucket.http_status) == ("NoSuchBucket", 404)
    assert (version.code, version.message) == ("InvalidArgument", "Invalid version id specified")
    assert version.members == {"ArgumentName": "versionId", "ArgumentValue": "x"}


def test_deleted_object_is_gone_and_deleting_again_is_no_error(call, refused) -> None:
    call("PutObject", Key="k", Body=b"hello")

    assert [call("DeleteObject", Key="k"), call("DeleteObject", Key="k")] == [{}, {}]
    assert refused("HeadObject", Key="k").code == "NoSuchKey"


def test_condition_of_a_deletion(call, refused) -> None:
    """A deletion with If-Match needs the object with that ETag."""
    call("PutObject", Key="k", Body=b"hello")

    assert refused("DeleteObject", Key="k", IfMatch="other").members == {"Condition": "If-Match"}
    assert refused("DeleteObject", Key="none", IfMatch="*").code == "PreconditionFailed"
    assert refused("DeleteObject", Key="k", IfMatchSize=5).code == "NotImplemented"
    assert call("DeleteObject", Key="k", IfMatch=HELLO) == {}


def test_many_objects_are_deleted_and_told(call) -> None:
    for key in "ab":
        call("PutObject", Key=key, Body=b"")
    entries = [{"Key": "a"}, {"Key": "none"}, {"Key": "b", "VersionId": "x" * 32}]

    answer = call("DeleteObjects", Delete={"Objects": entries})
    quiet = call("DeleteObjects", Delete={"Objects": entries, "Quiet": True})

    error = {
        "Key": "b", "VersionId": "x" * 32, "Code": "NoSuchVersion",
        "Message": "The specified version does not exist.",
    }  # fmt: skip
    assert answer == {"Deleted": [{"Key": "a"}, {"Key": "none"}], "Errors": [error]}
    assert quiet == {"Errors": [error]}
    assert [entry["Key"] for entry in call("ListObjectsV2")["Contents"]] == ["b"]


def test_too_many_deletions_are_malformed(refused) -> None:
    too_many = [{"Key": str(number)} for number in range(1001)]

    assert [refused("DeleteObjects", Delete={"Objects": keys}).code for keys in (too_many, [])] == ["MalformedXML"] * 2


def test_large_body_of_another_service_is_stored_and_answered_as_content(world: World, call) -> None:
    body = bytes(range(256)) * 512
    call("PutObject", Key="k", Body=body)

    got = call("GetObject", Key="k", Range="bytes=65000-65009")

    content = got["Body"]
    assert isinstance(content, Content)
    assert (content.first, content.size) == (65_000, 10)
    stored = world.store.run(lambda tx: tx.bodies.read(content.segments[0].body_id, 65_000, 10))
    assert stored == body[65_000:65_010]


def test_received_body_is_adopted_and_released_with_its_object(world: World, call) -> None:
    body = b"x" * 100_000
    world.store.run(lambda tx: receive(tx, "id", body))
    call("PutObject", Key="k", Body=Received(len(body), None, Segment("id", len(body)), digests_of(body)))
    assert referenced(world) == [("id", 1)]

    call("PutObject", Key="k", Body=b"new")

    assert referenced(world) == [("id", 0)]


def receive(tx: Transaction, body_id: str, body: bytes) -> None:
    tx.bodies.begin(body_id, now=tx.now)
    tx.bodies.put_piece(body_id, 0, body, now=tx.now)


def referenced(world: World) -> list[tuple[str, int]]:
    return [(row[0], row[2]) for (rows) in world.store.rows(["bodies"]) for row in rows]


def count_statements(world: World, action) -> int:
    statements: list[str] = []
    world.store.connection.set_trace_callback(statements.append)
    action()
    world.store.connection.set_trace_callback(None)
    return sum(not one.startswith(("BEGIN", "COMMIT", "PRAGMA")) for one in statements)


def test_statements_of_small_objects_are_few(world: World, call) -> None:
    call("PutObject", Key="k", Body=b"x" * 1_024)

    counts = {
        name: count_statements(world, lambda name=name, params=params: call(name, Key="k", **params))
        for name, params in {"PutObject": {"Body": b"x" * 1_024}, "GetObject": {}, "DeleteObject": {}}.items()
    }

    assert counts == {"PutObject": 2, "GetObject": 1, "DeleteObject": 2}
