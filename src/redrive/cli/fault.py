"""`redrive fault add|list|clear`: injects failures, and what S3 says it may do with its notifications."""

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
    """Have calls to a target fail or be slow, or S3 tell twice or out of order, to see what happens then."""


@command.command()
@click.option("--target", required=True, help="The ARN of a queue, a function, objects of S3 …; * and ? are wildcards.")
@click.option("--error", help="The error that calls answer: ThrottlingException, InternalServerError, AccessDenied …")
@click.option("--message", help="The error's message.")
@click.option("--times", type=click.IntRange(min=1), help="Strike so many calls, then no more.")
@click.option(
    "--rate", type=click.FloatRange(0, 1, min_open=True), help="Strike this share of the calls: 1 is all of them."
)
@click.option("--latency", type=Duration(), help="How long each call takes first: 5s, 2m.")
@click.option("--s3-duplicate", type=Duration(), help="S3 tells each event a second time, up to so much later: 0s, 5s.")
@click.option("--s3-reorder", type=Duration(), help="S3 holds each notification for a random time up to this: 10s.")
@click.option("--s3-delay", type=Duration(), help="S3 holds each notification for so long: 1m.")
@click.option("--event", help="With --s3-…: of these events only: 'ObjectCreated:*', ObjectRemoved:Delete …")
@endpoint_option
@output_option
def add(
    target: str, error: str | None, message: str | None, times: int | None, rate: float | None, latency: float | None,
    s3_duplicate: float | None, s3_reorder: float | None, s3_delay: float | None, event: str | None,
    endpoint_url: str, output: str,
) -> None:  # fmt: skip
    """Have calls to TARGET fail from now on, or be slow: --times N of them, or a --rate.

    Throttles and errors of the service are tried again by whoever calls; AccessDenied and other errors of the caller
    are not. What a schedule's universal target calls is struck by a fault whose TARGET is the universal ARN
    (arn:aws:scheduler:::aws-sdk:sqs:sendMessage), not by one whose TARGET is the queue's.

    S3 tells of its objects at least once and in no order. With --s3-duplicate, --s3-reorder or --s3-delay, what S3
    tells of the objects TARGET (arn:aws:s3:::bucket/prefix*) does so: --times N of its notifications, or a --rate.
    """
    s3, latency = _s3_fault({"duplicate": s3_duplicate, "reorder": s3_reorder, "delay": s3_delay}, target, latency)
    _check(target, error, times, rate, latency, s3)
    fault = Surface(endpoint_url).add_fault(
        target=target, error=error, message=message, times=times, rate=rate, latency_s=latency, s3=s3, event=event
    )
    if output == "json":
        click.echo(json.dumps(fault))
        return
    struck = "what S3 tells of" if fault["s3"] else "calls to"
    click.echo(f"fault {fault['id']}: {_effect(fault)} for {struck} {fault['target']}, {_bound(fault)}")
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


def _s3_fault(
    given: dict[str, float | None], target: str, latency: float | None
) -> tuple[str | None, float | None]:  # fmt: skip
    """What S3 does with what it tells, and within how many seconds; else None, and the latency. Errors: UserError."""
    chosen = [(kind, seconds) for kind, seconds in given.items() if seconds is not None]
    if not chosen:
        return None, latency
    if len(chosen) > 1 or latency is not None:
        kind, seconds = chosen[0]
        raise UserError(
            "The fault says more than one of --s3-duplicate, --s3-reorder, --s3-delay and --latency: add one for each.",
            next_step=f"redrive fault add --target '{target}' --s3-{kind} {seconds:g}s --times 3", exit_code=2,
        )  # fmt: skip
    return chosen[0]


def _check(
    target: str, error: str | None, times: int | None, rate: float | None, latency: float | None, s3: str | None
) -> None:  # fmt: skip
    """Make the same checks as the server, with messages about the command line. Errors: UserError."""
    command_line = f"redrive fault add --target '{target}'"
    if not s3 and not error and not latency:
        raise UserError(
            "The fault has neither an --error nor a --latency: nothing would happen.",
            next_step=f"{command_line} --error ThrottlingException --times 3", exit_code=2,
        )  # fmt: skip
    if (times is None) == (rate is None):
        effect = f"--error {error}" if error else f"--{f's3-{s3}' if s3 else 'latency'} {latency:g}s"
        raise UserError(
            "The fault says neither or both of --times and --rate: how often does it strike?",
            next_step=f"{command_line} {effect} --times 3", exit_code=2,
        )  # fmt: skip


_S3_EFFECTS = {"duplicate": "twice within", "reorder": "held for up to", "delay": "held for"}


def _effect(fault: Fault) -> str:
    if fault["s3"]:
        return f"{fault['event'] or 'every event'} {_S3_EFFECTS[fault['s3']]} {fault['latency_s']:g} s"
    after = f"after {fault['latency_s']:g} s" if fault["latency_s"] else ""
    return " ".join(part for part in (fault["error"] or "the usual answer", after) if part)


def _bound(fault: Fault) -> str:
    of = "notifications" if fault["s3"] else "calls"
    return f"{fault['times']} times" if fault["rate"] is None else f"{fault['rate']:.0%} of {of}"
