"""What a trigger delivers, with the changes of guesses in it."""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from dataclasses import replace

from redrive.core.documents import Document, dump_json
from redrive.prove.guess.hints import Hints, overlaid
from redrive.prove.guess.mends import Mend
from redrive.prove.guess.reading import EventPath, Reading, in_envelope
from redrive.prove.guess.watched import EVENT
from redrive.prove.stage.envelopes import SOURCE
from redrive.prove.stage.positions import skip_to_end
from redrive.prove.stage.stage import Stage
from redrive.prove.stage.trigger import Kind, Trigger

_BODY: EventPath = ("Records", 0, "body")
_DATA: EventPath = ("Records", 0, "kinesis", "data")
_CHANGE: EventPath = ("Records", 0, "dynamodb")
_LIST: EventPath = ("Records",)
"""Where an event that is a list of records has them, as its handler's reading says it."""
_RECORD: EventPath = ("Records", 0)
_OUTSIDE = frozenset({("attributes",), ("messageAttributes",)})
_IMAGES = ("Keys", "NewImage", "OldImage")


def with_hints(trigger: Trigger, hints: Hints, reading: Reading | None) -> Trigger:
    """The trigger with other messages, events or records. What the envelope says cannot be changed."""
    mends = [one.mend for one in hints.of(EVENT)]
    if not mends:
        return trigger
    if trigger.is_direct or trigger.is_awaited:
        bodies = tuple(_event(body, mends, reading) for body in trigger.bodies)
        return replace(trigger, bodies=bodies, given=bodies if trigger.given == trigger.bodies else trigger.given)
    if trigger.kind is Kind.KINESIS:
        mends = [replace(one, at=replace(one.at, path=_of_kinesis(one.at.path))) for one in mends]
        return replace(trigger, bodies=tuple(_record(body, mends, reading) for body in trigger.bodies))
    if trigger.kind is Kind.DYNAMODB:
        return replace(trigger, bodies=tuple(_change(body, mends, reading) for body in trigger.bodies))
    bodies = tuple(_text(overlaid(body, mends, reading, _BODY)) for body in trigger.bodies)
    messages = tuple(replace(one, body=body) for one, body in zip(trigger.messages, bodies, strict=False))
    return replace(trigger, bodies=bodies, messages=messages)


def with_envelopes(texts: tuple[str, ...], hints: Hints) -> tuple[str, ...]:
    """The messages of a queue with what was changed outside of their bodies: attributes, and the group."""
    mends = [
        one.mend for one in hints.of(EVENT) if one.mend.at.path[:2] == _RECORD and one.mend.at.path[2:3] in _OUTSIDE
    ]
    return tuple(_record_of(text, mends) for text in texts) if mends else texts


def _record_of(body: str, mends: Sequence[Mend]) -> str:
    record = overlaid({"eventSource": SOURCE, "body": body}, mends, None, _RECORD)
    attributes = record.get("messageAttributes") if isinstance(record, dict) else None
    for attribute in attributes.values() if isinstance(attributes, dict) else ():
        if isinstance(attribute, dict):
            attribute.setdefault("dataType", "String")
            attribute.setdefault("stringValue", "sample")
    return dump_json(record)


def settle_furnished(stage: Stage, trigger: Trigger) -> None:
    """Have the world forget what it would tell of what is there beforehand: nothing of that is under proof."""
    stage.settle()
    if trigger.is_stream:
        stage.step(("skip to end",), lambda tx: skip_to_end(tx, trigger.mapping))


def _of_kinesis(path: EventPath) -> EventPath:
    """A path in the event of a mapping; that in a pipe's list has the data in the record itself."""
    return in_envelope(path[1:]) if path[:1] == ("Records",) else path


def _event(body: str, mends: Sequence[Mend], reading: Reading | None) -> str:
    event = json.loads(body)
    return dump_json(overlaid(event, mends, reading, _LIST if isinstance(event, list) else ()))


def _record(body: str, mends: Sequence[Mend], reading: Reading | None) -> str:
    document = json.loads(body)
    data = overlaid(base64.b64decode(document["data"]).decode("utf-8", "replace"), mends, reading, _DATA)
    return dump_json({**document, "data": base64.b64encode(_text(data).encode()).decode()})


def _change(body: str, mends: Sequence[Mend], reading: Reading | None) -> str:
    """A change of a table. Its key stays, and what stands in an image has a type."""
    document: Document = json.loads(body)
    for mend in mends:
        image, *rest = mend.at.path[len(_CHANGE) :] or ("",)
        if image not in _IMAGES or image not in document or not rest or rest[0] in document["Keys"]:
            continue
        changed = overlaid(document[image], [mend], reading, (*_CHANGE, image))
        if isinstance(changed, dict):
            held = changed[rest[0]]
            is_typed = isinstance(held, dict) and len(held) == 1
            document[image] = {**changed, rest[0]: held if is_typed else {"S": _text(held)}}
    return dump_json(document)


def _text(value: object) -> str:
    return value if isinstance(value, str) else dump_json(value)
