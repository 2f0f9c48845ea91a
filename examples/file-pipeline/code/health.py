"""The health check: what nobody would notice otherwise, because nothing happens. It runs every ten minutes.

The article's health check lists rules that are disabled. This one asks for each thing that has to be right between a
file and its result, and for the files that have no result.
"""

from __future__ import annotations

import functools
import json
from datetime import UTC, datetime, timedelta
from typing import Any

import boto3

BUCKET, RULE, ROLE = "inbox", "s3-to-stepfunctions", "EventBridgeExecutionRole"
GRACE = timedelta(minutes=5)
"""How long a file may be under way."""

client = functools.cache(boto3.client)


def handler(event: dict[str, Any], _context: Any) -> list[str]:
    """Count what is wrong, in a metric that has an alarm; the log says what it is."""
    found = problems(datetime.fromisoformat(event["time"]) - GRACE)
    data = {"MetricName": "Problems", "Value": len(found), "Timestamp": event["time"]}
    client("cloudwatch").put_metric_data(Namespace="FilePipeline", MetricData=[data])
    print(json.dumps(found))
    return found


def problems(before: datetime | None = None) -> list[str]:
    """What is wrong now. Files that came later than `before` may still be under way."""
    found = [*settings(), *waiting()]
    missing = without_result(before or datetime.max.replace(tzinfo=UTC))
    return found + ([f"no result yet: {', '.join(missing)}"] if missing else [])


def settings() -> list[str]:
    """What is set wrongly between the bucket and the machine."""
    found = []
    if "EventBridgeConfiguration" not in client("s3").get_bucket_notification_configuration(Bucket=BUCKET):
        found.append("the bucket does not tell EventBridge")
    events = client("events")
    rule = events.describe_rule(Name=RULE)
    if rule["State"] != "ENABLED":
        found.append("the rule is disabled")
    if not events.test_event_pattern(EventPattern=rule["EventPattern"], Event=json.dumps(event_of("x", "e")))["Result"]:
        found.append("the rule's pattern does not match an event as S3 sends it")
    (target,) = events.list_targets_by_rule(Rule=RULE)["Targets"]
    machines = [one["stateMachineArn"] for one in client("stepfunctions").list_state_machines()["stateMachines"]]
    if target["Arn"] not in machines:
        found.append(f"the rule names {target['Arn'].rsplit(':', 1)[1]}, which does not exist")
    if not client("iam").list_role_policies(RoleName=ROLE)["PolicyNames"]:
        found.append("the rule's role may do nothing")
    return found


def waiting() -> list[str]:
    """What lies in queues that have to be empty."""
    counts = {name: count(name) for name in ("eventbridge-dlq", "parked")}
    return [f"{many} in {name}" for name, many in counts.items() if many]


def count(queue: str) -> int:
    """How many messages a queue has."""
    sqs = client("sqs")
    url = sqs.get_queue_url(QueueName=queue)["QueueUrl"]
    asked = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["ApproximateNumberOfMessages"])
    return int(asked["Attributes"]["ApproximateNumberOfMessages"])


def without_result(before: datetime) -> list[str]:
    """The files of the bucket that came before an instant and have no result."""
    pages = client("s3").get_paginator("list_objects_v2").paginate(Bucket=BUCKET)
    files = [one["Key"] for page in pages for one in page.get("Contents", ()) if one["LastModified"] <= before]
    items = [
        item
        for page in client("dynamodb").get_paginator("scan").paginate(TableName="results")
        for item in page["Items"]
    ]
    done = {item["file"]["S"].split("#")[1] for item in items if "result" in item}
    return sorted(set(files) - done)


def event_of(key: str, etag: str) -> dict[str, Any]:
    """An event as S3 sends it, with what the pipeline reads of it."""
    detail = {"bucket": {"name": BUCKET}, "object": {"key": key, "etag": etag}}
    return {
        "version": "0", "id": "00000000-0000-0000-0000-000000000000", "account": "000000000000", "region": "us-east-1",
        "time": "2025-01-01T00:00:00Z", "resources": [f"arn:aws:s3:::{BUCKET}"], "source": "aws.s3",
        "detail-type": "Object Created", "detail": detail,
    }  # fmt: skip
