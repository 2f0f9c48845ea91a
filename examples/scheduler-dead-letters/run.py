"""Two schedules that fail, and everything that can be seen of it afterwards.

    redrive serve --clock virtual
    AWS_ENDPOINT_URL=http://127.0.0.1:4566 python examples/scheduler-dead-letters/run.py

The first schedule's role lacks a permission: a permanent failure, dead-lettered at once. The second's target throttles
for as long as it is asked: retried 185 times in a day, then dead-lettered. The day passes in a moment.

It can be run again on the same server: what is there is used again, and the schedules get new times.
"""

from __future__ import annotations

import json
import os
import urllib.request
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any

import boto3

ENDPOINT_URL = os.environ.get("AWS_ENDPOINT_URL", "http://127.0.0.1:4566")
ACCOUNT, REGION = "000000000000", "us-east-1"
QUEUES = f"arn:aws:sqs:{REGION}:{ACCOUNT}"
METRICS = (
    "InvocationAttemptCount",
    "TargetErrorCount",
    "TargetErrorThrottledCount",
    "InvocationDroppedCount",
    "InvocationsSentToDeadLetterCount",
    "InvocationsFailedToBeSentToDeadLetterCount",
)


def client(service: str) -> Any:
    """A boto3 client of the server. Only the endpoint tells it from AWS."""
    session = boto3.session.Session(ACCOUNT, "any", region_name=REGION)
    return session.client(service, endpoint_url=ENDPOINT_URL)


def ask_server(path: str, document: dict[str, object] | None = None, *, method: str | None = None) -> Any:
    """One call of the server's own surface: its clock, its faults."""
    body = None if document is None else json.dumps(document).encode()
    request = urllib.request.Request(f"{ENDPOINT_URL}/_redrive/{path}", data=body, method=method)
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)


def make_role(name: str, *queues: str) -> str:
    """A role for EventBridge Scheduler that may send to these queues only."""
    iam = client("iam")
    trust = {"Effect": "Allow", "Principal": {"Service": "scheduler.amazonaws.com"}, "Action": "sts:AssumeRole"}
    with suppress(iam.exceptions.EntityAlreadyExistsException):
        iam.create_role(RoleName=name, AssumeRolePolicyDocument=policy(trust))
    arn: str = iam.get_role(RoleName=name)["Role"]["Arn"]
    allowed = {"Effect": "Allow", "Action": "sqs:SendMessage", "Resource": [f"{QUEUES}:{queue}" for queue in queues]}
    iam.put_role_policy(RoleName=name, PolicyName="send", PolicyDocument=policy(allowed))
    return arn


def policy(statement: dict[str, object]) -> str:
    """A policy document of one statement."""
    return json.dumps({"Version": "2012-10-17", "Statement": [statement]})


def make_schedule(name: str, role: str, at: datetime) -> None:
    """A one-time schedule into `orders`, in a group of its own so that its metrics are its own."""
    scheduler = client("scheduler")
    with suppress(scheduler.exceptions.ConflictException):
        scheduler.create_schedule_group(Name=name)
    settings = {
        "Name": name,
        "GroupName": name,
        "ScheduleExpression": f"at({at:%Y-%m-%dT%H:%M:%S})",
        "FlexibleTimeWindow": {"Mode": "OFF"},
        "Target": {
            "Arn": f"{QUEUES}:orders",
            "RoleArn": role,
            "Input": '{"execution": "<aws.scheduler.execution-id>", "attempt": <aws.scheduler.attempt-number>}',
            "DeadLetterConfig": {"Arn": f"{QUEUES}:dead-letters"},
        },
    }
    try:
        scheduler.create_schedule(**settings)
    except scheduler.exceptions.ConflictException:
        scheduler.update_schedule(**settings)


def take_letters() -> list[Any]:
    """The dead letters, which are taken off the queue."""
    sqs = client("sqs")
    url = sqs.get_queue_url(QueueName="dead-letters")["QueueUrl"]
    found = sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10, MessageAttributeNames=["All"])
    letters = found.get("Messages", [])
    for letter in letters:
        sqs.delete_message(QueueUrl=url, ReceiptHandle=letter["ReceiptHandle"])
    return letters


def print_letter(letter: Any) -> None:
    """The call that failed, and the attributes that say why."""
    print("  body", letter["Body"])
    for name, value in sorted(letter["MessageAttributes"].items()):
        print(f"  {name:<26} {value['StringValue']}")


def print_metrics(group: str, start: datetime, end: datetime) -> None:
    """What EventBridge Scheduler counted for a group of schedules."""
    for metric in METRICS:
        points = client("cloudwatch").get_metric_statistics(
            Namespace="AWS/Scheduler",
            MetricName=metric,
            Dimensions=[{"Name": "ScheduleGroup", "Value": group}],
            StartTime=start,
            EndTime=end,
            Period=86_400,
            Statistics=["Sum"],
        )["Datapoints"]
        if points:
            print(f"  {metric:<46} {sum(point['Sum'] for point in points):g}")


def main() -> None:
    """Both experiments, one after the other."""
    ask_server("faults", method="DELETE")
    sqs = client("sqs")
    for queue in ("orders", "dead-letters"):
        sqs.create_queue(QueueName=queue)
    start = datetime.fromisoformat(ask_server("clock")["now"])
    first_at, second_at = start + timedelta(minutes=5), start + timedelta(minutes=30)

    print("1. A role that may not send to the target")
    make_schedule("not-allowed", make_role("may-write-letters-only", "dead-letters"), first_at)
    ask_server("clock", {"advance_s": 600})
    for letter in take_letters():
        print_letter(letter)
    print_metrics("not-allowed", start, start + timedelta(days=2))

    print("2. A target that throttles all day")
    ask_server("faults", {"target": f"{QUEUES}:orders", "error": "ThrottlingException", "rate": 1})
    make_schedule("throttled", make_role("may-do-both", "orders", "dead-letters"), second_at)
    ask_server("clock", {"advance_s": 26 * 3600})
    for letter in take_letters():
        print_letter(letter)
    print_metrics("throttled", start, start + timedelta(days=2))


if __name__ == "__main__":
    main()
