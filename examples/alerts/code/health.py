"""Whether events find their way: rules are enabled, targets are there, no letter waits, files are imported in time.

Every check says what is wrong; a check that cannot be made is a failed check. The metric `Healthy` is 1 or 0, and that
of each check by its name; an alarm that takes a missing value for a breach notices a health function that does not run.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator

import boto3

from redrive.handler import Metrics

RULES = os.environ["RULES"].split(",")
DEAD_LETTER_QUEUES = os.environ["DEAD_LETTER_QUEUES"].split(",")
LATENCY_S_MAX = int(os.environ["LATENCY_S_MAX"])

events, functions, sqs = boto3.client("events"), boto3.client("lambda"), boto3.client("sqs")
cloudwatch = boto3.client("cloudwatch")


def rules() -> Iterator[str]:
    for name in RULES:
        if events.describe_rule(Name=name)["State"] == "DISABLED":
            yield f"FAILED RuleName: {name} is disabled"


def targets() -> Iterator[str]:
    """A target has to exist, be active, and let EventBridge in."""
    for name in RULES:
        rule = events.describe_rule(Name=name)["Arn"]
        for target in events.list_targets_by_rule(Rule=name)["Targets"]:
            state = functions.get_function_configuration(FunctionName=target["Arn"])["State"]
            if state not in ("Active", "Inactive"):  # Inactive is idle: the next event wakes it.
                yield f"FAILED RuleName: {name} has the target {target['Arn']}, which is {state}"
            if not may_invoke(target["Arn"], rule):
                yield f"FAILED RuleName: {name} may not invoke its target {target['Arn']}"


def may_invoke(function: str, rule: str) -> bool:
    try:
        policy = json.loads(functions.get_policy(FunctionName=function)["Policy"])
    except functions.exceptions.ResourceNotFoundException:
        return False
    return any(
        statement["Principal"] == {"Service": "events.amazonaws.com"}
        and statement.get("Condition", {}).get("ArnLike", {}).get("AWS:SourceArn", rule) == rule
        for statement in policy["Statement"]
    )


def dead_letters() -> Iterator[str]:
    for name in DEAD_LETTER_QUEUES:
        url = sqs.get_queue_url(QueueName=name)["QueueUrl"]
        wanted = "ApproximateNumberOfMessages"
        count = int(sqs.get_queue_attributes(QueueUrl=url, AttributeNames=[wanted])["Attributes"][wanted])
        if count:
            yield f"queue {name} has {count} letters"


def latency() -> Iterator[str]:
    dimensions = [{"Name": "BucketName", "Value": os.environ["BUCKET"]}, {"Name": "EventType", "Value": "PutObject"}]
    found = cloudwatch.get_metric_statistics(
        Namespace="S3EventProcessing", MetricName="ProcessingLatency", Dimensions=dimensions,
        StartTime=time.time() - 900, EndTime=time.time(), Period=900, Statistics=["Maximum"],
    )["Datapoints"]  # fmt: skip
    slowest_s = max((point["Maximum"] for point in found), default=0) / 1000
    if slowest_s > LATENCY_S_MAX:
        yield f"a file was imported after {slowest_s:.0f} s"


CHECKS = {"Rules": rules, "Targets": targets, "DeadLetters": dead_letters, "Latency": latency}


def made(check) -> list[str]:
    try:
        return list(check())
    except Exception as error:  # noqa: BLE001 - A health function that dies says nothing.
        return [f"the check failed: {error!r}"]


def handler(_event, _context):
    wrong = {name: made(check) for name, check in CHECKS.items()}
    metrics = Metrics("Health")
    metrics.add("Healthy", int(not any(wrong.values())))
    for name, said in wrong.items():
        metrics.add(f"{name}Healthy", int(not said))
        for what in said:
            print(f"unhealthy: {what}")
    metrics.write()
    return wrong
