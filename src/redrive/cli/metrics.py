"""`redrive metrics list|get|dashboard`: shows metrics as small charts. The same on a server and on AWS."""

from __future__ import annotations

import click

from redrive.cli.metrics_dashboard import dashboard
from redrive.cli.metrics_get import get
from redrive.cli.metrics_list import list_metrics


@click.group()
def command() -> None:
    """List metrics, and draw them and dashboards as small charts."""


for _command in (list_metrics, get, dashboard):
    command.add_command(_command)
