"""A function that EventBridge invokes: two retries with one request id, duplicates of the bus, dead letters."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import boto3
import pytest

import redrive.testing
from redrive.core.errors import UserError
from redrive.prove.play.faults import parse_history
from redrive.prove.process.subject import GivenSubject
from redrive.prove.proving import prove, replay
from redrive.prove.search.options import Options
from redrive.prove.stage.messages import event_of
from redrive.prove.stage.trigger import Kind
from redrive.prove.tell.export import as_test
from tests.unit.prove.conftest import Prover

BUS = Kind.EVENTBRIDGE

SAM = """
Transform: AWS::Serverless-2016-10-31
Globals: {Function: {Runtime: python3.11, Handler: app_of_rule.handler, CodeUri: .}}
Resources:
  Letters: {Type: AWS::SQS::Queue, Properties: {MessageRetentionPeriod: 1209600}}
  Seen: {Type: AWS::Serverless::SimpleTable}
  Shop: {Type: AWS::Events::EventBus, Properties: {Name: shop}}
  Worker:
    Type: AWS::Serverless::Function
    Properties:
      %s
      Environment: {Variables: {TABLE: !Ref Seen}}
      Policies: [{DynamoDBWritePolicy: {TableName: !Ref Seen}}]
      Events:
        Order:
          Type: EventBridgeRule
          Properties:
            EventBusName: !Ref Shop
            %s
            Pattern:
              source: [shop.orders]
              detail-type: [Order Placed]
              detail: {order: {id: [{prefix: "o-"}]}, total: [{numeric: [">", 100]}]}
"""
DEAD_LETTERS = "DeadLetterQueue: {Type: SQS, TargetArn: !GetAtt Letters.Arn}"
DESTINATION = (
    "EventInvokeConfig: {MaximumRetryAttempts: 1, DestinationConfig: "
    "{OnFailure: {Type: SQS, Destination: !GetAtt Letters.Arn}}}"
)
HANDLER = """
import os
import boto3

def handler(event, context):
    order = event["detail"]["order"]["id"]
    assert order.startswith("o-") and event["detail"]["total"] > 100
    boto3.client("dynamodb").put_item(TableName=os.environ["TABLE"], Item={"id": {"S": order}})
"""
SKETCHED = HANDLER.replace('event["detail"]["order"]["id"]', 'event["order"]').replace(
    'event["detail"]["total"]', "101"
)


def written(tmp_path: Path, dead_letters: str, *, target: str = "", code: str = HANDLER) -> Path:
    (tmp_path / "app_of_rule.py").write_text(code)
    file = tmp_path / "template.yaml"
    file.write_text(SAM % (dead_letters, target))
    return file


def put(table: str, key: str, **condition: str) -> None:
    boto3.client("dynamodb").put_item(TableName=table, Item={"id": {"S": key}}, **condition)


def keyed_by_event(event: Any, context: Any) -> None:
    put("orders", event["id"])


def keyed_by_request(event: Any, context: Any) -> None:
    put("orders", context.aws_request_id)


def keyed_by_detail(event: Any, context: Any) -> None:
    put("orders", event["detail"]["id"])


def test_what_is_keyed_by_the_detail_is_proved(proved: Prover) -> None:
    verdict = proved(keyed_by_detail, trigger=BUS, faults=2)

    assert verdict.counterexample is None
    assert verdict.trigger is BUS


def test_what_is_keyed_by_the_id_of_an_event_of_aws_is_proved(proved: Prover) -> None:
    event = json.dumps({"source": "aws.ec2", "detail-type": "Instance State-change", "detail": {"id": 1}})

    assert proved(keyed_by_event, trigger=BUS, faults=2, bodies=(event,)).counterexample is None


def test_a_producer_that_publishes_again_gives_another_event_id(proved: Prover) -> None:
    found = proved(keyed_by_event, trigger=BUS).counterexample

    assert found is not None
    assert [str(leg) for leg in found.history] == ["deliver", "republish"]
    assert any("another event id" in step.text for step in found.steps)
    assert "the key from the detail" in found.advice


def test_lambda_may_give_one_request_to_two_runs_at_once(proved: Prover) -> None:
    """A claim that lets its own request in again is entered by both runs."""

    def claims(event: Any, context: Any) -> None:
        client, request_id = boto3.client("dynamodb"), context.aws_request_id
        key, mine = {"id": {"S": event["detail"]["id"]}}, {":mine": {"S": request_id}, ":done": {"BOOL": True}}
        row = client.get_item(TableName="claims", Key=key).get("Item", {})
        if "done" in row:
            return
        client.update_item(
            TableName="claims", Key=key, UpdateExpression="SET req = :mine",
            ConditionExpression="attribute_not_exists(req) OR req = :mine",
            ExpressionAttributeValues={":mine": mine[":mine"]},
        )  # fmt: skip
        client.update_item(
            TableName="totals", Key={"id": {"S": "all"}}, UpdateExpression="ADD orders :one",
            ExpressionAttributeValues={":one": {"N": "1"}},
        )  # fmt: skip
        client.update_item(
            TableName="claims", Key=key, UpdateExpression="SET done = :done",
            ExpressionAttributeValues={":done": mine[":done"]},
        )  # fmt: skip

    history = parse_history(["deliver again dynamodb:UpdateItem totals #1"])
    found = replay(GivenSubject(claims), history, Options(trigger=BUS))

    assert found is not None
    assert found.violation.rule.value == "repeated"
    assert any("the very request" in step.text for step in found.steps)


def test_a_duplicate_of_the_bus_has_another_request_id(proved: Prover) -> None:
    verdict = proved(keyed_by_request, trigger=BUS)

    found = verdict.counterexample
    assert found is not None
    assert [str(leg) for leg in found.history] == ["deliver", "duplicate"]
    assert any("the bus delivers the event a second time" in step.text for step in found.steps)


def test_a_retry_has_the_same_request_id() -> None:
    history = parse_history(["deliver crash-after dynamodb:PutItem orders #1"])

    assert replay(GivenSubject(keyed_by_request), history, Options(trigger=BUS)) is None


def test_a_run_that_skips_what_another_has_begun_loses_the_event(proved: Prover) -> None:
    def skips(event: Any, context: Any) -> None:
        client = boto3.client("dynamodb")
        try:
            put("claims", event["id"], ConditionExpression="attribute_not_exists(id)")
        except client.exceptions.ConditionalCheckFailedException:
            return
        boto3.client("events").put_events(Entries=[{"Source": "a", "DetailType": "b", "Detail": "{}"}])

    found = proved(skips, trigger=BUS).counterexample

    assert found is not None
    assert found.violation.rule.value == "lost"
    assert any("second time" in step.text and step.at == "+1m" for step in found.steps)
    assert "Lambda retries the event" in found.advice


@pytest.mark.parametrize("letters", [DEAD_LETTERS, DESTINATION])
def test_an_event_that_has_failed_for_good_is_done_by_a_redrive(tmp_path: Path, letters: str) -> None:
    verdict = prove(None, Options(template=written(tmp_path, letters), faults=1))

    assert verdict.trigger is BUS
    assert verdict.counterexample is None


def test_without_dead_letters_an_outage_loses_the_event(tmp_path: Path) -> None:
    found = prove(None, Options(template=written(tmp_path, ""), faults=1)).counterexample

    assert found is not None
    assert "outage" in str(found.history[0])
    assert [step.at for step in found.steps if "begins" in step.text] == ["+0s", "+1m", "+3m"]
    assert "DeadLetterConfig" in found.advice


@pytest.mark.parametrize(("age_s", "began"), [(60, ["+0s"]), (150, ["+0s", "+1m"])])
def test_an_event_that_is_too_old_is_not_tried_again(tmp_path: Path, age_s: int, began: list[str]) -> None:
    config = f"EventInvokeConfig: {{MaximumEventAgeInSeconds: {age_s}}}"
    found = prove(None, Options(template=written(tmp_path, config), faults=1)).counterexample

    assert found is not None
    assert [step.at for step in found.steps if "begins" in step.text] == began


def test_the_sample_is_an_event_that_the_rule_of_the_template_matches(tmp_path: Path) -> None:
    verdict = prove(None, Options(template=written(tmp_path, DEAD_LETTERS), faults=0))

    (event,) = map(json.loads, verdict.bodies)
    assert (event["source"], event["detail-type"]) == ("shop.orders", "Order Placed")
    assert event["detail"]["order"]["id"].startswith("o-")


def test_the_target_of_the_rule_makes_the_input(tmp_path: Path) -> None:
    target = (
        "InputTransformer: {InputPathsMap: {order: $.detail.order.id}, InputTemplate: '{\"order\": <order>}'}"
    )  # fmt: skip
    template = written(tmp_path, DEAD_LETTERS, target=target, code=SKETCHED)

    assert prove(None, Options(template=template, faults=0)).counterexample is None


def test_an_event_that_the_rule_does_not_match_is_refused_with_the_reason(tmp_path: Path) -> None:
    given = json.dumps({"Source": "shop.orders", "DetailType": "Order Placed", "Detail": '{"total": 5}'})

    with pytest.raises(UserError, match=r"(?s)does not match.*detail\.total"):
        prove(None, Options(template=written(tmp_path, DEAD_LETTERS), bodies=(given,)))


def test_entries_of_put_events_are_events(proved: Prover) -> None:
    entries = json.dumps([{"Source": "a", "DetailType": "b", "Detail": '{"n": 1}'}, {"Source": "a", "DetailType": "b"}])

    verdict = proved(keyed_by_event, trigger=BUS, bodies=(entries,), faults=0)

    assert verdict.effects == {"item in orders": 2}


def test_a_rule_with_a_schedule_invokes_with_a_scheduled_event(tmp_path: Path) -> None:
    code = HANDLER.replace('event["detail"]["order"]["id"]', '"o-" + event["time"]').replace("and event", "or event")
    template = written(tmp_path, DEAD_LETTERS, code=code)
    text = template.read_text("utf-8").partition("      Events:")[0]
    template.write_text(text + "      Events: {Daily: {Type: Schedule, Properties: {Schedule: rate(1 day)}}}\n")

    (event,) = map(json.loads, prove(None, Options(template=template, faults=0)).bodies)

    assert (event["source"], event["detail-type"]) == ("aws.events", "Scheduled Event")


def test_a_counterexample_is_exported_with_its_trigger(proved: Prover) -> None:
    verdict = proved(keyed_by_request, trigger=BUS)

    text = as_test(verdict, Options(trigger=BUS))

    assert "trigger='eventbridge'" in text
    with pytest.raises(AssertionError, match="happened twice"):
        redrive.testing.prove.replay(
            keyed_by_request, messages=list(verdict.bodies), history=["deliver", "duplicate"], trigger="eventbridge"
        )


def test_the_letter_of_a_destination_holds_the_event_as_request_payload() -> None:
    record = {"version": "1.0", "requestContext": {}, "requestPayload": {"id": "a"}}

    assert json.loads(event_of(json.dumps(record))) == {"id": "a"}
    assert event_of('{"id":"a"}') == '{"id":"a"}'


def test_what_redrive_does_not_serve_is_stood_in_for_in_a_template(tmp_path: Path) -> None:
    template = written(tmp_path, DEAD_LETTERS)
    text = template.read_text("utf-8").replace("  Letters:", "  Pictures: {Type: AWS::S3::Bucket}\n  Letters:")
    template.write_text(text)

    assert prove(None, Options(template=template, faults=0)).counterexample is None
