"""`redrive reset`: deletes everything that a server holds."""

from __future__ import annotations

import click

from redrive.cli.consent import require_consent
from redrive.cli.endpoint import ask, endpoint_option
from redrive.cli.output import json_option, print_json, wants_json


@click.command()
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@json_option
@endpoint_option
def command(yes: bool, as_json: bool, endpoint_url: str) -> None:
    """Have a server forget everything that it holds: queues, functions, stacks, messages, runs. Its clock stays.

    Asks before. Exit code 4 if nobody is there to be asked.
    """
    health = ask(endpoint_url, "health")
    if not yes:
        require_consent(f"forget everything that {endpoint_url} holds, in {health['store']}", "redrive reset --yes")
    answer = ask(endpoint_url, "reset", {})
    if wants_json(as_json):
        print_json(answer)
    else:
        click.echo(f"{endpoint_url} has forgotten everything. Its clock stands at {answer['now']}.")
