"""Faults can be chosen by their names and groups, and the report says which were left out."""

from __future__ import annotations

import json
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError

from redrive.core.errors import UserError
from redrive.prove.judge.judge import Rule
from redrive.prove.play.faults import SENDS_AGAIN, Act, Fault
from redrive.prove.proving import prove
from redrive.prove.search.choice import FAULTS, NAMES, choice_of
from redrive.prove.search.options import Options
from redrive.prove.tell.verdict import Verdict
from tests.unit.prove.conftest import Prover, example


def sends(event: Any, context: Any) -> None:
    """Repeats its message whatever fails after it, or comes again."""
    url = "https://sqs.us-east-1.amazonaws.com/000000000000/next"
    boto3.client("dynamodb").get_item(TableName="settings", Key={"id": {"S": "1"}})
    for record in event["Records"]:
        boto3.client("sqs").send_message(QueueUrl=url, MessageBody=record["body"])


def swallows(event: Any, context: Any) -> None:
    """Loses its item when the write is throttled."""
    for _ in event["Records"]:
        try:
            boto3.client("dynamodb").put_item(TableName="reports", Item={"id": {"S": "1"}})
        except ClientError:
            return


def kinds_in(verdict: Verdict) -> set[Fault | Act]:
    found = verdict.counterexample
    assert found is not None
    strikes: set[Fault | Act] = {strike.fault for leg in found.history for strike in leg.strikes}
    return strikes | {leg.act for leg in found.history if leg.act in SENDS_AGAIN}


@pytest.mark.parametrize("name", ["crash", "crash-after", "lost", "duplicate", "again", "concurrent"])
def test_only_faults_of_a_name_are_tried(proved: Prover, name: str) -> None:
    verdict = proved(sends, choice=choice_of([name], []), faults=2)

    assert kinds_in(verdict) <= NAMES[name]


def test_faults_that_are_left_out_find_nothing(proved: Prover) -> None:
    whole = proved(swallows)
    calm = proved(swallows, choice=choice_of([], ["throttle", "answer"]))

    assert whole.counterexample is not None
    assert whole.counterexample.violation.rule is Rule.ALL
    assert calm.counterexample is None
    assert calm.sentence.endswith("(without throttle, answer)")
    assert json.loads(calm.as_json())["faults"] == {"only": [], "without": ["throttle", "answer"]}


def test_each_fault_left_out_makes_the_search_smaller() -> None:
    """And so does a redrive, which is no fault, but comes when letters are dead."""
    whole = prove(example("safe"), Options(faults=1)).bounds.runs

    for name in ("crash", "answer", "throttle", "duplicate", "again", "redrive"):
        fewer = prove(example("safe"), Options(faults=1, choice=choice_of([], [name]))).bounds.runs
        assert 1 < fewer < whole, name


def test_crash_before_alone_strikes_at_every_call(proved: Prover) -> None:
    """Where crashes after calls are tried, a crash before the next call is the same and is left out."""

    def marks_first(event: Any, context: Any) -> None:
        dynamodb = boto3.client("dynamodb")
        try:
            dynamodb.put_item(
                TableName="ledger", Item={"id": {"S": "1"}}, ConditionExpression="attribute_not_exists(id)"
            )
        except ClientError:
            return
        dynamodb.put_item(TableName="reports", Item={"id": {"S": "1"}})

    verdict = proved(marks_first, choice=choice_of(["crash-before"], []))

    assert verdict.counterexample is not None
    assert kinds_in(verdict) == {Fault.CRASH_BEFORE}


def test_every_fault_has_a_name_and_unknown_names_are_told() -> None:
    assert {kind for kinds in NAMES.values() for kind in kinds} == FAULTS | {Act.REDRIVE}
    for only, without in ((["crush"], []), ([], ["crush"]), (["crash"], ["crash"]), (["redrive"], [])):
        with pytest.raises(UserError) as error:
            choice_of(only, without)
        assert "crash-after" in error.value.next_step
