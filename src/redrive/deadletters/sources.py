"""The sources of dead letters: every setting that names a queue for them.

Queues, schedules, rules, functions and their destinations, mappings, and subscriptions of topics; and rules that send
the events of executions that failed to a queue.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from botocore.exceptions import ClientError

from redrive.deadletters.envelopes import STATUS_CHANGE

Source = dict[str, str]
"""`kind`, `name` and `arn` of a resource with a dead-letter queue; of a subscription its `endpoint`, too."""

Client = Callable[[str], Any]
"""Makes the boto3 client of a service."""

_Found = Iterator[tuple[str, Source]]


@dataclass(slots=True)
class DeadLetterSources:
    """By the ARN of a queue: the sources of its dead letters. `refused` has the services that refused, and why."""

    by_queue: dict[str, list[Source]] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)

    def of(self, queue_arn: str) -> list[Source]:
        """The sources of a queue's dead letters."""
        return self.by_queue.get(queue_arn, [])


def find_sources(client: Client, queues: Mapping[str, str]) -> DeadLetterSources:
    """Ask each service; `queues` are the ARNs of the queues by their URLs.

    A service that refuses is left out: a user who may list queues may not be allowed to list functions.
    """
    found = DeadLetterSources()
    finders: dict[str, Callable[[], _Found]] = {
        "sqs": lambda: _of_queues(client("sqs"), queues),
        "scheduler": lambda: _of_schedules(client("scheduler")),
        "events": lambda: _of_rules(client("events")),
        "lambda": lambda: _of_functions(client("lambda")),
        "sns": lambda: _of_subscriptions(client("sns")),
    }
    for service, finder in finders.items():
        try:
            for queue_arn, source in finder():
                found.by_queue.setdefault(queue_arn, []).append(source)
        except ClientError as error:
            found.refused[service] = error.response["Error"].get("Message", str(error))
    if "sns" not in found.refused:
        _pass_on(client("sns"), found)
    return found


def _pass_on(sns: Any, found: DeadLetterSources) -> None:
    """What goes to a topic comes to the queues that have subscribed to it."""
    for arn in [arn for arn in found.by_queue if arn.split(":")[2] == "sns"]:
        for page in sns.get_paginator("list_subscriptions_by_topic").paginate(TopicArn=arn):
            for one in (one for one in page["Subscriptions"] if one["Protocol"] == "sqs"):
                found.by_queue.setdefault(one["Endpoint"], []).extend(found.by_queue[arn])


def _of_queues(sqs: Any, queues: Mapping[str, str]) -> _Found:
    for url, arn in queues.items():
        pages = sqs.get_paginator("list_dead_letter_source_queues").paginate(QueueUrl=url)
        for name in (source.rsplit("/", 1)[-1] for page in pages for source in page["queueUrls"]):
            yield arn, _source("queue", name, f"{arn.rsplit(':', 1)[0]}:{name}")


def _of_schedules(scheduler: Any) -> _Found:
    pages = scheduler.get_paginator("list_schedules").paginate()
    for one in (one for page in pages for one in page["Schedules"]):
        schedule = scheduler.get_schedule(Name=one["Name"], GroupName=one["GroupName"])
        queue_arn = schedule["Target"].get("DeadLetterConfig", {}).get("Arn")
        if queue_arn:
            name = one["Name"] if one["GroupName"] == "default" else f"{one['GroupName']}/{one['Name']}"
            yield queue_arn, _source("schedule", name, one["Arn"])


def _of_rules(events: Any) -> _Found:
    for bus in _buses(events):
        for rule in (
            rule for page in events.get_paginator("list_rules").paginate(EventBusName=bus) for rule in page["Rules"]
        ):
            name = rule["Name"] if bus == "default" else f"{bus}/{rule['Name']}"
            targets = events.get_paginator("list_targets_by_rule").paginate(Rule=rule["Name"], EventBusName=bus)
            for target in (target for page in targets for target in page["Targets"]):
                queue_arn = target.get("DeadLetterConfig", {}).get("Arn")
                if queue_arn:
                    yield queue_arn, _source("rule", name, rule["Arn"])
                if STATUS_CHANGE in rule.get("EventPattern", "") and ":sqs:" in target["Arn"]:
                    yield target["Arn"], _source("executions of rule", name, rule["Arn"])


def readers_of(client: Client, queue_arn: str) -> list[Source]:
    """The functions that read a queue by enabled mappings; `arn` is the mapping's id. None are told if none may be."""
    try:
        pages = client("lambda").get_paginator("list_event_source_mappings").paginate(EventSourceArn=queue_arn)
        return [
            _source("function", mapping["FunctionArn"].split(":")[6], mapping["UUID"])
            for page in pages
            for mapping in page["EventSourceMappings"]
            if mapping.get("State") not in {"Disabled", "Disabling"}
        ]
    except ClientError:
        return []


def url_of_queue(sqs: Any, arn: str) -> str:
    """The URL of a queue. Errors: ClientError."""
    *_, account, name = arn.split(":")
    return str(sqs.get_queue_url(QueueName=name, QueueOwnerAWSAccountId=account)["QueueUrl"])


def rule_of(arn: str) -> tuple[str, str]:
    """The bus and the name of a rule, by its ARN."""
    *bus, name = arn.partition(":rule/")[2].split("/")
    return "/".join(bus) or "default", name


def _buses(events: Any) -> Iterator[str]:
    """The names of all buses. Boto3 has no paginator for them."""
    after: dict[str, str] = {}
    while True:
        page = events.list_event_buses(**after)
        yield from (bus["Name"] for bus in page["EventBuses"])
        if not page.get("NextToken"):
            return
        after = {"NextToken": page["NextToken"]}


def _of_functions(functions: Any) -> _Found:
    for page in functions.get_paginator("list_functions").paginate():
        for one in page["Functions"]:
            source = _source("function", one["FunctionName"], one["FunctionArn"])
            queue_arn = one.get("DeadLetterConfig", {}).get("TargetArn")
            if queue_arn:
                yield queue_arn, source
            invoked = functions.get_paginator("list_function_event_invoke_configs")
            for config in (
                config
                for configs in invoked.paginate(FunctionName=one["FunctionName"])
                for config in configs["FunctionEventInvokeConfigs"]
            ):
                destination = on_failure(config)
                if destination:
                    yield destination, source
    for page in functions.get_paginator("list_event_source_mappings").paginate():
        for mapping in page["EventSourceMappings"]:
            destination = on_failure(mapping)
            if destination:
                function = mapping["FunctionArn"].rsplit(":", 1)[-1]
                event_source = mapping.get("EventSourceArn", "").rsplit(":", 1)[-1]
                yield destination, _source("mapping", f"{event_source} to {function}", mapping["UUID"])


def _of_subscriptions(sns: Any) -> _Found:
    for page in sns.get_paginator("list_subscriptions").paginate():
        for one in (one for one in page["Subscriptions"] if one["SubscriptionArn"].startswith("arn:")):
            told = sns.get_subscription_attributes(SubscriptionArn=one["SubscriptionArn"])["Attributes"]
            queue_arn = json.loads(told.get("RedrivePolicy") or "{}").get("deadLetterTargetArn")
            if queue_arn:
                name = f"{one['TopicArn'].rsplit(':', 1)[-1]} to {one['Endpoint'].rsplit(':', 1)[-1]}"
                yield queue_arn, _source("subscription", name, one["TopicArn"]) | {"endpoint": one["Endpoint"]}


def on_failure(settings: Any) -> str | None:
    """Where a function or a mapping sends what has failed; None if it names nothing."""
    destination = (settings.get("DestinationConfig") or {}).get("OnFailure", {}).get("Destination")
    return None if destination is None else str(destination)


def _source(kind: str, name: str, arn: str) -> Source:
    return {"kind": kind, "name": name, "arn": arn}
