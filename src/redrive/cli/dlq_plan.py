"""`redrive dlq plan`: writes a file that says for each cause what is done with its letters."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import click

from redrive.cli.clients import Place, place_options
from redrive.cli.letter_gates import keys_of
from redrive.cli.letter_logs import logs_option, triaged
from redrive.cli.output import json_option, print_json, print_table, wants_json
from redrive.cli.reading_letters import error_shown, name_of, queue_argument, queue_url
from redrive.cli.running_letters import arn_of, sources_with_queues
from redrive.core.errors import UserError
from redrive.deadletters.causes import Remedy
from redrive.deadletters.destinations import Destination, To, read_destination
from redrive.deadletters.moving import decided
from redrive.deadletters.plan import Action, Plan, plan_document, proposed, repairing
from redrive.deadletters.repairs import find_repairs

ERROR_CHARS_MAX = 40

_numbers = click.IntRange(min=1)


@click.command()
@queue_argument
@click.option(
    "--to-file", "file", required=True, type=click.Path(dir_okay=False, path_type=Path), help="The file of the plan."
)
@click.option("--redrive", type=_numbers, multiple=True, help="Redrive this group, by its number in triage.")
@click.option("--leave", type=_numbers, multiple=True, help="Leave this group in the queue.")
@click.option("--to", "to_text", help="Where letters go, as queue:NAME; by default each goes where it came from.")
@click.option("--source", "new_source", help="Send events under this source: PutEvents refuses those of AWS.")
@click.option("--rate", type=click.FloatRange(min=0, min_open=True), help="So many letters per second at first.")
@click.option("--canary", type=click.IntRange(min=0), help="So many letters of each group go first.  [default: 1]")
@click.option(
    "--key",
    "keys",
    metavar="[SOURCE=]JMESPATH",
    multiple=True,
    help="Write where the key of an execution is into the plan, for all letters or for those of one source.",
)
@click.option(
    "--remediate", is_flag=True, help="Write the repairs into the plan that are known by name and can be undone."
)
@logs_option
@json_option
@place_options
def plan(
    queue: str, file: Path, redrive: Sequence[int], leave: Sequence[int], to_text: str | None,
    new_source: str | None, rate: float | None,
    canary: int | None, keys: tuple[str, ...], remediate: bool, with_logs: bool, as_json: bool, place: Place,
) -> None:  # fmt: skip
    """Write a plan for the letters of a queue; nothing is sent. Read it, edit it, and run it by `redrive dlq redrive`.

    Causes that went away by themselves, or need a slower pace, are redriven; all others stay until you say otherwise.
    Where SQS can move the whole queue back to its one source by itself, and that is what the plan says, it does so.
    """
    if file.exists():
        raise UserError(f"{file} exists.", next_step="Name another file, or delete it.", exit_code=2)
    to, named = _destination(to_text), keys_of(keys)
    found = triaged(place, queue, with_logs=with_logs)
    made = proposed(queue_url(place.client("sqs"), queue), found.groups, place.now(), logs=with_logs)
    made = _with_keys(made, *named)
    if remediate:
        made = repairing(made, find_repairs(place.client, arn_of(place, made.queue), found.groups))
    made = _chosen(made, set(redrive), set(leave), to)
    if new_source is not None:
        made = _with_source(made, new_source)
    if rate is not None:
        made = replace(made, rate=rate, rate_max=max(rate, made.rate_max or rate))
    if canary is not None:
        made = replace(made, canary=replace(made.canary, letters=canary))
    made = decided(made, sources_with_queues(place, made.queue))
    file.write_text(json.dumps(plan_document(made), indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    if wants_json(as_json):
        print_json(plan_document(made))
        return
    _print(made)
    for repair in made.repairs:
        click.echo(f"  Repair: {repair.deed}.", err=True)
    if remediate and not made.repairs:
        click.echo("  There is nothing that can be repaired by itself.", err=True)
    if not remediate and any(group.judgement.remedy is Remedy.FIX for group in found.groups):
        click.echo("  Whether something can be repaired by itself, and undone: --remediate", err=True)
    click.echo(f"  By {made.by.value}: {made.why}", err=True)
    click.echo(f"  Run it: redrive dlq redrive {file}{' --remediate' if made.repairs else ''}{place.options}", err=True)


def _destination(text: str | None) -> Destination | None:
    try:
        return None if text is None else read_destination(text)
    except ValueError as error:
        raise UserError(f"{error}.", exit_code=2) from error


def _with_keys(made: Plan, usual: str | None, by_source: Mapping[str, str]) -> Plan:
    """A plan with the keys. Errors: UserError if it has no letters of a source that is named."""
    sources = {name for rule in made.rules for name in (rule.cause.source_arn, name_of(rule.cause.source_arn))}
    unknown = sorted(set(by_source) - sources)
    if unknown:
        names = ", ".join(sorted({name_of(rule.cause.source_arn) for rule in made.rules} - {""})) or "none"
        raise UserError(f"No letter comes from {unknown[0]}.", next_step=f"The sources are: {names}", exit_code=2)
    rules = tuple(replace(rule, key=_key_of(rule.cause.source_arn, usual, by_source)) for rule in made.rules)
    return replace(made, rules=rules)


def _key_of(arn: str, usual: str | None, by_source: Mapping[str, str]) -> str:
    return by_source.get(arn) or by_source.get(name_of(arn)) or usual or ""


def _chosen(made: Plan, redrive: set[int], leave: set[int], to: Destination | None) -> Plan:
    unknown = [number for number in redrive | leave if number > len(made.rules)]
    if unknown or redrive & leave:
        which = unknown[0] if unknown else min(redrive & leave)
        why = f"there are {len(made.rules)}" if unknown else "it is named twice"
        raise UserError(f"Group {which} cannot be chosen: {why}.", next_step="See: redrive dlq triage", exit_code=2)
    actions = dict.fromkeys(redrive, Action.REDRIVE) | dict.fromkeys(leave, Action.LEAVE)
    rules = tuple(
        replace(rule, action=actions.get(number, rule.action), to=to) for number, rule in enumerate(made.rules, 1)
    )
    return replace(made, rules=rules)


def _with_source(made: Plan, source: str) -> Plan:
    """A plan whose events have another source. Errors: UserError if nothing goes to a bus."""
    if all(rule.to is None or rule.to.kind is not To.BUS for rule in made.rules):
        raise UserError("--source is for events that go to a bus.", next_step="Name it: --to bus:NAME", exit_code=2)
    patch = ({"op": "replace", "path": "/source", "value": source},)
    return replace(made, rules=tuple(replace(rule, patch=patch) for rule in made.rules))


def _print(made: Plan) -> None:
    rows = [
        (
            str(number),
            str(rule.letters),
            rule.action.value,
            f"{rule.cause.origin.value} {name_of(rule.cause.source_arn)}",
            error_shown(rule.cause, ERROR_CHARS_MAX),
            "usual" if rule.to is None else rule.to.text,
        )
        for number, rule in enumerate(made.rules, 1)
    ]
    print_table(("", "letters", "action", "of", "error", "to"), rows, right=("", "letters"))
