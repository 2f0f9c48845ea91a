"""`redrive events tail|explain|test|send|resend`: shows events and the rules that they match, and sends events."""

from __future__ import annotations

import click

from redrive.cli.events_explain import explain
from redrive.cli.events_resend import resend
from redrive.cli.events_send import send
from redrive.cli.events_tail import tail
from redrive.cli.events_test import test


@click.group()
def command() -> None:
    """Show events and the rules that they match, say why one does not match, and send events."""


for _command in (tail, explain, test, send, resend):
    command.add_command(_command)
