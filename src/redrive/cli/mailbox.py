"""`redrive mailbox list|show|wait`: the e-mail and text messages that SNS would have sent."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Sequence

import click
from rich.console import Console
from rich.table import Table

from redrive.cli.clock import output_option
from redrive.cli.durations import Duration
from redrive.cli.endpoint import endpoint_option
from redrive.cli.surface import Mail, Surface
from redrive.core.clock import monotonic_ms

LOOK_EVERY_S = 0.2
FINDING = 1

_address_option = click.option("--address", help="Only mail to this address or phone number.")


@click.group()
def command() -> None:
    """Show the e-mail and text messages that topics would have sent. Nothing leaves this machine."""


@command.command("list")
@_address_option
@endpoint_option
@output_option
def list_all(address: str | None, endpoint_url: str, output: str) -> None:
    """List the captured mail, oldest first."""
    _tell(_all_mail(Surface(endpoint_url), address, None), output)


@command.command()
@click.argument("mail_id", metavar="ID")
@endpoint_option
@output_option
def show(mail_id: str, endpoint_url: str, output: str) -> None:
    """Show the mail ID, with its whole text and the link that confirms a subscription."""
    mail = Surface(endpoint_url).get_mail(id=mail_id)
    if output == "json":
        click.echo(json.dumps(mail))
        return
    for name, value in mail.items():
        if value and name not in ("id", "text"):
            click.echo(f"{name}: {value}")
    click.echo("")
    click.echo(mail["text"])


@command.command()
@_address_option
@click.option("--after", help="The id of a mail: wait for one that came later.")
@click.option("--timeout", type=Duration(), default="30s", show_default=True, help="Wait no longer than this.")
@endpoint_option
@output_option
def wait(address: str | None, after: str | None, timeout: float, endpoint_url: str, output: str) -> None:
    """Wait until there is mail, and list it. Exit code 1 if none comes."""
    server = Surface(endpoint_url)
    until = monotonic_ms() + timeout * 1_000
    while not (found := _all_mail(server, address, after)):
        if monotonic_ms() >= until:
            click.echo("No mail has come. What was published shows: redrive runs list", err=True)
            sys.exit(FINDING)
        threading.Event().wait(LOOK_EVERY_S)
    _tell(found, output)


def _all_mail(server: Surface, address: str | None, after: str | None) -> Sequence[Mail]:
    found: list[Mail] = []
    while True:
        answer = server.list_mail(address=address, after=after)
        found += answer["mail"]
        after = answer["after"]
        if after is None:
            return found


def _tell(found: Sequence[Mail], output: str) -> None:
    if output == "json":
        click.echo(json.dumps(found))
        return
    if not found:
        click.echo("There is no mail. Subscribe an address: aws sns subscribe --protocol email …", err=True)
        return
    table = Table("id", "at", "to", "subject", "text")
    for mail in found:
        text = mail["link"] or mail["text"]
        table.add_row(mail["id"], mail["at"], mail["address"], mail["subject"], text[:200])
    Console().print(table)
