"""`redrive examples [NAME]`: writes the examples, which are in the package, into the user's directory."""

from __future__ import annotations

import difflib
import shutil
from pathlib import Path

import click

from redrive.cli.output import json_option, print_json, print_table, wants_json
from redrive.core.errors import UserError

PACKAGED = Path(__file__).parent / "example_files"
CHECKOUT = Path(__file__).parents[3] / "examples"

EXAMPLES = {
    "alerts": (
        "A virtual day with six troubles: which alarm tells each of them after how long, and what is told in vain.",
        "Run it: python {path}/run.py",
    ),
    "clients": (
        "Programs with Celery, aioboto3, Powertools and the SDK for JavaScript, unchanged.",
        "Their README says what to install: {path}/README.md",
    ),
    "dead-letter-mistakes": (
        "Eight mistakes that articles on dead letters make, and where redrive dlq says so.",
        "Run it: python {path}/run.py",
    ),
    "dead-letter-watch": (
        "A function that looks at a dead-letter queue on a schedule, and tells a topic what is in it and why.",
        "Its README says how to deploy it: {path}/README.md",
    ),
    "events-dead-letters": (
        "Files arrive, CloudTrail tells, a function fails, its dead letters are sent again, in virtual time.",
        "Run it: python {path}/run.py",
    ),
    "file-arrives": (
        "Files arrive in S3, twice and out of order, and some fail: what became of each, in virtual time.",
        "Run it: python {path}/run.py",
    ),
    "file-pipeline": (
        "Files start a state machine; everything breaks once, and each file has one result, in virtual time.",
        "Run it: python {path}/run.py",
    ),
    "four-modes": (
        "One function that fails, invoked in Lambda's four modes: every attempt, and what is left where.",
        "Run it: python {path}/run.py",
    ),
    "handlers": (
        "Handlers that use redrive.handler: charges, imports, streams, reports.",
        "Each says what it is for and what it needs. Begin with {path}/charge_once.py.",
    ),
    "prove": (
        "Handlers with a bug, and how each is mended.",
        "Run it: redrive prove {path}/running_means_skip.py:handler",
    ),
    "scheduled-processing": (
        "A schedule, a queue, a function and tables, as a CloudFormation template.",
        "Run it: redrive deploy {path}/template.yaml",
    ),
    "shop": (
        "A small project in SAM, with bugs that one command finds, and the same project mended.",
        "Run it: cd {path} && redrive prove",
    ),
    "scheduler-dead-letters": (
        "Two schedules that fail, and what can be seen of it afterwards.",
        "Run it, with a server in virtual time: python {path}/run.py",
    ),
    "thousand-letters": (
        "A bad day of a shop: 1,000 dead letters of five causes from four sources, and how they are brought back.",
        "Its README tells the story: {path}/README.md",
    ),
}
"""The examples: what each shows, and what to do with it."""


@click.command()
@click.argument("name", required=False)
@click.option("--into", type=click.Path(path_type=Path), help="The directory to make; otherwise NAME, here.")
@json_option
def command(name: str | None, into: Path | None, as_json: bool) -> None:
    """List the examples, or write the example NAME into a new directory.

    Nothing that is there already is overwritten.
    """
    if name is None:
        _list(as_json)
        return
    source = example_folder(name)
    target = into or Path(name)
    if target.exists():
        raise UserError(f"{target} is there already.", next_step=f"redrive examples {name} --into DIR", exit_code=4)
    shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__", "node_modules"))
    written = sorted(str(path) for path in target.rglob("*") if path.is_file())
    next_step = EXAMPLES[name][1].format(path=target)
    if wants_json(as_json):
        print_json({"name": name, "files": written, "next": next_step})
        return
    for path in written:
        click.echo(path)
    click.echo(next_step, err=True)


def _list(as_json: bool) -> None:
    if wants_json(as_json):
        print_json({name: what for name, (what, _) in EXAMPLES.items()})
        return
    print_table(("name", "what it shows"), [(name, what) for name, (what, _) in EXAMPLES.items()])
    click.echo("Write one into this directory: redrive examples NAME", err=True)


def example_folder(name: str) -> Path:
    """The directory of an example: in the package, or in the current checkout. Errors: UserError."""
    if name not in EXAMPLES:
        near = difflib.get_close_matches(name, EXAMPLES)
        step = f"Did you mean: redrive examples {near[0]}" if near else f"There is: {', '.join(EXAMPLES)}."
        raise UserError(f"There is no example {name}.", next_step=step, exit_code=2)
    for home in (PACKAGED, CHECKOUT):
        if (home / name).is_dir():
            return home / name
    raise UserError(f"The example {name} is missing from this installation.", next_step="Install redrive anew.")
