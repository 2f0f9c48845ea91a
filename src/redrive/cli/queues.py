"""`redrive queues`: shows the contents of queues, and the sources of dead letters. The same on a server and on AWS."""

from __future__ import annotations

import json
from typing import Any

import click

from redrive.cli.clients import Place, place_options
from redrive.cli.output import json_option, print_json, print_table, span, wants_json
from redrive.core.clock import SECOND_MS
from redrive.core.errors import UserError
from redrive.deadletters.sources import DeadLetterSources, find_sources

AGE_METRIC = "ApproximateAgeOfOldestMessage"
AGE_LOOKS_BACK_S = 15 * 60
"""A queue with messages is measured each minute; AWS may show the value some minutes later."""

METRICS_AT_ONCE_MAX = 500
"""The most queries that GetMetricData takes."""

NUMBERS = ("waiting", "in flight", "delayed", "oldest")


@click.command()
@click.argument("queue", required=False)
@json_option
@place_options
def command(queue: str | None, as_json: bool, place: Place) -> None:
    """Show the queues: messages waiting, in flight and delayed, the age of the oldest, and whose dead letters they are.

    QUEUE is the beginning of a name; without it all queues of the region are shown. Dead letters come from queues
    (their redrive policies), schedules, and functions and their event sources.
    """
    sqs = place.client("sqs")
    pages = sqs.get_paginator("list_queues").paginate(**({"QueueNamePrefix": queue} if queue else {}))
    urls = [url for page in pages for url in page.get("QueueUrls", [])]
    if not urls and queue:
        step = f"See all: redrive queues{place.options}"
        raise UserError(
            f"No queue of {place.region_shown} has a name that begins with {queue}.", next_step=step, exit_code=2
        )
    told = [sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["All"])["Attributes"] for url in urls]
    ages = _ages_s(place, [_name(attributes) for attributes in told])
    sources = find_sources(place.client, {url: one["QueueArn"] for url, one in zip(urls, told, strict=True)})
    found = [_document(url, attributes, ages, sources) for url, attributes in zip(urls, told, strict=True)]
    if wants_json(as_json):
        print_json({"queues": found, "not_asked": sources.refused})
        return
    if not found:
        click.echo(f"There are no queues in {place.region_shown}. Make some with: redrive deploy TEMPLATE", err=True)
    else:
        print_table(("queue", *NUMBERS, "dead letters"), [_row(one) for one in found], right=NUMBERS)
    for service, why in sources.refused.items():
        click.echo(f"Whose dead letters they are was not asked of {service}: {why}", err=True)
    _tell_next(found, place)


def _document(url: str, attributes: Any, ages: dict[str, int], sources: DeadLetterSources) -> dict[str, Any]:
    policy = json.loads(attributes.get("RedrivePolicy") or "{}")
    return {
        "name": _name(attributes),
        "url": url,
        "arn": attributes["QueueArn"],
        "waiting": int(attributes["ApproximateNumberOfMessages"]),
        "in_flight": int(attributes["ApproximateNumberOfMessagesNotVisible"]),
        "delayed": int(attributes["ApproximateNumberOfMessagesDelayed"]),
        "oldest_s": ages.get(_name(attributes)),
        "dead_letters_to": policy.get("deadLetterTargetArn"),
        "max_receive_count": int(policy["maxReceiveCount"]) if policy else None,
        "dead_letters_of": sources.of(attributes["QueueArn"]),
    }


def _name(attributes: Any) -> str:
    return str(attributes["QueueArn"]).rsplit(":", 1)[-1]


def _row(queue: dict[str, Any]) -> tuple[str, ...]:
    age = "" if queue["oldest_s"] is None else span(queue["oldest_s"] * SECOND_MS)
    notes = [f"of {one['kind']} {one['name']}" for one in queue["dead_letters_of"]]
    if queue["dead_letters_to"]:
        target = queue["dead_letters_to"].rsplit(":", 1)[-1]
        notes.append(f"to {target} after {queue['max_receive_count']} receives")
    return queue["name"], str(queue["waiting"]), str(queue["in_flight"]), str(queue["delayed"]), age, "\n".join(notes)


def _ages_s(place: Place, names: list[str]) -> dict[str, int]:
    """The age of the oldest message by queue, from CloudWatch's latest value; queues without messages have none."""
    now_s = place.now() // SECOND_MS
    cloudwatch = place.client("cloudwatch")
    ages: dict[str, int] = {}
    for first in range(0, len(names), METRICS_AT_ONCE_MAX):
        some = names[first : first + METRICS_AT_ONCE_MAX]
        pages = cloudwatch.get_paginator("get_metric_data").paginate(
            MetricDataQueries=[_age_query(place_of, name) for place_of, name in enumerate(some)],
            StartTime=now_s - AGE_LOOKS_BACK_S, EndTime=now_s + 60, ScanBy="TimestampDescending",
        )  # fmt: skip
        for result in (result for page in pages for result in page["MetricDataResults"]):
            if result["Values"]:
                ages.setdefault(some[int(result["Id"][1:])], int(result["Values"][0]))
    return ages


def _age_query(number: int, name: str) -> dict[str, Any]:
    metric = {"Namespace": "AWS/SQS", "MetricName": AGE_METRIC, "Dimensions": [{"Name": "QueueName", "Value": name}]}
    return {"Id": f"q{number}", "MetricStat": {"Metric": metric, "Period": 60, "Stat": "Maximum"}}


def _tell_next(found: list[dict[str, Any]], place: Place) -> None:
    """Print how to redrive dead letters of queues, if there are any."""
    for queue in found:
        if queue["waiting"] and any(one["kind"] == "queue" for one in queue["dead_letters_of"]):
            endpoint = "" if place.is_aws else f" --endpoint-url {place.endpoint_url}"
            task = f"aws sqs start-message-move-task --source-arn {queue['arn']}{endpoint}"
            click.echo(f"Move the messages of {queue['name']} back with: {task}", err=True)
