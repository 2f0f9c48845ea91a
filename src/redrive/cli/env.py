"""`redrive env`: shell settings for a server."""

from __future__ import annotations

import json
import os

import click

from redrive.cli.endpoint import endpoint_option
from redrive.core.errors import UserError
from redrive.gateway.keys import VARIABLE, read_keys

_SHELLS = {"sh": "export {name}={value}", "fish": "set -gx {name} {value};", "powershell": '$Env:{name} = "{value}"'}


@click.command()
@endpoint_option
@click.option("--account", help="The access key instead of test; 12 digits make it an account of its own.")
@click.option("--key", metavar="ID:SECRET", help="The key that the server was given; otherwise REDRIVE_KEYS's first.")
@click.option("--region", default="us-east-1", show_default=True, help="The region.")
@click.option("--shell", type=click.Choice([*_SHELLS, "json"]), default="sh", show_default=True, help="Whose syntax.")
def command(endpoint_url: str, account: str | None, key: str | None, region: str, shell: str) -> None:
    """Print the settings that point the aws CLI and every SDK at a server.

    Use it as: eval "$(redrive env)"
    """
    access_key_id, secret = _key(account, key)
    settings = {
        "AWS_ENDPOINT_URL": endpoint_url,
        "AWS_ACCESS_KEY_ID": access_key_id,
        "AWS_SECRET_ACCESS_KEY": secret,
        "AWS_DEFAULT_REGION": region,
        "AWS_REGION": region,
    }
    if shell == "json":
        click.echo(json.dumps(settings, indent=2))
        return
    for name, value in settings.items():
        click.echo(_SHELLS[shell].format(name=name, value=value))


def _key(account: str | None, key: str | None) -> tuple[str, str]:
    """The access key to print, and its secret. Errors: UserError."""
    if account is not None and key is not None:
        raise UserError("--account and --key both name an access key.", next_step="Give one of them.", exit_code=2)
    given = [key] if key is not None else os.environ.get(VARIABLE, "").split()
    if account is not None or not given:
        return account or "test", "test"
    first = read_keys(given, account="")[0]
    return first.access_key_id, first.secret
