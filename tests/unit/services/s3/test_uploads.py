"""Multipart uploads: their parts, what completes them, and the digests of the whole."""

from __future__ import annotations

import base64
import hashlib
import zlib

import pytest

from redrive.core.errors import ServiceError
from redrive.delivery.checksums import digests_of
from redrive.services.s3.bodies import pieces
from redrive.testing.world import World
from tests.unit.services.s3.test_objects import referenced

MB = 1024 * 1024
LARGE, LAST = b"a" * (5 * MB), b"the end"


def crc32(body: bytes) -> str:
    return base64.b64encode(zlib.crc32(body).to_bytes(4, "big")).decode()


def begin(call, key: str = "k", **params: object) -> str:
    return str(call("CreateMultipartUpload", Key=key, **params)["UploadId"])


def send(call, upload: str, *bodies: bytes, key: str = "k", **params: object) -> list[dict[str, object]]:
    """Upload parts, and return them as the completion names them."""
    return [
        {
            "PartNumber": number,
            **named(call("UploadPart", Key=key, UploadId=upload, PartNumber=number, Body=body, **params)),
        }
        for number, body in enumerate(bodies, 1)
    ]


def named(answer) -> dict[str, object]:
    return {name: value for name, value in answer.items() if name == "ETag" or name.startswith("Checksum")}


def complete(call, upload: str, parts, **params: object):
    return call("CompleteMultipartUpload", Key="k", UploadId=upload, MultipartUpload={"Parts": parts}, **params)


def refusal(call, upload: str, parts, **params: object) -> ServiceError:
    with pytest.raises(ServiceError) as failed:
        complete(call, upload, parts, **params)
    return failed.value


def test_parts_become_one_object(world: World, call) -> None:
    upload = begin(call, ContentType="text/plain", Metadata={"a": "b"}, Tagging="x=y", StorageClass="STANDARD_IA")
    parts = send(call, upload, LARGE, LAST)

    done = complete(call, upload, parts)
    got = call("GetObject", Key="k", ChecksumMode="ENABLED")

    md5s = b"".join(hashlib.md5(body, usedforsecurity=False).digest() for body in (LARGE, LAST))
    etag = f'"{hashlib.md5(md5s, usedforsecurity=False).hexdigest()}-2"'
    crc = base64.b64encode(digests_of(LARGE + LAST)["CRC64NVME"]).decode()
    assert (done["ETag"], done["ChecksumCRC64NVME"], done["ChecksumType"]) == (etag, crc, "FULL_OBJECT")
    assert (done["Bucket"], done["Key"], done["Location"].endswith("/b/k")) == ("b", "k", True)
    assert (got["ContentLength"], got["ETag"], got["ChecksumCRC64NVME"]) == (5 * MB + 7, etag, crc)
    assert (got["ContentType"], got["Metadata"], got["TagCount"]) == ("text/plain", {"a": "b"}, 1)
    assert got["StorageClass"] == "STANDARD_IA"
    assert content(world, got["Body"]) == LARGE + LAST
    assert sorted(count for _, count in referenced(world)) == [1, 1]


def content(world: World, body) -> bytes:
    """All bytes of an answer's body."""
    if isinstance(body, bytes):
        return body
    whole = b"".join(world.store.run(lambda tx: list(pieces(tx, None, body.segments))))
    return whole[body.first : body.first + body.size]


def test_range_and_part_of_an_object_of_parts(world: World, call, refused) -> None:
    upload = begin(call)
    complete(call, upload, send(call, upload, LARGE, LAST))

    across = call("GetObject", Key="k", Range=f"bytes={5 * MB - 2}-{5 * MB + 1}")
    second = call("GetObject", Key="k", PartNumber=2)
    head = call("HeadObject", Key="k", PartNumber=1)

    assert content(world, across["Body"]) == b"aath"
    assert (content(world, second["Body"]), second["PartsCount"]) == (LAST, 2)
    assert second["ContentRange"] == f"bytes {5 * MB}-{5 * MB + 6}/{5 * MB + 7}"
    assert head["ContentLength"] == 5 * MB
    assert refused("GetObject", Key="k", PartNumber=3).members == {"PartNumberRequested": "3", "ActualPartCount": "2"}


def test_small_upload_stands_in_its_row(call) -> None:
    upload = begin(call)
    done = complete(call, upload, send(call, upload, b"small"))

    assert done["ETag"].endswith('-1"')
    assert call("GetObject", Key="k")["Body"] == b"small"


def test_part_is_replaced_and_unused_parts_are_given_back(world: World, call) -> None:
    upload = begin(call)
    send(call, upload, LARGE, LARGE, LARGE)
    parts = send(call, upload, b"b" * (5 * MB))

    complete(call, upload, parts)

    assert content(world, call("GetObject", Key="k")["Body"]) == b"b" * (5 * MB)
    assert sorted(count for _, count in referenced(world)) == [0, 0, 0, 1]


def test_aborted_upload_is_gone_with_its_parts(world: World, call, refused) -> None:
    upload = begin(call)
    send(call, upload, LARGE)

    call("AbortMultipartUpload", Key="k", UploadId=upload)

    assert [count for _, count in referenced(world)] == [0]
    for operation in ("AbortMultipartUpload", "ListParts", "CompleteMultipartUpload"):
        error = refused(operation, Key="k", UploadId=upload)
        assert (error.code, error.http_status, error.members) == ("NoSuchUpload", 404, {"UploadId": upload})


def test_upload_belongs_to_its_key_and_ids_are_not_guessed(call, refused) -> None:
    upload = begin(call)

    errors = [
        refused("UploadPart", Key=key, UploadId=one, PartNumber=1, Body=b"")
        for key, one in (("other", upload), ("k", upload[:-4] + "AAAA"), ("k", "x"))
    ]

    assert {error.code for error in errors} == {"NoSuchUpload"}


@pytest.mark.parametrize("number", [0, -1, 10_001])
def test_number_of_a_part_has_bounds(call, refused, number: int) -> None:
    error = refused("UploadPart", Key="k", UploadId=begin(call), PartNumber=number, Body=b"")

    assert (error.code, error.message) == (
        "InvalidArgument", "Part number must be an integer between 1 and 10000, inclusive",
    )  # fmt: skip


def test_completion_that_is_not_right_is_refused_and_the_upload_stays(call) -> None:
    upload = begin(call)
    one, two = send(call, upload, b"1", b"2")

    small = refusal(call, upload, [one, two])
    order = refusal(call, upload, [two, one])
    unknown = refusal(call, upload, [{"PartNumber": 9, "ETag": '"x"'}])
    wrong = refusal(call, upload, [{**one, "ETag": two["ETag"]}])
    nothing = refusal(call, upload, [])
    size = refusal(call, upload, [one], MpuObjectSize=5)

    etag = str(one["ETag"]).strip('"')
    assert small.members == {"ETag": etag, "PartNumber": "1", "ProposedSize": "1", "MinSizeAllowed": "5242880"}
    assert [error.code for error in (small, order, unknown, wrong)] == [
        "EntityTooSmall", "InvalidPartOrder", "InvalidPart", "InvalidPart",
    ]  # fmt: skip
    assert unknown.members == {"UploadId": upload, "PartNumber": "9", "ETag": "x"}
    assert nothing.message == "You must specify at least one part"
    assert size.message == (
        "The provided 'x-amz-mp-object-size' header value 5 does not match what was computed: 1"
    )  # fmt: skip
    assert complete(call, upload, [one], MpuObjectSize=1)["ETag"]


def test_composite_checksum(call, refused) -> None:
    """The checksum of the whole is that of the checksums of its parts."""
    upload = begin(call, ChecksumAlgorithm="SHA256")
    right = base64.b64encode(hashlib.sha256(b"x").digest()).decode()
    missing = refused("UploadPart", Key="k", UploadId=upload, PartNumber=1, Body=b"x")
    other = refused("UploadPart", Key="k", UploadId=upload, PartNumber=1, Body=b"x", ChecksumCRC32=crc32(b"x"))
    parts = send(call, upload, b"x", ChecksumSHA256=right)

    unnamed = refusal(call, upload, [{"PartNumber": 1, "ETag": parts[0]["ETag"]}])
    mode = refusal(call, upload, parts, ChecksumType="FULL_OBJECT")
    wrong = refusal(call, upload, parts, ChecksumSHA256=f"{right}-1")
    done = complete(call, upload, parts)

    expected = base64.b64encode(hashlib.sha256(hashlib.sha256(b"x").digest()).digest()).decode()
    mismatch = "Checksum Type mismatch occurred, expected checksum Type: sha256, actual checksum Type: {}"
    assert [missing.message, other.message] == [mismatch.format("null"), mismatch.format("crc32")]
    assert unnamed.message == (
        "The upload was created using a sha256 checksum. The complete request must include the checksum for each part. "
        "It was missing for part 1 in the request."
    )
    assert mode.message == (
        "The upload was created using the COMPOSITE checksum mode. The complete request must use the same checksum "
        "mode."
    )
    assert (wrong.code, wrong.message) == (
        "BadDigest", "The sha256 you specified did not match the calculated checksum.",
    )  # fmt: skip
    assert (done["ChecksumSHA256"], done["ChecksumType"]) == (f"{expected}-1", "COMPOSITE")
    part = call("GetObject", Key="k", PartNumber=1, ChecksumMode="ENABLED")
    assert part["ChecksumSHA256"] == right
    attributes = call("GetObjectAttributes", Key="k", ObjectAttributes=["Checksum", "ObjectParts"])
    assert attributes["Checksum"] == {"ChecksumSHA256": expected, "ChecksumType": "COMPOSITE"}
    assert attributes["ObjectParts"]["Parts"] == [{"PartNumber": 1, "Size": 1, "ChecksumSHA256": right}]


@pytest.mark.parametrize("declares", [True, False])
def test_checksum_of_the_full_object_is_combined_of_its_parts(call, declares: bool) -> None:
    upload = begin(call, ChecksumAlgorithm="CRC32", ChecksumType="FULL_OBJECT")
    parts = send(call, upload, LARGE, LAST)

    wrong = refusal(call, upload, parts, ChecksumCRC32=crc32(b"other"))
    done = complete(call, upload, parts, **({"ChecksumCRC32": crc32(LARGE + LAST)} if declares else {}))

    assert wrong.message == "The crc32 you specified did not match the calculated checksum."
    assert (done["ChecksumCRC32"], done["ChecksumType"]) == (crc32(LARGE + LAST), "FULL_OBJECT")
    attributes = call("GetObjectAttributes", Key="k", ObjectAttributes=["ObjectParts", "ETag", "ObjectSize"])
    assert attributes["ObjectParts"] == {"TotalPartsCount": 2}
    assert (attributes["ETag"], attributes["ObjectSize"]) == (done["ETag"].strip('"'), 5 * MB + 7)


@pytest.mark.parametrize(
    ("algorithm", "kind", "answer"),
    [
        ("CRC32", None, "COMPOSITE"),
        ("CRC32C", "FULL_OBJECT", "FULL_OBJECT"),
        ("CRC64NVME", None, "FULL_OBJECT"),
        ("SHA1", None, "COMPOSITE"),
        ("SHA1", "FULL_OBJECT", "The FULL_OBJECT checksum type cannot be used with the sha1 checksum algorithm."),
        ("CRC64NVME", "COMPOSITE", "The COMPOSITE checksum type cannot be used with the crc64nvme checksum algorithm."),
        (
            None, "COMPOSITE",
            "The x-amz-checksum-type header can only be used with the x-amz-checksum-algorithm header.",
        ),
    ],
)  # fmt: skip
def test_types_of_checksums_by_algorithm(call, algorithm: str | None, kind: str | None, answer: str) -> None:
    """Each algorithm counts for the full object, for its parts, or for both."""
    params = {"ChecksumAlgorithm": algorithm, "ChecksumType": kind}
    given = {name: value for name, value in params.items() if value is not None}

    try:
        found = call("CreateMultipartUpload", Key="k", **given)["ChecksumType"]
    except ServiceError as error:
        found = error.message

    assert found == answer


def test_condition_of_a_completion_is_refused_if_the_key_has_changed(call) -> None:
    """With If-Match, a write since the beginning is a conflict; with If-None-Match, a deletion is."""
    etag = call("PutObject", Key="k", Body=b"same")["ETag"]
    overtaken, deleted = begin(call), begin(call)
    parts, others = send(call, overtaken, b"1"), send(call, deleted, b"2")

    exists = refusal(call, deleted, others, IfNoneMatch="*")
    call("PutObject", Key="k", Body=b"same")
    conflict = refusal(call, overtaken, parts, IfMatch=etag)
    call("DeleteObject", Key="k")
    gone = refusal(call, deleted, others, IfNoneMatch="*")
    missing = refusal(call, overtaken, parts, IfMatch=etag)

    assert [error.code for error in (exists, conflict, gone, missing)] == [
        "PreconditionFailed", "ConditionalRequestConflict", "ConditionalRequestConflict", "NoSuchKey",
    ]  # fmt: skip
    assert conflict.members == {"Condition": "If-Match", "Key": "k"}
    fresh = begin(call)
    assert complete(call, fresh, send(call, fresh, b"3"), IfNoneMatch="*")["ETag"]


def test_parts_are_listed_in_pages(call) -> None:
    upload = begin(call, ChecksumAlgorithm="CRC32", StorageClass="STANDARD_IA")
    for number in (7, 1, 3):
        call(
            "UploadPart", Key="k", UploadId=upload, PartNumber=number, Body=b"x" * number,
            ChecksumCRC32=crc32(b"x" * number),
        )  # fmt: skip

    first = call("ListParts", Key="k", UploadId=upload, MaxParts=2)
    second = call("ListParts", Key="k", UploadId=upload, PartNumberMarker=first["NextPartNumberMarker"])

    assert [(part["PartNumber"], part["Size"]) for part in first["Parts"]] == [(1, 1), (3, 3)]
    assert (first["IsTruncated"], first["NextPartNumberMarker"], first["PartNumberMarker"]) == (True, 3, 0)
    assert [part["ChecksumCRC32"] for part in second["Parts"]] == [crc32(b"x" * 7)]
    assert (second["IsTruncated"], second["StorageClass"], second["ChecksumType"]) == (
        False,
        "STANDARD_IA",
        "COMPOSITE",
    )
    assert second["Owner"]["ID"] == second["Initiator"]["ID"]


def test_uploads_are_listed_by_key_and_beginning(call, refused) -> None:
    ids = [begin(call, key) for key in ("b", "a", "b", "c/1", "c/2")]

    everything = call("ListMultipartUploads")
    page = call("ListMultipartUploads", MaxUploads=2)
    rest = call("ListMultipartUploads", KeyMarker="b", UploadIdMarker=page["NextUploadIdMarker"])
    grouped = call("ListMultipartUploads", Delimiter="/", MaxUploads=4)
    wrong = refused("ListMultipartUploads", KeyMarker="a", UploadIdMarker=ids[0])

    assert [one["UploadId"] for one in everything["Uploads"]] == [ids[1], ids[0], ids[2], ids[3], ids[4]]
    assert (page["NextKeyMarker"], page["NextUploadIdMarker"], page["IsTruncated"]) == ("b", ids[0], True)
    assert [one["UploadId"] for one in rest["Uploads"]] == ids[2:]
    assert [one["Prefix"] for one in grouped["CommonPrefixes"]] == ["c/"]
    assert (grouped["NextKeyMarker"], grouped["NextUploadIdMarker"]) == ("", "")
    assert wrong.message == "Invalid uploadId marker"
    assert [one["UploadId"] for one in call("ListMultipartUploads", KeyMarker="b")["Uploads"]] == ids[3:]


def test_part_is_copied_from_a_range(world: World, call, refused) -> None:
    call("PutObject", Key="small", Body=b"0123456789")
    call("PutObject", Key="large", Body=LARGE + LAST)
    upload = begin(call)
    copy = {"Key": "k", "UploadId": upload}

    one = call("UploadPartCopy", **copy, PartNumber=1, CopySource="b/large", CopySourceRange=f"bytes=2-{5 * MB + 4}")
    two = call("UploadPartCopy", **copy, PartNumber=2, CopySource="/b/small", CopySourceRange="bytes=3-5")
    results = [one["CopyPartResult"], two["CopyPartResult"]]
    parts = [{"PartNumber": number, "ETag": result["ETag"]} for number, result in enumerate(results, 1)]
    complete(call, upload, parts)
    call("DeleteObject", Key="large")

    assert content(world, call("GetObject", Key="k")["Body"]) == LARGE[2:] + LAST[:5] + b"345"
    assert sorted(count for _, count in referenced(world)) == [1, 1]
    fresh = {"Key": "k", "UploadId": begin(call), "PartNumber": 1, "CopySource": "b/small"}
    form, after, beyond = (
        refused("UploadPartCopy", **fresh, CopySourceRange=text) for text in ("0-4", "bytes=0-10", "bytes=10-12")
    )
    assert form.message.startswith("The x-amz-copy-source-range value must be of the form bytes=first-last where")
    assert after.message == "Range specified is not valid for source object of size: 10"
    assert (beyond.code, beyond.message) == (
        "InvalidRequest", "The specified copy range is invalid for the source object size",
    )  # fmt: skip


def test_deleted_bucket_gives_back_the_bodies_of_its_open_uploads(world: World, call) -> None:
    upload = begin(call)
    send(call, upload, LARGE, LAST)

    call("DeleteBucket")
    world.advance(minutes=16)

    tables = ["uploads", "upload_parts", "bodies", "body_pieces"]
    assert [len(rows) for rows in world.store.rows(tables)] == [0, 0, 0, 0]


def test_completed_upload_is_no_upload_any_more(call) -> None:
    upload = begin(call)
    parts = send(call, upload, b"x")
    complete(call, upload, parts)

    refused = refusal(call, upload, parts)

    assert (refused.code, refused.http_status) == ("NoSuchUpload", 404)
    assert call("GetObject", Key="k")["Body"] == b"x"
