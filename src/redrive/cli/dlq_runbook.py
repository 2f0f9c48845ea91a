"""`redrive dlq runbook`: the letters of a queue by cause in Markdown, with what to do about each."""

from __future__ import annotations

import click

from redrive.cli.clients import Place, place_options
from redrive.cli.letter_logs import logs_option, triaged
from redrive.cli.reading_letters import queue_argument
from redrive.deadletters.runbook import runbook


@click.command("runbook")
@queue_argument
@click.option("-n", "--count", type=click.IntRange(min=1), help="At most so many letters.  [default: all]")
@logs_option
@place_options
def print_runbook(queue: str, count: int | None, with_logs: bool, place: Place) -> None:
    """Print a runbook in Markdown: for each cause what it is, what to do, and the commands for that."""
    found = triaged(place, queue, with_logs=with_logs, count=count)
    click.echo(runbook(queue, found, place.now(), logs=with_logs, options=place.options), nl=False)
