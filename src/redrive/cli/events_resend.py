"""`redrive events resend`: sends the events of a dead-letter queue to their bus again. The same on AWS."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click
from botocore.exceptions import ClientError

from redrive.cli.clients import Place, place_options
from redrive.cli.events_send import rate_option, tell_sources
from redrive.cli.output import json_option, print_json, print_table, wants_json
from redrive.cli.resending import Journal, Letter, Resending, Resent, Rewriting, look
from redrive.core.documents import Document
from redrive.core.errors import UserError
from redrive.handler.events import put_events
from redrive.handler.rate import TokenBucket

FINDING, REFUSED = 1, 4
WAIT_S_ON_AWS = 2
"""A receive that does not wait may miss messages on AWS, which has many machines. A server has one."""

SHOWN_MAX = 20


@click.command()
@click.option("--queue", required=True, metavar="URL", help="The dead-letter queue: its URL or its name.")
@click.option("--bus", metavar="BUS", help="The bus; otherwise that of the rule in the letter, or the default bus.")
@click.option("--source", metavar="SOURCE", help="The source of all events, in place of their own.")
@click.option("--source-prefix", default="", metavar="TEXT", help="Goes before the source: retry- makes retry-aws.s3.")
@click.option("--source-suffix", default="", metavar="TEXT", help="Goes behind the source: .retry makes shop.retry.")
@click.option("--max", "most", type=click.IntRange(min=1), metavar="N", help="At most so many messages.")
@click.option(
    "--journal", type=click.Path(dir_okay=False, path_type=Path),
    help="A file of what was accepted. Given again after a crash, no event is sent twice.",
)  # fmt: skip
@click.option("--yes", is_flag=True, help="Send. Otherwise only up to ten letters are shown, and what would be sent.")
@rate_option
@json_option
@place_options
def resend(
    queue: str, bus: str | None, source: str | None, source_prefix: str, source_suffix: str, most: int | None,
    journal: Path | None, yes: bool, rate: float, as_json: bool, place: Place,
) -> None:  # fmt: skip
    """Send the events of a dead-letter queue to the bus again, and delete from the queue what the bus has accepted.

    Without --yes nothing is sent. Sources that begin with aws. are AWS's own: rewrite them. Only entries that failed
    are sent again; what is not accepted stays in the queue. Exit code 1: something stays, 4: --yes is missing.
    """
    rewriting = Rewriting(bus, source, source_prefix, source_suffix)
    sqs = place.client("sqs")
    url = _url(sqs, queue)
    waiting = _waiting(sqs, url)
    if not yes:
        _show(look(sqs, url), rewriting, waiting, as_json)
        raise SystemExit(REFUSED)
    events, limiter = place.client("events"), TokenBucket(rate)
    resending = Resending(
        sqs, url, lambda entries: put_events(events, entries, limiter=limiter), rewriting, Journal.read(journal),
        wait_s=WAIT_S_ON_AWS if place.is_aws else 0, most=most,
    )  # fmt: skip
    length = waiting if most is None else min(waiting, most)
    with click.progressbar(length=length, label="resending", file=sys.stderr, hidden=not sys.stderr.isatty()) as bar:
        for size in resending.batches():
            bar.update(size)
    _tell(resending.result, as_json)


def _url(sqs: Any, queue: str) -> str:
    """The URL of a queue. Errors: UserError if there is none of this name."""
    if "://" in queue:
        return queue
    try:
        return str(sqs.get_queue_url(QueueName=queue.rsplit(":", 1)[-1])["QueueUrl"])
    except ClientError as error:
        raise UserError(f"There is no queue {queue}.", next_step="See all: redrive queues", exit_code=2) from error


def _waiting(sqs: Any, url: str) -> int:
    name = "ApproximateNumberOfMessages"
    return int(sqs.get_queue_attributes(QueueUrl=url, AttributeNames=[name])["Attributes"][name])


def _show(letters: list[Letter], rewriting: Rewriting, waiting: int, as_json: bool) -> None:
    """Print what would be sent."""
    entries = [{} if letter.refusal else rewriting.entry(letter) for letter in letters]
    if wants_json(as_json):
        print_json({"waiting": waiting, "shown": [_shown(*one) for one in zip(letters, entries, strict=True)]})
    elif letters:
        headings = ("message", "failed with", "source", "detail-type", "bus")
        print_table(headings, [_row(*one) for one in zip(letters, entries, strict=True)])
    click.echo(f"{waiting} messages wait. Nothing was sent; send them with --yes.", err=True)
    tell_sources(str(entry["Source"]) for entry in entries if entry)


def _shown(letter: Letter, entry: Document) -> Document:
    told: Document = {"message_id": letter.message_id, "failed_with": letter.reason or None}
    return told | ({"refusal": letter.refusal} if letter.refusal else {"entry": entry})


def _row(letter: Letter, entry: Document) -> tuple[str, ...]:
    if letter.refusal:
        return letter.message_id, letter.reason, letter.refusal, "", ""
    own = str(letter.entry["Source"])
    source = own if entry["Source"] == own else f"{own} → {entry['Source']}"
    return letter.message_id, letter.reason, source, str(entry["DetailType"]), str(entry.get("EventBusName", "default"))


def _tell(result: Resent, as_json: bool) -> None:
    if wants_json(as_json):
        print_json({"accepted": result.accepted, "deleted": result.deleted, "left": result.left})
    else:
        click.echo(f"{result.accepted} events were accepted, {result.deleted} messages deleted.")
        for one in result.left[:SHOWN_MAX]:
            click.echo(f"{one['message_id']} stays in the queue: {one['code']}: {one['message']}", err=True)
        if len(result.left) > SHOWN_MAX:
            click.echo(f"{len(result.left) - SHOWN_MAX} more stay.", err=True)
    if any(one["code"] == "NotAuthorizedForSourceException" for one in result.left):
        click.echo(
            "Only AWS may send events from aws. sources: rewrite them with --source or --source-prefix.", err=True
        )
    if result.left:
        raise SystemExit(FINDING)
