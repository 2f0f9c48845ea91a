"""Files that deployments upload: stored whole or in pieces, and found by what names them in S3."""

from __future__ import annotations

import hashlib
import io
import json
import zipfile

import pytest

from tests.unit.services.redrive.conftest import OTHER, Office


def archive() -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as file:
        file.writestr("app.py", "def handler(event, context):\n    return 'uploaded'\n")
    return content.getvalue()


def test_file_that_comes_in_pieces_is_kept_when_the_last_one_is_there(office: Office) -> None:
    pending = office.call("PutAsset", bucket="b", key="k", content=b"one ", piece=1, pieces=2)
    missing = office.refusal("GetAsset", bucket="b", key="k")

    whole = office.call("PutAsset", bucket="b", key="k", content=b"two", piece=2, pieces=2)

    assert (pending["sha256"], missing.code) == (None, "ResourceNotFoundException")
    assert (whole["size_bytes"], whole["sha256"]) == (7, hashlib.sha256(b"one two").hexdigest())
    assert office.call("GetAsset", bucket="b", key="k") == whole


@pytest.mark.parametrize(("piece", "pieces"), [(2, 2), (3, 2), (2, 1)])
def test_piece_that_cannot_be_joined_is_refused_and_keeps_nothing(office: Office, piece: int, pieces: int) -> None:
    refused = office.refusal("PutAsset", bucket="b", key="k", content=b"x", piece=piece, pieces=pieces)

    assert refused.code == "ValidationException"
    assert office.refusal("GetAsset", bucket="b", key="k").code == "ResourceNotFoundException"


def test_code_and_templates_are_found_under_their_bucket_and_key(office: Office) -> None:
    trust = {"Effect": "Allow", "Principal": {"Service": "lambda.amazonaws.com"}, "Action": "sts:AssumeRole"}
    document = json.dumps({"Version": "2012-10-17", "Statement": trust})
    iam = office.world.client("iam")
    role = iam.create_role(RoleName="runs", AssumeRolePolicyDocument=document)["Role"]["Arn"]
    template = json.dumps({"Resources": {"Q": {"Type": "AWS::SQS::Queue", "Properties": {"QueueName": "made"}}}})
    office.call("PutAsset", bucket="assets", key="code/app.zip", content=archive())
    office.call("PutAsset", bucket="assets", key="stack.json", content=template.encode())
    functions, stacks = office.world.client("lambda"), office.world.client("cloudformation")

    made = functions.create_function(
        FunctionName="f", Role=role, Runtime="python3.12", Handler="app.handler",
        Code={"S3Bucket": "assets", "S3Key": "code/app.zip"},
    )  # fmt: skip
    stacks.create_stack(StackName="s", TemplateURL="https://assets.s3.amazonaws.com/stack.json")
    office.world.settle()

    assert made["CodeSize"] == len(archive())
    assert json.loads(functions.invoke(FunctionName="f")["Payload"].read()) == "uploaded"
    assert "made" in office.world.client("sqs").get_queue_url(QueueName="made")["QueueUrl"]


def test_files_of_an_account_are_its_own(office: Office) -> None:
    office.call("PutAsset", bucket="b", key="k", content=b"x")

    assert office.refusal("GetAsset", bucket="b", key="k", account=OTHER).code == "ResourceNotFoundException"
