"""Events of EventBridge that invoke a function: as they are given, and as a rule's target makes them."""

from __future__ import annotations

import json
from dataclasses import dataclass

from redrive.core.clock import SECOND_MS
from redrive.core.documents import Document, dump_json
from redrive.core.errors import UserError
from redrive.languages.event_pattern import Pattern, explain, parse
from redrive.languages.input_transformer import UnusableOutput
from redrive.prove.stage.sampled import Sampled, Wanted, sampled
from redrive.prove.stage.stage import SCOPE, START, Stage
from redrive.prove.stage.trigger import RETENTION_S, TIMEOUT_S, Kind, Trigger, create_role, empty_archive
from redrive.services.events.model.event import envelope
from redrive.services.events.model.inputs import Matched, render_input

READY_AFTER_MS = 10 * SECOND_MS
"""How long before its first event the function is created: Lambda runs no function that it still creates."""
RETRIES_MAX = 2
"""https://docs.aws.amazon.com/lambda/latest/dg/invocation-async-error-handling.html"""
EVENT_ID = "6f1d2a64-1c5e-4a3b-9d55-"
"""The beginning of the ids of events; the number of the event follows."""

_ENTRY = frozenset({"Source", "DetailType", "Detail"})
_ENVELOPE = frozenset({"source", "detail-type", "detail"})
_NAMES = {"Source": "source", "DetailType": "detail-type", "Detail": "detail", "Resources": "resources", "Time": "time"}


@dataclass(frozen=True, slots=True)
class Fed:
    """A rule's target that is a function: the rule as DescribeRule tells it, and the target."""

    rule: Document
    target: Document

    @property
    def pattern(self) -> Pattern | None:
        """The pattern of the rule; None if it has a schedule alone."""
        text = self.rule.get("EventPattern")
        return None if text is None else parse(str(text))


def usual_events(stage: Stage, events: tuple[str, ...], kind: Kind) -> Trigger:
    """A function that events invoke: two retries, and a dead-letter queue that keeps its messages for 14 days."""
    stage.clock.set(START - READY_AFTER_MS)
    role_arn = create_role(stage)
    retention = {"MessageRetentionPeriod": str(RETENTION_S)}
    stage.call("sqs", "CreateQueue", QueueName="events-dlq", Attributes=retention)
    dead_letter_arn = f"arn:aws:sqs:{SCOPE.region}:{SCOPE.account}:events-dlq"
    stage.call(
        "lambda", "CreateFunction", FunctionName="handler", Runtime="python3.12", Role=role_arn,
        Handler="index.handler", Timeout=TIMEOUT_S, Code={"ZipFile": empty_archive()},
        DeadLetterConfig={"TargetArn": dead_letter_arn},
    )  # fmt: skip
    stage.settle()
    stage.move_to(START)
    return Trigger(
        "handler", "", "", dead_letter_arn, TIMEOUT_S * SECOND_MS, RETENTION_S * SECOND_MS, events, RETRIES_MAX + 1,
        kind, events,
    )  # fmt: skip


def events_of(given: tuple[str, ...], fed: Fed | None) -> tuple[str, ...]:
    """The events as EventBridge writes them.

    Given is an envelope, parts of one, entries of PutEvents, or whatever else the function is to be invoked with.
    Errors: UserError if the rule does not match an event.
    """
    documents = [one for text in given for one in _documents(text)]
    return tuple(_event(document, number, fed) for number, document in enumerate(documents))


def sample_event(fed: Fed | None, wanted: Wanted) -> Sampled:
    """An event that the rule matches, or one that fits the handler. Errors: UserError."""
    event = _envelope(0)
    if fed is None:
        return sampled(event, wanted)
    name, arn = str(fed.rule["Name"]), str(fed.rule["Arn"])
    if fed.pattern is not None:
        return sampled(event, wanted, rule_name=name, pattern=fed.pattern)
    scheduled = {"detail-type": "Scheduled Event", "source": "aws.events", "resources": [arn], "detail": {}}
    return Sampled(dump_json(event | scheduled))


def inputs_of(events: tuple[str, ...], fed: Fed) -> tuple[str, ...]:
    """What the rule's target makes of events. Errors: UserError if it makes no JSON of one."""
    matched = [Matched(event, START, str(fed.rule["Arn"]), str(fed.rule["Name"])) for event in events]
    try:
        return tuple(render_input(fed.target, one) for one in matched)
    except UnusableOutput as error:
        raise UserError(
            f"The input transformer of the rule {fed.rule['Name']} makes no JSON of the event: {error}", exit_code=2
        ) from error


def _documents(text: str) -> list[object]:
    try:
        event = json.loads(text)
    except ValueError as error:
        raise UserError(f"The event is no JSON: {error}.", exit_code=2) from error
    entries = event.get("Entries", event) if isinstance(event, dict) else event
    return entries if isinstance(entries, list) else [event]


def _event(document: object, number: int, fed: Fed | None) -> str:
    if not isinstance(document, dict) or document.keys().isdisjoint(_ENTRY | _ENVELOPE):
        return dump_json(document)
    if not document.keys().isdisjoint(_ENTRY):
        document = {_NAMES[name]: _member(name, value) for name, value in document.items() if name in _NAMES}
    event = _envelope(number) | document
    pattern = None if fed is None else fed.pattern
    if fed is not None and pattern is not None:
        _require_match(fed, pattern, event)
    return dump_json(event)


def _member(name: str, value: object) -> object:
    return json.loads(value) if name == "Detail" and isinstance(value, str) else value


def _require_match(fed: Fed, pattern: Pattern, event: Document) -> None:
    explanation = explain(pattern, event)
    if explanation.matches:
        return
    raise UserError(
        f"The rule {fed.rule['Name']} would never give the event to its function. {explanation.text()}",
        next_step="Give an event that the rule matches, or none: then a sample is made by the rule's pattern.",
        exit_code=2,
    )  # fmt: skip


def _envelope(number: int) -> Document:
    """An envelope whose id is that of the event with this number."""
    return envelope(
        id=f"{EVENT_ID}{number:012d}", detail_type="Sample", source="redrive.sample", scope=SCOPE, at=START,
        resources=[], detail={"id": "sample-1"},
    )  # fmt: skip
