"""How the resources of a deployed template are joined: what feeds which function, and what leaves the system.

What one function sends to where another function is fed from is *passage*: it is on its way, and no effect. What
leaves the system, or stays at its end, is an effect.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, cast

from redrive.core.documents import Document, dump_json
from redrive.delivery.sources.targets import queue_url
from redrive.languages.event_pattern import Pattern, matches, parse
from redrive.prove.calls.calls import Call, mapping_of
from redrive.prove.stage.rules import events_of
from redrive.prove.stage.stage import Stage
from redrive.prove.system.parts import Parts

PAGES_MAX = 50
"""How many pages of a list are read at most."""
_STREAMS = (":kinesis:", ":dynamodb:")
_QUEUES = ":sqs:"


class Reach(NamedTuple):
    """Where what is sent to a place goes: to functions of the system, and out of the system."""

    inside: bool
    outside: bool


_INSIDE = Reach(inside=True, outside=False)
_OUTSIDE = Reach(inside=False, outside=True)


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule with its targets. `document` is as ListRules tells it."""

    document: Document
    targets: Sequence[Document]

    @property
    def name(self) -> str:
        return str(self.document["Name"])

    @property
    def bus(self) -> str:
        """The name of the bus."""
        return str(self.document.get("EventBusName", "default"))

    @property
    def pattern(self) -> Pattern | None:
        """The pattern; None if the rule has a schedule alone."""
        text = self.document.get("EventPattern")
        return None if text is None else parse(str(text))


@dataclass(frozen=True, slots=True)
class Wiring:
    """What feeds what. ARNs of topics, names of buckets; subscriptions and mappings as their lists tell them."""

    parts: Parts
    mappings: Sequence[Document] = ()
    topics: Mapping[str, Sequence[Document]] = field(default_factory=dict)
    rules: Sequence[Rule] = ()
    buckets: Mapping[str, Document] = field(default_factory=dict)
    schedules: Sequence[Document] = ()
    dead_letters: Mapping[str, str] = field(default_factory=dict)
    """The dead-letter queue of each queue that has one, by ARN."""

    @property
    def fed(self) -> Sequence[Document]:
        """The mappings of the functions that take part."""
        return [one for one in self.mappings if self.parts.of_arn(str(one["FunctionArn"])) is not None]

    @property
    def queues(self) -> Sequence[str]:
        """The ARNs of the queues that feed functions of the system."""
        return list(dict.fromkeys(str(one["EventSourceArn"]) for one in self.fed if _QUEUES in one["EventSourceArn"]))

    @property
    def streams(self) -> Sequence[Document]:
        """The mappings from streams."""
        return [one for one in self.fed if _QUEUES not in str(one["EventSourceArn"])]

    @property
    def letters(self) -> Sequence[str]:
        """The ARNs of the queues in which dead letters of the system lie until somebody redrives them."""
        found = [letters for queue, letters in self.dead_letters.items() if queue in self.queues]
        found += map(on_failure, self.streams)
        for part in self.parts.taking_part.values():
            found += [str(part.function.get("DeadLetterConfig", {}).get("TargetArn", "")), on_failure(part.invoking)]
        return [one for one in dict.fromkeys(found) if _QUEUES in one and one not in self.queues]

    @property
    def doubled(self) -> frozenset[str]:
        """The ARNs of the queues to which a topic, a rule or a bucket sends, each of which may send twice."""
        found = [str(one["Endpoint"]) for several in self.topics.values() for one in several]
        found += [str(target["Arn"]) for rule in self.rules for target in rule.targets]
        for configuration in self.buckets.values():
            found += [str(one["QueueArn"]) for one in configuration.get("QueueConfigurations", [])]
        return frozenset(found)

    def fed_by(self, arn: str) -> Iterator[str]:
        """The names of the functions that what is sent to an ARN reaches, each once or more."""
        part = self.parts.of_arn(arn) if ":lambda:" in arn else None
        if part is not None:
            yield part.function_name
        for mapping in self.fed:
            if str(mapping["EventSourceArn"]).partition("/consumer/")[0] == arn:
                yield str(mapping["FunctionArn"]).split(":")[6]
        for subscription in self.topics.get(arn, ()):
            yield from self.fed_by(str(subscription["Endpoint"]))

    def reach(self, arn: str) -> Reach:
        """Where goes what is sent to an ARN: of a function, a queue, a stream, a topic or a bus."""
        if ":sns:" in arn:
            return _sum(self.reach(str(one["Endpoint"])) for one in self.topics.get(arn, ()))
        if ":events:" in arn:
            bus = arn.rpartition("/")[2]
            return _sum(
                self.reach(str(target["Arn"])) for one in self.rules if one.bus == bus for target in one.targets
            )
        return _INSIDE if any(True for _ in self.fed_by(arn)) else _OUTSIDE

    def is_passage(self, call: Call) -> bool:
        """Whether a call only sends to functions of the system, or handles what feeds one of them."""
        return self._reach_of(call) == _INSIDE

    def goes_on(self, call: Call) -> bool:
        """Whether a function of the system gets what a call sends."""
        return self._reach_of(call).inside

    def _reach_of(self, call: Call) -> Reach:
        match call.service:
            case "sqs":
                return _INSIDE if any(arn.endswith(f":{call.target}") for arn in self.queues) else _OUTSIDE
            case "lambda" if call.operation.startswith("Invoke"):
                asked = str(call.params.get("FunctionName", call.target))
                return _OUTSIDE if self.parts.of_arn(asked) is None else _INSIDE
            case "sns" if call.operation.startswith("Publish"):
                return _sum(self.reach(arn) for arn in self.topics if arn.endswith(f":{call.target}"))
            case "kinesis" if call.operation.startswith("Put"):
                read = [str(one["EventSourceArn"]) for one in self.streams]
                return _INSIDE if any(f":stream/{call.target}" in arn for arn in read) else _OUTSIDE
            case "scheduler" if call.operation in ("CreateSchedule", "UpdateSchedule"):
                is_once = str(call.params.get("ScheduleExpression", "")).startswith("at(")
                target = mapping_of(call.params.get("Target"))
                return self.reach(str(target.get("Arn", ""))) if is_once else _OUTSIDE
            case "events" if call.operation == "PutEvents":
                return self._taken(call)
            case _:
                return _OUTSIDE

    def _taken(self, call: Call) -> Reach:
        """Where the rules that match an entry of PutEvents lead."""
        bus = call.target.rpartition("/")[2] or "default"
        try:
            event = json.loads(events_of((dump_json(dict(call.params)),), None)[0])
        except (TypeError, ValueError):
            return _OUTSIDE
        return _sum(
            self.reach(str(target["Arn"]))
            for rule in self.rules
            if rule.bus == bus and (pattern := rule.pattern) is not None and matches(pattern, event)
            for target in rule.targets
        )


def read_wiring(stage: Stage, parts: Parts) -> Wiring:
    """Read it from the engine."""
    subscriptions = list(_pages(stage, "sns", "ListSubscriptions", "Subscriptions"))
    topics: dict[str, list[Document]] = {
        str(one["TopicArn"]): [] for one in _pages(stage, "sns", "ListTopics", "Topics")
    }
    for one in subscriptions:
        topics.setdefault(str(one["TopicArn"]), []).append(one)
    buckets = [str(one["Name"]) for one in stage.call("s3", "ListBuckets").get("Buckets", [])]
    return Wiring(
        parts,
        list(_pages(stage, "lambda", "ListEventSourceMappings", "EventSourceMappings", "NextMarker", "Marker")),
        topics,
        list(_rules(stage)),
        {name: stage.call("s3", "GetBucketNotificationConfiguration", Bucket=name) for name in buckets},
        [
            stage.call("scheduler", "GetSchedule", Name=one["Name"], GroupName=one["GroupName"])
            for one in _pages(stage, "scheduler", "ListSchedules", "Schedules")
        ],
        dict(_dead_letters(stage)),
    )  # fmt: skip


def cut_off(stage: Stage, wiring: Wiring) -> None:
    """Take away what leads out of the system at the engine's own hand: it would send, and nobody would be there.

    Whoever sends to such a place has an effect, whatever comes of it. Functions that are left out are fed no more.
    """
    for mapping in wiring.mappings:
        if mapping not in wiring.fed:
            stage.call("lambda", "UpdateEventSourceMapping", UUID=mapping["UUID"], Enabled=False)
    for subscriptions in wiring.topics.values():
        for one in subscriptions:
            is_here = one["Protocol"] == "sqs" or wiring.parts.of_arn(str(one["Endpoint"])) is not None
            if not is_here and str(one["SubscriptionArn"]).startswith("arn:"):
                stage.call("sns", "Unsubscribe", SubscriptionArn=one["SubscriptionArn"])
    for rule in wiring.rules:
        for target in rule.targets:
            arn = str(target["Arn"])
            is_here = any(service in arn for service in (_QUEUES, ":sns:", ":kinesis:", ":events:"))
            if not is_here and not wiring.reach(arn).inside:
                bus = {"EventBusName": rule.bus}
                stage.call("events", "RemoveTargets", Rule=rule.name, Ids=[target["Id"]], **bus)
    stage.settle()


def on_failure(settings: Document) -> str:
    """The destination on failure of a mapping, or of a function's asynchronous invocations; empty without one."""
    return str(settings.get("DestinationConfig", {}).get("OnFailure", {}).get("Destination", ""))


def _sum(reached: Iterator[Reach] | Sequence[Reach]) -> Reach:
    """Of several ways; nobody at all is the outside, where somebody may listen who is not of this template."""
    found = list(reached)
    return Reach(any(one.inside for one in found), any(one.outside for one in found) or not found)


def _rules(stage: Stage) -> Iterator[Rule]:
    for bus in stage.call("events", "ListEventBuses")["EventBuses"]:
        named = {"EventBusName": bus["Name"]}
        for rule in stage.call("events", "ListRules", **named)["Rules"]:
            targets = stage.call("events", "ListTargetsByRule", Rule=rule["Name"], **named)["Targets"]
            yield Rule(rule, targets)


def _dead_letters(stage: Stage) -> Iterator[tuple[str, str]]:
    for url in stage.call("sqs", "ListQueues").get("QueueUrls", []):
        names = ["QueueArn", "RedrivePolicy"]
        attributes = stage.call("sqs", "GetQueueAttributes", QueueUrl=url, AttributeNames=names).get("Attributes", {})
        policy = json.loads(attributes.get("RedrivePolicy", "{}"))
        if policy.get("deadLetterTargetArn"):
            yield str(attributes["QueueArn"]), str(policy["deadLetterTargetArn"])


def _pages(
    stage: Stage, service: str, operation: str, member: str, answered: str = "NextToken", asked: str = "NextToken"
) -> Iterator[Document]:
    """The members of a list of an operation, page by page: the token that one page answers asks for the next."""
    params: Document = {}
    for _ in range(PAGES_MAX):
        page = stage.call(service, operation, **params)
        yield from cast("Sequence[Document]", page.get(member, []))
        if not page.get(answered):
            return
        params = {asked: page[answered]}


def queue_attribute(stage: Stage, arn: str, name: str) -> str:
    """An attribute of a queue; empty if it has not got it."""
    answer = stage.call("sqs", "GetQueueAttributes", QueueUrl=queue_url(arn), AttributeNames=[name])
    return str(answer.get("Attributes", {}).get(name, ""))
