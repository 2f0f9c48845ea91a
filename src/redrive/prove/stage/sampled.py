"""The sample event of a handler: by the rule's pattern, the kind that the user names, and what the handler reads."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from redrive.core.documents import Document, dump_json
from redrive.core.errors import UserError
from redrive.languages.event_pattern import Pattern, sample
from redrive.languages.event_pattern.conditions import Equals
from redrive.prove.guess.contents import content_for
from redrive.prove.guess.reading import EventPath, Reading
from redrive.prove.guess.samples import Shape, completed, copied, names_of_shapes, shape_for, shapes_of_type

GUESSED = "event"
"""The name of the guess at the kind of event."""
_NEAR_MAX = 3


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is known of the event: the kind that the user names, and what the handler reads, whose file this is."""

    event_type: str | None = None
    reading: Reading | None = None
    file: Path | None = None


@dataclass(frozen=True, slots=True)
class Sampled:
    """An event as JSON, and what was guessed of it."""

    text: str
    guesses: Mapping[str, str] = field(default_factory=dict)


NOTHING_KNOWN = Wanted()


def sampled(envelope: Document, wanted: Wanted, *, rule_name: str = "", pattern: Pattern | None = None) -> Sampled:
    """The sample event. Its `envelope` has everything but source, type, resources and detail of a known kind.

    Errors: UserError if the user's kind is unknown, or if no event is found that the pattern matches.
    """
    shape = _shape(wanted, pattern)
    event = dict(envelope)
    guesses: dict[str, str] = {}
    if shape is not None:
        event |= copied(shape)
        _with_suffix(event, wanted.file)
    if isinstance(event["detail"], dict):
        added = completed(event, wanted.reading)
        guesses |= {f"{path} of the event": f"made up, because {place} reads it" for path, place in added.items()}
    made = event if pattern is None else sample(pattern, event)
    if made is None:
        raise UserError(
            f"No event was found that the rule {rule_name} matches.", next_step="Give one with --event FILE.",
            exit_code=2,
        )  # fmt: skip
    if shape is not None:
        guesses = {GUESSED: f"{made['source']}, {made['detail-type']}; {shape.documentation}", **guesses}
    return Sampled(dump_json(made), guesses)


def _with_suffix(event: Document, file: Path | None) -> None:
    """Give the object that an event of S3 tells of a name that ends as those of the files that the handler reads."""
    detail = event["detail"]
    held = detail.get("object") if isinstance(detail, dict) else None
    if file is not None and isinstance(held, dict) and event.get("source") == "aws.s3":
        key = str(held.get("key"))
        held["key"] = f"{key.rpartition('.')[0]}.{content_for(file).suffix}"


def _shape(wanted: Wanted, pattern: Pattern | None) -> Shape | None:
    if wanted.event_type is None:
        compared = {} if wanted.reading is None else wanted.reading.compared
        return shape_for(compared if pattern is None else _texts(pattern), wanted.reading)
    found = shapes_of_type(wanted.event_type)
    if not found:
        names = list(names_of_shapes())
        near = difflib.get_close_matches(wanted.event_type, names, _NEAR_MAX, cutoff=0.0)
        raise UserError(
            f"There is no sample of an event {wanted.event_type!r}.",
            next_step=f"The nearest of {len(names)} are {', '.join(near)}. Give any other event with --event FILE.",
            exit_code=2,
        )  # fmt: skip
    kinds: dict[EventPath, Sequence[str]] = {
        ("source",): [shape.source for shape in found], ("detail-type",): [shape.detail_type for shape in found]
    }  # fmt: skip
    named = [shape for shape in found if "/" in wanted.event_type or len(found) == 1]
    return named[0] if named else shape_for(kinds, wanted.reading)


def _texts(pattern: Pattern) -> dict[EventPath, Sequence[str]]:
    """The texts that the first alternative of a pattern asks for, by path."""
    found: dict[EventPath, Sequence[str]] = {}
    for asked in pattern.alternatives[0] if pattern.alternatives else ():
        texts = [one.value for one in asked.conditions if isinstance(one, Equals) and isinstance(one.value, str)]
        if texts:
            found[asked.path] = texts
    return found
