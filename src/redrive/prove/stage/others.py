"""Two different messages at once: the second one, given or made of the first by another id."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace

from redrive.core.documents import dump_json
from redrive.core.errors import UserError
from redrive.prove.stage.trigger import Kind, Trigger

_CONTENT = {Kind.EVENTBRIDGE: "detail"}
"""The member in which an event says what it is about."""
_OF_DELIVERY = frozenset(
    {"messageId", "MessageId", "requestId", "eventID", "awsRequestId", "accountId", "apiId", "TopicArn"}
)
_NAMES = (r"id", r"\w+_id|\w*[a-z]Id|\w*[a-z]ID", r"\w*(?:number|reference|key|name)")
"""The names of members that say which thing a message is about: the more telling ones first."""
_LAST_DIGITS = re.compile(r"\d+(?=\D*$)")
_MADE = frozenset({Kind.SQS, Kind.FIFO, Kind.EVENTBRIDGE, Kind.LAMBDA, Kind.SNS, Kind.SCHEDULE, Kind.TASK, Kind.API})
"""The kinds of triggers of whose event another one can be made: what others tell of has to be there as well."""


def with_another(trigger: Trigger) -> Trigger:
    """The trigger with two different messages, of which the second comes while the first is worked on, or after it.

    Errors: UserError if only one is given, and no other can be made of it.
    """
    if len(trigger.bodies) > 1:
        return replace(
            trigger, bodies=trigger.bodies[:2], given=trigger.given[:2], messages=trigger.messages[:2],
            is_concurrent=True,
        )  # fmt: skip
    found = _telling(trigger) if trigger.kind in _MADE else None
    if found is None:
        raise UserError(
            f"--concurrent 2 needs two different {trigger.noun}s, and no member of the only one looks like an id.",
            next_step="Give both: --event first.json --event second.json.", exit_code=2,
        )  # fmt: skip
    name, value = found
    other = _next(value)

    def changed(text: str) -> str:
        return _changed(text, value, other)

    event_id = trigger.event_id(0)

    def made(text: str) -> str:
        again = changed(text)
        return again.replace(event_id, str(_next(event_id))) if event_id and event_id != value else again

    messages = tuple(replace(one, body=changed(one.body), deduplication_id="") for one in trigger.messages)
    told = f"the same with {name} {other!r} in place of {value!r} (give your own: --event)"
    return replace(
        trigger, bodies=(*trigger.bodies, *map(made, trigger.bodies)),
        given=(*trigger.given, *map(made, trigger.given)), messages=(*trigger.messages, *messages), is_concurrent=True,
        guesses={**trigger.guesses, f"second {trigger.noun}": told},
    )  # fmt: skip


Value = str | int


def _telling(trigger: Trigger) -> tuple[str, Value] | None:
    """The member that says what the message is about: its name and its value."""
    try:
        document = json.loads(trigger.bodies[0])
    except ValueError:
        return "the text", trigger.bodies[0]
    if isinstance(document, dict) and trigger.kind in _CONTENT:
        document = document.get(_CONTENT[trigger.kind], document)
    members = list(_members(document))
    for pattern in _NAMES:
        for name, value in members:
            if re.fullmatch(pattern, name, re.ASCII) and name not in _OF_DELIVERY and not isinstance(value, bool):
                return name, value
    return None


def _members(document: object) -> list[tuple[str, Value]]:
    """The members of a document that are texts and numbers, also in texts that are documents; the outer ones first."""
    found: list[tuple[str, Value]] = []
    inner: list[object] = []
    pairs = document.items() if isinstance(document, dict) else ()
    for name, value in pairs:
        opened = _opened(value)
        if isinstance(opened, dict | list):
            inner.append(opened)
        elif isinstance(value, str | int):
            found.append((str(name), value))
    inner += document if isinstance(document, list) else []
    return [*found, *(member for one in inner for member in _members(one))]


def _opened(value: object) -> object:
    if isinstance(value, str) and value.lstrip().startswith(("{", "[")):
        try:
            return json.loads(value)
        except ValueError:
            return value
    return value


def _changed(text: str, value: Value, other: Value) -> str:
    if text == value:
        return str(other)
    try:
        document = json.loads(text)
    except ValueError:
        return text
    return dump_json(_mapped(document, lambda one: other if one == value and type(one) is type(value) else one))


def _mapped(document: object, change: Callable[[object], object]) -> object:
    """The document with its texts and numbers changed, also in texts that are documents."""
    if isinstance(document, dict):
        return {name: _mapped(value, change) for name, value in document.items()}
    if isinstance(document, list):
        return [_mapped(value, change) for value in document]
    opened = _opened(document)
    if opened is not document:
        return dump_json(_mapped(opened, change))
    return change(document)


def _next(value: Value) -> Value:
    """Another value of the same form: `order-1` becomes `order-2`."""
    if isinstance(value, int):
        return value + 1
    digits = _LAST_DIGITS.search(value)
    if digits is None:
        return f"{value}-2"
    number = str(int(digits[0]) + 1).zfill(len(digits[0]))[-len(digits[0]) :]
    return f"{value[: digits.start()]}{number}{value[digits.end() :]}"
