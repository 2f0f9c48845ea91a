"""What a handler is given where nobody says it: a sample of the kind that it reads."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path

from redrive.prove.guess.contents import FileContent
from redrive.prove.guess.reading import read_handler
from redrive.prove.process.subject import NamedSubject, Subject
from redrive.prove.search.options import Options
from redrive.prove.stage.deliveries import TRIGGER, kind_for, kind_of_event, sample_message
from redrive.prove.stage.inputs import inputs_for
from redrive.prove.stage.rules import events_of, sample_event
from redrive.prove.stage.sampled import Wanted
from redrive.prove.stage.template import code_directory
from redrive.prove.stage.trigger import Kind


@dataclass(frozen=True, slots=True)
class Inputs:
    """What the handler is given, and what was guessed of it."""

    texts: tuple[str, ...]
    guesses: Mapping[str, str] = field(default_factory=dict)


def with_kind(options: Options, wanted: Wanted) -> tuple[Options, Mapping[str, str]]:
    """The options with what feeds the handler, and why, if nobody has said it and what the handler reads does."""
    found = kind_for(wanted.reading)
    if options.trigger is not None or options.template is not None or found is None:
        return options, {}
    kind, why = found
    if options.bodies is not None and kind_of_event(options.bodies[0]) is not kind:
        return options, {}  # It is the body of a message.
    return replace(options, trigger=kind), {} if kind is Kind.SQS else {TRIGGER: why}


def sample_for(options: Options, wanted: Wanted, file: FileContent) -> Inputs:
    """What the handler is given if no template says otherwise."""
    kind = options.trigger or Kind.SQS
    if kind is not Kind.EVENTBRIDGE and (kind.is_direct or kind.is_awaited):
        texts, guesses = inputs_for(kind, options.bodies, wanted, file=file)
        return Inputs(texts, guesses)
    if options.trigger is not Kind.EVENTBRIDGE:
        if options.bodies is not None:
            return Inputs(options.bodies)
        message = sample_message(wanted.reading, file)
        return Inputs((message.text,), message.guesses)
    if options.bodies is not None:
        return Inputs(events_of(options.bodies, None))
    made = sample_event(None, wanted)
    return Inputs((made.text,), made.guesses)


def wanting(subject: Subject | None, options: Options) -> Callable[[str, Path | None], Wanted]:
    """What the event of a handler is like, by what it reads. Without a subject, the code of a template is read."""

    @cache  # Each world of a rehearsal asks, and the code stays as it is.
    def wanted(handler: str, directory: Path | None) -> Wanted:
        reading, file = None, None
        if isinstance(subject, NamedSubject):
            file = subject.file
            reading = read_handler(file, subject.function)
        elif subject is None and directory is not None and (directory := code_directory(directory)) is not None:
            module, _, function = handler.rpartition(".")
            file = directory / f"{module.replace('.', '/')}.py"
            reading = read_handler(file, function)
        return Wanted(options.event_type, reading, file)

    return wanted
