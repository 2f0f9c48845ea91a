"""The handler's memory is told from its work by what it makes the handler leave out."""

from __future__ import annotations

import contextlib
import json
from typing import Any

import boto3
import pytest

from redrive.prove.calls.sorting import LedgerRows
from redrive.prove.judge.judge import Rule
from redrive.prove.judge.ledger import Status, status_of, stuck_records
from tests.unit.prove.conftest import Prover

ORDER = ('{"id": "order-1"}',)


def order_of(event: Any) -> str:
    return str(json.loads(event["Records"][0]["body"])["id"])


def client() -> Any:
    return boto3.client("dynamodb")


def put(table: str, key: str, **more: Any) -> None:
    client().put_item(TableName=table, Item={"id": {"S": key}} | more)


def has(table: str, key: str) -> bool:
    return "Item" in client().get_item(TableName=table, Key={"id": {"S": key}}, ConsistentRead=True)


def add(table: str, key: str, attribute: str = "balance") -> None:
    client().update_item(
        TableName=table, Key={"id": {"S": key}}, UpdateExpression=f"ADD {attribute} :n",
        ExpressionAttributeValues={":n": {"N": "5"}},
    )  # fmt: skip


def test_table_that_the_handler_makes_itself_is_no_ledger_before_it_is_there(proved: Prover) -> None:
    def handler(event: Any, context: Any) -> None:
        if "made" not in client().list_tables()["TableNames"]:
            client().create_table(
                TableName="made", BillingMode="PAY_PER_REQUEST", KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
                AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
            )  # fmt: skip
        put("made", order_of(event))

    verdict = proved(handler, bodies=ORDER)

    assert verdict.effects["item in made"] == 1


def test_account_that_is_read_before_the_ledger_is_work(proved: Prover) -> None:
    def handler(event: Any, context: Any) -> None:
        has("accounts", "acc")
        if has("ledger", order_of(event)):
            return
        add("accounts", "acc")
        put("ledger", order_of(event))

    verdict = proved(handler, bodies=ORDER)

    assert verdict.ledger == "ledger"
    assert verdict.counterexample is not None
    assert verdict.counterexample.violation.rule is Rule.ONCE
    assert verdict.counterexample.violation.subject == "increase of accounts"


def test_rows_of_one_table_are_told_apart(proved: Prover) -> None:
    def handler(event: Any, context: Any) -> None:
        if has("app", f"LOCK#{order_of(event)}"):
            return
        add("app", "TOTAL")
        put("app", f"LOCK#{order_of(event)}")

    verdict = proved(handler, bodies=ORDER)

    assert verdict.ledger == "app (id=LOCK#order-1)"
    assert verdict.counterexample is not None
    assert verdict.counterexample.violation.subject == "increase of app"


def test_order_that_nothing_depends_on_is_work_and_may_not_be_missing(proved: Prover) -> None:
    """Its throttled write is swallowed with the refused ones."""

    def handler(event: Any, context: Any) -> None:
        item = {"id": {"S": order_of(event)}}
        with contextlib.suppress(Exception):
            client().put_item(TableName="orders", Item=item, ConditionExpression="attribute_not_exists(id)")
        put("reports", order_of(event))

    verdict = proved(handler, bodies=ORDER)

    assert verdict.ledger is None
    assert verdict.counterexample is not None
    assert verdict.counterexample.violation.rule is Rule.ALL
    assert verdict.counterexample.violation.subject == "item in orders"


def test_record_that_a_clean_run_leaves_may_not_be_missing(proved: Prover) -> None:
    def handler(event: Any, context: Any) -> None:
        if has("ledger", order_of(event)):
            return
        put("reports", order_of(event))
        with contextlib.suppress(Exception):
            put("ledger", order_of(event))

    verdict = proved(handler, bodies=ORDER)

    assert verdict.counterexample is not None
    assert verdict.counterexample.violation.subject == "record in ledger"


def test_effect_that_is_refused_where_it_stands_still_shows_its_ledger(proved: Prover) -> None:
    """A second delivery that reaches the refused write was not stopped by the record."""

    def handler(event: Any, context: Any) -> None:
        dynamodb = client()
        if has("ledger", order_of(event)):
            return
        with contextlib.suppress(dynamodb.exceptions.ConditionalCheckFailedException):
            dynamodb.put_item(
                TableName="reports", Item={"id": {"S": order_of(event)}}, ConditionExpression="attribute_not_exists(id)"
            )
        put("ledger", order_of(event))

    verdict = proved(handler, bodies=ORDER)

    assert (verdict.ledger, verdict.effects) == ("ledger", {"item in reports": 1})
    assert verdict.counterexample is None


def test_user_can_name_the_ledger(proved: Prover) -> None:
    def handler(event: Any, context: Any) -> None:
        add("notes", order_of(event), "visits")
        put("reports", order_of(event))

    assert proved(handler, bodies=ORDER).counterexample is not None
    assert proved(handler, bodies=ORDER, ledgers=("notes",)).counterexample is None


@pytest.mark.parametrize(("until", "rule"), [({"until": {"N": "1735689631"}}, None), ({}, Rule.UNSTUCK)])
def test_lock_that_is_deleted_at_the_end_may_stay_if_it_ends_by_itself(
    proved: Prover, until: Any, rule: Rule | None
) -> None:
    def handler(event: Any, context: Any) -> None:
        if has("done", order_of(event)):
            return
        put("lock", order_of(event), **until)
        put("reports", order_of(event))
        put("done", order_of(event))
        client().delete_item(TableName="lock", Key={"id": {"S": order_of(event)}})

    verdict = proved(handler, bodies=ORDER)

    found = verdict.counterexample
    assert (None if found is None else found.violation.rule) is rule


def test_row_that_no_clean_run_has_is_of_the_kind_that_begins_like_it() -> None:
    ledger = LedgerRows({"app": {"pk=LOCK#1": True, "pk=TOTAL": False}})

    assert ledger.holds("app", "pk=LOCK#2")
    assert not ledger.holds("app", "pk=TOTALS")
    assert not ledger.holds("other", "pk=LOCK#1")


def test_status_is_the_word_that_changes_while_the_handler_runs() -> None:
    begun = {"id=a": {"status": "RUNNING", "token": "t", "text": "x" * 41}}
    done = {"id=a": {"status": "SUCCESS", "token": "t", "text": "y" * 41}}

    status = status_of([{}, begun, done])

    assert status == Status("status", "RUNNING", "SUCCESS")
    assert stuck_records(begun, status) == ["id=a"]
    assert stuck_records(done, status) == []


def test_record_whose_words_stay_has_no_status() -> None:
    assert status_of([{"id=a": {"status": "done"}}, {"id=a": {"status": "done"}}]) is None
    assert status_of([]) is None
