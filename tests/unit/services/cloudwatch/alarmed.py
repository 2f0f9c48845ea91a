"""A world with alarms, a topic and the queue that hears of them, and short words for it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from redrive.testing.world import World

ACCOUNT = "000000000000"
ARN = f"arn:aws:cloudwatch:us-east-1:{ACCOUNT}:alarm:"
QUEUE = f"arn:aws:sqs:us-east-1:{ACCOUNT}:heard"


class Tower:
    """What a user who watches metrics has at hand. Times are minutes from the beginning."""

    def __init__(self) -> None:
        self.world = World(seed=1)
        self.start = self.world.now
        self.client = self.world.client("cloudwatch")
        self._sqs = self.world.client("sqs")
        self._heard: list[dict[str, Any]] = []
        url = self._sqs.create_queue(QueueName="heard")["QueueUrl"]
        statement = {"Effect": "Allow", "Principal": "*", "Action": "sqs:SendMessage", "Resource": QUEUE}
        policy = json.dumps({"Version": "2012-10-17", "Statement": [statement]})
        self._sqs.set_queue_attributes(QueueUrl=url, Attributes={"Policy": policy})
        self.url = url
        self.topic = ""

    def open_topic(self) -> str:
        """Make a topic that the queue hears of."""
        sns = self.world.client("sns")
        self.topic = sns.create_topic(Name="alarms")["TopicArn"]
        attributes = {"RawMessageDelivery": "true"}
        sns.subscribe(TopicArn=self.topic, Protocol="sqs", Endpoint=QUEUE, Attributes=attributes)
        return self.topic

    def hear_events(self) -> None:
        """Let the queue hear what CloudWatch tells the default bus."""
        events = self.world.client("events")
        events.put_rule(Name="alarms", EventPattern=json.dumps({"source": ["aws.cloudwatch"]}))
        events.put_targets(Rule="alarms", Targets=[{"Id": "q", "Arn": QUEUE}])

    def heard(self) -> list[dict[str, Any]]:
        """What the queue has heard since it was last asked, in order."""
        found = []
        while messages := self._sqs.receive_message(QueueUrl=self.url, MaxNumberOfMessages=10).get("Messages"):
            for message in messages:
                found.append(json.loads(message["Body"]))
                self._sqs.delete_message(QueueUrl=self.url, ReceiptHandle=message["ReceiptHandle"])
        return found

    def alarm(self, name: str = "a", **more: Any) -> None:
        """Make an alarm on the sum of `m`: one breaching minute above 1 is enough, unless said otherwise."""
        self.client.put_metric_alarm(**{**asked(), "AlarmName": name, **more})

    def composite(self, name: str, rule: str, **more: Any) -> None:
        """Make a composite alarm."""
        self.client.put_composite_alarm(AlarmName=name, AlarmRule=rule, **more)

    def publish(self, values: Mapping[int, float], name: str = "m") -> None:
        """Publish values, each at its minute."""
        for minutes, value in values.items():
            datum = {"MetricName": name, "Value": value, "Timestamp": (self.start / 1000) + minutes * 60}
            self.client.put_metric_data(Namespace="App", MetricData=[datum])

    def set_state(self, value: str, name: str = "a", reason: str = "said so") -> None:
        """Set the state of an alarm."""
        self.client.set_alarm_state(AlarmName=name, StateValue=value, StateReason=reason)

    def shown(self, name: str = "a") -> Any:
        """An alarm as DescribeAlarms shows it."""
        answer = self.client.describe_alarms(AlarmNames=[name], AlarmTypes=["MetricAlarm", "CompositeAlarm"])
        (found,) = answer["MetricAlarms"] + answer["CompositeAlarms"]
        return found

    def state(self, name: str = "a") -> str:
        """The state that an alarm is in."""
        return str(self.shown(name)["StateValue"])

    def advance_to(self, minutes: float) -> None:
        """Go to a minute."""
        self.world.advance_to(self.start + round(minutes * 60_000))

    def changes(self, name: str | None = None, kind: str = "StateUpdate") -> list[tuple[float, str]]:
        """What the history says, oldest first: the minute and the summary of each item of a kind."""
        given = {} if name is None else {"AlarmName": name}
        types = ["MetricAlarm", "CompositeAlarm"]
        pages = self.client.get_paginator("describe_alarm_history").paginate(
            **given, AlarmTypes=types, HistoryItemType=kind, ScanBy="TimestampAscending"
        )
        return [
            (round(item["Timestamp"].timestamp() / 60 - self.start / 60_000, 3), item["HistorySummary"])
            for page in pages
            for item in page["AlarmHistoryItems"]
        ]

    def timeline(self, name: str = "a") -> list[tuple[float, str]]:
        """The states of an alarm, each with the minute in which it began."""
        return [(at, summary.rpartition(" to ")[2]) for at, summary in self.changes(name)]

    def close(self) -> None:
        """Release everything."""
        self.world.close()


def asked(**more: Any) -> dict[str, Any]:
    """The parameters of PutMetricAlarm for a simple alarm."""
    return {
        "AlarmName": "a", "Namespace": "App", "MetricName": "m", "Statistic": "Sum", "Period": 60,
        "EvaluationPeriods": 1, "Threshold": 1, "ComparisonOperator": "GreaterThanThreshold", **more,
    }  # fmt: skip


def math(expression: str, *names: str, **more: Any) -> Sequence[Any]:
    """The Metrics of an alarm on an expression over the sums of some metrics."""
    inner = [
        {
            "Id": name, "ReturnData": False,
            "MetricStat": {"Metric": {"Namespace": "App", "MetricName": name}, "Period": 60, "Stat": "Sum"},
        }
        for name in names
    ]  # fmt: skip
    return [{"Id": "e", "Expression": expression, **more}, *inner]
