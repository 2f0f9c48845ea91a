"""`redrive events test`: which rules of a template a directory of events hits. Needs no server."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from redrive.cli.event_files import FileEvent, read_directory, read_events
from redrive.cli.output import json_option, print_json, print_table, wants_json
from redrive.cli.template_rules import TemplateRule, rules_of_template
from redrive.core.clock import SystemClock
from redrive.core.documents import Document
from redrive.core.errors import UserError
from redrive.core.scope import Scope
from redrive.languages.event_pattern import explain, matches

ACCOUNT = "000000000000"
FINDING = 1


@dataclass(frozen=True, slots=True)
class Hits:
    """What one event hits; if nothing, which rule is nearest and why it does not match."""

    event: str
    rules: tuple[str, ...]
    expected: tuple[str, ...] | None
    nearest: str
    why: tuple[str, ...]

    @property
    def is_wrong(self) -> bool:
        """Whether the event hits other rules than expected; without an expectation, whether it hits none."""
        return not self.rules if self.expected is None else sorted(self.rules) != sorted(self.expected)

    def document(self) -> Document:
        """What the event hits, for programs."""
        told: Document = {"event": self.event, "rules": list(self.rules)}
        if self.expected is not None:
            told["expected"] = list(self.expected)
        return told if self.rules else told | {"nearest": self.nearest or None, "why": list(self.why)}


@click.command()
@click.argument("directory", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option(
    "--template", required=True, type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="A CloudFormation or SAM template.",
)  # fmt: skip
@click.option("--parameter", "given", multiple=True, metavar="NAME=VALUE", help="A parameter of the template.")
@click.option(
    "--expect", type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="A JSON file that says which rules each event has to hit, exactly: {\"order.json\": [\"rule\"]}.",
)  # fmt: skip
@click.option("--region", envvar="AWS_DEFAULT_REGION", default="us-east-1", show_default=True, help="The region.")
@json_option
def test(
    directory: Path, template: Path, given: tuple[str, ...], expect: Path | None, region: str, as_json: bool
) -> None:  # fmt: skip
    """Try the events of DIRECTORY against the rules of a template: which rules does each event hit?

    Exit code 1: an event hits no rule, or others than expected, or a rule is hit by no event.
    """
    scope = Scope(ACCOUNT, region)
    rules = [rule for rule in rules_of_template(template, _parameters(given), scope) if rule.is_enabled]
    if not rules:
        what = f"{template} has no enabled rule with a pattern."
        raise UserError(what, next_step="Rules are resources of the type AWS::Events::Rule, or SAM's EventBridgeRule.")
    events = read_directory(directory)
    expected = {} if expect is None else _expectations(expect, events, rules)
    now = SystemClock().now()
    found = [_hits(one, one.as_event(scope, now), rules, expected.get(one.name)) for one in events]
    counts = {rule.name: sum(rule.name in one.rules for one in found) for rule in rules}
    if wants_json(as_json):
        print_json({"events": [one.document() for one in found], "rules": counts})
    else:
        _print(found, counts)
    if any(one.is_wrong for one in found) or 0 in counts.values():
        raise SystemExit(FINDING)


def _hits(
    given: FileEvent, event: Document, rules: Sequence[TemplateRule], expected: tuple[str, ...] | None
) -> Hits:  # fmt: skip
    asked = [rule for rule in rules if given.bus in (None, rule.bus)]
    hit = tuple(rule.name for rule in asked if matches(rule.pattern, event))
    if hit or not asked:
        return Hits(given.name, hit, expected, "", () if asked else (f"no rule is on the bus {given.bus}",))
    nearest = max(asked, key=lambda rule: explain(rule.pattern, event).nearness)
    explanation = explain(nearest.pattern, event)
    why = [field.hint for field in explanation.fields if not field.is_satisfied] or [explanation.note]
    return Hits(given.name, (), expected, nearest.name, tuple(why))


def _parameters(given: tuple[str, ...]) -> dict[str, str]:
    for one in given:
        if "=" not in one:
            raise UserError(f"--parameter {one} has no value.", next_step="Write NAME=VALUE.", exit_code=2)
    return dict(one.split("=", 1) for one in given)


def _expectations(
    file: Path, events: Sequence[FileEvent], rules: Sequence[TemplateRule]
) -> Mapping[str, tuple[str, ...]]:  # fmt: skip
    """The rules that each event has to hit. Errors: UserError, also for events and rules that do not exist."""
    (document,) = read_events(str(file)) or (None,)
    expected: dict[str, tuple[str, ...]] = {}
    known = {"event": {one.name for one in events}, "rule": {rule.name for rule in rules}}
    for event, names in (document.document if document else {}).items():
        if not isinstance(names, list):
            raise UserError(f"{file}: {event} has no list of rules.", next_step=f'Write "{event}": [].', exit_code=2)
        for kind, name in (("event", event), *(("rule", str(name)) for name in names)):
            if name not in known[kind]:
                there = ", ".join(sorted(known[kind]))
                raise UserError(f"{file}: there is no {kind} {name}.", next_step=f"There is: {there}.", exit_code=2)
        expected[event] = tuple(map(str, names))
    return expected


def _print(found: Sequence[Hits], counts: Mapping[str, int]) -> None:
    print_table(("event", "rules"), [(one.event, "\n".join(one.rules) or "–") for one in found])
    click.echo()
    print_table(("rule", "events"), [(name, str(count)) for name, count in counts.items()], right=("events",))
    for one in found:
        if one.is_wrong and one.expected is not None:
            wanted, got = ", ".join(one.expected) or "no rule", ", ".join(one.rules) or "none"
            click.echo(f"{one.event} has to hit {wanted}, and hits {got}.", err=True)
        elif one.is_wrong:
            click.echo(f"{one.event} hits no rule{f'; the nearest is {one.nearest}' if one.nearest else ''}:", err=True)
        if one.is_wrong and not one.rules:
            for why in one.why:
                click.echo(f"  {why}", err=True)
    for name, count in counts.items():
        if not count:
            click.echo(f"No event hits the rule {name}.", err=True)
