"""Alarms and dashboards in stacks, as CDK and SAM write them."""

from __future__ import annotations

import json
from typing import Any

from redrive.testing.world import World
from tests.unit.services.cloudformation.conftest import Stacks


def template(threshold: float = 1, **more: Any) -> dict[str, Any]:
    alarm = {
        "Namespace": "AWS/SQS", "MetricName": "ApproximateNumberOfMessagesVisible", "Statistic": "Maximum",
        "Dimensions": [{"Name": "QueueName", "Value": {"Fn::GetAtt": ["Q", "QueueName"]}}], "Period": "60",
        "EvaluationPeriods": 1, "Threshold": threshold, "ComparisonOperator": "GreaterThanOrEqualToThreshold",
        "AlarmActions": [{"Ref": "T"}], "TreatMissingData": "notBreaching", **more,
    }  # fmt: skip
    rate = {"Id": "m", "ReturnData": False, "MetricStat": {
        "Metric": {"Namespace": "App", "MetricName": "m"}, "Period": 60, "Stat": "Sum"}}  # fmt: skip
    both = {"Fn::Join": ["", ['ALARM("', {"Fn::GetAtt": ["A", "Arn"]}, '") OR ALARM(', {"Ref": "M"}, ")"]]}
    return {
        "Q": {"Type": "AWS::SQS::Queue"},
        "T": {"Type": "AWS::SNS::Topic"},
        "A": {"Type": "AWS::CloudWatch::Alarm", "Properties": alarm},
        "M": {"Type": "AWS::CloudWatch::Alarm", "Properties": {
            "Metrics": [{"Id": "e", "Expression": "m * 2", "Label": "twice"}, rate], "EvaluationPeriods": 2,
            "DatapointsToAlarm": 1, "Threshold": 5, "ComparisonOperator": "GreaterThanThreshold"}},
        "C": {"Type": "AWS::CloudWatch::CompositeAlarm", "Properties": {"AlarmRule": both, "AlarmName": "any"}},
        "D": {"Type": "AWS::CloudWatch::Dashboard", "Properties": {"DashboardName": "d", "DashboardBody": json.dumps(
            {"widgets": [{"type": "text", "properties": {"markdown": "hi"}}]})}},
    }  # fmt: skip


def test_alarms_and_dashboards_come_change_and_go_with_their_stack(stacks: Stacks, world: World) -> None:
    cloudwatch = world.client("cloudwatch")
    stacks.create("app", template(), outputs={"Arn": {"Value": {"Fn::GetAtt": ["A", "Arn"]}}})
    assert stacks.status("app") == "CREATE_COMPLETE", stacks.events("app")
    name = stacks.physical_id("app", "A")
    made = cloudwatch.describe_alarms(AlarmNames=[name])["MetricAlarms"][0]
    assert (made["AlarmArn"], made["Threshold"], made["Period"]) == (stacks.outputs("app")["Arn"], 1.0, 60)
    assert name.startswith("app-A-")

    queue_url = stacks.physical_id("app", "Q")
    world.client("sqs").send_message(QueueUrl=queue_url, MessageBody="x")
    world.advance(minutes=1)
    states = {
        one["AlarmName"]: one["StateValue"]
        for one in cloudwatch.describe_alarms(AlarmTypes=["CompositeAlarm"])["CompositeAlarms"]
    }
    assert states == {"any": "ALARM"}

    stacks.update("app", template(threshold=7, Tags=[{"Key": "k", "Value": "v"}]))
    assert cloudwatch.describe_alarms(AlarmNames=[name])["MetricAlarms"][0]["Threshold"] == 7
    tags = {one["Key"] for one in cloudwatch.list_tags_for_resource(ResourceARN=made["AlarmArn"])["Tags"]}
    assert "k" in tags
    stacks.delete("app")
    left = cloudwatch.describe_alarms(AlarmTypes=["MetricAlarm", "CompositeAlarm"])
    assert left["MetricAlarms"] + left["CompositeAlarms"] + cloudwatch.list_dashboards()["DashboardEntries"] == []
