"""The very message that a run works on is handed out a second time: standard queues deliver at least once."""

from __future__ import annotations

import json
import time
from typing import Any

import boto3

from redrive.prove.judge.judge import Rule
from tests.unit.prove.conftest import Prover

ORDER = ('{"id": "o-1"}',)


def claim(order: str, me: str, lease_s: int = 31) -> bool:
    """A lease; False if another run has it, or the order is done."""
    dynamodb = boto3.client("dynamodb")
    now = time.time()
    try:
        dynamodb.update_item(
            TableName="ledger", Key={"id": {"S": order}}, UpdateExpression="SET #s = :r, #u = :l, tok = :t",
            ConditionExpression="attribute_not_exists(id) OR tok = :t OR (#s = :r AND #u < :n)",
            ExpressionAttributeNames={"#s": "status", "#u": "until"},
            ExpressionAttributeValues={
                ":r": {"S": "RUNNING"}, ":l": {"N": str(now + lease_s)}, ":n": {"N": str(now)}, ":t": {"S": me},
            },
        )  # fmt: skip
    except dynamodb.exceptions.ConditionalCheckFailedException:
        return False
    return True


def status_of(order: str) -> str:
    found = boto3.client("dynamodb").get_item(TableName="ledger", Key={"id": {"S": order}}, ConsistentRead=True)
    return str(found["Item"]["status"]["S"])


def work(order: str) -> None:
    dynamodb = boto3.client("dynamodb")
    dynamodb.put_item(TableName="reports", Item={"id": {"S": order}})
    dynamodb.update_item(
        TableName="ledger", Key={"id": {"S": order}}, UpdateExpression="SET #s = :d",
        ExpressionAttributeNames={"#s": "status"}, ExpressionAttributeValues={":d": {"S": "DONE"}},
    )  # fmt: skip


def skips_what_is_worked_on(event: Any, context: Any) -> None:
    """Returns, so that Lambda deletes the message, while another run holds the lease."""
    for record in event["Records"]:
        order = json.loads(record["body"])["id"]
        if claim(order, context.aws_request_id):
            work(order)


def raises_while_it_is_worked_on(event: Any, context: Any) -> None:
    for record in event["Records"]:
        order = json.loads(record["body"])["id"]
        if claim(order, context.aws_request_id):
            work(order)
        elif status_of(order) != "DONE":
            raise RuntimeError("somebody is at it")


def test_run_that_skips_a_live_lease_deletes_the_only_message(proved: Prover) -> None:
    verdict = proved(skips_what_is_worked_on, bodies=ORDER, faults=2)

    assert verdict.counterexample is not None
    assert verdict.counterexample.violation.rule is Rule.ALL
    assert any(" again dynamodb:PutItem reports #1" in str(leg) for leg in verdict.counterexample.history)
    assert any("is handed out a second time" in step.text for step in verdict.counterexample.steps)


def test_run_that_raises_while_a_lease_lasts_keeps_the_message(proved: Prover) -> None:
    assert proved(raises_while_it_is_worked_on, bodies=ORDER, faults=2).counterexample is None


def test_both_receipts_delete_a_message_that_was_handed_out_twice(proved: Prover) -> None:
    """A run that was overtaken leaves the work to the other one; if that one dies, its own return loses the message."""

    def handler(event: Any, context: Any) -> None:
        order = json.loads(event["Records"][0]["body"])["id"]
        if not claim(order, context.aws_request_id, lease_s=20):
            if status_of(order) == "DONE":
                return
            raise RuntimeError("somebody is at it")
        found = boto3.client("dynamodb").get_item(TableName="ledger", Key={"id": {"S": order}}, ConsistentRead=True)
        if found["Item"]["tok"]["S"] == context.aws_request_id:
            work(order)

    verdict = proved(handler, bodies=ORDER, faults=2)

    assert verdict.counterexample is not None
    assert verdict.counterexample.violation.rule is Rule.ALL
    assert "again-late" in str(verdict.counterexample.history[0])


def test_each_message_of_an_event_is_doubled(proved: Prover) -> None:
    """Only a duplicate of the second message writes another item: it has another message id."""

    def handler(event: Any, context: Any) -> None:
        for record in event["Records"]:
            order = json.loads(record["body"])["id"]
            key = record["messageId"] if order == "o-2" else order
            boto3.client("dynamodb").put_item(TableName="reports", Item={"id": {"S": key}})

    verdict = proved(handler, bodies=('{"id": "o-1"}', '{"id": "o-2"}'))

    assert verdict.counterexample is not None
    assert " of 2" in str(verdict.counterexample.history[0])
