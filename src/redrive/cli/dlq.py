"""`redrive dlq`: reads dead-letter queues, says why their letters are there, and brings them back."""

from __future__ import annotations

import click

from redrive.cli.dlq_check import check
from redrive.cli.dlq_discard import discard
from redrive.cli.dlq_export import export
from redrive.cli.dlq_list import list_queues
from redrive.cli.dlq_plan import plan
from redrive.cli.dlq_recover import recover
from redrive.cli.dlq_redrive import redrive
from redrive.cli.dlq_runbook import print_runbook
from redrive.cli.dlq_show import show
from redrive.cli.dlq_triage import triage
from redrive.cli.dlq_undo import undo


@click.group()
def command() -> None:
    """Read and empty dead-letter queues of every kind, on a server and with --aws on AWS.

    QUEUE is the name, the URL or the ARN of a queue. Reading hides the letters while it lasts and shows them again;
    each time counts as a receive.
    """


for _command in (list_queues, show, triage, print_runbook, check, export, plan, redrive, recover, discard, undo):
    command.add_command(_command)
