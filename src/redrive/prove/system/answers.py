"""What the functions of a system need of others, as each function's own proof guesses it."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from redrive.core.documents import Document, dump_json
from redrive.core.errors import UserError
from redrive.prove.calls.given import Given, GivenAnswer
from redrive.prove.making import guessed_answers
from redrive.prove.process.exchange import HttpAnswer
from redrive.prove.search.baseline import lasting
from redrive.prove.search.options import Options
from redrive.prove.stage.furnished import furnish
from redrive.prove.stage.stage import Stage
from redrive.prove.stage.template import names_made
from redrive.prove.system.entrances import Entrance
from redrive.prove.system.incoming import is_the_same_text
from redrive.prove.system.parts import Parts


@dataclass(frozen=True, slots=True)
class SystemAnswers:
    """What the functions of a system need to come through. `events` are what comes in, if a guess of it has changed."""

    given: Given
    told: Mapping[str, str]
    beforehand: Sequence[Given] = ()
    """Rows, objects and values that have to be there."""
    events: tuple[str, ...] | None = None
    event_guesses: Mapping[str, str] = field(default_factory=dict)


def answers_for(options: Options, parts: Parts, entrance: Entrance, given: Given) -> SystemAnswers:
    """The answers of others with which each function comes through by itself, in one document for all requests, behind
    what is `given`; and the event with which the first one does.
    """
    body: Document = {}
    told: dict[str, str] = {}
    beforehand: list[Given] = []
    events: tuple[str, ...] | None = None
    event_guesses: Mapping[str, str] = {}
    for name, part in parts.taking_part.items():
        single = replace(options, is_system=False, entrance=None, rule=None, bodies=None, function=part.name)
        with contextlib.suppress(UserError):
            found = guessed_answers(replace(single, told_events=lambda _: None))
            if options.bodies is None and name == entrance.functions[0] and is_the_same_text(entrance, found.kind):
                events, event_guesses = found.events, found.event_guesses
            body |= found.over_http
            beforehand += [found.beforehand] if found.beforehand.is_furnishing else []
            given = replace(given, replies=(*given.replies, *found.of_services))
            told |= found.guesses
    if body:
        text = dump_json(body)
        given = replace(given, http=(*given.http, GivenAnswer("*", HttpAnswer(body=text.encode()))))
        told.setdefault("answers over HTTP", f"{text} (--given FILE says another one)")
    return SystemAnswers(given, told, beforehand, events, event_guesses)


def furnish_by_name(stage: Stage, given: Given) -> None:
    """Write what has to be there beforehand; what the template has not named is called by its logical id.

    Errors: UserError.
    """
    names = {lasting(name): name for name in names_made(stage)}

    def name_of(place: str) -> str:
        return names.get(lasting(place), place)

    rows = {name_of(table): held for table, held in given.rows.items()}
    messages = {name_of(queue): held for queue, held in given.messages.items()}
    objects = tuple(replace(held, bucket=name_of(held.bucket)) for held in given.objects)
    furnish(stage, replace(given, rows=rows, objects=objects, messages=messages))
