"""Which event each call on objects tells of, on the bus and directly, with one sequencer for both."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from redrive.delivery.bodies import Received
from redrive.delivery.checksums import digests_of
from tests.unit.services.s3.notified import Uploads, on


@pytest.fixture
def uploads() -> Iterator[Uploads]:
    made = Uploads()
    bus = made.queue("bus", principal={"Service": "events.amazonaws.com"}, condition={"Null": {"x": "true"}})
    made.call("PutRule", "events", Name="s3", EventPattern=json.dumps({"source": ["aws.s3"]}))
    made.call("PutTargets", "events", Rule="s3", Targets=[{"Id": "1", "Arn": bus}])
    asked = on(made.queue(), "s3:ObjectCreated:*", "s3:ObjectRemoved:*", "s3:ObjectTagging:*")
    made.configure(QueueConfigurations=[asked], EventBridgeConfiguration={})
    made.bodies()
    yield made
    made.world.close()


def told(uploads: Uploads) -> list[tuple[str, str, str]]:
    """What both destinations were told, in order: the event's name, its type on the bus, and the reason there."""
    uploads.world.advance(seconds=1)
    records = [body["Records"][0] for body in uploads.bodies()]
    details = uploads.bodies("bus")
    pairs = list(zip(records, details, strict=True))
    assert all(record["s3"]["object"].get("sequencer") == _sequencer(event) for record, event in pairs)
    return [
        (record["eventName"], event["detail-type"], event["detail"].get("reason", "")) for record, event in pairs
    ]  # fmt: skip


def _sequencer(event: Any) -> str | None:
    found = event["detail"]["object"].get("sequencer")
    return None if found is None else str(found)


def test_form_is_told_as_post(uploads: Uploads) -> None:
    uploads.call(
        "PutObject", Bucket="uploads", Key="a", Body=Received(1, b"1", digests=digests_of(b"1"), is_by_form=True)
    )

    assert told(uploads) == [("ObjectCreated:Post", "Object Created", "POST Object")]


def test_put_copy_and_delete_are_told_by_their_names(uploads: Uploads) -> None:
    s3 = uploads.world.client("s3")
    calls: tuple[Any, ...] = (
        lambda: s3.put_object(Bucket="uploads", Key="a b", Body=b"1"),
        lambda: s3.copy_object(Bucket="uploads", Key="c", CopySource={"Bucket": "uploads", "Key": "a b"}),
        lambda: s3.delete_object(Bucket="uploads", Key="a b"),
    )
    found = []

    for call in calls:
        call()
        found += told(uploads)

    assert found == [
        ("ObjectCreated:Put", "Object Created", "PutObject"),
        ("ObjectCreated:Copy", "Object Created", "CopyObject"),
        ("ObjectRemoved:Delete", "Object Deleted", "DeleteObject"),
    ]


def test_upload_in_parts_is_told_of_once_when_it_is_complete(uploads: Uploads) -> None:
    s3, named = uploads.world.client("s3"), {"Bucket": "uploads", "Key": "large"}
    upload: Any = {**named, "UploadId": s3.create_multipart_upload(**named)["UploadId"]}
    part = s3.upload_part(**upload, PartNumber=1, Body=b"1")["ETag"]
    before = told(uploads)

    s3.complete_multipart_upload(**upload, MultipartUpload={"Parts": [{"PartNumber": 1, "ETag": part}]})

    complete = "CompleteMultipartUpload"
    assert (before, told(uploads)) == ([], [(f"ObjectCreated:{complete}", "Object Created", complete)])


def test_refused_call_tells_nothing(uploads: Uploads) -> None:
    refused = uploads.refusal("PutObject", Bucket="uploads", Key="a", Body=b"1", IfMatch='"none"')

    assert (refused[0], told(uploads)) == ("NoSuchKey", [])


def test_each_key_of_a_batch_of_deletions_is_told_of(uploads: Uploads) -> None:
    s3 = uploads.world.client("s3")

    s3.delete_objects(Bucket="uploads", Delete={"Objects": [{"Key": "a"}, {"Key": "b"}]})

    assert told(uploads) == [("ObjectRemoved:Delete", "Object Deleted", "DeleteObject")] * 2
