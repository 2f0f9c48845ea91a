"""What alarms tell: topics, functions and the default bus, once for each change of state.

Sources: https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/cloudwatch-and-eventbridge.html,
https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/alarms-and-actions-Lambda.html
"""

from __future__ import annotations

import io
import json
import zipfile
from typing import Any

from tests.unit.services.cloudwatch.alarmed import ACCOUNT, ARN, Tower, math

FUNCTION = f"arn:aws:lambda:us-east-1:{ACCOUNT}:function:told"


def test_topic_hears_of_each_change_once_with_the_documented_message(tower: Tower) -> None:
    topic = tower.open_topic()
    tower.alarm(
        AlarmDescription="too many", AlarmActions=[topic], OKActions=[topic], TreatMissingData="notBreaching",
        Dimensions=[{"Name": "d", "Value": "v"}],
    )  # fmt: skip
    datum = {"MetricName": "m", "Value": 5, "Dimensions": [{"Name": "d", "Value": "v"}]}
    tower.advance_to(0.5)
    tower.client.put_metric_data(Namespace="App", MetricData=[datum])

    tower.advance_to(30)
    heard = tower.heard()

    assert [(one["OldStateValue"], one["NewStateValue"]) for one in heard] == [
        ("INSUFFICIENT_DATA", "OK"), ("OK", "ALARM"), ("ALARM", "OK"),
    ]  # fmt: skip
    assert heard[1] == {
        "AlarmName": "a", "AlarmDescription": "too many", "AWSAccountId": ACCOUNT,
        "AlarmConfigurationUpdatedTimestamp": "2025-01-01T00:00:00.000+0000", "NewStateValue": "ALARM",
        "NewStateReason": "Threshold Crossed: 1 out of the last 1 datapoints [5.0 (01/01/25 00:00:00)] was greater "
        "than the threshold (1.0) (minimum 1 datapoint for OK -> ALARM transition).",
        "StateChangeTime": "2025-01-01T00:01:00.000+0000", "Region": "US East (N. Virginia)", "AlarmArn": f"{ARN}a",
        "OldStateValue": "OK", "OKActions": [topic], "AlarmActions": [topic], "InsufficientDataActions": [],
        "Trigger": {
            "MetricName": "m", "Namespace": "App", "StatisticType": "Statistic", "Statistic": "SUM", "Unit": None,
            "Dimensions": [{"value": "v", "name": "d"}], "Period": 60, "EvaluationPeriods": 1,
            "ComparisonOperator": "GreaterThanThreshold", "Threshold": 1.0, "TreatMissingData": "notBreaching",
            "EvaluateLowSampleCountPercentile": "",
        },
    }  # fmt: skip
    summary = f"Successfully executed action {topic}"
    assert tower.changes(kind="Action") == [(0, summary), (1, summary), (4, summary)]


def test_message_about_metric_math_shows_its_queries(tower: Tower) -> None:
    topic = tower.open_topic()
    tower.client.put_metric_alarm(
        AlarmName="a", Metrics=math("m1 * 2", "m1", Label="twice"), EvaluationPeriods=1, Threshold=1,
        ComparisonOperator="GreaterThanThreshold", AlarmActions=[topic],
    )  # fmt: skip
    tower.publish({0: 5}, "m1")

    tower.advance_to(1)
    (heard,) = tower.heard()

    assert heard["Trigger"]["Metrics"] == [
        {"Expression": "m1 * 2", "Id": "e", "Label": "twice", "ReturnData": True},
        {"Id": "m1", "MetricStat": {"Metric": {"Dimensions": [], "MetricName": "m1", "Namespace": "App"},
                                    "Period": 60, "Stat": "Sum"}, "ReturnData": False},
    ]  # fmt: skip


def test_disabled_actions_are_not_performed_and_the_state_changes(tower: Tower) -> None:
    topic = tower.open_topic()
    tower.alarm(AlarmActions=[topic], ActionsEnabled=False)
    tower.publish({0: 5, 4: 5})
    tower.advance_to(3.5)
    silent = tower.heard()
    tower.client.enable_alarm_actions(AlarmNames=["a", "gone"])

    tower.set_state("OK")
    tower.advance_to(5)

    assert (silent, tower.timeline()) == ([], [(1, "ALARM"), (3.5, "OK"), (4, "INSUFFICIENT_DATA"), (5, "ALARM")])
    assert [one["NewStateValue"] for one in tower.heard()] == ["ALARM"]
    tower.client.disable_alarm_actions(AlarmNames=["a"])
    assert tower.shown()["ActionsEnabled"] is False


def test_topic_that_does_not_let_alarms_in_is_told_in_the_history(tower: Tower) -> None:
    """A topic's first policy lets alarms of its own account in; a policy that names only others does not."""
    topic = tower.open_topic()
    closed = {"Version": "2012-10-17", "Statement": [
        {"Effect": "Allow", "Principal": {"Service": "events.amazonaws.com"}, "Action": "sns:Publish",
         "Resource": topic}]}  # fmt: skip
    sns = tower.world.client("sns")
    sns.set_topic_attributes(TopicArn=topic, AttributeName="Policy", AttributeValue=json.dumps(closed))
    gone = f"arn:aws:sns:us-east-1:{ACCOUNT}:gone"
    scaling = f"arn:aws:autoscaling:us-east-1:{ACCOUNT}:scalingPolicy:1:autoScalingGroupName/g:policyName/p"
    tower.alarm(AlarmActions=[topic, gone, scaling])

    tower.set_state("ALARM")
    tower.world.settle()
    told = sorted((summary for _, summary in tower.changes(kind="Action")), key=lambda one: ":sns:" not in one)
    told[:2] = sorted(told[:2])

    assert tower.heard() == []
    assert told[0].startswith(f'Failed to execute action {topic}. Received error: "AuthorizationError: User: cloud')
    assert told[1].startswith(f'Failed to execute action {gone}. Received error: "AuthorizationError: User: cloud')
    assert told[2] == (
        f'Failed to execute action {scaling}. Received error: "redrive performs no actions of this service"'
    )
    closed["Statement"][0]["Principal"] = {"Service": "cloudwatch.amazonaws.com"}  # type: ignore[index]
    sns.set_topic_attributes(TopicArn=topic, AttributeName="Policy", AttributeValue=json.dumps(closed))
    tower.set_state("OK")
    tower.set_state("ALARM")
    tower.world.settle()
    assert len(tower.heard()) == 1


def test_function_gets_the_documented_payload_if_it_lets_alarms_in(tower: Tower) -> None:
    seen: list[Any] = []
    _make_function(tower, seen)
    tower.alarm(AlarmActions=[FUNCTION], AlarmDescription="d")
    tower.set_state("ALARM", reason="one")
    tower.world.settle()
    refused = tower.changes(kind="Action")
    tower.world.client("lambda").add_permission(
        FunctionName="told", StatementId="s", Action="lambda:InvokeFunction",
        Principal="lambda.alarms.cloudwatch.amazonaws.com", SourceArn=f"{ARN}a",
    )  # fmt: skip

    tower.set_state("OK", reason="two")
    tower.set_state("ALARM", reason="three")
    tower.world.settle()

    assert [summary.startswith("Failed") for _, summary in refused] == [True]
    (event,) = seen
    metrics = event["alarmData"]["configuration"].pop("metrics")
    now = "2025-01-01T00:00:00.000+0000"
    assert event == {
        "source": "aws.cloudwatch", "alarmArn": f"{ARN}a", "accountId": ACCOUNT, "time": now, "region": "us-east-1",
        "alarmData": {
            "alarmName": "a",
            "state": {"value": "ALARM", "reason": "three", "timestamp": now},
            "previousState": {"value": "OK", "reason": "two", "timestamp": now},
            "configuration": {"description": "d"},
        },
    }  # fmt: skip
    metric = {"namespace": "App", "name": "m"}
    assert len(metrics[0].pop("id")) == 36
    assert metrics == [{"metricStat": {"metric": metric, "period": 60, "stat": "Sum"}, "returnData": True}]


def test_bus_hears_of_states_and_configurations(tower: Tower) -> None:
    """State changes go there with disabled actions, too."""
    tower.hear_events()
    tower.alarm(ActionsEnabled=False, Dimensions=[{"Name": "d", "Value": "v"}])
    tower.set_state("ALARM", reason="so")
    tower.alarm(ActionsEnabled=False, Threshold=2)
    tower.client.delete_alarms(AlarmNames=["a"])
    tower.world.settle()

    # The queue is no FIFO queue: messages of one instant come in any order.
    order = ["create", None, "update", "delete"]
    created, changed, updated, deleted = sorted(
        tower.heard(), key=lambda one: order.index(one["detail"].get("operation"))
    )

    types = [one["detail-type"] for one in (created, changed, updated, deleted)]
    assert types == [f"CloudWatch Alarm {kind} Change" for kind in ("Configuration", "State", "Configuration")] + [
        "CloudWatch Alarm Configuration Change"
    ]
    assert changed["resources"] == [f"{ARN}a"]
    now = "2025-01-01T00:00:00.000+0000"
    initial = {"value": "INSUFFICIENT_DATA", "reason": "Unchecked: Initial alarm creation", "timestamp": now}
    assert changed["detail"]["state"] == {"value": "ALARM", "reason": "so", "timestamp": now}
    assert changed["detail"]["previousState"] == initial
    metric = changed["detail"]["configuration"]["metrics"][0]["metricStat"]["metric"]
    assert metric == {"namespace": "App", "name": "m", "dimensions": {"d": "v"}}
    assert deleted["detail"]["configuration"]["threshold"] == 2
    assert updated["detail"]["configuration"]["threshold"] == 2
    assert updated["detail"]["previousConfiguration"]["threshold"] == 1
    assert updated["detail"]["state"] == {"value": "ALARM", "timestamp": now}


def _make_function(tower: Tower, seen: list[Any]) -> None:
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as written:
        written.writestr("app.py", "def handler(event, context): ...")
    tower.world.functions.register("told", lambda event, _: seen.append(event))
    trust = {"Effect": "Allow", "Principal": {"Service": "lambda.amazonaws.com"}, "Action": "sts:AssumeRole"}
    document = json.dumps({"Version": "2012-10-17", "Statement": [trust]})
    tower.world.call("iam", "CreateRole", RoleName="f", AssumeRolePolicyDocument=document)
    tower.world.call(
        "lambda", "CreateFunction", FunctionName="told", Runtime="python3.12", Handler="app.handler",
        Role=f"arn:aws:iam::{ACCOUNT}:role/f", Code={"ZipFile": archive.getvalue()},
    )  # fmt: skip
