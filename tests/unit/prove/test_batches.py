"""A batch whose answer is a success may have been refused in part, and a handler that does not look loses the rest."""

from __future__ import annotations

import json
from typing import Any

import boto3
import pytest

from redrive.prove.calls.batches import taken_of, with_last_refused, without_last
from redrive.prove.calls.calls import call_of, parts_of
from redrive.prove.judge.judge import Rule
from tests.unit.prove.conftest import Prover

ORDER = ('{"id": "order-1"}',)
URL = "https://sqs.us-east-1.amazonaws.com/000000000000/mails.fifo"
REGION = "us-east-1"


def items(event: Any) -> list[dict[str, Any]]:
    order = json.loads(event["Records"][0]["body"])["id"]
    return [{"PutRequest": {"Item": {"id": {"S": f"{order}-{part}"}, "data": {"B": b"x"}}}} for part in "ab"]


def write_and_hope(event: Any, context: Any) -> None:
    boto3.client("dynamodb").batch_write_item(RequestItems={"reports": items(event)})


def write_until_taken(event: Any, context: Any) -> None:
    left = {"reports": items(event)}
    while left:
        left = boto3.client("dynamodb").batch_write_item(RequestItems=left)["UnprocessedItems"]


def write_with_a_writer(event: Any, context: Any) -> None:
    with boto3.resource("dynamodb").Table("reports").batch_writer() as writer:
        for item in items(event):
            writer.put_item(Item={"id": item["PutRequest"]["Item"]["id"]["S"]})


def send_and_hope(event: Any, context: Any) -> None:
    boto3.client("sqs").send_message_batch(
        QueueUrl=URL,
        Entries=[{"Id": "1", "MessageBody": "x", "MessageGroupId": "g", "MessageDeduplicationId": "x"}],
    )


def put_and_hope(event: Any, context: Any) -> None:
    boto3.client("events", region_name=REGION).put_events(
        Entries=[{"Source": "orders", "DetailType": "placed", "Detail": detail} for detail in ("{}", "[]")]
    )


@pytest.mark.parametrize("handler", [write_and_hope, send_and_hope, put_and_hope])
def test_handler_that_ignores_refused_entries_loses_them(proved: Prover, handler: Any) -> None:
    verdict = proved(handler, bodies=ORDER)

    assert verdict.counterexample is not None
    if handler is not put_and_hope:  # PutEvents has no key, and is repeated by a crash already.
        assert verdict.counterexample.violation.rule is Rule.ALL
        (leg,) = verdict.counterexample.history
        assert str(leg).startswith("deliver partly-refused ")
        assert "but for its last entry" in verdict.counterexample.steps[1].text


@pytest.mark.parametrize("handler", [write_until_taken, write_with_a_writer])
def test_handler_that_asks_again_for_what_is_left_loses_nothing(proved: Prover, handler: Any) -> None:
    assert proved(handler, bodies=ORDER).counterexample is None


@pytest.mark.parametrize(
    ("service", "operation", "params"),
    [
        ("sqs", "SendMessageBatch", {"QueueUrl": URL, "Entries": [{"Id": "1"}, {"Id": "2"}]}),
        ("sns", "PublishBatch", {"PublishBatchRequestEntries": [{"Id": "1"}, {"Id": "2"}]}),
        ("events", "PutEvents", {"Entries": [{"Source": "a"}, {"Source": "b"}]}),
        ("kinesis", "PutRecords", {"StreamName": "s", "Records": [{"Data": b"a"}, {"Data": b"b"}]}),
        ("firehose", "PutRecordBatch", {"Records": [{"Data": b"a"}, {"Data": b"b"}]}),
        (
            "dynamodb",
            "BatchWriteItem",
            {"RequestItems": {"t": [{"DeleteRequest": {"Key": {}}}], "u": [{"PutRequest": {}}]}},
        ),
    ],
)
def test_answer_names_the_refused_entry_and_the_rest_was_taken(service: str, operation: str, params: Any) -> None:
    call = call_of(service, operation, params)

    taken = taken_of(call, with_last_refused(call, {}))
    rest = without_last(call)

    assert rest is not None
    assert [part.params for part in parts_of(taken)] == [part.params for part in parts_of(rest)]
    assert without_last(rest) is None


def test_answer_that_refuses_nothing_leaves_a_call_as_it_is() -> None:
    call = call_of("events", "PutEvents", {"Entries": [{"Source": "a"}]})

    assert taken_of(call, {"FailedEntryCount": 0, "Entries": []}).params == call.params
