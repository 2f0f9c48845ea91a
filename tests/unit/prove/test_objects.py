"""Handlers that read and write objects of S3: what they are given, and what counts as an effect."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from typing import Any

import boto3

from redrive.prove.judge.judge import Rule
from redrive.prove.process.subject import GivenSubject
from redrive.prove.proving import prove
from redrive.prove.search.options import Options
from redrive.prove.stage.trigger import Kind
from redrive.prove.tell.verdict import Verdict

Handler = Callable[[Any, Any], object]


def proved(handler: Handler) -> Verdict:
    return prove(GivenSubject(handler), Options(faults=1, trigger=Kind.S3))


def place(event: Any) -> tuple[str, str]:
    told = event["Records"][0]["s3"]
    return told["bucket"]["name"], told["object"]["key"]


def writes_beside(event: Any, context: Any) -> None:
    s3, (bucket, key) = boto3.client("s3"), place(event)
    body = s3.get_object(Bucket=bucket, Key=key)["Body"].read()
    s3.put_object(Bucket=bucket, Key=f"{key}.copy", Body=io.BytesIO(body.upper()))


def writes_under_a_new_name(event: Any, context: Any) -> None:
    boto3.client("s3").put_object(Bucket="results", Key=f"results/{context.aws_request_id}", Body=b"done")


def appends(event: Any, context: Any) -> None:
    s3 = boto3.client("s3")
    is_there = "Contents" in s3.list_objects_v2(Bucket="logs", Prefix="log")
    old = s3.get_object(Bucket="logs", Key="log")["Body"].read() if is_there else b""
    s3.put_object(Bucket="logs", Key="log", Body=old + b"one\n")


def uploads_in_parts(event: Any, context: Any, body: bytes = b"x") -> None:
    s3 = boto3.client("s3")
    named = {"Bucket": "results", "Key": "large"}
    named["UploadId"] = s3.create_multipart_upload(**named)["UploadId"]
    part = s3.upload_part(**named, PartNumber=1, Body=body)
    s3.complete_multipart_upload(**named, MultipartUpload={"Parts": [{"PartNumber": 1, "ETag": part["ETag"]}]})


def makes_and_deletes(event: Any, context: Any) -> None:
    s3 = boto3.client("s3")
    s3.put_object(Bucket="results", Key="lock", Body=b"")
    s3.put_object(Bucket="results", Key="result", Body=b"done")
    s3.delete_objects(Bucket="results", Delete={"Objects": [{"Key": "lock"}]})


def test_same_bytes_under_the_same_key_are_one_effect() -> None:
    verdict = proved(writes_beside)

    assert verdict.counterexample is None
    assert verdict.effects == {"PutObject on sample-bucket": 1}
    assert any(name.startswith("object sample-bucket/folder/sample+file") for name in verdict.assumptions)
    assert "unquote_plus" in verdict.assumptions["object sample-bucket/folder/sample+file.txt"]


def test_other_bytes_under_the_same_key_are_a_change() -> None:
    found = proved(appends).counterexample

    assert found is not None
    assert found.violation.rule is Rule.SAME
    assert "'one\\none\\n', and 'one\\n' if nothing goes wrong" in found.violation.sentence


def test_bucket_is_made_for_a_handler_that_writes_to_it() -> None:
    assert "bucket results" in proved(uploads_in_parts).assumptions


def test_key_of_the_run_makes_a_second_object() -> None:
    found = proved(writes_under_a_new_name).counterexample

    assert found is not None
    assert found.violation.rule is Rule.ONCE


def test_parts_of_an_upload_are_no_effects_before_it_is_complete() -> None:
    verdict = proved(uploads_in_parts)

    assert verdict.counterexample is None
    assert verdict.effects == {"CompleteMultipartUpload on results": 1}


def test_object_that_the_handler_makes_and_deletes_is_no_effect() -> None:
    assert proved(makes_and_deletes).effects == {"PutObject on results": 1}


def test_message_of_the_queue_says_which_object() -> None:
    body = json.dumps({"Records": [{"s3": {"bucket": {"name": "inbox"}, "object": {"key": "in/a.txt"}}}]})

    def reads(event: Any, context: Any) -> None:
        for record in event["Records"]:
            bucket, key = place(json.loads(record["body"]))
            text = boto3.client("s3").get_object(Bucket=bucket, Key=key)["Body"].read().decode()
            boto3.client("sqs").send_message(QueueUrl="https://sqs.us-east-1.amazonaws.com/0/out", MessageBody=text)

    verdict = prove(GivenSubject(reads), Options(faults=0, bodies=(body,)))

    assert verdict.effects == {"message to out": 1}
    assert "object inbox/in/a.txt" in verdict.assumptions


def uploads_the_number_of_its_attempt(event: Any, context: Any) -> None:
    table = boto3.resource("dynamodb").Table("attempts")
    count = table.update_item(
        Key={"id": "1"}, UpdateExpression="ADD n :five", ExpressionAttributeValues={":five": 5}, ReturnValues="ALL_NEW"
    )["Attributes"]["n"]
    uploads_in_parts(event, context, f"{count}".encode())


def copies_what_it_appends_to(event: Any, context: Any) -> None:
    appends(event, context)
    boto3.client("s3").copy_object(Bucket="results", Key="copy", CopySource={"Bucket": "logs", "Key": "log"})


def test_content_of_an_upload_in_parts_is_compared() -> None:
    same = proved(uploads_in_parts)
    other = prove(
        GivenSubject(uploads_the_number_of_its_attempt),
        Options(faults=1, trigger=Kind.S3, ignored=("dynamodb:*:attempts",)),
    )

    assert same.counterexample is None
    assert same.effects == {"CompleteMultipartUpload on results": 1}
    assert other.counterexample is not None
    assert other.counterexample.violation.rule is Rule.SAME
    assert "Content of the CompleteMultipartUpload on results" in other.counterexample.violation.sentence


def test_content_of_a_copy_is_compared() -> None:
    verdict = prove(
        GivenSubject(copies_what_it_appends_to), Options(faults=1, trigger=Kind.S3, ignored=("s3:PutObject:logs",))
    )

    assert verdict.effects == {"CopyObject on results": 1}
    assert verdict.counterexample is not None
    assert "Content of the CopyObject on results" in verdict.counterexample.violation.sentence
