"""`redrive version`."""

from __future__ import annotations

import click

from redrive import __version__


@click.command()
def command() -> None:
    """Print the version."""
    click.echo(__version__)
