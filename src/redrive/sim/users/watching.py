"""Alarms: a user publishes the values of metrics, with gaps, and alarms of all kinds tell a topic of their states."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from redrive.core.clock import MINUTE_MS, SECOND_MS, Instant, parse_instant
from redrive.core.documents import Document, load_json
from redrive.core.errors import Conflict
from redrive.sim.checkers.alarms import AlarmsTold, Told
from redrive.sim.checkers.happenings import AlarmChanged, AlarmRead, LeftMessage, MetricPublished
from redrive.sim.dice import Dice
from redrive.sim.fleet.clients import Client
from redrive.sim.oracles.alarms import WatchedAlarm
from redrive.sim.users.resources import Resources, arn_of, policy_of
from redrive.sim.users.shop import ANYBODY
from redrive.sim.weather import AnswerLost
from redrive.sim.world import Simulation

NAMESPACE = "Simulated"
HEARD = "told-by-alarms"
"""The queue of the topic that alarms tell."""
METRICS = ("load", "errors")
TREATMENTS = ("missing", "ignore", "breaching", "notBreaching")
THRESHOLD = 5
_VALUE_MAX = 9
_GAP_MINUTES_MAX = 5
_HISTORY_PAGE = 100


class Watching:
    """The alarms, and what can be read of them at the end."""

    def __init__(self, resources: Resources, dice: Dice) -> None:
        self._resources = resources
        self._dice = dice
        self._alarms = [
            WatchedAlarm(f"alarm-{number}", METRICS[number % len(METRICS)], THRESHOLD, periods, to_alarm, treat)
            for number, treat in enumerate(TREATMENTS * 2)
            for periods in [dice.between(1, 4)]
            for to_alarm in [dice.between(1, periods)]
        ]

    def open(self) -> None:
        """Create the topic, the alarms and their users."""
        resources, simulation = self._resources, self._resources.simulation
        call = simulation.reliable.call
        url = resources.queue(HEARD)
        call("sqs", "SetQueueAttributes", QueueUrl=url, Attributes={"Policy": policy_of(ANYBODY)})
        topic = call("sns", "CreateTopic", Name="alarms")["TopicArn"]
        raw = {"RawMessageDelivery": "true"}
        call("sns", "Subscribe", TopicArn=topic, Protocol="sqs", Endpoint=arn_of("sqs", HEARD), Attributes=raw)
        actions = {name: [topic] for name in ("OKActions", "AlarmActions", "InsufficientDataActions")}
        for alarm in self._alarms:
            call(
                "cloudwatch", "PutMetricAlarm", AlarmName=alarm.name, Namespace=NAMESPACE, MetricName=alarm.metric,
                Statistic="Maximum", Period=60, EvaluationPeriods=alarm.periods, DatapointsToAlarm=alarm.to_alarm,
                Threshold=alarm.threshold, ComparisonOperator="GreaterThanThreshold", TreatMissingData=alarm.treat,
                **actions,
            )  # fmt: skip
        resources.undo("cloudwatch", "PutMetricData", Namespace=NAMESPACE, MetricData=[_datum("load", 1, 0)])
        skew_ms = simulation.weather.skew_ms
        simulation.watch(AlarmsTold(self._alarms, HEARD, _told, skew_ms=2 * skew_ms + SECOND_MS))
        for metric in METRICS:
            user = Publisher(
                simulation, simulation.client(metric), metric, dice=resources.fork(metric), until=resources.until
            )
            simulation.add(user, at=simulation.now + SECOND_MS)

    def told(self) -> Iterator[AlarmChanged | AlarmRead]:
        """The history of each alarm, and its state at the end."""
        call = self._resources.simulation.reliable.call
        for alarm in self._alarms:
            (shown,) = call("cloudwatch", "DescribeAlarms", AlarmNames=[alarm.name])["MetricAlarms"]
            yield AlarmRead(alarm.name, str(shown["StateValue"]))
            yield from self._history(alarm.name)

    def _history(self, name: str) -> Iterator[AlarmChanged]:
        call, token = self._resources.simulation.reliable.call, None
        while True:
            asked: Document = {} if token is None else {"NextToken": token}
            page = call(
                "cloudwatch", "DescribeAlarmHistory", AlarmName=name, HistoryItemType="StateUpdate",
                ScanBy="TimestampAscending", MaxRecords=_HISTORY_PAGE, **asked,
            )  # fmt: skip
            for item in page["AlarmHistoryItems"]:
                data = load_json(item["HistoryData"])
                before, after = data["oldState"]["stateValue"], data["newState"]["stateValue"]
                yield AlarmChanged(name, int(item["Timestamp"]), before, after)
            token = page.get("NextToken")
            if token is None:
                return


class Publisher:
    """Publishes values for minutes, with gaps between them. What has no answer is left to its fate."""

    def __init__(self, simulation: Simulation, client: Client, metric: str, *, dice: Dice, until: Instant) -> None:
        self.name = f"publisher of {metric}"
        self._simulation = simulation
        self._client = client
        self._metric = metric
        self._dice = dice
        self._until = until

    def act(self) -> Instant | None:
        """Publish one value, now or for a minute that is over."""
        simulation, dice = self._simulation, self._dice
        if simulation.now >= self._until:
            return None
        value = dice.between(0, _VALUE_MAX)
        at = simulation.now - (dice.between(0, 3) * MINUTE_MS if dice.chance(0.2) else 0)
        minute = at - at % MINUTE_MS

        def seen(_: Document) -> None:
            simulation.observe(MetricPublished(self._metric, minute, value, simulation.now))

        try:
            data: Sequence[Document] = [_datum(self._metric, value, at)]
            self._client.call_seen(seen, "cloudwatch", "PutMetricData", Namespace=NAMESPACE, MetricData=data)
        except (Conflict, AnswerLost) as error:
            simulation.trace.write(simulation.now, "value in doubt", metric=self._metric, error=type(error).__name__)
        gap = dice.between(1, _GAP_MINUTES_MAX) if dice.chance(0.3) else 1
        return simulation.now + gap * MINUTE_MS + dice.between(-20, 20) * SECOND_MS


def _datum(metric: str, value: float, at: Instant) -> Document:
    return {"MetricName": metric, "Value": float(value), **({"Timestamp": at} if at else {})}


def _told(message: LeftMessage) -> Told:
    body = load_json(message.body)
    at = parse_instant(str(body["StateChangeTime"]).replace("+0000", "Z"))
    return str(body["AlarmName"]), at, str(body["NewStateValue"])
