"""A template says which of its queues get dead letters, and from what."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from redrive.core.errors import UserError
from redrive.deadletters.templates import sources_in

SAM = """
Transform: AWS::Serverless-2016-10-31
Conditions: {IsLive: !Equals [a, b]}
Resources:
  Dead: {Type: AWS::SQS::Queue}
  Other: {Type: AWS::SQS::Queue, Properties: {QueueName: other}}
  Failures:
    Type: AWS::SNS::Topic
    Properties: {Subscription: [{Protocol: sqs, Endpoint: !GetAtt Other.Arn}, {Protocol: email, Endpoint: me@here}]}
  Worker:
    Type: AWS::Serverless::Function
    Properties:
      DeadLetterQueue: {Type: SNS, TargetArn: !Ref Failures}
      EventInvokeConfig: {DestinationConfig: {OnFailure: {Type: SQS, Destination: !GetAtt Dead.Arn}}}
      Events:
        Nightly: {Type: ScheduleV2, Properties: {DeadLetterConfig: {Arn: !Sub '${Dead.Arn}'}}}
        Never: {Type: ScheduleV2, Properties: {DeadLetterConfig: {Arn: !Ref AWS::NoValue}}}
        Orders: {Type: EventBridgeRule, Properties: {DeadLetterConfig: {Type: SQS, QueueLogicalId: WorkerDead}}}
        Clicks:
          Type: Kinesis
          Properties:
            DestinationConfig:
              OnFailure: {Destination: !If [IsLive, !GetAtt Dead.Arn, !Sub 'arn:aws:sqs:${AWS::Region}:1:other']}
"""


def told(text: str) -> dict[str, set[tuple[str, str]]]:
    found = sources_in(text)
    return {one.logical_id: {(source["kind"], source["name"]) for source in one.sources} for one in found.queues}


def test_every_kind_of_source_of_cloudformation_is_found() -> None:
    text = Path(__file__).with_name("sources.yaml").read_text("utf-8")

    assert told(text) == {
        "DeadOfQueue": {("queue", "Orders")},
        "DeadOfSchedule": {("schedule", "Schedule")},
        "DeadOfRule": {("rule", "Rule")},
        "DeadOfFunction": {("function", "Failing")},
        "DeadOfDestination": {("function", "Records")},
        "DeadOfStream": {("mapping", "Mapping")},
        "DeadOfSubscription": {("subscription", "Subscription")},
        "DeadOfTopic": {("function", "Recorded")},
    }


def test_sources_of_sam_are_found_and_both_branches_of_a_condition_count() -> None:
    assert told(SAM) == {
        "Dead": {("function", "Worker"), ("event", "Worker/Nightly"), ("event", "Worker/Clicks")},
        "Other": {("function", "Worker"), ("event", "Worker/Clicks")},
    }
    assert sources_in(SAM).elsewhere == {"WorkerDead": ({"kind": "event", "name": "Worker/Orders", "arn": ""},)}


EXECUTIONS = """
Resources:
  Failed: {Type: AWS::SQS::Queue}
  Handler: {Type: AWS::Lambda::Function}
  Failures:
    Type: AWS::Events::Rule
    Properties:
      EventPattern: {source: [aws.states], detail-type: [%s], detail: {status: [FAILED, TIMED_OUT]}}
      Targets:
        - {Id: queue, Arn: !GetAtt Failed.Arn}
        - {Id: function, Arn: !GetAtt Handler.Arn}
        - {Id: far, Arn: 'arn:aws:sqs:us-east-1:1:far'}
"""


def test_queue_that_a_rule_fills_with_executions_that_failed_is_one_of_dead_letters() -> None:
    found = sources_in(EXECUTIONS % "Step Functions Execution Status Change")

    assert told(EXECUTIONS % "Step Functions Execution Status Change") == {
        "Failed": {("executions of rule", "Failures")}
    }
    assert set(found.elsewhere) == {"arn:aws:sqs:us-east-1:1:far"}
    assert told(EXECUTIONS % "Order Placed") == {}


def test_names_of_queues_are_those_that_the_template_gives() -> None:
    assert {one.logical_id: one.name for one in sources_in(SAM).queues} == {"Dead": "", "Other": "other"}


@pytest.mark.parametrize(
    ("target", "named"),
    [
        ({"Fn::ImportValue": "dead"}, '{"Fn::ImportValue": "dead"}'), ({"Ref": "DeadArn"}, "DeadArn"),
        ("arn:aws:sqs:us-east-1:1:far", "arn:aws:sqs:us-east-1:1:far"),
        ({"Fn::Join": [":", ["arn:aws:sqs", {"Ref": "AWS::Region"}, "far"]]}, "arn:aws:sqs:…:far"),
    ],
)  # fmt: skip
def test_queue_that_the_template_does_not_declare_is_told_as_it_stands_there(target: object, named: str) -> None:
    policy = {"deadLetterTargetArn": target, "maxReceiveCount": 3}
    text = json.dumps({"Resources": {"Jobs": {"Type": "AWS::SQS::Queue", "Properties": {"RedrivePolicy": policy}}}})

    assert list(sources_in(text).elsewhere) == [named]
    assert sources_in(text).queues == ()


def test_policy_in_a_text_is_read() -> None:
    policy = json.dumps({"deadLetterTargetArn": "arn:aws:sqs:us-east-1:1:dead"})
    jobs = {"Type": "AWS::SQS::Queue", "Properties": {"RedrivePolicy": policy}}
    dead = {"Type": "AWS::SQS::Queue", "Properties": {"QueueName": "dead"}}

    assert told(json.dumps({"Resources": {"Jobs": jobs, "Dead": dead}})) == {"Dead": {("queue", "Jobs")}}


@pytest.mark.parametrize("text", ["", "[]", "{", "a: b", "Resources: {}", "Resources: []"])
def test_text_that_is_no_template_is_refused(text: str) -> None:
    with pytest.raises(UserError):
        sources_in(text)


@pytest.mark.parametrize("odd", ["7", "[]", "null", "{Type: 7}", "{Type: AWS::SQS::Queue, Properties: [1]}"])
def test_odd_resources_are_passed_over(odd: str) -> None:
    assert sources_in(f"Resources: {{A: {odd}}}").queues == ()
