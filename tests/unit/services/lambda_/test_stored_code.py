"""Code of functions and layers that lies in buckets."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from redrive.core.errors import ServiceError
from redrive.core.scope import Caller
from redrive.testing.world import World
from tests.unit.services.lambda_.functions import ROLE, SCOPE, archive
from tests.unit.services.lambda_.test_wire import TRUST

FIRST = archive("def handler(event, context):\n    return 1\n")
SECOND = archive("def handler(event, context):\n    return 2\n")
NO_OBJECT = "Error occurred while GetObject. S3 Error Code: {}. S3 Error Message: {}"
GIVEN = {"FunctionName": "f", "Runtime": "python3.12", "Role": ROLE, "Handler": "app.handler"}


@pytest.fixture
def world() -> Iterator[World]:
    """A versioned bucket `code` with two versions of an archive, and the role of functions."""
    world = World(seed=1)
    world.call("iam", "CreateRole", RoleName="worker", AssumeRolePolicyDocument=json.dumps(TRUST))
    world.call("s3", "CreateBucket", Bucket="code")
    world.call("s3", "PutBucketVersioning", Bucket="code", VersioningConfiguration={"Status": "Enabled"})
    yield world
    world.close()


def put(world: World, content: bytes) -> str:
    """Store an archive; answers its version."""
    return str(world.call("s3", "PutObject", Bucket="code", Key="f.zip", Body=content)["VersionId"])


def answer(world: World) -> bytes:
    """What the function answers now."""
    found: bytes = world.client("lambda").invoke(FunctionName="f")["Payload"].read()
    return found


def test_function_is_made_and_changed_by_objects_of_a_bucket(world: World) -> None:
    first = put(world, FIRST)
    put(world, SECOND)
    in_bucket = {"S3Bucket": "code", "S3Key": "f.zip"}

    world.call("lambda", "CreateFunction", Code=in_bucket, **GIVEN)
    latest = answer(world)
    world.call("lambda", "UpdateFunctionCode", FunctionName="f", S3ObjectVersion=first, **in_bucket)

    assert (latest, answer(world)) == (b"2", b"1")


def test_large_code_of_a_bucket_is_read_whole(world: World) -> None:
    """Larger than what the row of an object holds: its bytes lie in the store's bodies."""
    large = archive("def handler(event, context):\n    return 3\n", padding=200_000)
    put(world, large)

    made = world.call("lambda", "CreateFunction", Code={"S3Bucket": "code", "S3Key": "f.zip"}, **GIVEN)

    assert made["CodeSize"] == len(large)
    assert answer(world) == b"3"


def test_layer_is_published_from_a_bucket(world: World) -> None:
    put(world, FIRST)

    made = world.call("lambda", "PublishLayerVersion", LayerName="l", Content={"S3Bucket": "code", "S3Key": "f.zip"})

    assert made["Content"]["CodeSize"] == len(FIRST)


@pytest.mark.parametrize(
    ("code", "told"),
    [
        (
            {"S3Bucket": "code", "S3Key": "none"},
            NO_OBJECT.format("NoSuchKey", "The specified key does not exist."),
        ),
        (
            {"S3Bucket": "nowhere", "S3Key": "f.zip"},
            NO_OBJECT.format("NoSuchBucket", "The specified bucket does not exist"),
        ),
    ],
)
def test_code_that_is_not_there_is_told_in_s3s_words(world: World, code: dict[str, str], told: str) -> None:
    with pytest.raises(ServiceError) as refused:
        world.call("lambda", "CreateFunction", Code=code, **GIVEN)

    assert (refused.value.code, refused.value.message) == ("InvalidParameterValueException", told)


def test_code_is_read_with_the_callers_permissions(world: World) -> None:
    put(world, FIRST)
    statements = {"Effect": "Allow", "Action": ["lambda:*", "iam:PassRole"], "Resource": "*"}
    policy = json.dumps({"Version": "2012-10-17", "Statement": statements})
    world.call("iam", "PutRolePolicy", RoleName="worker", PolicyName="p", PolicyDocument=policy)
    caller = Caller(SCOPE, "r", ROLE, "s")

    with pytest.raises(ServiceError) as refused:
        world.engine.call(
            caller, "lambda", "CreateFunction", {"Code": {"S3Bucket": "code", "S3Key": "f.zip"}, **GIVEN}
        )  # fmt: skip

    assert refused.value.code == "AccessDeniedException"
    assert "denied by S3" in refused.value.message


def test_object_that_is_no_archive_is_refused(world: World) -> None:
    put(world, b"text")

    with pytest.raises(ServiceError, match="Could not unzip uploaded file"):
        world.call("lambda", "CreateFunction", Code={"S3Bucket": "code", "S3Key": "f.zip"}, **GIVEN)
