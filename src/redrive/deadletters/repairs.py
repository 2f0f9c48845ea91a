"""Repairs: what a run may mend by itself, because the case has a name, and the deed can be undone exactly.

    enable mapping       nobody reads the source queue or stream: its mapping is disabled         disable it
    enable schedule      the schedule that wrote letters is disabled                             disable it
    enable rule          the rule that wrote letters is disabled                                 disable it
    lift concurrency     the function's reserved concurrency is 0: it takes no work               set it to 0
    allow queue          the policy of the queue does not allow the rule or the topic             take the statement out
    allow topic          the policy of the topic does not allow the rule                          take the statement out
    allow function       the policy of the function does not allow the rule or the topic          take the statement out

What a letter says is never enough: anybody who may send to the queue could write it. Each repair follows from what AWS
says of its own resources: a rule is allowed to send to a queue that it names as its target, with this dead-letter
queue, and to nothing else; a function or a mapping has to name the queue for its failures. Roles are not repaired,
since others use them too; a resource that is gone is not made again, since nobody here knows what it was.
"""

from __future__ import annotations

import enum
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from botocore.exceptions import ClientError

from redrive.core.documents import Document
from redrive.deadletters.causes import Cause, Class
from redrive.deadletters.letter import Origin, name_of
from redrive.deadletters.sources import Client, on_failure, rule_of, url_of_queue
from redrive.deadletters.triage import Group

RULES, TOPICS = "events.amazonaws.com", "sns.amazonaws.com"


class Kind(enum.Enum):
    """What a repair does."""

    ENABLE_MAPPING = "enable mapping"
    ENABLE_SCHEDULE = "enable schedule"
    ENABLE_RULE = "enable rule"
    LIFT_CONCURRENCY = "lift concurrency"
    ALLOW_QUEUE = "allow queue"
    ALLOW_TOPIC = "allow topic"
    ALLOW_FUNCTION = "allow function"

    @property
    def allows(self) -> bool:
        """Whether it adds a statement to a policy."""
        return self in {Kind.ALLOW_QUEUE, Kind.ALLOW_TOPIC, Kind.ALLOW_FUNCTION}


@dataclass(frozen=True, slots=True)
class Repair:
    """One deed. `resource` is what is changed: an ARN, or the id of a mapping; `source` is who is allowed, or read."""

    kind: Kind
    resource: str
    source: str = ""

    @property
    def deed(self) -> str:
        """What is done, for people."""
        name, source = name_of(self.resource), name_of(self.source)
        match self.kind:
            case Kind.ENABLE_MAPPING:
                return f"enable the event source mapping {self.resource}, which reads {source}"
            case Kind.ENABLE_SCHEDULE:
                return f"enable the schedule {name}"
            case Kind.ENABLE_RULE:
                return f"enable the rule {name}"
            case Kind.LIFT_CONCURRENCY:
                return f"delete the reserved concurrency of 0 of function {name}"
            case Kind.ALLOW_QUEUE:
                return f"allow {source} to send to queue {name}, by its policy"
            case Kind.ALLOW_TOPIC:
                return f"allow {source} to publish to topic {name}, by its policy"
            case Kind.ALLOW_FUNCTION:
                return f"allow {source} to invoke function {name}, by its policy"

    @property
    def undoing(self) -> str:
        """How it is undone, for people."""
        name = name_of(self.resource)
        match self.kind:
            case Kind.ENABLE_MAPPING:
                return f"disable the event source mapping {self.resource}"
            case Kind.ENABLE_SCHEDULE:
                return f"disable the schedule {name}"
            case Kind.ENABLE_RULE:
                return f"disable the rule {name}"
            case Kind.LIFT_CONCURRENCY:
                return f"set the reserved concurrency of function {name} to 0"
        return f"take the statement out of the policy of {name}"

    @property
    def document(self) -> Document:
        """The repair as JSON."""
        return {"kind": self.kind.value, "resource": self.resource, "source": self.source}


def read_repair(told: object) -> Repair:
    """A repair from its JSON. Errors: ValueError."""
    known = isinstance(told, dict) and set(told) <= {"kind", "resource", "source", "note"}
    kind = next((one for one in Kind if isinstance(told, dict) and one.value == told.get("kind")), None)
    if not known or kind is None or not isinstance(told, dict) or not told.get("resource"):
        kinds = ", ".join(one.value for one in Kind)
        raise ValueError(f"a repair has `kind` (one of {kinds}), `resource`, `source` and `note`")
    return Repair(kind, str(told["resource"]), str(told.get("source", "")))


@dataclass(frozen=True, slots=True)
class Found:
    """A repair, and the causes whose letters can go back once it is done."""

    repair: Repair
    mends: tuple[Cause, ...]


def find_repairs(client: Client, queue_arn: str, groups: Sequence[Group]) -> list[Found]:
    """What can be repaired for the letters of a queue. What may not be asked is not repaired."""
    found: dict[Repair, list[Cause]] = {}
    finder = _Finder(client, queue_arn)
    for group in groups:
        with suppress(ClientError):
            for repair, mends in finder.of(group):
                causes = found.setdefault(repair, [])
                if mends:
                    causes.append(group.cause)
    return [Found(repair, tuple(causes)) for repair, causes in found.items()]


_Pairs = Iterator[tuple[Repair, bool]]
"""Repairs, each with whether the letters of the group can go back then."""


class _Finder:
    def __init__(self, client: Client, queue_arn: str) -> None:
        self._client = client
        self._queue_arn = queue_arn

    def of(self, group: Group) -> _Pairs:
        """The repairs for the letters of a group. Errors: ClientError."""
        find = self._finding.get(group.cause.origin)
        if find is not None and group.cause.source_arn:
            yield from find(self, group)

    def _queue(self, group: Group) -> _Pairs:
        # SQS itself has written which queue the letter came from.
        for mapping in self._mappings(group.cause.source_arn):
            yield from self._read(mapping)

    def _stream(self, group: Group) -> _Pairs:
        for mapping in self._mappings(group.cause.source_arn):
            if on_failure(mapping) == self._queue_arn:
                yield from self._read(mapping)

    def _read(self, mapping: Any) -> _Pairs:
        """What keeps a mapping from reading its source."""
        if mapping.get("State") == "Disabled":
            yield Repair(Kind.ENABLE_MAPPING, mapping["UUID"], mapping["EventSourceArn"]), False
        yield from self._concurrency(mapping["FunctionArn"])

    def _mappings(self, source_arn: str) -> Iterator[Any]:
        for page in self._client("lambda").get_paginator("list_event_source_mappings").paginate(
            EventSourceArn=source_arn
        ):  # fmt: skip
            yield from page["EventSourceMappings"]

    def _function(self, group: Group) -> _Pairs:
        name = function_name(group.cause.source_arn)
        pages = self._client("lambda").get_paginator("list_function_event_invoke_configs").paginate(FunctionName=name)
        configs = [one for page in pages for one in page["FunctionEventInvokeConfigs"]]
        if any(on_failure(one) == self._queue_arn for one in configs):
            yield from self._concurrency(group.cause.source_arn)

    def _rule(self, group: Group) -> _Pairs:
        bus, name = rule_of(group.cause.source_arn)
        events = self._client("events")
        targets = [
            target
            for page in events.get_paginator("list_targets_by_rule").paginate(Rule=name, EventBusName=bus)
            for target in page["Targets"]
            if target.get("DeadLetterConfig", {}).get("Arn") == self._queue_arn
        ]
        if not targets:
            return
        if events.describe_rule(Name=name, EventBusName=bus).get("State") == "DISABLED":
            yield Repair(Kind.ENABLE_RULE, group.cause.source_arn), False
        for target in targets:
            if not target.get("RoleArn"):
                yield from self._allowed(group, target["Arn"])
            yield from self._concurrency(target["Arn"])

    def _schedule(self, group: Group) -> _Pairs:
        told = self._client("scheduler").get_schedule(**schedule_of(group.cause.source_arn))
        if told["Target"].get("DeadLetterConfig", {}).get("Arn") != self._queue_arn:
            return
        if told.get("State") == "DISABLED":
            yield Repair(Kind.ENABLE_SCHEDULE, group.cause.source_arn), False
        yield from self._concurrency(told["Target"]["Arn"])

    def _topic(self, group: Group) -> _Pairs:
        sns = self._client("sns")
        pages = sns.get_paginator("list_subscriptions_by_topic").paginate(TopicArn=group.cause.source_arn)
        for one in (one for page in pages for one in page["Subscriptions"]):
            if not one["SubscriptionArn"].startswith("arn:"):
                continue
            told = sns.get_subscription_attributes(SubscriptionArn=one["SubscriptionArn"])["Attributes"]
            if json.loads(told.get("RedrivePolicy") or "{}").get("deadLetterTargetArn") == self._queue_arn:
                yield from self._allowed(group, one["Endpoint"])

    def _allowed(self, group: Group, target_arn: str) -> _Pairs:
        """What the target's policy lacks, if letters say that it refuses their source."""
        kind = _ALLOWING.get(target_arn.split(":")[2]) if target_arn.startswith("arn:") else None
        if kind is None or group.judgement.kind not in _REFUSED:
            return
        repair = Repair(kind, target_arn, group.cause.source_arn)
        if not is_allowed(self._client, repair):
            yield repair, True

    def _concurrency(self, arn: str) -> _Pairs:
        if arn.split(":")[2:3] == ["lambda"]:
            name = function_name(arn)
            told = self._client("lambda").get_function_concurrency(FunctionName=name)
            if told.get("ReservedConcurrentExecutions") == 0:
                yield Repair(Kind.LIFT_CONCURRENCY, ":".join(arn.split(":")[:7])), True

    _finding: Mapping[Origin, Callable[[_Finder, Group], _Pairs]] = {
        Origin.QUEUE: _queue, Origin.STREAM: _stream, Origin.DESTINATION: _function,
        Origin.RULE: _rule, Origin.SCHEDULE: _schedule, Origin.SUBSCRIPTION: _topic,
    }  # fmt: skip


_REFUSED = frozenset({Class.PERMISSION, Class.CONFIGURATION})
"""SQS says of a queue that it does not exist, or that it may not be used: both are one sentence."""

_ALLOWING = {"sqs": Kind.ALLOW_QUEUE, "sns": Kind.ALLOW_TOPIC, "lambda": Kind.ALLOW_FUNCTION}


def is_allowed(client: Client, repair: Repair) -> bool:
    """Whether a policy names the source of a repair already. Errors: ClientError."""
    return any(repair.source in json.dumps(one) for one in statements(client, repair))


def statements(client: Client, repair: Repair) -> list[Document]:
    """The statements of the policy that a repair changes. Errors: ClientError."""
    text = policy_text(client, repair)
    found = json.loads(text).get("Statement", []) if text else []
    return list(found) if isinstance(found, list) else [found]


def policy_text(client: Client, repair: Repair) -> str:
    """The policy that a repair changes; empty if there is none. Errors: ClientError."""
    match repair.kind:
        case Kind.ALLOW_QUEUE:
            sqs = client("sqs")
            told = sqs.get_queue_attributes(QueueUrl=url_of_queue(sqs, repair.resource), AttributeNames=["Policy"])
            return str(told.get("Attributes", {}).get("Policy", ""))
        case Kind.ALLOW_TOPIC:
            told = client("sns").get_topic_attributes(TopicArn=repair.resource)
            return str(told["Attributes"].get("Policy", ""))
    try:
        return str(client("lambda").get_policy(FunctionName=repair.resource)["Policy"])
    except ClientError as error:
        if error.response["Error"].get("Code") != "ResourceNotFoundException":
            raise
        return ""


def principal_of(repair: Repair) -> str:
    """The service that is allowed: EventBridge for a rule, SNS for a topic."""
    return TOPICS if repair.source.split(":")[2] == "sns" else RULES


def schedule_of(arn: str) -> dict[str, str]:
    """The names of a schedule and its group, as the operations of Scheduler take them."""
    group, _, name = arn.partition(":schedule/")[2].partition("/")
    return {"GroupName": group, "Name": name}


def function_name(arn: str) -> str:
    """The name of a function, without its version or alias."""
    return arn.split(":")[6]
