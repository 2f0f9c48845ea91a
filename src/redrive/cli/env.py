"""`redrive env`: shell settings for a server."""

from __future__ import annotations

import json

import click

from redrive.cli.endpoint import endpoint_option

_SHELLS = {"sh": "export {name}={value}", "fish": "set -gx {name} {value};", "powershell": '$Env:{name} = "{value}"'}


@click.command()
@endpoint_option
@click.option("--account", default="test", help="The access key; 12 digits make it an account of its own.")
@click.option("--region", default="us-east-1", show_default=True, help="The region.")
@click.option("--shell", type=click.Choice([*_SHELLS, "json"]), default="sh", show_default=True, help="Whose syntax.")
def command(endpoint_url: str, account: str, region: str, shell: str) -> None:
    """Print the settings that point the aws CLI and every SDK at a server.

    Use it as: eval "$(redrive env)"
    """
    settings = {
        "AWS_ENDPOINT_URL": endpoint_url,
        "AWS_ACCESS_KEY_ID": account,
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_DEFAULT_REGION": region,
        "AWS_REGION": region,
    }
    if shell == "json":
        click.echo(json.dumps(settings, indent=2))
        return
    for name, value in settings.items():
        click.echo(_SHELLS[shell].format(name=name, value=value))
