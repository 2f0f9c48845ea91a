"""A day of hourly schedules in virtual time: each fires 24 times into a queue."""

from __future__ import annotations

import http.client
import json
import time
from collections.abc import Iterator

import boto3
from botocore.config import Config

from benchmarks.processes import ENVIRONMENT, ServerProcess, free_port, redrive_command, serving
from benchmarks.report import Figure
from benchmarks.startup import HEALTH

SCHEDULES = (100, 1_000)
DAY_S = 86_400
ROLE = "arn:aws:iam::000000000000:role/bench"
TRUST = {
    "Version": "2012-10-17",
    "Statement": [{"Effect": "Allow", "Principal": {"Service": "scheduler.amazonaws.com"}, "Action": "sts:AssumeRole"}],
}
MAY_SEND = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "sqs:SendMessage", "Resource": "*"}]}


def measure() -> Iterator[Figure]:
    """How long the advance takes on the wall, asked for over HTTP."""
    for schedules in SCHEDULES:
        port = free_port()
        command = redrive_command(port, "--clock", "virtual")
        with serving(command, port, probe=HEALTH, env=ENVIRONMENT) as server:
            seconds, fired = _day(server, schedules)
        assert fired == schedules * DAY_S // 3_600, f"{schedules} schedules fired {fired} times"
        yield Figure(f"a day of {schedules:,} hourly schedules, {fired:,} messages", seconds, "s")


def _day(server: ServerProcess, schedules: int) -> tuple[float, int]:
    """Make the schedules, advance a day; seconds on the wall, and messages in the queue."""
    endpoint = f"http://127.0.0.1:{server.port}"
    session = boto3.session.Session("test", "test", region_name="us-east-1")
    iam, sqs, scheduler = (
        session.client(name, endpoint_url=endpoint, config=Config(retries={"total_max_attempts": 1}))
        for name in ("iam", "sqs", "scheduler")
    )
    iam.create_role(RoleName="bench", AssumeRolePolicyDocument=json.dumps(TRUST))
    iam.put_role_policy(RoleName="bench", PolicyName="send", PolicyDocument=json.dumps(MAY_SEND))
    queue_url = sqs.create_queue(QueueName="bench")["QueueUrl"]
    queue_arn = sqs.get_queue_attributes(QueueUrl=queue_url, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
    for number in range(schedules):
        scheduler.create_schedule(
            Name=f"bench-{number}", ScheduleExpression="cron(30 * * * ? *)", FlexibleTimeWindow={"Mode": "OFF"},
            Target={"Arn": queue_arn, "RoleArn": ROLE, "Input": f'{{"number": {number}}}'},
        )  # fmt: skip
    connection = http.client.HTTPConnection("127.0.0.1", server.port)
    began = time.perf_counter()
    connection.request("POST", "/_redrive/clock", json.dumps({"advance_s": DAY_S}))
    connection.getresponse().read()
    seconds = time.perf_counter() - began
    connection.close()
    counted = sqs.get_queue_attributes(QueueUrl=queue_url, AttributeNames=["ApproximateNumberOfMessages"])
    return seconds, int(counted["Attributes"]["ApproximateNumberOfMessages"])
