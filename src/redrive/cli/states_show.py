"""`redrive states show`: one execution as a tree with times, attempts and errors, and the path that it took."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.text import Text

from redrive.cli.clients import Place, place_options
from redrive.cli.execution_visits import StateAttempt, Visit, read_visits, trace_of
from redrive.cli.executions import find_execution, short_name
from redrive.cli.output import json_option, print_json, wants_json
from redrive.core.errors import UserError
from redrive.languages.states import StateMachine, read_definition
from redrive.languages.states.drawing import draw_lines, draw_svg

CAUSE_MAX = 160
"""How many characters of a cause the tree shows; JSON has all of it."""
ITEMS_SHOWN = 5
"""How many visits within a Map are shown before the rest is counted; those that failed are always shown."""

_STYLES = {"succeeded": "green", "caught": "yellow", "failed": "red", "aborted": "red", "running": "cyan"}


@click.command()
@click.argument("execution")
@click.option(
    "--svg", type=click.Path(dir_okay=False, path_type=Path), help="Write the picture of the path as SVG, too."
)
@click.option("--all", "every", is_flag=True, help="Show all items of Maps.")
@json_option
@place_options
def show(execution: str, svg: Path | None, every: bool, as_json: bool, place: Place) -> None:
    """Show an execution: each state with its times, attempts and errors, and the path through the machine.

    EXECUTION is an ARN, MACHINE/NAME, or MACHINE for its latest execution.
    """
    client = place.client("stepfunctions")
    arn = find_execution(place, execution)
    found = client.describe_execution(executionArn=arn)
    pages = client.get_paginator("get_execution_history").paginate(executionArn=arn, maxResults=1_000)
    visits = read_visits([event for page in pages for event in page["events"]])
    machine = _machine(client, arn)
    if svg is not None:
        _write(svg, draw_svg(machine, trace_of(visits)))
    if wants_json(as_json):
        print_json(_document(found, visits))
        return
    console = Console(highlight=False)
    for line in _heading(found):
        console.print(line, soft_wrap=True)
    for line in _tree(visits, found["startDate"], every=every):
        console.print(line, soft_wrap=True)
    console.print()
    for text in draw_lines(machine, trace_of(visits)):
        console.print(Text(f"  {text}"), soft_wrap=True)
    _tell_next(found, arn, place)


def _machine(client: Any, execution_arn: str) -> StateMachine:
    """The definition that the execution runs: its machine may have another one by now."""
    answer = client.describe_state_machine_for_execution(executionArn=execution_arn)
    return read_definition(answer["definition"])


def _write(file: Path, text: str) -> None:
    try:
        file.write_text(text, "utf-8")
    except OSError as error:
        raise UserError(f"The picture cannot be written to {file}: {error.strerror}.", exit_code=2) from error


def _document(found: dict[str, Any], visits: Sequence[Visit]) -> dict[str, Any]:
    told: dict[str, Any] = {"execution": found["executionArn"], "name": found["name"], "status": found["status"]}
    told |= {"began": found["startDate"].isoformat()}
    told["ended"] = found["stopDate"].isoformat() if "stopDate" in found else None
    told |= {name: found[name] for name in ("error", "cause") if name in found}
    for name in ("input", "output"):
        if name in found:
            told[name] = json.loads(found[name])
    told |= {"redrives": found.get("redriveCount", 0), "redrivable": found.get("redriveStatus") == "REDRIVABLE"}
    if "redriveStatusReason" in found:
        told["why_not_redrivable"] = found["redriveStatusReason"]
    return told | {"states": [one.document() for one in visits]}


def _heading(found: dict[str, Any]) -> Iterator[Text]:
    style = "green" if found["status"] == "SUCCEEDED" else "cyan" if found["status"] == "RUNNING" else "red"
    first = (
        Text("execution ").append(short_name(found["executionArn"]), "bold").append("  ").append(found["status"], style)
    )
    if found.get("redriveCount"):
        first.append(f"  redriven {found['redriveCount']}×")
    yield first
    ended = f", ended {_after(found['startDate'], found['stopDate'])}" if "stopDate" in found else ""
    yield Text(f"  began {found['startDate']:%Y-%m-%d %H:%M:%S}{ended}", "dim")
    if found.get("error") or found.get("cause"):
        yield Text(f"  {found.get('error', '')}{_cause(found.get('cause', ''))}", "red")


def _tree(visits: Sequence[Visit], start: datetime, depth: int = 1, *, every: bool) -> Iterator[Text]:
    """The lines of the visits and of all that is inside of them."""
    shown = list(visits) if every else _chosen(visits)
    indent = "  " * depth
    for visit in shown:
        item = f"[{visit.iteration}] " if visit.iteration is not None else ""
        line = Text(f"{indent}{_after(start, visit.entered):>10}  {item}").append(visit.name, "bold")
        line.append(f"  {visit.type}  ", "dim").append(visit.outcome, _STYLES[visit.outcome])
        if visit.exited is not None and visit.exited != visit.entered:
            line.append(f" {_after(visit.entered, visit.exited)[1:]}", "dim")
        if visit.is_redriven:
            line.append("  redriven", "dim")
        yield line
        if visit.map_run:
            yield Text(f"{indent}            map run {visit.map_run.rsplit(':', 1)[-1]}", "dim")
        yield from _attempts(visit, start, indent)
        yield from _tree(visit.inside, start, depth + 2, every=every)
    if len(shown) < len(visits):
        yield Text(f"{indent}            … {len(visits) - len(shown)} more succeeded (--all shows all)", "dim")


def _chosen(visits: Sequence[Visit]) -> list[Visit]:
    """The first visits, and all that have not succeeded."""
    return [one for place, one in enumerate(visits) if place < ITEMS_SHOWN * 2 or one.outcome != "succeeded"]


def _attempts(visit: Visit, start: datetime, indent: str) -> Iterator[Text]:
    """A line for each attempt where there is something to tell: several, or one that failed."""
    if all(one.outcome == "succeeded" for one in visit.attempts) and len(visit.attempts) < 2:
        if visit.error:
            yield Text(f"{indent}            {visit.error}{_cause(visit.cause)}", "red")
        return
    for number, one in enumerate(visit.attempts, 1):
        yield _attempt(number, one, start, indent)


def _attempt(number: int, one: StateAttempt, start: datetime, indent: str) -> Text:
    line = Text(f"{indent}            attempt {number} at {_after(start, one.began)}: {one.outcome or 'running'}")
    if one.error or one.cause:
        line.append(f" with {one.error or 'no error name'}{_cause(one.cause)}", "red")
    return line


def _cause(cause: str) -> str:
    text = " ".join(cause.split())
    return f": {text[:CAUSE_MAX]}{'…' if len(text) > CAUSE_MAX else ''}" if text else ""


def _after(start: datetime, instant: datetime) -> str:
    """The time since the start: +0.25 s, +61 s, +2 h 5 min."""
    seconds = (instant - start).total_seconds()
    if seconds < 600:
        return f"+{seconds:g} s"
    hours, rest = divmod(round(seconds), 3_600)
    return f"+{hours} h {rest // 60} min" if hours else f"+{rest // 60} min {rest % 60} s"


def _tell_next(found: dict[str, Any], arn: str, place: Place) -> None:
    if found.get("redriveStatus") == "REDRIVABLE":
        click.echo(
            f"  Run again what has not succeeded: redrive states redrive {short_name(arn)}{place.options}", err=True
        )
