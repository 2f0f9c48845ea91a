"""Every operation of EventBridge Scheduler, and those of CloudWatch's metrics, through the unmodified aws CLI."""

from __future__ import annotations

import json

from tests.e2e.conftest import ServerProcess

ROLE_TRUST = json.dumps(
    {
        "Version": "2012-10-17",
        "Statement": [
            {"Effect": "Allow", "Principal": {"Service": "scheduler.amazonaws.com"}, "Action": "sts:AssumeRole"}
        ],
    }
)
SEND = json.dumps(
    {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "sqs:SendMessage", "Resource": "*"}]}
)


def prepared(server: ServerProcess) -> str:
    """A queue and a role that may send to it; answers a target as the CLI takes it."""
    sqs, iam = server.client("sqs"), server.client("iam")
    url = sqs.create_queue(QueueName="ticks")["QueueUrl"]
    role = iam.create_role(RoleName="ticker", AssumeRolePolicyDocument=ROLE_TRUST)["Role"]["Arn"]
    iam.put_role_policy(RoleName="ticker", PolicyName="send", PolicyDocument=SEND)
    arn = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
    return json.dumps({"Arn": arn, "RoleArn": role, "Input": "<aws.scheduler.execution-id>"})


def test_aws_cli_uses_every_operation_of_scheduler_and_reads_its_metrics(server: ServerProcess) -> None:
    target = prepared(server)
    made = ("--schedule-expression", "rate(1 minute)", "--flexible-time-window", "Mode=OFF", "--target", target)

    group = server.aws("scheduler", "create-schedule-group", "--name", "team")["ScheduleGroupArn"]
    server.aws("scheduler", "tag-resource", "--resource-arn", group, "--tags", "Key=owner,Value=us")
    tags = server.aws("scheduler", "list-tags-for-resource", "--resource-arn", group)["Tags"]
    server.aws("scheduler", "untag-resource", "--resource-arn", group, "--tag-keys", "owner")
    server.aws("scheduler", "create-schedule", "--name", "tick", "--group-name", "team", *made)
    server.redrive("clock", "advance", "5m")
    server.aws("scheduler", "update-schedule", "--name", "tick", "--group-name", "team", *made, "--state", "DISABLED")
    shown = server.aws("scheduler", "get-schedule", "--name", "tick", "--group-name", "team")
    listed = server.aws("scheduler", "list-schedules", "--group-name", "team")["Schedules"]
    groups = server.aws("scheduler", "list-schedule-groups")["ScheduleGroups"]
    server.aws("scheduler", "delete-schedule", "--name", "tick", "--group-name", "team")
    server.aws("scheduler", "delete-schedule-group", "--name", "team")
    kept = server.aws("scheduler", "get-schedule-group", "--name", "default")

    assert tags == [{"Key": "owner", "Value": "us"}]
    assert (shown["State"], [one["Name"] for one in listed]) == ("DISABLED", ["tick"])
    assert {one["Name"] for one in groups} == {"default", "team"}
    assert kept["State"] == "ACTIVE"
    assert _attempts(server) == 6


def _attempts(server: ServerProcess) -> float:
    """What the metric of the attempts says, told by both ways to read it; a value of our own is put beside it."""
    server.redrive("clock", "advance", "2m")
    span = ("--start-time", "2025-01-01T00:00:00Z", "--end-time", "2025-01-01T01:00:00Z")
    server.aws("cloudwatch", "put-metric-data", "--namespace", "Ours", "--metric-name", "Seen", "--value", "1")
    names = server.aws("cloudwatch", "list-metrics", "--namespace", "AWS/Scheduler")["Metrics"]
    assert "InvocationAttemptCount" in {one["MetricName"] for one in names}
    points = server.aws(
        "cloudwatch", "get-metric-statistics", "--namespace", "AWS/Scheduler", "--metric-name",
        "InvocationAttemptCount", *span, "--period", "3600", "--statistics", "Sum",
    )["Datapoints"]  # fmt: skip
    metric = {"Namespace": "AWS/Scheduler", "MetricName": "InvocationAttemptCount"}
    queries = json.dumps([{"Id": "a", "MetricStat": {"Metric": metric, "Period": 3600, "Stat": "Sum"}}])
    data = server.aws("cloudwatch", "get-metric-data", *span, "--metric-data-queries", queries)
    assert data["MetricDataResults"][0]["Values"] == [points[0]["Sum"]]
    total: float = points[0]["Sum"]
    return total
