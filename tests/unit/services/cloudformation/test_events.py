"""Rules, buses and policies of buses in stacks, also those that SAM makes of a function's events."""

from __future__ import annotations

import json
from typing import Any

from redrive.testing.world import World
from tests.unit.services.cloudformation.conftest import Stacks

QUEUE = "arn:aws:sqs:us-east-1:000000000000:q"


def rule(**properties: Any) -> dict[str, Any]:
    target = {"Id": "1", "Arn": QUEUE, "RetryPolicy": {"MaximumRetryAttempts": "3"}}
    return {"Type": "AWS::Events::Rule", "Properties": {"Targets": [target], **properties}}


def test_rule_comes_changes_and_goes_with_its_stack(stacks: Stacks, world: World) -> None:
    events = world.client("events")
    first = rule(EventPattern={"source": ["shop"]}, Description="d", Tags=[{"Key": "a", "Value": "1"}])
    second = {**rule(ScheduleExpression="rate(1 day)"), "Properties": {
        "ScheduleExpression": "rate(1 day)", "Targets": [{"Id": "2", "Arn": QUEUE, "Input": "1"}],
    }}  # fmt: skip

    stacks.create("bus", {"R": first}, outputs={"Arn": {"Value": {"Fn::GetAtt": ["R", "Arn"]}}})

    name = stacks.physical_id("bus", "R")
    shown = events.describe_rule(Name=name)
    assert (shown["Arn"], shown["EventPattern"]) == (stacks.outputs("bus")["Arn"], '{"source":["shop"]}')
    assert events.list_targets_by_rule(Rule=name)["Targets"][0]["RetryPolicy"] == {"MaximumRetryAttempts": 3}
    stacks.update("bus", {"R": second})
    changed = events.describe_rule(Name=name)
    assert "EventPattern" not in changed
    assert [one["Id"] for one in events.list_targets_by_rule(Rule=name)["Targets"]] == ["2"]
    stacks.delete("bus")
    assert events.list_rules()["Rules"] == []


def test_bus_with_rule_and_policy_in_one_stack(stacks: Stacks, world: World) -> None:
    events = world.client("events")
    statement = {"Effect": "Allow", "Principal": {"AWS": "111111111111"}, "Action": "events:PutEvents", "Resource": "*"}
    parts = {
        "Bus": {"Type": "AWS::Events::EventBus", "Properties": {"Name": "orders"}},
        "R": rule(EventPattern={"source": ["shop"]}, EventBusName={"Ref": "Bus"}),
        "A": {"Type": "AWS::Events::EventBusPolicy", "Properties": {
            "EventBusName": {"Ref": "Bus"}, "StatementId": "a", "Statement": statement}},
        "B": {"Type": "AWS::Events::EventBusPolicy", "DependsOn": "A", "Properties": {
            "EventBusName": {"Ref": "Bus"}, "StatementId": "b", "Action": "events:PutEvents", "Principal": "*"}},
    }  # fmt: skip

    stacks.create("bus", parts)

    assert stacks.status("bus") == "CREATE_COMPLETE"
    assert stacks.physical_id("bus", "R").startswith("orders|")
    policy = json.loads(events.describe_event_bus(Name="orders")["Policy"])
    assert [one["Sid"] for one in policy["Statement"]] == ["a", "b"]
    stacks.delete("bus")
    assert [bus["Name"] for bus in events.list_event_buses()["EventBuses"]] == ["default"]


def test_rule_of_a_known_name_fails_its_stack(stacks: Stacks, world: World) -> None:
    world.client("events").put_rule(Name="taken", EventPattern='{"source":["a"]}')

    stacks.create("bus", {"R": rule(Name="taken", EventPattern={"source": ["shop"]})})

    assert stacks.status("bus") == "ROLLBACK_COMPLETE"
    assert "already exists" in stacks.reason("bus", "R", "CREATE_FAILED")
    assert world.client("events").describe_rule(Name="taken")["EventPattern"] == '{"source":["a"]}'


def test_events_of_a_sam_function_run_it(stacks: Stacks, world: World) -> None:
    """SAM makes a rule and a permission of each event: a pattern of either name, and a schedule."""
    seen: list[str] = []

    def run(event: Any, _: Any) -> None:
        seen.append(event["detail-type"])

    world.functions.register("worker", run)
    pattern: dict[str, Any] = {"source": ["shop"]}
    properties: dict[str, Any] = {
        "FunctionName": "worker", "Handler": "index.handler", "Runtime": "python3.12",
        "InlineCode": "def handler(e, c): pass",
        "Events": {
            "Ordered": {"Type": "EventBridgeRule", "Properties": {"Pattern": pattern}},
            "Old": {"Type": "CloudWatchEvent", "Properties": {"Pattern": {"source": ["old"]}}},
            "Daily": {"Type": "Schedule", "Properties": {"Schedule": "rate(1 day)"}},
        },
    }  # fmt: skip
    template: dict[str, Any] = {
        "Transform": "AWS::Serverless-2016-10-31",
        "Resources": {"Worker": {"Type": "AWS::Serverless::Function", "Properties": properties}},
    }
    stacks.client.create_stack(
        StackName="sam", TemplateBody=json.dumps(template), Capabilities=["CAPABILITY_IAM", "CAPABILITY_AUTO_EXPAND"]
    )
    world.settle()

    entries = [{"Source": source, "DetailType": source, "Detail": "{}"} for source in ("shop", "old", "other")]
    world.client("events").put_events(Entries=entries)
    world.advance(days=1)

    assert stacks.status("sam") == "CREATE_COMPLETE"
    assert sorted(seen) == ["Scheduled Event", "old", "shop"]


def test_log_group_of_a_stack_gets_the_events_of_its_rule(stacks: Stacks, world: World) -> None:
    """The policy names the group by the ARN that ends in `:*`, and the rule."""
    document = {"Fn::Sub": [
        ('{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Principal": {"Service": "events.amazonaws.com"},'
        ' "Action": ["logs:CreateLogStream", "logs:PutLogEvents"], "Resource": "${Group}",'
        ' "Condition": {"ArnEquals": {"aws:SourceArn": "${Rule}"}}}]}'),
        {"Group": {"Fn::GetAtt": ["G", "Arn"]}, "Rule": {"Fn::GetAtt": ["R", "Arn"]}},
    ]}  # fmt: skip
    target = {"Id": "1", "Arn": {"Fn::GetAtt": ["G", "Arn"]}}
    parts = {
        "G": {"Type": "AWS::Logs::LogGroup", "Properties": {"LogGroupName": "/aws/events/g"}},
        "R": {"Type": "AWS::Events::Rule", "Properties": {"EventPattern": {"source": ["shop"]}, "Targets": [target]}},
        "P": {"Type": "AWS::Logs::ResourcePolicy", "Properties": {"PolicyName": "p", "PolicyDocument": document}},
    }

    stacks.create("logs", parts)
    entry = {"Source": "shop", "DetailType": "t", "Detail": "{}"}
    (answer,) = world.client("events").put_events(Entries=[entry])["Entries"]
    world.settle()

    (line,) = world.client("logs").filter_log_events(logGroupName="/aws/events/g")["events"]
    assert json.loads(line["message"])["id"] == answer["EventId"]
    stacks.delete("logs")
    assert world.call("logs", "DescribeResourcePolicies")["resourcePolicies"] == []


def test_events_of_a_sam_function_say_how_it_gets_them(stacks: Stacks, world: World) -> None:
    """Inputs, dead letters and retries of an event in a SAM template are those of the rule's target."""
    seen: list[Any] = []

    def note(event: Any, _: object) -> None:
        seen.append(event)

    world.functions.register("worker", note)
    retries = {"MaximumRetryAttempts": 3, "MaximumEventAgeInSeconds": 120}
    dead = {"Arn": {"Fn::GetAtt": ["Dead", "Arn"]}}
    transformer = {"InputPathsMap": {"id": "$.detail.id"}, "InputTemplate": '{"order": <id>}'}
    made = {"Type": "SQS", "QueueLogicalId": "Made"}
    events = {
        "Whole": {"Type": "EventBridgeRule", "Properties": {
            "Pattern": {"source": ["whole"]}, "DeadLetterConfig": dead, "RetryPolicy": retries}},
        "Part": {"Type": "EventBridgeRule", "Properties": {
            "Pattern": {"source": ["part"]}, "InputPath": "$.detail", "DeadLetterConfig": made}},
        "Said": {"Type": "CloudWatchEvent", "Properties": {"Pattern": {"source": ["said"]}, "Input": '{"said": 1}'}},
        "Changed": {"Type": "EventBridgeRule", "Properties": {
            "Pattern": {"source": ["changed"]}, "InputTransformer": transformer}},
        "Daily": {"Type": "Schedule", "Properties": {
            "Schedule": "rate(1 day)", "Input": '{"daily": 1}', "DeadLetterConfig": dead, "RetryPolicy": retries}},
    }  # fmt: skip
    function = {
        "FunctionName": "worker", "Handler": "index.handler", "Runtime": "python3.12",
        "InlineCode": "def handler(e, c): pass", "Events": events,
    }  # fmt: skip
    template: dict[str, Any] = {
        "Transform": "AWS::Serverless-2016-10-31",
        "Resources": {
            "Dead": {"Type": "AWS::SQS::Queue"},
            "Worker": {"Type": "AWS::Serverless::Function", "Properties": function},
        },
    }

    stacks.client.create_stack(
        StackName="sam", TemplateBody=json.dumps(template), Capabilities=["CAPABILITY_IAM", "CAPABILITY_AUTO_EXPAND"]
    )
    world.settle()
    client = world.client("events")
    names = ("part", "said", "changed")
    client.put_events(Entries=[{"Source": name, "DetailType": "d", "Detail": '{"id": "7"}'} for name in names])
    world.advance(days=1)

    assert stacks.status("sam") == "CREATE_COMPLETE"
    assert sorted(map(json.dumps, seen)) == ['{"daily": 1}', '{"id": "7"}', '{"order": "7"}', '{"said": 1}']
    targets = {
        logical: client.list_targets_by_rule(Rule=stacks.physical_id("sam", f"Worker{logical}"))["Targets"][0]
        for logical in ("Whole", "Part", "Daily")
    }
    arn = world.call("sqs", "GetQueueAttributes", QueueUrl=stacks.physical_id("sam", "Dead"), AttributeNames=["All"])[
        "Attributes"
    ]["QueueArn"]
    for logical in ("Whole", "Daily"):
        assert (targets[logical]["DeadLetterConfig"], targets[logical]["RetryPolicy"]) == ({"Arn": arn}, retries)
    assert targets["Part"]["DeadLetterConfig"]["Arn"].rpartition(":")[2].startswith("sam-Made-")
