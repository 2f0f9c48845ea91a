"""The command: `python -m benchmarks.kill.alarms [--postgresql]`. Alarms and metric filters while nodes are killed.

Alarms change their states every ten seconds and every minute, and tell a topic and the bus. Each change has to be in
the history, at the topic and on the bus exactly once, and the states of an alarm have to follow from each other. Each
log event that was acknowledged is stored, and is counted once by the metric filter of its group.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import boto3
from botocore.client import BaseClient
from botocore.config import Config

from benchmarks.kill import alarm_checks as checks
from benchmarks.kill.__main__ import join, said, tell, wait_for
from benchmarks.kill.alarm_checks import Change
from benchmarks.kill.client import Done, Nodes
from benchmarks.kill.cluster import Node, Weather
from benchmarks.kill.load import Load, Loop
from benchmarks.kill.memory import Memory
from benchmarks.kill.topics import nodes_of
from benchmarks.report import machine

SHORT, LONG = 20, 5
"""How many alarms look every ten seconds, and how many each minute."""

SETTLE_S = 75
"""The metric's last minute ends, and its alarms look at it."""

GROUP = "/work"
METRICS = "GraniteServiceVersion20100801"
LOGS = "Logs_20140328"


@dataclass(slots=True)
class AlarmLoad(Load):
    """A client that publishes a metric of high resolution, and clients that write logs."""

    acknowledged: list[str] = field(default_factory=list)

    @property
    def senders(self) -> Sequence[Loop]:
        """The clients."""
        return [self._publishing, *(self._logging(f"w{number}") for number in range(3))]

    def _publishing(self, turns: Iterator[int]) -> None:
        for _ in turns:
            now = time.time()
            datum = {"MetricName": "Load", "Value": now // 10 % 2, "Timestamp": now, "StorageResolution": 1}
            self.nodes.aws(f"{METRICS}.PutMetricData", {"Namespace": "Work", "MetricData": [datum]})
            time.sleep(0.5)

    def _logging(self, prefix: str) -> Loop:
        def run(turns: Iterator[int]) -> None:
            for number in turns:
                now = time.time()
                kind = "FAILED" if now // 60 % 2 else "fine"
                message = f"{kind} {prefix}-{number}"
                event = {"timestamp": int(now * 1000), "message": message}
                asked = {"logGroupName": GROUP, "logStreamName": "s", "logEvents": [event]}
                if isinstance(self.nodes.aws(f"{LOGS}.PutLogEvents", asked), Done):
                    self.acknowledged.append(message)

        return run


def main() -> None:
    """Serve, load, kill, settle, check."""
    arguments = _arguments()
    folder = Path(tempfile.mkdtemp(prefix="redrive-kill-"))
    print(f"{machine()}\nlogs: {folder}", flush=True)
    with nodes_of(arguments, folder) as nodes:
        wait_for(nodes)
        load = _prepared(nodes)
        began = datetime.now(UTC)
        weather = Weather(nodes, None, seconds=arguments.seconds, every_s=arguments.every, seed=arguments.seed)
        senders = load.start(load.senders, load.over)
        weather.run()
        load.over.set()
        join(senders)
        threading.Event().wait(SETTLE_S)
        wrong = [*_wrong(load, nodes[0], began), *weather.ended_alone, *load.defects]
        print(f"{weather.kills} nodes killed\nanswers:")
        for outcome, count in sorted(load.nodes.outcomes.items()):
            print(f"  {count:8,} {outcome}")
        wrong += [f"{node.log}: SIGTERM ended it with {code}" for node in nodes if (code := node.stop())]
        wrong += said(nodes)
    tell(wrong)


def _client(node: Node, service: str) -> BaseClient:
    session = boto3.session.Session("test", "test", region_name="us-east-1")
    config = Config(retries={"total_max_attempts": 1})
    return session.client(service, endpoint_url=f"http://127.0.0.1:{node.port}", config=config)


def _prepared(nodes: Sequence[Node]) -> AlarmLoad:
    """Two queues that hear of each change, by a topic and by a rule; a metric filter; the alarms."""
    sqs, sns, events, logs, cloudwatch = (
        _client(nodes[0], name) for name in ("sqs", "sns", "events", "logs", "cloudwatch")
    )  # fmt: skip
    allow = {"Effect": "Allow", "Principal": "*", "Action": "sqs:SendMessage", "Resource": "*"}
    attributes = {"Policy": json.dumps({"Version": "2012-10-17", "Statement": [allow]})}
    urls = {name: sqs.create_queue(QueueName=name, Attributes=attributes)["QueueUrl"] for name in ("topic", "bus")}
    arns = {name: f"arn:aws:sqs:us-east-1:000000000000:{name}" for name in urls}
    topic = sns.create_topic(Name="alerts")["TopicArn"]
    raw = {"RawMessageDelivery": "true"}
    sns.subscribe(TopicArn=topic, Protocol="sqs", Endpoint=arns["topic"], Attributes=raw)
    pattern = {"detail-type": ["CloudWatch Alarm State Change"]}
    events.put_rule(Name="changes", EventPattern=json.dumps(pattern))
    events.put_targets(Rule="changes", Targets=[{"Id": "queue", "Arn": arns["bus"]}])
    logs.create_log_group(logGroupName=GROUP)
    logs.create_log_stream(logGroupName=GROUP, logStreamName="s")
    made = {"metricName": "Failures", "metricNamespace": "Work", "metricValue": "1", "defaultValue": 0}
    logs.put_metric_filter(
        logGroupName=GROUP, filterName="f", filterPattern="FAILED", metricTransformations=[made]
    )  # fmt: skip
    actions = {"AlarmActions": [topic], "OKActions": [topic], "InsufficientDataActions": [topic]}
    for number in range(SHORT + LONG):
        is_short = number < SHORT
        cloudwatch.put_metric_alarm(
            AlarmName=f"{'short' if is_short else 'long'}-{number}", Namespace="Work", Statistic="Maximum",
            MetricName="Load" if is_short else "Failures", Period=10 if is_short else 60, EvaluationPeriods=1,
            Threshold=0, ComparisonOperator="GreaterThanThreshold", **actions,
        )  # fmt: skip
    return AlarmLoad(Nodes([node.port for node in nodes]), Memory(), urls, arns)


def _wrong(load: AlarmLoad, node: Node, began: datetime) -> Iterator[str]:
    history = list(_history(node))
    changes = {f"{name}-{number}": 0 for name, first, last in (("short", 0, SHORT), ("long", SHORT, SHORT + LONG))
               for number in range(first, last)}  # fmt: skip
    for change in history:
        changes[change.alarm] += 1
    print(f"{len(history):,} changes of {len(changes)} alarms, {len(load.acknowledged):,} log events acknowledged")
    yield from checks.seen(changes)
    yield from checks.chained(history)
    for listener in ("topic", "bus"):
        yield from checks.told(listener, history, list(_heard(node, load.urls[listener])))
    pages = _client(node, "logs").get_paginator("filter_log_events").paginate(logGroupName=GROUP)
    messages = [str(event["message"]) for page in pages for event in page["events"]]
    found = _client(node, "cloudwatch").get_metric_statistics(
        Namespace="Work", MetricName="Failures", Statistics=["Sum"], Period=60,
        StartTime=began.replace(second=0, microsecond=0), EndTime=datetime.now(UTC),
    )  # fmt: skip
    yield from checks.counted(messages, load.acknowledged, sum(point["Sum"] for point in found["Datapoints"]))


def _history(node: Node) -> Iterator[Change]:
    pages = _client(node, "cloudwatch").get_paginator("describe_alarm_history")
    for page in pages.paginate(HistoryItemType="StateUpdate", MaxRecords=100):
        for item in page["AlarmHistoryItems"]:
            data = json.loads(item["HistoryData"])
            old, new = (data[name]["stateValue"] for name in ("oldState", "newState"))
            yield Change(item["AlarmName"], item["Timestamp"].isoformat(), old, new)


def _heard(node: Node, url: str) -> Iterator[Change]:
    sqs = _client(node, "sqs")
    while messages := sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10, WaitTimeSeconds=1).get("Messages"):
        for message in messages:
            told = json.loads(message["Body"])
            sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
            if "detail" in told:
                new, old = told["detail"]["state"], told["detail"]["previousState"]
                yield Change(told["detail"]["alarmName"], _instant(new["timestamp"]), old["value"], new["value"])
            else:
                at = _instant(told["StateChangeTime"])
                yield Change(told["AlarmName"], at, told["OldStateValue"], told["NewStateValue"])


def _instant(text: str) -> str:
    return datetime.fromisoformat(text).isoformat()


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.kill.alarms", description=__doc__)
    parser.add_argument("--postgresql", action="store_true", help="several nodes on a PostgreSQL; otherwise SQLite")
    parser.add_argument("--nodes", type=int, default=3, help="how many nodes share the PostgreSQL")
    parser.add_argument("--seconds", type=float, default=300, help="how long there is weather")
    parser.add_argument("--every", type=float, default=5, help="seconds between two kills")
    parser.add_argument("--seed", type=int, default=1, help="decides which nodes are killed")
    return parser.parse_args()


if __name__ == "__main__":
    main()
