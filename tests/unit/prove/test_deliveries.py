"""What feeds a handler by what it reads, and the samples that it is given: of queues, topics, S3, in one another."""

from __future__ import annotations

import base64
import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from redrive.prove.guess.contents import content_for
from redrive.prove.guess.reading import Reading, read_handler
from redrive.prove.process.subject import subject_of
from redrive.prove.proving import prove
from redrive.prove.search.options import Options
from redrive.prove.stage.deliveries import kind_for, sample_event_of_topic, sample_message
from redrive.prove.stage.stage import START
from redrive.prove.stage.subscriptions import DATA, sample_subscription
from redrive.prove.stage.trigger import SAMPLE_EVENT, Kind

S3_IN_SQS = "n = json.loads(record['body'])['Records'][0]['s3']['object']['key']"
S3_IN_SNS = "n = json.loads(json.loads(record['body'])['Message'])['Records'][0]['s3']['object']['key']"
SNS_IN_SQS = "n = json.loads(json.loads(record['body'])['Message'])['order']['id']"
TEXT_IN_SQS = "n = json.loads(record['body'])['Message']"
OWN = "n = json.loads(record['body'])['order']['id']"
TOPIC = "n = json.loads(record['Sns']['Message'])['order']['id']"
S3_OF_TOPIC = "n = json.loads(record['Sns']['Message'])['Records'][0]['s3']['bucket']['name']"


def source(tmp_path: Path, body: str) -> Path:
    file = tmp_path / "app_deliveries.py"
    file.write_text(
        "import csv, json, boto3\ndef handler(event, context):\n    for record in event['Records']:\n"
        f"        {body}\n        boto3.client('dynamodb').put_item(TableName='done', Item={{'id': {{'S': str(n)}}}})\n"
    )
    return file


def reading(tmp_path: Path, body: str) -> Reading:
    return read_handler(source(tmp_path, body), "handler")


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (S3_IN_SQS, Kind.SQS), (OWN, Kind.SQS), (TOPIC, Kind.SNS), ("n = record['s3']['object']['key']", Kind.S3),
        ("n = record['dynamodb']['Keys']['id']['S']", Kind.DYNAMODB), ("n = event['detail']['id']", Kind.EVENTBRIDGE),
        ("n = record['kinesis']['data']", Kind.KINESIS),
    ],
)  # fmt: skip
def test_keys_that_a_handler_reads_say_what_feeds_it(tmp_path: Path, body: str, kind: Kind) -> None:
    found = kind_for(reading(tmp_path, body))

    assert found is not None
    assert found[0] is kind


def test_handler_that_reads_nothing_known_says_nothing(tmp_path: Path) -> None:
    assert kind_for(reading(tmp_path, "n = record['other']")) is None
    assert kind_for(None) is None


def test_class_of_powertools_says_what_feeds_it() -> None:
    found = kind_for(Reading(data_class="S3Event"))

    assert found is not None
    assert found[0] is Kind.S3


def message(tmp_path: Path, body: str) -> Any:
    return json.loads(sample_message(reading(tmp_path, body)).text)


def test_message_is_shaped_by_what_is_read_of_it(tmp_path: Path) -> None:
    assert message(tmp_path, S3_IN_SQS)["Records"][0]["s3"]["bucket"]["name"] == "sample-bucket"
    assert message(tmp_path, OWN) == {"order": {"id": "sample-id"}}
    assert message(tmp_path, TEXT_IN_SQS)["Message"] == "sample message"
    of_topic = message(tmp_path, SNS_IN_SQS)
    assert (of_topic["Type"], json.loads(of_topic["Message"])) == ("Notification", {"order": {"id": "sample-id"}})
    assert json.loads(message(tmp_path, S3_IN_SNS)["Message"])["Records"][0]["eventSource"] == "aws:s3"


def test_message_of_a_schedule_stays_what_it_is(tmp_path: Path) -> None:
    assert message(tmp_path, "n = json.loads(record['body'])['payload']['report']") == SAMPLE_EVENT


def test_event_of_a_topic_has_what_is_read_of_its_message(tmp_path: Path) -> None:
    own, of_s3 = (sample_event_of_topic(reading(tmp_path, body)) for body in (TOPIC, S3_OF_TOPIC))

    assert own is not None
    assert of_s3 is not None
    record = json.loads(own.text)["Records"][0]
    assert (record["EventSource"], json.loads(record["Sns"]["Message"])) == ("aws:sns", {"order": {"id": "sample-id"}})
    assert json.loads(json.loads(of_s3.text)["Records"][0]["Sns"]["Message"])["Records"][0]["s3"]
    assert sample_event_of_topic(reading(tmp_path, OWN)) is None


@pytest.mark.parametrize("body", [S3_IN_SQS, S3_IN_SNS, SNS_IN_SQS, OWN, TOPIC, S3_OF_TOPIC])
def test_handler_gets_a_verdict_without_any_option(tmp_path: Path, body: str) -> None:
    file = source(tmp_path, body)

    verdict = prove(subject_of(f"{file.name}:handler", tmp_path), Options(faults=0))

    assert verdict.effects == {"item in done": 1}
    assert ("trigger" in verdict.assumptions) is ("Sns" in body)


@pytest.mark.parametrize(
    ("body", "suffix", "content"),
    [
        ("rows = csv.DictReader(x)\n        for row in rows: n = row['sku'], row['count']", "csv",
         "sku,count\nsample-sku-1,1\nsample-sku-2,2\n"),
        ("data = json.load(response['Body'])\n        n = data['id'], data.get('price')", "json",
         '{"id": "sample-id", "price": 1}'),
        ("n = read(record).upper()", "txt", "sample text\n"),
        ("n = key.endswith('.html')", "html", "sample text\n"),
    ],
)  # fmt: skip
def test_file_fits_what_the_handler_does_with_it(tmp_path: Path, body: str, suffix: str, content: str) -> None:
    made = content_for(source(tmp_path, body))

    assert (made.suffix, made.body.decode()) == (suffix, content)


@pytest.mark.parametrize(
    ("body", "suffix", "begins"),
    [
        ("Image.open(path)", "png", b"\x89PNG"),
        ("Image.open(path).save(key.replace('.jpg', ''))\n        x = key.endswith('.jpg')", "jpg", b"\x89PNG"),
        ("PdfReader(path)", "pdf", b"%PDF-"),
        ("x = json.loads(gzip.decompress(body))", "gz", b"\x1f\x8b"),
        ("zipfile.ZipFile(path)", "zip", b"PK"),
    ],
)
def test_file_of_a_binary_kind_is_one_that_libraries_open(
    tmp_path: Path, body: str, suffix: str, begins: bytes
) -> None:
    made = content_for(source(tmp_path, body))

    assert (made.suffix, made.body[: len(begins)]) == (suffix, begins)


def test_subscription_of_logs_has_events_in_json(tmp_path: Path) -> None:
    event = sample_subscription(START)

    told = json.loads(gzip.decompress(base64.b64decode(event["awslogs"]["data"])))

    assert (told["messageType"], len(told["logEvents"]), DATA) == ("DATA_MESSAGE", 1, ("awslogs", "data"))
