"""`redrive events explain`: says why an event matches a rule, or why not. The same on a server and on AWS."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import click
from botocore.exceptions import ClientError

from redrive.cli.clients import REGION, Place, named_place_options
from redrive.cli.event_files import FileEvent, read_events, read_text
from redrive.cli.output import json_option, print_json, wants_json
from redrive.core.clock import SystemClock
from redrive.core.documents import Document
from redrive.core.errors import UserError
from redrive.core.scope import Scope
from redrive.languages.event_pattern import Explanation, PatternError, parse
from redrive.languages.event_pattern import explain as explained

DEFAULT_BUS = "default"
ANY_ACCOUNT = "000000000000"
FINDING = 1


@dataclass(frozen=True, slots=True)
class RuleExplanation:
    """How an event fares with one rule."""

    rule: str
    is_enabled: bool
    explanation: Explanation

    @property
    def is_hit(self) -> bool:
        """Whether the event reaches the rule's targets."""
        return self.is_enabled and self.explanation.matches

    def document(self) -> Document:
        """The explanation for programs."""
        return {
            "rule": self.rule,
            "enabled": self.is_enabled,
            "matches": self.explanation.matches,
            "nearness": round(self.explanation.nearness, 3),
            "note": self.explanation.note,
            "fields": [
                {
                    "path": field.path,
                    "satisfied": field.is_satisfied,
                    "expected": list(field.expected),
                    "found": list(field.found),
                    "nearest": field.nearest,
                    "hint": field.hint,
                }
                for field in self.explanation.fields
            ],
        }

    @property
    def title(self) -> str:
        """The rule, and in a few words how the event fares."""
        if self.explanation.matches:
            return f"{self.rule}: matches{'' if self.is_enabled else ', but the rule is DISABLED'}"
        failing = [field.path for field in self.explanation.fields if not field.is_satisfied]
        failed = len(failing)
        fields = (
            f"{failed} of {len(self.explanation.fields)} fields fail" if failed else "its fields do not fit together"
        )
        fields = f"only {failing[0]} fails" if failed == 1 else fields
        return f"{self.rule}: does not match, {fields}{'' if self.is_enabled else '; the rule is DISABLED, too'}"


@click.command()
@click.argument("event")
@click.option("--rule", metavar="RULE", help="A rule's name or ARN; otherwise all rules of the bus.")
@click.option("--bus", metavar="BUS", help=f"The bus; otherwise the one that the event names, or {DEFAULT_BUS}.")
@click.option("--pattern", metavar="FILE", help="A pattern in a file, in place of rules. Needs no server.")
@click.option(
    "-n", "--count", default=3, show_default=True, type=click.IntRange(1, 1_000),
    help="How many of the rules that do not match are explained field by field, the nearest first.",
)  # fmt: skip
@json_option
@named_place_options
def explain(
    event: str, rule: str | None, bus: str | None, pattern: str | None, count: int, as_json: bool, place: Place
) -> None:  # fmt: skip
    """Say why EVENT does not match a rule: which field fails, what is expected, and what would match.

    EVENT is a file with an event, or with an entry of PutEvents; - is standard input. Exit code 1: no rule matches.
    """
    given = read_events(event)
    if len(given) != 1:
        step = "Give one event in a file, or all of them to: redrive events test"
        raise UserError(f"{event} has {len(given)} events; one is explained at a time.", next_step=step, exit_code=2)
    if pattern is not None:
        text = read_text(pattern)
        found = [RuleExplanation(pattern, True, explained(_pattern(text, pattern), _event(given[0], place)))]
    else:
        place.check()
        rules = _rules(place, rule, bus or given[0].bus or DEFAULT_BUS)
        found = rank(rules, _event(given[0], place))
    if wants_json(as_json):
        print_json([one.document() for one in found])
    else:
        _print(found, count)
    if not any(one.is_hit for one in found):
        raise SystemExit(FINDING)


def rank(rules: list[Document], event: Document) -> list[RuleExplanation]:
    """How an event fares with these rules, as ListRules tells them: the nearest first; rules of schedules left out."""
    found = [
        RuleExplanation(
            rule["Name"],
            rule.get("State") != "DISABLED",
            explained(_pattern(rule["EventPattern"], rule["Name"]), event),
        )
        for rule in rules
        if rule.get("EventPattern")
    ]  # fmt: skip
    return sorted(found, key=lambda one: (-one.explanation.nearness, one.rule))


def pattern_hint(text: str) -> str:
    """What to change in a text that is no pattern; empty if that is not known."""
    if "//" in text or "/*" in text:
        try:
            json.loads(text)
        except ValueError:
            return "JSON has no comments: remove them."
    try:
        pattern = json.loads(text)
    except ValueError:
        return ""
    return "; ".join(
        f"the value of {path} stands alone, and has to stand in a list: {json.dumps([value], ensure_ascii=False)}"
        for path, value in _alone(pattern, "")
    )


def _alone(pattern: object, path: str) -> Iterator[tuple[str, object]]:
    """The values of a pattern that stand in no list, with their paths."""
    if isinstance(pattern, dict):
        for key, inner in pattern.items():
            yield from _alone(inner, f"{path}.{key}" if path else key)
    elif not isinstance(pattern, list) and path:
        yield path, pattern


def _pattern(text: str, name: str) -> Any:
    try:
        return parse(text)
    except PatternError as error:
        hint = pattern_hint(text)
        step = f"{hint[:1].upper()}{hint[1:]}" or "EventBridge refuses it with InvalidEventPatternException."
        raise UserError(f"The pattern of {name} cannot be used. {error}", next_step=step, exit_code=2) from error


def _event(given: FileEvent, place: Place) -> Document:
    return given.as_event(Scope(ANY_ACCOUNT, place.region or REGION), SystemClock().now())


def _rules(place: Place, rule: str | None, bus: str) -> list[Document]:
    """One rule, or all rules of a bus. Errors: UserError."""
    events = place.client("events")
    if rule is None:
        found = list(_listed(events, bus))
        if not any(one.get("EventPattern") for one in found):
            what = f"The bus {bus} has no rule with a pattern in {place.region_shown}."
            raise UserError(
                what, next_step="Make one with: redrive deploy TEMPLATE, or aws events put-rule", exit_code=2
            )
        return found
    *buses, name = rule.rsplit(":rule/", 1)[-1].split("/")
    bus = buses[0] if buses else bus
    try:
        found = [events.describe_rule(Name=name, EventBusName=bus)]
    except ClientError as error:
        if error.response["Error"]["Code"] != "ResourceNotFoundException":
            raise
        names = [one["Name"] for one in _listed(events, bus)]
        near = difflib.get_close_matches(name, names)
        step = f"Did you mean {near[0]}?" if near else f"It has: {', '.join(names[:20]) or 'no rules'}."
        raise UserError(f"The bus {bus} has no rule {name}.", next_step=step, exit_code=2) from error
    if not found[0].get("EventPattern"):
        step = f"It fires by its schedule: {found[0].get('ScheduleExpression', '')}"
        raise UserError(f"The rule {name} has no pattern, so no event matches it.", next_step=step, exit_code=2)
    return found


def _listed(events: Any, bus: str) -> Iterator[Document]:
    for page in events.get_paginator("list_rules").paginate(EventBusName=bus):
        yield from (rule for rule in page["Rules"] if "ManagedBy" not in rule)


def _print(found: list[RuleExplanation], count: int) -> None:
    """Print explanations: what matches by name, the nearest others field by field, and the rest by name."""
    for number, one in enumerate(found):
        is_in_full = len(found) == 1 or (not one.explanation.matches and number < count + _hits(found))
        click.secho(one.title, fg="green" if one.is_hit else None, bold=is_in_full)
        if is_in_full:
            for line in one.explanation.text().splitlines()[1:]:
                click.secho(line, fg="red" if line.startswith("  fails") else None)


def _hits(found: list[RuleExplanation]) -> int:
    return sum(one.explanation.matches for one in found)
