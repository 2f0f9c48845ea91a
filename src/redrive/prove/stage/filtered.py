"""Messages and records that the filter of their mapping lets through: what was made up is changed until it does.

Source: https://docs.aws.amazon.com/lambda/latest/dg/invocation-eventfiltering.html
"""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from dataclasses import replace

from redrive.core.documents import Document, dump_json
from redrive.languages.event_pattern import Pattern, parse, sample
from redrive.prove.stage.stage import Stage
from redrive.prove.stage.trigger import Kind, Trigger

_GUESS = "filter"


def with_filters(stage: Stage, trigger: Trigger) -> Trigger:
    """The trigger with bodies that its mapping's first filter lets through, as far as some are found."""
    patterns = _patterns(stage, trigger) if trigger.kind.is_queue or trigger.is_stream else []
    if not patterns:
        return trigger
    change = {Kind.KINESIS: _record, Kind.DYNAMODB: _change}.get(trigger.kind, _message)
    bodies = tuple(change(body, patterns) for body in trigger.bodies)
    if trigger.kind is Kind.DYNAMODB:
        bodies = _with_removal(bodies, patterns)
    if bodies == trigger.bodies:
        return trigger
    messages = tuple(replace(one, body=body) for one, body in zip(trigger.messages, bodies, strict=False))
    told = f"what the template's filter asks for stands in the {'records' if trigger.is_stream else 'message'}"
    return replace(trigger, bodies=bodies, messages=messages, guesses={**trigger.guesses, _GUESS: told})


def _patterns(stage: Stage, trigger: Trigger) -> list[Pattern]:
    """The filters of the mapping that feeds the function."""
    found = stage.call("lambda", "ListEventSourceMappings", FunctionName=trigger.function_name)["EventSourceMappings"]
    source = trigger.stream_arn or trigger.queue_arn
    mappings = [one for one in found if one.get("EventSourceArn") == source]
    filters = [each for one in mappings for each in (one.get("FilterCriteria") or {}).get("Filters") or ()]
    return [parse(str(one["Pattern"])) for one in filters if one.get("Pattern")]


def _sampled(event: Document, patterns: Sequence[Pattern]) -> Document:
    """The event as one of the filters lets it through; as it is, if none is found."""
    return next((made for made in (sample(pattern, event) for pattern in patterns) if made is not None), event)


def _message(body: str, patterns: Sequence[Pattern]) -> str:
    held = _read(body)
    made = _sampled({"body": held}, patterns)["body"]
    return body if made == held else _written(made)


def _record(body: str, patterns: Sequence[Pattern]) -> str:
    document: Document = json.loads(body)
    held = _read(base64.b64decode(document["data"]).decode("utf-8", "replace"))
    made = _sampled({**document, "data": held}, patterns)
    if made == {**document, "data": held}:
        return body
    data = base64.b64encode(_written(made["data"]).encode()).decode()
    return dump_json({"partitionKey": str(made["partitionKey"]), "data": data})


def _change(body: str, patterns: Sequence[Pattern]) -> str:
    """A change of a table. Its key is the same in all images."""
    document: Document = json.loads(body)
    name = "REMOVE" if "NewImage" not in document else "MODIFY" if "OldImage" in document else "INSERT"
    made = _sampled({"eventName": name, "dynamodb": document}, patterns)["dynamodb"]
    if "NewImage" not in document:
        made.pop("NewImage", None)
        return dump_json(made)
    made["Keys"] = {key: made["NewImage"].get(key, value) for key, value in made["Keys"].items()}
    return dump_json(made)


def _with_removal(bodies: tuple[str, ...], patterns: Sequence[Pattern]) -> tuple[str, ...]:
    """A deletion at the end, where the filters let nothing else through."""
    read = [json.loads(body) for body in bodies]
    names = {_sampled({"eventName": "INSERT", "dynamodb": one}, [pattern]).get("eventName") for one in read[:1]
             for pattern in patterns}  # fmt: skip
    if names == {"REMOVE"} and all("NewImage" in one for one in read):
        return (*bodies, dump_json({"Keys": read[0]["Keys"]}))
    return bodies


def _read(text: str) -> object:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _written(held: object) -> str:
    return held if isinstance(held, str) else dump_json(held)
