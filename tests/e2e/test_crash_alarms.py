"""kill -9 of a server that watches logs: no change of an alarm is lost or told twice, no log event is counted twice."""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from http.client import HTTPException
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

from tests.e2e.conftest import ServerProcess

ALARMS = 3
MINUTES = 40
MINUTE_MS = 60_000
GROUP = "/work"
Change = tuple[str, str, str]
"""An alarm, the instant at which it changed, and its new state."""

ACCOUNT = "arn:aws:{}:us-east-1:000000000000:{}"


def test_no_change_of_an_alarm_is_lost_or_told_twice_when_the_server_is_killed(
    start: Callable[..., ServerProcess], tmp_path: Path
) -> None:
    """Every second minute has a failure, so each alarm changes its state at the end of each minute."""
    options = ("--clock", "virtual", "--data", str(tmp_path / "data"))
    server = start(*options)
    watch(server)
    begin = fill(server)
    kill_while_the_clock_advances(server, begin + MINUTES * MINUTE_MS)

    again = start(*options)
    assert clock(again) < begin + MINUTES * MINUTE_MS, "the server was killed on its way"
    advance_to(again, begin + MINUTES * MINUTE_MS)
    changes, told, published = history(again), drained(again, "told"), drained(again, "published")

    expected = Counter(
        (f"watch-{number}", at(begin + minute * MINUTE_MS).isoformat(), "ALARM" if minute % 2 else "OK")
        for number in range(ALARMS)
        for minute in range(1, MINUTES + 1)
    )
    assert changes == expected
    assert told == expected
    assert published == expected
    assert failures(again, begin) == MINUTES // 2


def watch(server: ServerProcess) -> None:
    """A metric filter, alarms on its metric, a topic that they tell, a rule for their events, and a queue for each."""
    sqs, sns, events, logs = (server.client(name) for name in ("sqs", "sns", "events", "logs"))
    allow = {"Effect": "Allow", "Principal": "*", "Action": "sqs:SendMessage", "Resource": "*"}
    policy = json.dumps({"Version": "2012-10-17", "Statement": [allow]})
    for queue in ("told", "published"):
        sqs.create_queue(QueueName=queue, Attributes={"Policy": policy})
    topic = sns.create_topic(Name="alerts")["TopicArn"]
    raw = {"RawMessageDelivery": "true"}
    sns.subscribe(TopicArn=topic, Protocol="sqs", Endpoint=ACCOUNT.format("sqs", "told"), Attributes=raw)
    pattern = {"detail-type": ["CloudWatch Alarm State Change"]}
    events.put_rule(Name="changes", EventPattern=json.dumps(pattern))
    events.put_targets(Rule="changes", Targets=[{"Id": "queue", "Arn": ACCOUNT.format("sqs", "published")}])
    logs.create_log_group(logGroupName=GROUP)
    logs.create_log_stream(logGroupName=GROUP, logStreamName="s")
    logs.put_metric_filter(
        logGroupName=GROUP, filterName="failures", filterPattern="FAILED",
        metricTransformations=[
            {"metricName": "Failures", "metricNamespace": "Work", "metricValue": "1", "defaultValue": 0}
        ],
    )  # fmt: skip
    for number in range(ALARMS):
        server.client("cloudwatch").put_metric_alarm(
            AlarmName=f"watch-{number}", Namespace="Work", MetricName="Failures", Statistic="Sum", Period=60,
            EvaluationPeriods=1, Threshold=0, ComparisonOperator="GreaterThanThreshold", AlarmActions=[topic],
            OKActions=[topic],
        )  # fmt: skip


def fill(server: ServerProcess) -> int:
    """Put an event into each of the next minutes: AWS takes events of the next two hours. Returns when they begin."""
    begin = clock(server) + MINUTE_MS - clock(server) % MINUTE_MS
    server.client("logs").put_log_events(
        logGroupName=GROUP, logStreamName="s",
        logEvents=[
            {"timestamp": begin + minute * MINUTE_MS + 1000, "message": "fine" if minute % 2 else "FAILED"}
            for minute in range(MINUTES)
        ],
    )  # fmt: skip
    return begin


def kill_while_the_clock_advances(server: ServerProcess, end: int) -> None:
    """Let the hour pass, and kill the server when a quarter of it has been told."""

    def advance() -> None:
        with suppress(OSError, HTTPException):
            advance_to(server, end)

    sqs = server.client("sqs")
    url = sqs.get_queue_url(QueueName="told")["QueueUrl"]
    advancing = threading.Thread(target=advance)
    advancing.start()
    while advancing.is_alive():
        found = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["ApproximateNumberOfMessages"])
        if int(found["Attributes"]["ApproximateNumberOfMessages"]) >= ALARMS * MINUTES // 4:
            break
    server.kill()
    advancing.join()


def clock(server: ServerProcess) -> int:
    with urlopen(f"{server.endpoint_url}/_redrive/clock") as answer:
        return int(json.loads(answer.read())["now_ms"])


def advance_to(server: ServerProcess, instant: int) -> None:
    body = json.dumps({"to": f"{at(instant):%Y-%m-%dT%H:%M:%SZ}"}).encode()
    with urlopen(Request(f"{server.endpoint_url}/_redrive/clock", body, method="POST")) as answer:
        answer.read()


def at(instant: int) -> datetime:
    return datetime.fromtimestamp(instant / 1000, UTC)


def history(server: ServerProcess) -> Counter[Change]:
    pages = server.client("cloudwatch").get_paginator("describe_alarm_history")
    items = [
        item for page in pages.paginate(HistoryItemType="StateUpdate", MaxRecords=100)
        for item in page["AlarmHistoryItems"]
    ]  # fmt: skip
    return Counter(
        (item["AlarmName"], item["Timestamp"].isoformat(), json.loads(item["HistoryData"])["newState"]["stateValue"])
        for item in items
    )


def drained(server: ServerProcess, queue: str) -> Counter[Change]:
    """What a queue has been told: alarm, instant and state of each message."""
    sqs = server.client("sqs")
    url = sqs.get_queue_url(QueueName=queue)["QueueUrl"]
    found: Counter[Change] = Counter()
    while messages := sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10).get("Messages"):
        found.update(said(json.loads(message["Body"])) for message in messages)
    return found


def said(message: Any) -> Change:
    """The change that a message of a topic or an event of the bus tells."""
    if "AlarmName" in message:
        changed_at = datetime.fromisoformat(message["StateChangeTime"])
        return message["AlarmName"], changed_at.isoformat(), message["NewStateValue"]
    state = message["detail"]["state"]
    return message["detail"]["alarmName"], datetime.fromisoformat(state["timestamp"]).isoformat(), state["value"]


def failures(server: ServerProcess, begin: int) -> int:
    """How many failures the metric has counted."""
    found = server.client("cloudwatch").get_metric_statistics(
        Namespace="Work", MetricName="Failures", Statistics=["Sum"], Period=60, StartTime=at(begin),
        EndTime=at(begin + MINUTES * MINUTE_MS),
    )  # fmt: skip
    return int(sum(point["Sum"] for point in found["Datapoints"]))
