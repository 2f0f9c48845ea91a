"""Advice about a system: which function is to be mended may be another one than that at whose run the fault struck."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from redrive.prove.judge.judge import Rule
from redrive.prove.play.events import Called, DeadLettered, Delivered, Event, Sent
from redrive.prove.tell.advice.advice import Advice, advice_for
from redrive.prove.tell.advice.case import Case

_ANOTHER_ID = (
    "{cause}, and {function} was given the same work again under another id. In {function}, take the key from what the "
    "work is about, and not from an id of its {noun}, and write under that key; or have what comes before it send the "
    "same work only once."
)


def advice_for_system(case: Case, message: str) -> Advice:
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
            return Advice(_ANOTHER_ID.format(cause=cause, function=makers[-1], noun=noun))
    return advice_for(replace(case, events=tuple(about_struck(events, functions, struck))), message)


def about_struck(events: Sequence[Event], functions: dict[int, str], struck: Sequence[str]) -> Sequence[Event]:
    """The events of the function at whose run the last fault struck: advice goes by what feeds that one."""
    if not struck:
        return events
    return [one for one in events if isinstance(one, Sent | DeadLettered) or functions[one.run] == struck[-1]]
