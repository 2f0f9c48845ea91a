"""What the hot operations of S3 cost, in statements: counts do not flake, milliseconds do."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

import pytest

from redrive.testing.world import World

FRAME = ("BEGIN", "COMMIT", "SAVEPOINT", "RELEASE")
PIECE = "INSERT INTO body_pieces"
PART = b"x" * (5 * 1024 * 1024)

Counted = Callable[[], AbstractContextManager[list[str]]]


@pytest.fixture
def counted(world: World, call) -> Counted:
    """The statements of a block. What only the first call of a store needs has happened before."""
    call("PutObject", Key="first", Body=b"1")
    world.store.run(lambda tx: tx.facts.secret())

    @contextmanager
    def count() -> Iterator[list[str]]:
        seen: list[str] = []
        world.store.connection.set_trace_callback(lambda sql: None if sql.startswith(FRAME) else seen.append(sql))
        yield seen
        world.store.connection.set_trace_callback(None)

    return count


@pytest.fixture
def versioned(call) -> None:
    """The bucket keeps versions."""
    call("PutBucketVersioning", VersioningConfiguration={"Status": "Enabled"})


@pytest.fixture
def notified(world: World, call) -> None:
    """A queue that the bucket tells of its new objects."""
    allow = {"Effect": "Allow", "Principal": {"Service": "s3.amazonaws.com"}, "Action": "sqs:*", "Resource": "*"}
    policy = json.dumps({"Version": "2012-10-17", "Statement": [allow]})
    world.call("sqs", "CreateQueue", QueueName="q", Attributes={"Policy": policy})
    queue = {"QueueArn": "arn:aws:sqs:us-east-1:000000000000:q", "Events": ["s3:ObjectCreated:*"]}
    call("PutBucketNotificationConfiguration", NotificationConfiguration={"QueueConfigurations": [queue]})


def test_writing_an_object_costs_two_statements_whether_the_key_is_new_or_not(call, counted):
    for _ in range(2):
        with counted() as statements:
            call("PutObject", Key="k", Body=b"1")

        assert len(statements) == 2


def test_writing_a_new_version_costs_three_statements(call, versioned, counted):
    call("PutObject", Key="k", Body=b"1")

    with counted() as statements:
        call("PutObject", Key="k", Body=b"2")

    assert len(statements) == 3


@pytest.mark.parametrize("operation", ["GetObject", "HeadObject"])
def test_reading_an_object_costs_one_statement(call, counted, operation):
    call("PutObject", Key="k", Body=b"1")

    with counted() as statements:
        call(operation, Key="k")

    assert len(statements) == 1


def test_policy_of_a_bucket_costs_no_statement(call, counted):
    arn = "arn:aws:s3:::b/*"
    statement = {"Effect": "Deny", "Principal": {"AWS": "111111111111"}, "Action": "s3:*", "Resource": arn}
    call("PutBucketPolicy", Policy=json.dumps({"Version": "2012-10-17", "Statement": statement}))

    with counted() as statements:
        call("GetObject", Key="first")

    assert len(statements) == 1


def test_deleting_an_object_costs_two_statements(call, counted):
    call("PutObject", Key="k", Body=b"1")

    with counted() as statements:
        call("DeleteObject", Key="k")

    assert len(statements) == 2


def test_page_costs_one_statement_however_many_keys_it_has(call, counted):
    for number in range(30):
        call("PutObject", Key=f"k{number:02}", Body=b"1")

    for size in (1, 20, 1000):
        with counted() as statements:
            assert "Contents" in call("ListObjectsV2", MaxKeys=size, StartAfter="k05")

        assert len(statements) == 1


def test_keys_under_common_prefixes_are_not_read(call, counted):
    """A page by folders costs a statement for each folder at most, and nothing for what is in them."""
    for folder in "abc":
        for number in range(40):
            call("PutObject", Key=f"{folder}/{number:02}", Body=b"1")

    with counted() as statements:
        assert len(call("ListObjectsV2", Delimiter="/")["CommonPrefixes"]) == 3

    assert len(statements) <= 4


def test_copying_a_small_object_costs_three_statements(call, counted):
    call("PutObject", Key="k", Body=b"1")

    with counted() as statements:
        call("CopyObject", Key="copy", CopySource="b/k")

    assert len(statements) == 3


@pytest.mark.parametrize("count", [1, 3])
def test_completing_an_upload_costs_six_statements_however_many_parts_it_has(call, counted, count):
    """The references of the parts to their bodies become those of the object."""
    upload_id = call("CreateMultipartUpload", Key="k")["UploadId"]
    tags = []
    for number in range(1, count + 1):
        with counted() as statements:
            tags.append(call("UploadPart", Key="k", UploadId=upload_id, PartNumber=number, Body=PART)["ETag"])
        beside_pieces = [sql for sql in statements if not sql.startswith(PIECE)]
        assert len(beside_pieces) == 4, "the upload, the body, the part that was there before, and the new one"

    parts = [{"PartNumber": number, "ETag": tag} for number, tag in enumerate(tags, 1)]
    with counted() as statements:
        call("CompleteMultipartUpload", Key="k", UploadId=upload_id, MultipartUpload={"Parts": parts})

    assert len(statements) == 6


def test_object_and_its_notification_to_a_queue_cost_two_statements_more(call, notified, counted):
    call("PutObject", Key="k", Body=b"1")

    with counted() as statements:
        call("PutObject", Key="k", Body=b"1")

    assert len(statements) == 4
