"""What the commands on dead-letter queues share: the queue that is meant, a look at it, and a letter as JSON."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import click
from botocore.exceptions import ClientError

from redrive.cli.clients import Place
from redrive.core.clock import Instant, SystemClock
from redrive.core.errors import UserError
from redrive.deadletters.causes import Cause
from redrive.deadletters.letter import Letter, name_of
from redrive.deadletters.letter_files import shown
from redrive.deadletters.peek import WAIT_S_ON_AWS, Depth, Look, depth_of, hidden_s_for, looking
from redrive.deadletters.sources import readers_of

DAYS_KEPT = 14

__all__ = ["clock_of", "counted", "error_shown", "look_at", "name_of", "queue_argument", "queue_url", "shown"]

queue_argument = click.argument("queue")


def queue_url(sqs: Any, queue: str) -> str:
    """The URL of a queue, by URL, name or ARN. Errors: UserError if there is none of this name."""
    if "://" in queue:
        return queue
    try:
        return str(sqs.get_queue_url(QueueName=queue.rsplit(":", 1)[-1])["QueueUrl"])
    except ClientError as error:
        raise UserError(f"There is no queue {queue}.", next_step="See all: redrive dlq list", exit_code=2) from error


@contextmanager
def look_at(place: Place, queue: str, most: int | None = None) -> Iterator[tuple[Look, Depth]]:
    """A look at a queue, and how much is in it. Says on stderr what will not be seen. Errors: UserError."""
    sqs = place.client("sqs")
    url = queue_url(sqs, queue)
    depth = depth_of(sqs, url)
    if depth.hidden:
        click.echo(f"{depth.hidden} letters are hidden: somebody has received them. They are not read.", err=True)
    for reader in readers_of(place.client, depth.arn):
        click.echo(
            f"Function {reader['name']} reads this queue: a letter for which it returns without an error\n"
            "is deleted, whether or not it was sent on. Stop it while you work:\n"
            f"  aws lambda update-event-source-mapping --no-enabled --uuid {reader['arn']}",
            err=True,
        )
    if depth.is_fifo:
        click.echo("Of each group of this FIFO queue only the first letters can be read.", err=True)
    count = depth.visible if most is None else min(depth.visible, most)
    wait_s = WAIT_S_ON_AWS if place.is_aws else 0
    with looking(sqs, url, hidden_s=hidden_s_for(count), now=clock_of(place), wait_s=wait_s) as look:
        yield look, depth


def counted(letters: Iterator[Letter], length: int, label: str) -> Iterator[Letter]:
    """The letters, with a progress bar on a terminal."""
    with click.progressbar(letters, length=length, label=label, file=sys.stderr, hidden=not sys.stderr.isatty()) as bar:
        yield from bar


def error_shown(cause: Cause, chars_max: int) -> str:
    """The code and the message of a cause, in one line that may be cut."""
    error = " ".join(": ".join(filter(None, (cause.code, cause.message))).split())
    return error if len(error) <= chars_max else f"{error[: chars_max - 1]}…"


def clock_of(place: Place) -> Callable[[], Instant]:
    """The time of the place: a server's clock may be virtual, and then it stands still while the letters are read."""
    difference = place.now() - SystemClock().now()
    return functools.partial(_shifted, difference)


def _shifted(difference: int) -> Instant:
    return SystemClock().now() + difference
