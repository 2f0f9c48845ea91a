"""What stands in the things that are left behind is compared with a clean run, and what may differ is not."""

from __future__ import annotations

import json
import random
import time
import uuid
from collections.abc import Callable
from typing import Any

import boto3
import pytest

from redrive.core.errors import UserError
from redrive.prove.effects.contents import Left, compared, facts_of
from redrive.prove.judge.judge import Rule
from tests.unit.prove.conftest import Prover

ORDER = ('{"id": "order-1"}',)
URL = "https://sqs.us-east-1.amazonaws.com/000000000000/mails"


def client() -> Any:
    return boto3.client("dynamodb")


def order_of(event: Any) -> str:
    return str(json.loads(event["Records"][0]["body"])["id"])


def receives_of(event: Any) -> int:
    return int(event["Records"][0]["attributes"]["ApproximateReceiveCount"])


def report(event: Any, **more: Any) -> None:
    client().put_item(TableName="reports", Item={"id": {"S": order_of(event)}} | more)


def balance() -> int:
    item = client().get_item(TableName="accounts", Key={"id": {"S": "acc"}}).get("Item", {"balance": {"N": "0"}})
    return int(item["balance"]["N"])


def test_balance_that_is_read_and_written_is_doubled_by_a_crash(proved: Prover) -> None:
    def handler(event: Any, context: Any) -> None:
        item = {"id": {"S": "acc"}, "balance": {"N": str(balance() + 5)}}
        client().put_item(TableName="accounts", Item=item)

    verdict = proved(handler, bodies=ORDER)

    assert verdict.counterexample is not None
    history = [str(leg) for leg in verdict.counterexample.history]
    assert history == ["deliver crash-after dynamodb:PutItem accounts #1", "deliver"]
    assert verdict.counterexample.violation.rule is Rule.ONCE
    assert verdict.counterexample.violation.sentence == (
        "balance of the item in accounts (id=acc) is 10, and 5 if nothing goes wrong."
    )


def test_second_attempt_that_writes_something_else_is_found(proved: Prover) -> None:
    def handler(event: Any, context: Any) -> None:
        report(event, text={"S": "empty" if receives_of(event) > 1 else "full"})

    verdict = proved(handler, bodies=ORDER)

    assert verdict.counterexample is not None
    assert verdict.counterexample.violation.rule is Rule.SAME
    assert "'empty', and 'full' if nothing goes wrong" in verdict.counterexample.violation.sentence
    assert json.loads(verdict.as_json())["counterexample"]["rule"] == "changed"


def test_message_with_another_body_is_found(proved: Prover) -> None:
    def handler(event: Any, context: Any) -> None:
        body = {"order": order_of(event), "text": "empty" if receives_of(event) > 1 else "full"}
        boto3.client("sqs").send_message(
            QueueUrl=f"{URL}.fifo", MessageBody=json.dumps(body), MessageGroupId="g", MessageDeduplicationId="d"
        )

    found = proved(handler, bodies=ORDER).counterexample

    assert found is not None
    assert "MessageBody.text of the message to mails.fifo is 'empty'" in found.violation.sentence


def test_ids_times_latencies_and_attempts_may_differ(proved: Prover) -> None:
    def handler(event: Any, context: Any) -> None:
        sent_at = int(event["Records"][0]["attributes"]["SentTimestamp"]) / 1000
        begun_at = time.time()
        client().get_item(TableName="settings", Key={"id": {"S": "a"}})
        report(
            event, at={"N": str(time.time())}, day={"S": time.strftime("%A %d")}, run={"S": context.aws_request_id},
            nonce={"S": f"n{random.randrange(10**6)}"}, trace={"M": {"id": {"S": uuid.uuid4().hex[:9]}}},
            attempt={"N": str(receives_of(event))}, waited={"N": str(int(time.time() - sent_at))},
            took={"N": str(int(time.time() - begun_at))},
        )  # fmt: skip

    assert proved(handler, bodies=ORDER, faults=2).counterexample is None


def set_under_its_version(name: str) -> Callable[[Any, Any], None]:
    """A handler that sets a state twice, each time if nobody else has written meanwhile."""

    def handler(event: Any, context: Any) -> None:
        key = {"id": {"S": "acc"}}
        for state in ("open", "paid"):
            item = client().get_item(TableName="accounts", Key=key).get("Item", {})
            number = int(item.get(name, {"N": "0"})["N"])
            client().update_item(
                TableName="accounts", Key=key, UpdateExpression="SET #n = :next, #s = :state",
                ConditionExpression="attribute_not_exists(#n) OR #n = :known",
                ExpressionAttributeNames={"#n": name, "#s": "state"},
                ExpressionAttributeValues={
                    ":next": {"N": str(number + 1)}, ":known": {"N": str(number)}, ":state": {"S": state},
                },
            )  # fmt: skip

    return handler


def test_version_that_the_write_asks_for_counts_attempts(proved: Prover) -> None:
    assert proved(set_under_its_version("version"), bodies=ORDER).counterexample is None


def test_number_that_the_write_asks_for_and_that_is_no_version_is_compared(proved: Prover) -> None:
    found = proved(set_under_its_version("payments"), bodies=ORDER).counterexample

    assert found is not None
    assert found.violation.rule in (Rule.ONCE, Rule.SAME)


def test_set_of_ids_may_have_one_more(proved: Prover) -> None:
    def handler(event: Any, context: Any) -> None:
        client().update_item(
            TableName="reports", Key={"id": {"S": order_of(event)}}, UpdateExpression="ADD messages :m",
            ExpressionAttributeValues={":m": {"SS": [event["Records"][0]["messageId"]]}},
        )  # fmt: skip

    assert proved(handler, bodies=ORDER).counterexample is None


def test_order_of_messages_may_differ(proved: Prover) -> None:
    def handler(event: Any, context: Any) -> None:
        for record in event["Records"]:
            client().put_item(TableName="last", Item={"id": {"S": "last"}, "order": {"S": record["body"]}})

    assert proved(handler, bodies=("first", "second")).counterexample is None


@pytest.mark.parametrize("pattern", ["dynamodb:UpdateItem:reports#attempts", "dynamodb:*:rep*#att*"])
def test_counter_for_operators_can_be_left_out_by_its_name(proved: Prover, pattern: str) -> None:
    def handler(event: Any, context: Any) -> None:
        client().update_item(
            TableName="reports", Key={"id": {"S": order_of(event)}}, UpdateExpression="SET v = :v ADD attempts :one",
            ExpressionAttributeValues={":v": {"S": "x"}, ":one": {"N": "1"}},
        )  # fmt: skip

    assert proved(handler, bodies=ORDER).counterexample is not None
    assert proved(handler, bodies=ORDER, ignored=(pattern,)).counterexample is None


@pytest.mark.parametrize(
    "option", [{"effects": ("dynamodb:PutItem:typo*",)}, {"ignored": ("sns:*",)}, {"ledgers": ("x",)}]
)
def test_pattern_that_matches_nothing_is_refused_with_what_there_is(proved: Prover, option: Any) -> None:
    with pytest.raises(UserError) as refused:
        proved(report_alone, bodies=ORDER, **option)

    assert "reports" in str(refused.value.next_step)


def report_alone(event: Any, context: Any) -> None:
    report(event)


def test_facts_are_paths_of_items_and_of_texts_that_are_json() -> None:
    item = {"n": {"N": "5"}, "m": {"M": {"x": {"L": [{"S": "a"}]}}}, "t": {"S": '{"y": true}'}, "s": {"SS": ["b", "a"]}}

    assert list(facts_of(item)) == [("m.x[0]", "a"), ("n", "5"), ("s", "a"), ("s", "b"), ("t.y", "True")]


def test_group_that_is_not_left_elsewhere_is_not_compared() -> None:
    clean = [Left("item in a", "id=1", (("x", "1"),))]

    contents = compared(clean, [], [])

    assert not list(contents.differences([Left("item in a", "id=1", (("x", "2"),))]))
