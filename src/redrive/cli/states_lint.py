"""`redrive states lint`: what a state machine's definition should do better. A file needs no server."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from redrive.cli.clients import Place, named_place_options
from redrive.cli.executions import find_machine
from redrive.cli.output import json_option, print_json, wants_json
from redrive.cli.template_machines import Definition, definitions_of_file
from redrive.languages.states import MalformedDefinition, Severity, diagnose, read_definition
from redrive.languages.states.lint import Finding, Level
from redrive.languages.states.lint import lint as lint_machine

FINDING = 1


@click.command()
@click.argument("machines", nargs=-1, required=True, metavar="FILE|MACHINE...")
@click.option("--parameter", "given", multiple=True, metavar="NAME=VALUE", help="A parameter of a template.")
@json_option
@named_place_options
def lint(machines: tuple[str, ...], given: tuple[str, ...], as_json: bool, place: Place) -> None:
    """Check definitions: states that nothing leads to, tasks without Catch, Retry on effects without a key, and more.

    FILE is a definition in JSON or YAML, or a template with state machines; MACHINE is the name or the ARN of a machine
    on the server. Exit code 1: there are errors or warnings; advice alone is 0.
    """
    found = [one for text in machines for one in _definitions(text, given, place)]
    told = [(one.name, _findings(one)) for one in found]
    if wants_json(as_json):
        print_json(
            {"machines": [{"machine": name, "findings": [_document(one) for one in these]} for name, these in told]}
        )
    else:
        for name, these in told:
            _tell(name, these)
    if any(one.level is not Level.ADVICE for _, these in told for one in these):
        raise SystemExit(FINDING)


def _definitions(text: str, given: tuple[str, ...], place: Place) -> Sequence[Definition]:
    """The definitions that an argument names. Errors: UserError."""
    file = Path(text)
    if file.is_file() or "/" in text or file.suffix in (".json", ".yaml", ".yml"):
        return definitions_of_file(file, given)
    place.check()
    answer = place.client("stepfunctions").describe_state_machine(stateMachineArn=find_machine(place, text))
    return [Definition(answer["name"], answer["definition"])]


def _findings(definition: Definition) -> list[Finding]:
    """What AWS refuses, as errors; else what the rules find."""
    faults = [
        Finding(
            one.code, Level.ERROR if one.severity is Severity.ERROR else Level.WARNING, one.location, one.message, ""
        )
        for one in diagnose(definition.text)
    ]
    try:
        machine = read_definition(definition.text)
    except MalformedDefinition:
        return faults
    return [*faults, *lint_machine(machine)]


def _document(finding: Finding) -> dict[str, Any]:
    told = {"rule": finding.rule, "level": finding.level.value, "place": finding.place, "message": finding.message}
    return told | ({"remedy": finding.remedy} if finding.remedy else {})


def _tell(name: str, findings: Sequence[Finding]) -> None:
    click.echo(f"{name}: {len(findings) or 'no'} finding{'s' if len(findings) != 1 else ''}")
    for one in findings:
        click.echo(f"  {one.level.value} {one.rule} at {one.place or '/'}")
        click.echo(f"    {one.message}")
        if one.remedy:
            click.echo(f"    {one.remedy}")
