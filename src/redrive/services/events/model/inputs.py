"""What a target is sent: the event, a constant, a part of the event, or a transformed event.

Source: https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-transform-target-input.html
"""

from __future__ import annotations

from typing import NamedTuple

from redrive.core.clock import Instant, format_instant
from redrive.core.documents import Document, dump_json, load_json
from redrive.languages.input_transformer import parse_template
from redrive.languages.json_path import MISSING, find, parse_path

_EVENT_MEMBERS = {
    "id": "id", "account": "account", "detailType": "detail-type", "time": "time", "source": "source",
    "region": "region", "resources": "resources", "version": "version",
}  # fmt: skip
"""The members of `<aws.events.event>` and what they are called in the event. The names were recorded so."""


class Matched(NamedTuple):
    """An event that a rule has matched: the event's text, when it came, and the rule."""

    text: str
    ingested_at: Instant
    rule_arn: str
    rule_name: str


def render_input(target: Document, matched: Matched) -> str:
    """The input of a target. Errors: UnusableOutput (a transformer's output is not JSON)."""
    if "Input" in target:
        return str(target["Input"])
    if "InputPath" in target:
        found = find(load_json(matched.text), parse_path(target["InputPath"]))
        return "null" if found is MISSING else dump_json(found)
    transformer = target.get("InputTransformer")
    if transformer is None:
        return matched.text
    event = load_json(matched.text)
    paths = transformer.get("InputPathsMap") or {}
    template = parse_template(transformer["InputTemplate"])
    return template.render(
        lambda name: find(event, parse_path(paths[name])) if name in paths else _reserved(name, event, matched)
    )


def _reserved(name: str, event: Document, matched: Matched) -> object:
    match name:
        case "aws.events.rule-arn":
            return matched.rule_arn
        case "aws.events.rule-name":
            return matched.rule_name
        case "aws.events.event.ingestion-time":
            return format_instant(matched.ingested_at)
        case "aws.events.event.json":
            return event
        case "aws.events.event":
            return {name: event[member] for name, member in _EVENT_MEMBERS.items() if member in event}
        case _:
            return MISSING
