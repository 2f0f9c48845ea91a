"""Two different messages are worked on at once: the other one comes before each call of the one, or while it waits."""

from __future__ import annotations

import json
import textwrap
from dataclasses import replace
from pathlib import Path

import pytest

from redrive.core.errors import UserError
from redrive.prove.judge.judge import Rule
from redrive.prove.play.faults import Act, Fault, parse_history
from redrive.prove.process.subject import NamedSubject, subject_of
from redrive.prove.proving import prove, replay
from redrive.prove.search.options import Options
from redrive.prove.stage.others import with_another
from redrive.prove.stage.trigger import Kind, Trigger

TRIGGER = Trigger("handler", "arn:aws:sqs:us-east-1:000000000000:messages", "", "", 1_000, 1_000, ())


@pytest.mark.parametrize(
    ("kind", "body", "other"),
    [
        (Kind.SQS, {"name": "a", "id": "order-9"}, {"name": "a", "id": "order-0"}),
        (Kind.SQS, {"order": {"orderId": 7, "again": 7}}, {"order": {"orderId": 8, "again": 8}}),
        (Kind.SQS, {"customer_id": "c", "text": "c"}, {"customer_id": "c-2", "text": "c-2"}),
        (Kind.API, {"requestContext": {"requestId": "req-1"}, "body": '{"reference":"a1"}'},
         {"requestContext": {"requestId": "req-2"}, "body": '{"reference":"a2"}'}),
        (Kind.SNS, {"Records": [{"Sns": {"MessageId": "m1", "Message": '{"id":"a"}'}}]},
         {"Records": [{"Sns": {"MessageId": "m2", "Message": '{"id":"a-2"}'}}]}),
    ],
)  # fmt: skip
def test_second_message_is_the_first_one_about_another_thing(kind: Kind, body: object, other: object) -> None:
    trigger = with_another(replace(TRIGGER, kind=kind, bodies=(json.dumps(body),)))

    assert json.loads(trigger.bodies[1]) == other
    assert "give your own: --event" in next(iter(trigger.guesses.values()))


def test_two_events_that_are_given_are_the_two_messages() -> None:
    assert with_another(replace(TRIGGER, bodies=("a", "b", "c"))).bodies == ("a", "b")


@pytest.mark.parametrize("kind", [Kind.SQS, Kind.S3])
def test_message_of_which_no_other_can_be_made_is_asked_for(kind: Kind) -> None:
    with pytest.raises(UserError, match="--concurrent 2 needs two different"):
        with_another(replace(TRIGGER, kind=kind, bodies=('{"amount": 5}',)))


BOOKS = """
    import json, boto3
    from botocore.exceptions import ClientError
    accounts = boto3.resource("dynamodb").Table("accounts")

    def handler(event, context):
        for record in event["Records"]:
            order = json.loads(record["body"])
            account = accounts.get_item(Key={"account": "acc"}).get("Item", {"total": 0, "booked": [], "version": 0})
            if order["id"] not in account["booked"]:
                accounts.put_item(
                    Item={
                        "account": "acc", "total": account["total"] + order["amount"],
                        "booked": sorted([*account["booked"], order["id"]]), "version": account["version"] + 1,
                    },
                    %s
                )
"""
CONDITION = (
    'ConditionExpression="attribute_not_exists(account) OR version = :v", '
    'ExpressionAttributeValues={":v": account["version"]},'
)
OPTIONS = Options(faults=1, concurrent=2, bodies=('{"id": "order-1", "amount": 5}', '{"id": "order-2", "amount": 7}'))


def books(folder: Path, condition: str = "") -> NamedSubject:
    (folder / "books.py").write_text(textwrap.dedent(BOOKS % condition))
    return subject_of("books:handler", folder)


def test_update_that_is_lost_between_two_messages_is_found_without_any_fault(tmp_path: Path) -> None:
    subject = books(tmp_path)

    found = prove(subject, OPTIONS).counterexample

    assert found is not None
    assert found.violation.rule is Rule.SAME
    assert sum(leg.faults for leg in found.history) == 0
    assert any(step.text.startswith("another message comes, not the same") for step in found.steps)
    assert "what that one wrote is gone" in found.advice
    again = replay(subject, parse_history([str(leg) for leg in found.history]), OPTIONS)
    assert again is not None
    assert again.violation == found.violation


def test_version_that_is_asked_for_saves_both_messages_with_a_fault_anywhere(tmp_path: Path) -> None:
    verdict = prove(books(tmp_path, CONDITION), OPTIONS)

    assert verdict.counterexample is None
    assert prove(books(tmp_path, CONDITION), replace(OPTIONS, concurrent=1)).bounds.runs < verdict.bounds.runs


WAITS = """
    import json, boto3
    states = boto3.resource("dynamodb").Table("states")

    def handler(event, context):
        for record in event["Records"]:
            order = json.loads(record["body"])
            boto3.client("dynamodb").put_item(TableName="orders", Item={"id": {"S": order["id"]}})
            if states.get_item(Key={"state": "last"}).get("Item", {}).get("order", "") <= order["id"]:
                states.put_item(Item={"state": "last", "order": order["id"]})
            else:
                states.delete_item(Key={"state": "last"})
"""


def test_other_message_overtakes_one_that_waits_to_be_tried_again(tmp_path: Path) -> None:
    (tmp_path / "waits.py").write_text(textwrap.dedent(WAITS))

    found = prove(subject_of("waits:handler", tmp_path), replace(OPTIONS, invariants=(nothing_is_gone,))).counterexample

    assert found is not None
    assert any(leg.act is Act.NEXT or any(one.fault is Fault.BESIDE for one in leg.strikes) for leg in found.history)


def nothing_is_gone(world: object) -> None:
    client = world.client("dynamodb")  # type: ignore[attr-defined]
    assert client.get_item(TableName="states", Key={"state": {"S": "last"}}).get("Item"), "the state is gone"
