"""`redrive fault add|list|clear`: injects failures."""

from __future__ import annotations

import json

import click
from rich.console import Console
from rich.table import Table

from redrive.cli.clock import output_option
from redrive.cli.durations import Duration
from redrive.cli.endpoint import endpoint_option
from redrive.cli.surface import Fault, Surface
from redrive.core.errors import UserError


@click.group()
def command() -> None:
    """Have calls to a target fail or be slow, to see what happens then."""


@command.command()
@click.option("--target", required=True, help="The ARN of a queue, a function …; * and ? are wildcards.")
@click.option("--error", help="The error that calls answer: ThrottlingException, InternalServerError, AccessDenied …")
@click.option("--message", help="The error's message.")
@click.option("--times", type=click.IntRange(min=1), help="Strike so many calls, then no more.")
@click.option(
    "--rate", type=click.FloatRange(0, 1, min_open=True), help="Strike this share of the calls: 1 is all of them."
)
@click.option("--latency", type=Duration(), help="How long each call takes first: 5s, 2m.")
@endpoint_option
@output_option
def add(
    target: str, error: str | None, message: str | None, times: int | None, rate: float | None, latency: float | None,
    endpoint_url: str, output: str,
) -> None:  # fmt: skip
    """Have calls to TARGET fail from now on, or be slow: --times N of them, or a --rate.

    Throttles and errors of the service are tried again by whoever calls; AccessDenied and other errors of the caller
    are not. What a schedule's universal target calls is struck by a fault whose TARGET is the universal ARN
    (arn:aws:scheduler:::aws-sdk:sqs:sendMessage), not by one whose TARGET is the queue's.
    """
    _check(target, error, times, rate, latency)
    fault = Surface(endpoint_url).add_fault(
        target=target, error=error, message=message, times=times, rate=rate, latency_s=latency
    )
    if output == "json":
        click.echo(json.dumps(fault))
        return
    click.echo(f"fault {fault['id']}: {_effect(fault)} for calls to {fault['target']}, {_bound(fault)}")
    click.echo(f"  Take it away again with: redrive fault clear {fault['id']}", err=True)


@command.command("list")
@endpoint_option
@output_option
def list_all(endpoint_url: str, output: str) -> None:
    """List the faults, oldest first: a call meets the first that is aimed at it."""
    answer = Surface(endpoint_url).list_faults()
    if output == "json":
        click.echo(json.dumps(answer["faults"]))
        return
    if not answer["faults"]:
        click.echo("There are no faults. Add one with: redrive fault add --target ARN --error CODE --times 3", err=True)
        return
    table = Table("id", "target", "effect", "strikes", "struck", "state")
    for fault in answer["faults"]:
        table.add_row(fault["id"], fault["target"], _effect(fault), _bound(fault), str(fault["struck"]), fault["state"])
    Console().print(table)


@command.command()
@click.argument("fault_id", metavar="[ID]", required=False)
@endpoint_option
@output_option
def clear(fault_id: str | None, endpoint_url: str, output: str) -> None:
    """Forget the fault ID, or all faults."""
    server = Surface(endpoint_url)
    answer = server.clear_faults() if fault_id is None else server.clear_fault(id=fault_id)
    if output == "json":
        click.echo(json.dumps(answer))
    else:
        click.echo(f"{answer['cleared']} cleared")


def _check(
    target: str, error: str | None, times: int | None, rate: float | None, latency: float | None
) -> None:  # fmt: skip
    """Make the same checks as the server, with messages about the command line. Errors: UserError."""
    command_line = f"redrive fault add --target '{target}'"
    if not error and not latency:
        raise UserError(
            "The fault has neither an --error nor a --latency: nothing would happen.",
            next_step=f"{command_line} --error ThrottlingException --times 3", exit_code=2,
        )  # fmt: skip
    if (times is None) == (rate is None):
        effect = f"--error {error}" if error else f"--latency {latency:g}s"
        raise UserError(
            "The fault says neither or both of --times and --rate: how often does it strike?",
            next_step=f"{command_line} {effect} --times 3", exit_code=2,
        )  # fmt: skip


def _effect(fault: Fault) -> str:
    after = f"after {fault['latency_s']:g} s" if fault["latency_s"] else ""
    return " ".join(part for part in (fault["error"] or "the usual answer", after) if part)


def _bound(fault: Fault) -> str:
    return f"{fault['times']} times" if fault["rate"] is None else f"{fault['rate']:.0%} of calls"
