"""`redrive dlq list`: the dead-letter queues, what is in them, and who writes into them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from redrive.cli.clients import Place, named_place_options
from redrive.cli.output import json_option, print_json, print_table, wants_json
from redrive.core.errors import UserError
from redrive.deadletters.peek import depth_of
from redrive.deadletters.sources import find_sources, readers_of
from redrive.deadletters.templates import TemplateQueue, sources_in


@click.command("list")
@click.option(
    "--template", type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="List the queues that this template declares; no server is asked.",
)  # fmt: skip
@click.option("--stack", metavar="NAME", help="With --template: the stack that was made from it, with its letters.")
@json_option
@named_place_options
def list_queues(template: Path | None, stack: str | None, as_json: bool, place: Place) -> None:
    """List the dead-letter queues: their letters, and whose dead letters they are.

    Queues, schedules, rules, functions, their destinations, mappings from streams and subscriptions name them.
    """
    if template is not None:
        _list_declared(template.read_text("utf-8", "replace"), stack, as_json, place)
        return
    if stack is not None:
        raise UserError("--stack needs the template of the stack.", next_step="Add --template FILE", exit_code=2)
    place.check()
    sqs = place.client("sqs")
    urls = _queues(sqs)
    sources = find_sources(place.client, urls)
    by_arn = {arn: url for url, arn in urls.items()}
    found = [
        _told(sqs, by_arn[arn], arn, of, _readers(place, arn))
        for arn, of in sorted(sources.by_queue.items())
        if arn in by_arn
    ]
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
    for one in (one for one in found if one["read_by"]):
        click.echo(f"{one['name']} is read by {', '.join(one['read_by'])}: its letters go as that function answers.")
    for arn in elsewhere:
        click.echo(f"Failures also go to {arn}, which is no queue that can be listed here.", err=True)
    fullest = max(found, key=lambda one: one["letters"])
    if fullest["letters"]:
        click.echo(f"  Why they are there: redrive dlq triage {fullest['name']}{place.options}", err=True)


def _list_declared(template: str, stack: str | None, as_json: bool, place: Place) -> None:
    """What a template declares, and with a stack what is in its queues."""
    found = sources_in(template)
    urls = {} if stack is None else _urls_of(place, stack)
    told = [_declared(one, urls.get(one.logical_id), place) for one in found.queues]
    if wants_json(as_json):
        print_json({"queues": told, "elsewhere": {name: list(of) for name, of in found.elsewhere.items()}})
        return
    if not told:
        click.echo("The template declares no queue that gets dead letters.", err=True)
    else:
        rows = [
            (one["logical_id"], one["name"] or "", "" if one["letters"] is None else str(one["letters"]),
             "\n".join(_of(one)))
            for one in told
        ]  # fmt: skip
        print_table(("declared as", "queue", "letters", "of"), rows, right=("letters",))
    for name, of in found.elsewhere.items():
        who = ", ".join(f"{one['kind']} {one['name']}" for one in of)
        click.echo(f"Failures of {who} go to {name}, which the template does not declare as a queue.", err=True)


def _urls_of(place: Place, stack: str) -> dict[str, str]:
    """The URLs of a stack's queues by their logical ids. Errors: ClientError if there is no such stack."""
    place.check()
    resources = place.client("cloudformation").describe_stack_resources(StackName=stack)["StackResources"]
    return {
        one["LogicalResourceId"]: one["PhysicalResourceId"]
        for one in resources
        if one["ResourceType"] == "AWS::SQS::Queue" and "PhysicalResourceId" in one
    }


def _declared(queue: TemplateQueue, url: str | None, place: Place) -> dict[str, Any]:
    depth = None if url is None else depth_of(place.client("sqs"), url)
    return {
        "logical_id": queue.logical_id, "name": queue.name or (url or "").rpartition("/")[2] or None, "url": url,
        "letters": None if depth is None else depth.visible, "hidden": None if depth is None else depth.hidden,
        "of": list(queue.sources),
    }  # fmt: skip


def _queues(sqs: Any) -> dict[str, str]:
    """The ARNs of all queues by their URLs."""
    pages = sqs.get_paginator("list_queues").paginate()
    urls = [url for page in pages for url in page.get("QueueUrls", [])]
    names = ["QueueArn"]
    return {url: sqs.get_queue_attributes(QueueUrl=url, AttributeNames=names)["Attributes"]["QueueArn"] for url in urls}


def _told(sqs: Any, url: str, arn: str, sources: list[dict[str, str]], readers: list[str]) -> dict[str, Any]:
    depth = depth_of(sqs, url)
    return {
        "name": arn.rsplit(":", 1)[-1], "arn": arn, "url": url, "letters": depth.visible, "hidden": depth.hidden,
        "of": sources, "read_by": readers,
    }  # fmt: skip


def _readers(place: Place, arn: str) -> list[str]:
    return [one["name"] for one in readers_of(place.client, arn)]


def _of(queue: dict[str, Any]) -> list[str]:
    return [f"{one['kind']} {one['name']}" for one in queue["of"]]
