"""`redrive clock show|advance|stop`: the clock of a server in virtual time."""

from __future__ import annotations

import json
import signal
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager

import click
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from redrive.cli.durations import Duration
from redrive.cli.endpoint import endpoint_option
from redrive.cli.surface import Clock, Surface
from redrive.core.clock import format_instant, parse_instant
from redrive.core.errors import UserError

LOOK_EVERY_S = 0.2
"""How often the server is asked for the time while the clock moves."""
INTERRUPTED = 130

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
    _print(Surface(endpoint_url).get_clock(), output)


@command.command()
@endpoint_option
@output_option
def stop(endpoint_url: str, output: str) -> None:
    """Stop a clock that moves: it stays where it stands, and whoever moves it is told so."""
    _print(Surface(endpoint_url).stop_clock(), output)


@command.command()
@click.argument("duration", type=Duration(), required=False)
@click.option("--to", help="Advance to this instant instead, for example 2026-01-01T00:00:00Z.")
@endpoint_option
@output_option
def advance(duration: float | None, to: str | None, endpoint_url: str, output: str) -> None:
    """Let time pass: everything that comes due in DURATION (90s, 15m, 24h, 7d) happens, then the command answers.

    Ctrl-C stops the clock where it stands. The server must run with `--clock virtual`.
    """
    if (duration is None) == (to is None):
        raise UserError(
            "Say how far: a duration, or --to an instant.", next_step="redrive clock advance 24h", exit_code=2
        )
    server = Surface(endpoint_url)
    before = server.get_clock()
    if before.get("clock") != "virtual":
        # The server's refusal says what to do.
        server.advance_clock(advance_s=0)
    start_ms = int(before["now_ms"])
    end_ms = start_ms + round((duration or 0) * 1000) if to is None else _instant(to)
    if end_ms < start_ms:
        raise UserError(f"{to} is in the server's past: its clock stands at {before['now']}.", exit_code=2)
    _print(_travel(server, before, end_ms), output)


def _travel(server: Surface, before: Clock, end_ms: int) -> Clock:
    """Move the clock in one call, and show its time meanwhile; returns the clock afterwards."""
    start_ms = int(before["now_ms"])
    moving: Future[Clock] = Future()
    arrived = threading.Event()
    moving.add_done_callback(lambda _: arrived.set())
    with _interruptible() as interrupted:
        threading.Thread(target=_move, args=(server, end_ms, moving), name="redrive-advance", daemon=True).start()
        with _progress() as progress:
            bar = progress.add_task("", total=end_ms - start_ms, now=before["now"])
            while not arrived.wait(LOOK_EVERY_S) and not interrupted.is_set():
                clock = server.get_clock()
                progress.update(bar, completed=int(clock["now_ms"]) - start_ms, now=clock["now"])
        if interrupted.is_set() and not arrived.is_set():
            server.stop_clock()
            while not arrived.wait(LOOK_EVERY_S):
                server.stop_clock()  # The first call may have come before the clock moved.
            raise UserError(
                f"The clock was stopped at {server.get_clock()['now']}.",
                next_step=f"To go on: redrive clock advance --to {_exact(end_ms)}",
                exit_code=INTERRUPTED,
            )
    return moving.result()


@contextmanager
def _interruptible() -> Iterator[threading.Event]:
    """Inside the context, Ctrl-C sets the event.

    KeyboardInterrupt is lost where Python ignores exceptions, such as in a finalizer, and the clock would move on.
    """
    interrupted = threading.Event()
    before = signal.signal(signal.SIGINT, lambda *_: interrupted.set())
    try:
        yield interrupted
    finally:
        signal.signal(signal.SIGINT, before)


def _move(server: Surface, end_ms: int, moving: Future[Clock]) -> None:
    try:
        moving.set_result(server.advance_clock(to=_exact(end_ms)))
    except UserError as error:
        moving.set_exception(error)


def _exact(instant_ms: int) -> str:
    whole = format_instant(instant_ms)
    return whole if instant_ms % 1000 == 0 else f"{whole[:-1]}.{instant_ms % 1000:03d}Z"


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


def _print(clock: Clock, output: str) -> None:
    if output == "json":
        click.echo(json.dumps(clock))
    else:
        click.echo(f"{clock['now']}  ({clock['clock']} time)")
