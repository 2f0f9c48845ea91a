"""Queues as triggers: the attributes of messages, FIFO queues with groups and deduplication, answers about batches."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import boto3
import pytest

from redrive.core.clock import MINUTE_MS
from redrive.core.errors import UserError
from redrive.prove.guess.answer_names import misspelt_names, right_name
from redrive.prove.play.faults import parse_history
from redrive.prove.process.subject import GivenSubject, subject_of
from redrive.prove.proving import prove, replay
from redrive.prove.search.options import Options
from redrive.prove.stage.envelopes import Message, read_message
from redrive.prove.stage.sources import messages_of
from redrive.prove.stage.trigger import Kind, bodies_of, usual_trigger
from redrive.prove.tell.export import as_test
from tests.unit.prove.conftest import Prover
from tests.unit.prove.invoking import Answering, failed, play_out, stage_for

ATTRIBUTES: Any = {
    "kind": {"stringValue": "order", "dataType": "String", "stringListValues": [], "binaryListValues": []},
    "count": {"stringValue": "7", "dataType": "Number"},
    "blob": {"binaryValue": "AAEC", "dataType": "Binary"},
}
SEEN: list[Any] = []


def record(body: str, group: str = "", deduplication_id: str = "", **attributes: Any) -> Any:
    own = {"ApproximateReceiveCount": "1", "SenderId": "AIDA", "SentTimestamp": "1735689600000"}
    own |= {"MessageGroupId": group} if group else {}
    own |= {"MessageDeduplicationId": deduplication_id} if deduplication_id else {}
    return {
        "messageId": "059f36b4-87a3-44ab-83d2-661975830a7d", "receiptHandle": "AQEB", "body": body, "attributes": own,
        "messageAttributes": attributes, "md5OfBody": "e4e6", "eventSource": "aws:sqs", "awsRegion": "us-east-2",
        "eventSourceARN": "arn:aws:sqs:us-east-2:123456789012:my-queue",
    }  # fmt: skip


def texts(*records: Any) -> tuple[str, ...]:
    return bodies_of({"Records": list(records)})


def put(key: str) -> None:
    boto3.client("dynamodb").put_item(TableName="orders", Item={"id": {"S": key}})


def delivered(*records: Any, is_fifo: bool = False) -> list[Any]:
    """The records of the first batch that a function is given of these."""
    invoker = Answering()
    stage = stage_for(invoker)
    trigger = usual_trigger(stage, texts(*records), is_fifo=is_fifo)
    messages = messages_of(stage, trigger)
    for number in range(len(records)):
        messages.send(number)
    play_out(stage, messages)
    return list(invoker.events[0]["Records"])


def test_function_is_given_the_attributes_of_the_event_in_the_envelope_of_aws() -> None:
    (found,) = delivered(record("hello", **ATTRIBUTES))

    assert found.keys() == {*record("x"), "md5OfMessageAttributes"}
    assert found["attributes"].keys() == {
        "ApproximateReceiveCount", "ApproximateFirstReceiveTimestamp", "SenderId", "SentTimestamp"
    }  # fmt: skip
    told = {name: one.get("stringValue", one.get("binaryValue")) for name, one in found["messageAttributes"].items()}
    assert told == {"kind": "order", "count": "7", "blob": "AAEC"}
    assert found["messageAttributes"]["count"]["dataType"] == "Number"
    assert found["messageAttributes"]["blob"]["stringListValues"] == []


def test_function_is_given_group_and_deduplication_id_of_a_fifo_queue() -> None:
    (found,) = delivered(record("hello", "customer-1", "order-1"), is_fifo=True)

    assert found["attributes"]["MessageGroupId"] == "customer-1"
    assert found["attributes"]["MessageDeduplicationId"] == "order-1"
    assert found["attributes"]["SequenceNumber"].isdecimal()
    assert found["eventSourceARN"].endswith(":messages.fifo")


def test_message_without_attributes_is_its_body() -> None:
    assert texts(record("hello")) == ("hello",)
    assert read_message('{"body": "x"}') == Message('{"body": "x"}')
    assert read_message(texts(record("a", "g"))[0]) == Message("a", group="g")


@pytest.mark.parametrize("trigger", [None, Kind.SQS])
def test_handler_that_keys_by_an_attribute_is_proved(proved: Prover, trigger: Kind | None) -> None:
    def handler(event: Any, context: Any) -> None:
        for one in event["Records"]:
            put(one["messageAttributes"]["kind"]["stringValue"])

    verdict = proved(handler, bodies=texts(record("{}", **ATTRIBUTES)), trigger=trigger)

    assert verdict.counterexample is None
    assert verdict.trigger is Kind.SQS


def test_events_with_groups_make_a_fifo_queue_whose_handler_is_found_by_a_late_duplicate(proved: Prover) -> None:
    """A producer's duplicate is dropped within 5 minutes, and after an hour it is a message of its own."""

    def by_message_id(event: Any, context: Any) -> None:
        for one in event["Records"]:
            put(one["messageId"])

    verdict = proved(by_message_id, bodies=texts(record("a", "g", "d")))

    assert verdict.trigger is Kind.FIFO
    assert verdict.counterexample is not None
    assert [str(leg) for leg in verdict.counterexample.history] == ["deliver", "duplicate after 3600000 ms"]
    assert "deduplication id" in verdict.counterexample.steps[3].text
    exported = as_test(verdict, Options(bodies=texts(record("a", "g", "d"))))
    assert "MessageDeduplicationId" in exported


def test_handler_of_a_fifo_queue_that_keys_by_the_body_is_proved(proved: Prover) -> None:
    def by_body(event: Any, context: Any) -> None:
        for one in event["Records"]:
            put(one["body"])

    assert proved(by_body, bodies=texts(record("a", "g", "d")), faults=2).counterexample is None


@pytest.mark.parametrize("is_fifo", [True, False])
def test_run_of_a_fifo_queue_has_no_other_one_beside_it(proved: Prover, *, is_fifo: bool) -> None:
    """What is read before it is written is found only where two deliveries overlap."""

    def read_then_added(event: Any, context: Any) -> None:
        client = boto3.client("dynamodb")
        for one in event["Records"]:
            key = {"id": {"S": one["body"]}}
            if "Item" not in client.get_item(TableName="done", Key=key):
                client.transact_write_items(
                    TransactItems=[
                        {"Put": {"TableName": "done", "Item": key}},
                        {
                            "Update": {
                                "TableName": "sums", "Key": {"id": {"S": "all"}}, "UpdateExpression": "ADD n :one",
                                "ExpressionAttributeValues": {":one": {"N": "1"}},
                            }
                        },
                    ]
                )  # fmt: skip

    bodies = texts(record("a", "g", "d")) if is_fifo else ("a",)

    assert (proved(read_then_added, bodies=bodies).counterexample is None) == is_fifo


def test_deduplication_id_is_no_key_because_a_dead_letter_comes_back_under_another_one(proved: Prover) -> None:
    def by_deduplication_id(event: Any, context: Any) -> None:
        for one in event["Records"]:
            put(one["attributes"]["MessageDeduplicationId"])
        boto3.client("sqs").list_queues()  # This fails during an outage: the message is dead-lettered.

    found = proved(by_deduplication_id, bodies=texts(record("a", "g", "d"))).counterexample

    assert found is not None
    assert any(step.text.startswith("the dead letters are redriven") for step in found.steps)


def test_fifo_queue_drops_a_duplicate_within_five_minutes_and_takes_a_later_one() -> None:
    invoker = Answering()
    stage = stage_for(invoker)
    messages = messages_of(stage, usual_trigger(stage, texts(record("a", "g", "d")), is_fifo=True))

    messages.send(0)
    play_out(stage, messages)
    stage.move_to(stage.now + 4 * MINUTE_MS)
    messages.send(0)
    play_out(stage, messages)
    within = len(invoker.runs)
    stage.move_to(stage.now + 2 * MINUTE_MS)
    messages.send(0)
    play_out(stage, messages)

    assert (within, len(invoker.runs)) == (1, 2)


def test_failed_message_blocks_its_group_and_no_other_one() -> None:
    """The first message of group a fails; the second waits for it, also while it is hidden, and b goes on."""
    invoker = Answering(failed("Error"))
    stage = stage_for(invoker)
    trigger = usual_trigger(
        stage, texts(record("a1", "a"), record("a2", "a"), record("b1", "b")), is_fifo=True, reports_failures=False
    )
    stage.call("lambda", "UpdateEventSourceMapping", UUID=trigger.mapping, BatchSize=1)
    stage.settle()
    messages = messages_of(stage, trigger)

    for number in range(3):
        messages.send(number)
    play_out(stage, messages)

    assert [event["Records"][0]["body"] for event in invoker.events] == ["a1", "b1", "a1", "a2"]
    assert invoker.at_s[1] < 180 <= invoker.at_s[2]


def test_dead_letters_of_a_fifo_queue_come_back_in_their_order() -> None:
    invoker = Answering(*[failed("Error")] * 6)
    stage = stage_for(invoker)
    trigger = usual_trigger(stage, texts(record("1", "g"), record("2", "g")), is_fifo=True, reports_failures=False)
    stage.call("lambda", "UpdateEventSourceMapping", UUID=trigger.mapping, BatchSize=1)
    stage.settle()
    messages = messages_of(stage, trigger)

    for number in range(2):
        messages.send(number)
    play_out(stage, messages)
    assert messages.look().dead == 2
    messages.redrive()
    play_out(stage, messages)

    bodies = [event["Records"][0]["body"] for event in invoker.events]
    assert bodies == ["1", "1", "1", "2", "2", "2", "1", "2"]


def test_several_records_of_an_event_are_one_batch() -> None:
    found = delivered(record("a"), record("b", **ATTRIBUTES))

    assert [one["body"] for one in found] == ["a", "b"]


def source(tmp_path: Path, answer: str) -> Path:
    file = tmp_path / f"app_answers_{abs(hash(answer))}.py"
    file.write_text(
        "import boto3\ndef handler(event, context):\n    failed = []\n    for one in event['Records']:\n"
        "        try:\n"
        "            boto3.client('dynamodb').put_item(TableName='things', Item={'id': {'S': one['body']}})\n"
        "        except Exception:\n            failed.append(one['messageId'])\n"
        f"    {answer}\n"
    )
    return file


def proved_file(file: Path, **options: Any) -> Any:
    return prove(subject_of(f"{file.stem}:handler", file.parent), Options(**({"faults": 1} | options)))


def test_handler_that_reports_nothing_has_a_mapping_without_reports(tmp_path: Path) -> None:
    verdict = proved_file(source(tmp_path, "if failed: raise ValueError()\n    return 'OK'"))

    assert verdict.counterexample is None
    assert verdict.assumptions["mapping"].startswith("no ReportBatchItemFailures")


def test_callable_that_returns_something_else_has_a_mapping_without_reports(proved: Prover) -> None:
    def handler(event: Any, context: Any) -> str:
        put(event["Records"][0]["body"])
        return "OK"

    verdict = proved(handler, bodies=("a",))

    assert verdict.counterexample is None
    assert 'returns "OK"' in verdict.assumptions["mapping"]


def test_handler_that_reports_through_what_it_imports_has_a_mapping_with_reports(tmp_path: Path) -> None:
    """The source names nothing, the answer does."""
    answer = "return {'batch' + 'ItemFailures': [{'item' + 'Identifier': one} for one in failed]}"

    verdict = proved_file(source(tmp_path, answer))

    assert verdict.counterexample is None
    assert verdict.assumptions["mapping"].startswith("ReportBatchItemFailures, because")


def test_misspelt_list_of_failures_deletes_what_failed_and_is_named(tmp_path: Path) -> None:
    answer = "return {'batchItemFailure': [{'itemIdentifier': one} for one in failed]}"

    verdict = proved_file(source(tmp_path, answer))

    assert verdict.counterexample is not None
    assert verdict.counterexample.violation.rule.value == "lost"
    assert "AWS knows batchItemFailures" in verdict.assumptions["misspelt batchItemFailure"]


def test_misspelt_identifier_fails_the_whole_batch_and_is_named(tmp_path: Path) -> None:
    answer = "return {'batchItemFailures': [{'itemIdentifer': one} for one in failed]}"

    verdict = proved_file(source(tmp_path, answer))

    assert verdict.counterexample is None
    assert "makes the whole batch fail" in verdict.assumptions["misspelt itemIdentifer"]


@pytest.mark.parametrize("text", ["batchItemFailures", "itemIdentifier", "items", "batch", "identifier", "item_id"])
def test_names_that_are_right_or_others_are_not_misspelt(text: str) -> None:
    assert right_name(text) is None


@pytest.mark.parametrize("text", ["batch_item_failures", "BatchItemFailures", "batchItemFailues", "batchItemsFailures"])
def test_names_that_are_nearly_right_are_misspelt(text: str) -> None:
    assert right_name(text) == "batchItemFailures"


def test_only_keys_of_objects_are_looked_at(tmp_path: Path) -> None:
    file = tmp_path / "app_keys.py"
    file.write_text("x = 'batchItemFailure'\ny = {}\ny['itemIdentifer'] = 1\nprint(y['batchItemFailure'])\n")

    assert list(misspelt_names(file)) == ["itemIdentifer"]


SAM = """
Transform: AWS::Serverless-2016-10-31
Resources:
  Orders: {Type: AWS::SQS::Queue, Properties: {FifoQueue: true, ContentBasedDeduplication: true}}
  Seen: {Type: AWS::Serverless::SimpleTable}
  Worker:
    Type: AWS::Serverless::Function
    Properties:
      Runtime: python3.11
      Handler: app_of_queue.handler
      CodeUri: .
      Environment: {Variables: {TABLE: !Ref Seen}}
      Policies: [{DynamoDBWritePolicy: {TableName: !Ref Seen}}]
      Events: {Order: {Type: SQS, Properties: {Queue: !GetAtt Orders.Arn%s}}}
"""
REPORTING = """
import os
import boto3

def handler(event, context):
    failed = []
    for one in event["Records"]:
        try:
            boto3.client("dynamodb").put_item(TableName=os.environ["TABLE"], Item={"id": {"S": one["body"]}})
        except Exception:
            failed.append({"itemIdentifier": one["messageId"]})
    return {"batchItemFailures": failed}
"""


def written(tmp_path: Path, more: str, code: str = REPORTING) -> Path:
    (tmp_path / "app_of_queue.py").write_text(code)
    (tmp_path / "template.yaml").write_text(SAM % more)
    return tmp_path / "template.yaml"


def test_template_says_whether_failures_are_reported(tmp_path: Path) -> None:
    """Without FunctionResponseTypes nobody reads the answer: the message that failed is deleted."""
    with_types = prove(
        None, Options(template=written(tmp_path, ", FunctionResponseTypes: [ReportBatchItemFailures]"), faults=1)
    )
    without = prove(None, Options(template=written(tmp_path, ""), faults=1))

    assert with_types.trigger is Kind.FIFO
    assert with_types.counterexample is None or with_types.counterexample.violation.rule.value != "lost"
    assert without.counterexample is not None
    assert without.counterexample.violation.rule.value == "lost"
    assert "Lambda does not read" in without.assumptions["FunctionResponseTypes"]


def test_answer_that_is_none_is_explained_where_the_template_asks_for_one(tmp_path: Path) -> None:
    code = REPORTING.replace('return {"batchItemFailures": failed}', 'return "OK"')
    template = written(tmp_path, ", FunctionResponseTypes: [ReportBatchItemFailures]", code)

    with pytest.raises(UserError, match="no answer for a mapping with ReportBatchItemFailures"):
        prove(None, Options(template=template, faults=1))


def test_history_of_a_message_with_attributes_is_played_again(proved: Prover) -> None:
    def by_request(event: Any, context: Any) -> None:
        assert event["Records"][0]["messageAttributes"]["kind"]["stringValue"] == "order"
        put(context.aws_request_id)

    history = parse_history(["deliver", "duplicate"])
    found = replay(GivenSubject(by_request), history, Options(bodies=texts(record("{}", **ATTRIBUTES))))

    assert found is not None
    assert json.loads(texts(record("{}", **ATTRIBUTES))[0])["messageAttributes"] == ATTRIBUTES


def test_standard_queue_of_a_template_may_have_groups() -> None:
    """Fair queues: a group of a standard queue orders nothing."""
    (found,) = delivered(record("hello", "tenant-1", "ignored"))

    assert found["attributes"]["MessageGroupId"] == "tenant-1"
    assert "MessageDeduplicationId" not in found["attributes"]
