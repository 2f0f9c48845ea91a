"""`redrive dlq list|show|triage|check|export`: reads dead-letter queues, and says why their letters are there."""

from __future__ import annotations

import click

from redrive.cli.dlq_check import check
from redrive.cli.dlq_export import export
from redrive.cli.dlq_list import list_queues
from redrive.cli.dlq_show import show
from redrive.cli.dlq_triage import triage


@click.group()
def command() -> None:
    """Read dead-letter queues of every kind, on a server and with --aws on AWS.

    QUEUE is the name, the URL or the ARN of a queue. Reading hides the letters while it lasts and shows them again;
    each time counts as a receive.
    """


for _command in (list_queues, show, triage, check, export):
    command.add_command(_command)
