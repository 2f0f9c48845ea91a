"""`redrive dlq list`: the dead-letter queues, what is in them, and who writes into them."""

from __future__ import annotations

from typing import Any

import click

from redrive.cli.clients import Place, place_options
from redrive.cli.output import json_option, print_json, print_table, wants_json
from redrive.deadletters.peek import depth_of
from redrive.deadletters.sources import find_sources


@click.command("list")
@json_option
@place_options
def list_queues(as_json: bool, place: Place) -> None:
    """List the dead-letter queues: their letters, and whose dead letters they are.

    Queues, schedules, rules, functions, their destinations, mappings from streams and subscriptions name them.
    """
    sqs = place.client("sqs")
    urls = _queues(sqs)
    sources = find_sources(place.client, urls)
    by_arn = {arn: url for url, arn in urls.items()}
    found = [_told(sqs, by_arn[arn], arn, of) for arn, of in sorted(sources.by_queue.items()) if arn in by_arn]
    elsewhere = sorted(arn for arn in sources.by_queue if arn not in by_arn)
    if wants_json(as_json):
        print_json({"queues": found, "elsewhere": elsewhere, "not_asked": sources.refused})
        return
    for service, why in sources.refused.items():
        click.echo(f"Whose dead letters they are was not asked of {service}: {why}", err=True)
    if not found:
        click.echo(f"Nothing in {place.region_shown} names a dead-letter queue.", err=True)
        return
    rows = [(one["name"], str(one["letters"]), str(one["hidden"]), "\n".join(_of(one))) for one in found]
    print_table(("queue", "letters", "hidden", "of"), rows, right=("letters", "hidden"))
    for arn in elsewhere:
        click.echo(f"Failures also go to {arn}, which is no queue that can be listed here.", err=True)
    fullest = max(found, key=lambda one: one["letters"])
    if fullest["letters"]:
        click.echo(f"  Why they are there: redrive dlq triage {fullest['name']}{place.options}", err=True)


def _queues(sqs: Any) -> dict[str, str]:
    """The ARNs of all queues by their URLs."""
    pages = sqs.get_paginator("list_queues").paginate()
    urls = [url for page in pages for url in page.get("QueueUrls", [])]
    names = ["QueueArn"]
    return {url: sqs.get_queue_attributes(QueueUrl=url, AttributeNames=names)["Attributes"]["QueueArn"] for url in urls}


def _told(sqs: Any, url: str, arn: str, sources: list[dict[str, str]]) -> dict[str, Any]:
    depth = depth_of(sqs, url)
    return {
        "name": arn.rsplit(":", 1)[-1], "arn": arn, "url": url, "letters": depth.visible, "hidden": depth.hidden,
        "of": sources,
    }  # fmt: skip


def _of(queue: dict[str, Any]) -> list[str]:
    return [f"{one['kind']} {one['name']}" for one in queue["of"]]
