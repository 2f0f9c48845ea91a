"""Advice about a system: which function is to be mended may be another one than that at whose run the fault struck."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from redrive.prove.judge.judge import Rule
from redrive.prove.play.events import Called, DeadLettered, Delivered, Event, Sent
from redrive.prove.stage.trigger import Kind
from redrive.prove.system.entrances import Way
from redrive.prove.system.messages import Circuit
from redrive.prove.tell.advice.advice import Advice, advice_for
from redrive.prove.tell.advice.case import Case, members_of_text
from redrive.prove.tell.advice.causes import cause_of
from redrive.prove.tell.advice.changes.changes import change_for

_ANOTHER_ID = (
    "{cause}, and {function} was given the same work again under another id. In {function}, take the key from what the "
    "work is about, and not from an id of its {noun}, and let that key refuse the work the second time: by a write "
    "under it, or a condition on it. Or have what comes before it send the same work only once."
)
_PASSED_ON = frozenset({"MessageBody", "Message", "Detail", "Payload", "Input"})
"""The members of calls that are what another function is given."""


def advice_for_system(circuit: Circuit, case: Case, message: str) -> Advice:
    """What to do; `message` is what came in."""
    violation, events = case.violation, case.events
    functions = {one.run: one.function for one in events if isinstance(one, Delivered)}
    struck = [functions[one.run] for one in events if isinstance(one, Called) and one.faults]
    makers = [
        functions[one.run]
        for one in events
        if isinstance(one, Called) and one.times and one.call.target and one.call.target in violation.subject
    ]
    if violation.rule is Rule.ONCE and makers and makers[-1] not in struck:
        given = [one for one in events if isinstance(one, Delivered) and one.function == makers[-1]]
        if len({name for one in given for name in one.message_ids}) > 1:
            cause = f"{struck[-1]} was tried again" if struck else "The event came a second time"
            noun = "record" if given[-1].kind.is_stream else "message" if given[-1].receives else "event"
            text = _ANOTHER_ID.format(cause=cause, function=makers[-1], noun=noun)
            about = about_function(circuit, case, functions, makers[-1])
            finding = cause_of(about)
            change = change_for(finding, about, members_of_text(_given(events, functions, makers[-1], message)))
            return Advice(text, finding, change)
    name = next(iter((*struck[-1:], *makers[-1:], *list(functions.values())[-1:])), "")
    return advice_for(about_function(circuit, case, functions, name), _given(events, functions, name, message))


def about_function(circuit: Circuit, case: Case, functions: Mapping[int, str], name: str) -> Case:
    """The case of one function: advice goes by what feeds that one."""
    is_asked = circuit.entrance.way is Way.API and circuit.entrance.name == name
    events = tuple(_of_function(case.events, functions, name))
    if is_asked:
        events = tuple(replace(one, kind=Kind.API) if isinstance(one, Delivered) else one for one in events)
    return replace(case, events=events, function=name)


def _of_function(events: Sequence[Event], functions: Mapping[int, str], name: str) -> Iterator[Event]:
    return (one for one in events if isinstance(one, Sent | DeadLettered) or functions[one.run] == name)


def _given(events: Sequence[Event], functions: Mapping[int, str], name: str, message: str) -> str:
    """What a function was given: what came in, or the text that another one had sent before its first run."""
    sent = message
    for one in events:
        if isinstance(one, Delivered) and one.function == name:
            return sent
        if isinstance(one, Called) and functions[one.run] != name:
            sent = next(_texts(one.call.params), sent)
    return message


def _texts(params: object) -> Iterator[str]:
    """The texts in the parameters of a call that others are given."""
    match params:
        case Mapping():
            for name, value in params.items():
                if name in _PASSED_ON:
                    yield value.decode() if isinstance(value, bytes) else str(value)
                else:
                    yield from _texts(value)
        case list() | tuple():
            for value in params:
                yield from _texts(value)
