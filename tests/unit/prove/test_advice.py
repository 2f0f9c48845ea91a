"""The advice on lost and stuck work is about what happened in its history."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError

from redrive.prove.process.subject import subject_of
from redrive.prove.proving import prove
from redrive.prove.search.options import Options
from tests.unit.prove.conftest import EXAMPLES, Prover, example
from tests.unit.prove.test_again import ORDER, skips_what_is_worked_on

QUEUE = "https://sqs.us-east-1.amazonaws.com/000000000000/messages"


def write() -> None:
    boto3.client("dynamodb").put_item(TableName="reports", Item={"id": {"S": "1"}})


def swallows(event: Any, context: Any) -> None:
    with contextlib.suppress(ClientError):
        write()


def deletes_first(event: Any, context: Any) -> None:
    boto3.client("sqs").delete_message(QueueUrl=QUEUE, ReceiptHandle=event["Records"][0]["receiptHandle"])
    write()


def sends_again(event: Any, context: Any) -> None:
    try:
        write()
    except ClientError:
        boto3.client("sqs").send_message(QueueUrl=QUEUE, MessageBody=event["Records"][0]["body"])


def tells(event: Any, context: Any) -> None:
    boto3.client("sns").publish(TopicArn="arn:aws:sns:us-east-1:000000000000:placed", Message="placed")


@pytest.mark.parametrize(
    ("handler", "faults", "advice"),
    [
        (tells, 1, "So let it carry a key of the message's"),
        (swallows, 1, "Let the exception out"),
        (deletes_first, 1, "deletes a message before its work is done"),
        (sends_again, 1, "do not send the message anew"),
        (skips_what_is_worked_on, 2, "must fail, not return"),
    ],
)
def test_advice_is_about_what_lost_the_work(proved: Prover, handler: Any, faults: int, advice: str) -> None:
    verdict = proved(handler, bodies=ORDER, faults=faults)

    assert verdict.counterexample is not None
    assert advice in verdict.counterexample.advice


def test_advice_on_a_record_that_says_running_is_a_lease() -> None:
    verdict = prove(example("running_means_skip"), Options(faults=1))

    assert verdict.counterexample is not None
    assert verdict.counterexample.advice.startswith("Treat a record that says a run goes on as a lease")


def test_advice_on_dead_letters_that_are_not_kept_is_to_keep_them(tmp_path: Path) -> None:
    template = (EXAMPLES.parents[1] / "src" / "redrive" / "demo" / "template.yaml").read_text("utf-8")
    assert "MessageRetentionPeriod" in template
    file = tmp_path / "template.yaml"
    file.write_text(template.replace("1209600", "60"), "utf-8")
    (tmp_path / "app.py").write_text(
        "import boto3\ndef handler(event, context):\n"
        "    boto3.client('s3').put_object(Bucket='reports', Key='1', Body=b'')\n",
        "utf-8",
    )

    verdict = prove(subject_of("app:handler", tmp_path), Options(faults=1, template=file))

    assert verdict.counterexample is not None
    assert "MessageRetentionPeriod" in verdict.counterexample.advice
