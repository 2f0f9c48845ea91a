"""A handler that cannot be proved is told why: what it printed, what it returned, and what it was given."""

from __future__ import annotations

import json
import re
import socket
from typing import Any

import boto3
import pytest

from redrive.core.errors import UserError
from redrive.prove.calls.calls import Call
from redrive.prove.search.reasons import require_same_order
from tests.unit.prove.conftest import Prover


def refusal_of(proved: Prover, handler: Any, **options: Any) -> UserError:
    with pytest.raises(UserError) as refused:
        proved(handler, **options)
    return refused.value


def test_message_that_is_left_shows_what_was_returned_and_printed(proved: Prover) -> None:
    def handler(event: Any, context: Any) -> Any:
        print("there is no customer")  # noqa: T201 - As handlers do.
        return {"batchItemFailures": [{"itemIdentifier": event["Records"][0]["messageId"]}]}

    refusal = refusal_of(proved, handler)

    assert '"batchItemFailures"' in refusal.what
    assert "there is no customer" in refusal.what


def test_connection_that_was_reported_and_not_raised_is_named(proved: Prover) -> None:
    def handler(event: Any, context: Any) -> Any:
        try:
            socket.create_connection(("payments.example.com", 5432))
        except OSError:
            return {"batchItemFailures": [{"itemIdentifier": event["Records"][0]["messageId"]}]}

    assert "payments.example.com" in refusal_of(proved, handler).what


def test_sample_that_was_sent_is_shown_to_a_handler_that_expects_another(proved: Prover) -> None:
    def handler(event: Any, context: Any) -> None:
        raise KeyError("orderId")

    refusal = refusal_of(proved, handler)

    assert "KeyError: 'orderId'" in refusal.what
    assert "redrive's sample" in refusal.next_step
    assert '"report":"daily-sales"' in refusal.next_step


def test_event_of_another_service_is_said_to_arrive_as_a_body(proved: Prover) -> None:
    body = '{"Records": [{"eventSource": "aws:s3", "s3": {"object": {"key": "k"}}}]}'

    refusal = refusal_of(proved, lambda event, _: event["Records"][0]["s3"], bodies=(body,))

    assert "as the body of an SQS message" in refusal.next_step
    assert "json.loads(event['Records'][0]['body'])" in refusal.next_step


def test_calls_that_come_in_another_order_are_refused() -> None:
    first, second = Call("sqs", "SendMessage", "a"), Call("sqs", "SendMessage", "b")

    with pytest.raises(UserError, match="another order each time"):
        require_same_order([first, second], [second, first])


def test_calls_that_are_others_altogether_are_not_a_matter_of_order() -> None:
    require_same_order([Call("sqs", "SendMessage", "a")], [Call("sqs", "SendMessage", "b")])


def test_reading_of_a_set_is_no_reason_to_refuse_a_handler(proved: Prover) -> None:
    def handler(event: Any, context: Any) -> None:
        for name in sorted({"a", "b"}):
            boto3.client("dynamodb").put_item(TableName="reports", Item={"id": {"S": name}})

    assert proved(handler).counterexample is None


def reads_and_catches(event: Any, context: Any) -> None:
    table = boto3.resource("dynamodb").Table("orders")
    table.get_item(Key={"id": "1"})
    try:
        table.put_item(Item={"id": json.loads(event["Records"][0]["body"])["orderId"]})
    except KeyError:
        return


def test_handler_that_changes_nothing_is_told_its_calls_and_what_it_catches(proved: Prover) -> None:
    with pytest.raises(UserError, match="changes nothing") as raised:
        proved(reads_and_catches, bodies=('{"id": "1"}',))

    assert re.search(r"dynamodb GetItem on orders at \S*test_reasons.py:\d+: table.get_item", str(raised.value))
    assert re.search(r"KeyError: 'orderId' at \S*test_reasons.py:\d+: table.put_item", str(raised.value))
    assert "An exception took it off its way" in str(raised.value.next_step)


def test_handler_that_only_reads_is_told_so(proved: Prover) -> None:
    def handler(event: Any, context: Any) -> None:
        boto3.client("dynamodb").get_item(TableName="orders", Key={"id": {"S": "1"}})

    with pytest.raises(UserError, match="changes nothing") as raised:
        proved(handler)

    assert str(raised.value.next_step).startswith("It only reads")
