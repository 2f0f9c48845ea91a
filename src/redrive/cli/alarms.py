"""`redrive alarms list|show|test`: alarms, their points, and when one would have fired. The same on AWS."""

from __future__ import annotations

import click

from redrive.cli.alarms_list import list_alarms
from redrive.cli.alarms_show import show
from redrive.cli.alarms_test import test


@click.group()
def command() -> None:
    """Show alarms and the points that they evaluate, and test one against history."""


for _command in (list_alarms, show, test):
    command.add_command(_command)
