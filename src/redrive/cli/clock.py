"""`redrive clock show|advance`: the clock of a server in virtual time."""

from __future__ import annotations

import json
import math
from typing import Any

import click
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from redrive.cli.durations import Duration
from redrive.cli.endpoint import ask, endpoint_option
from redrive.core.clock import format_instant, parse_instant
from redrive.core.errors import UserError

STEPS_MAX = 48
"""Into how many calls an advance is cut, so that its progress can be seen."""

output_option = click.option(
    "-o", "--output", type=click.Choice(["table", "json"]), default="table", show_default=True, help="How to print."
)


@click.group()
def command() -> None:
    """Show a server's clock, or move it."""


@command.command()
@endpoint_option
@output_option
def show(endpoint_url: str, output: str) -> None:
    """Show what time it is for the server."""
    _print(ask(endpoint_url, "clock"), output)


@command.command()
@click.argument("duration", type=Duration(), required=False)
@click.option("--to", help="Advance to this instant instead, for example 2026-01-01T00:00:00Z.")
@endpoint_option
@output_option
def advance(duration: float | None, to: str | None, endpoint_url: str, output: str) -> None:
    """Let time pass: everything that comes due in DURATION (90s, 15m, 24h, 7d) happens, then the command answers.

    The server must run with `--clock virtual`.
    """
    if (duration is None) == (to is None):
        raise UserError(
            "Say how far: a duration, or --to an instant.", next_step="redrive clock advance 24h", exit_code=2
        )
    before = ask(endpoint_url, "clock")
    if before.get("clock") != "virtual":
        # The server's own refusal says what to do about it.
        ask(endpoint_url, "clock", {"advance_s": 0})
    start_ms = int(before["now_ms"])
    end_ms = start_ms + round((duration or 0) * 1000) if to is None else _instant(to)
    if end_ms < start_ms:
        raise UserError(f"{to} is in the server's past: its clock stands at {before['now']}.", exit_code=2)
    with _progress() as progress:
        bar = progress.add_task("", total=end_ms - start_ms, now=before["now"])
        for at_ms in _stops(start_ms, end_ms):
            reached = ask(endpoint_url, "clock", {"to": format_instant(at_ms) if at_ms % 1000 == 0 else _exact(at_ms)})
            progress.update(bar, completed=at_ms - start_ms, now=reached["now"])
    _print(ask(endpoint_url, "clock"), output)


def _stops(start_ms: int, end_ms: int) -> list[int]:
    """Where to stop on the way, for the progress bar: whole hours of the span or a 48th of it, whichever is longer."""
    step_ms = max(3_600_000, math.ceil((end_ms - start_ms) / STEPS_MAX / 1000) * 1000)
    return [*range(start_ms + step_ms, end_ms, step_ms), end_ms]


def _exact(instant_ms: int) -> str:
    return f"{format_instant(instant_ms)[:-1]}.{instant_ms % 1000:03d}Z"


def _instant(text: str) -> int:
    try:
        return parse_instant(text)
    except ValueError as error:
        raise UserError(
            f"{text!r} is not an ISO 8601 time.", next_step="Write it as 2026-01-01T00:00:00Z.", exit_code=2
        ) from error


def _progress() -> Progress:
    columns = (TextColumn("{task.fields[now]}"), BarColumn(), TimeElapsedColumn())
    return Progress(*columns, console=Console(stderr=True), transient=True)


def _print(clock: dict[str, Any], output: str) -> None:
    if output == "json":
        click.echo(json.dumps(clock))
    else:
        click.echo(f"{clock['now']}  ({clock['clock']} time)")
