"""Changes of guesses that runs have shown to be necessary, put into the documents that were guessed."""

from __future__ import annotations

import base64
import binascii
import copy
import json
from collections.abc import Iterable
from dataclasses import dataclass

from redrive.core.documents import dump_json
from redrive.prove.guess.mends import Content, Exactly, Mend, path_told
from redrive.prove.guess.parts import Member, Part
from redrive.prove.guess.reading import EventPath, Reading
from redrive.prove.guess.record_samples import sample_object
from redrive.prove.guess.samples import is_numbers_name, text_for
from redrive.prove.guess.watched import EVENT, At

VARIABLE = "variable "
"""How the source of a variable's value begins; its name follows."""


@dataclass(frozen=True, slots=True)
class Hint:
    """A change, and the line of the user's code that has asked for it."""

    mend: Mend
    line: str


@dataclass(frozen=True, slots=True)
class Hints:
    """All changes so far."""

    all: tuple[Hint, ...] = ()

    def with_hint(self, hint: Hint) -> Hints:
        """One more; a later change at the same place replaces an earlier one."""
        return Hints((*(one for one in self.all if one.mend.at != hint.mend.at), hint))

    def of(self, source: str) -> list[Hint]:
        """Those of one source."""
        return [one for one in self.all if one.mend.at.source == source]

    @property
    def sources(self) -> list[str]:
        """The sources that are changed."""
        return list(dict.fromkeys(one.mend.at.source for one in self.all))

    @property
    def variables(self) -> dict[str, str]:
        """The values of variables."""
        return {
            source.removeprefix(VARIABLE): self._variable(source)
            for source in self.sources
            if source.startswith(VARIABLE) and self._is_said(source)
        }

    def _is_said(self, source: str) -> bool:
        return any(one.mend.at.path or one.mend.value is not Content.ANY for one in self.of(source))

    def _variable(self, source: str) -> str:
        made = overlaid(None, (one.mend for one in self.of(source)))
        return made if isinstance(made, str) else dump_json(made)

    @property
    def missing_variables(self) -> dict[str, str]:
        """The lines that ask for variables of which nothing is said."""
        asked = (one for one in self.all if one.mend.at.source.startswith(VARIABLE))
        return {one.mend.at.source.removeprefix(VARIABLE): one.line for one in asked}


def overlaid(
    document: object, mends: Iterable[Mend], reading: Reading | None = None, below: EventPath = ()
) -> object:  # fmt: skip
    """The document with the changes. Texts in JSON or base64 on the way are decoded, and encoded again.

    `below` is the path of the document itself in what the places of the changes are about.
    """
    made = copy.deepcopy(document)
    listed = list(mends)
    for mend in listed:
        if mend.at.path[: len(below)] == below and not _is_container(mend, listed):
            made = _put(made, mend.at.path[len(below) :], mend, reading)
    return made


def _is_container(mend: Mend, mends: list[Mend]) -> bool:
    """Whether nothing is said of a place but what stands below it."""
    path = mend.at.path
    return mend.value is Content.ANY and any(
        one.at.source == mend.at.source and one.at.path[: len(path)] == path and one.at.path != path for one in mends
    )


def _put(held: object, path: EventPath, mend: Mend, reading: Reading | None) -> object:
    if not path:
        return _value(held, mend, reading)
    step, rest = path[0], path[1:]
    if isinstance(step, Part):
        return step.fill(held if isinstance(held, str) else "", lambda part: _put(part, rest, mend, reading))
    if isinstance(held, str) and not isinstance(step, Member):
        return _inside_text(held, path, mend, reading)
    if isinstance(step, int):
        members = list(held) if isinstance(held, list) else []
        first = _put(members[0] if members else None, rest, mend, reading)
        return [first, *members[1:]]
    named = dict(held) if isinstance(held, dict) else {}
    named[step] = _put(named.get(step), rest, mend, reading)
    return named


def _inside_text(text: str, path: EventPath, mend: Mend, reading: Reading | None) -> str:
    try:
        inner = json.loads(text)
    except ValueError:
        inner = None
    if isinstance(inner, dict | list):
        return dump_json(_put(inner, path, mend, reading))
    try:
        decoded = base64.b64decode(text, validate=True).decode()
        inner = json.loads(decoded)
    except (binascii.Error, ValueError):
        return dump_json(_put(None, path, mend, reading))
    return base64.b64encode(dump_json(_put(inner, path, mend, reading)).encode()).decode()


def _value(held: object, mend: Mend, reading: Reading | None) -> object:
    match mend.value:
        case Content.JSON:
            return held if isinstance(held, str) and _is_json(held) else dump_json(held if _holds(held) else {})
        case Content.ANY:
            return value_for(mend.at, reading) if held in (None, "", [], {}) else held
        case Exactly():
            return dict(mend.value)
        case list() | dict() if isinstance(held, type(mend.value)) and held:
            return held
        case list() | dict() if isinstance(held, str) and _is_json(held):
            return (
                held if isinstance(json.loads(held), type(mend.value)) and json.loads(held) else dump_json(mend.value)
            )
        case value:
            return copy.deepcopy(value)


def value_for(at: At, reading: Reading | None = None) -> object:
    """A value for a place, by the texts with which the source compares it, and by its name."""
    if reading is not None and at.source == EVENT:
        below, _ = sample_object(reading, at.path)
        if below:
            return below
    last = at.path[-1] if at.path else "value"
    texts = () if reading is None else reading.compared.get(at.path, ())
    if texts:
        return texts[0]
    named = str(next((step for step in reversed(at.path) if isinstance(step, str)), last))
    if last in ("S", "N", "BOOL", "M", "L", "SS") and len(at.path) > 1:
        typed: dict[object, object] = {"N": "1", "BOOL": True, "M": {}, "L": [], "SS": ["a"]}
        return typed.get(last, text_for(str(at.path[-2])))
    return 1 if is_numbers_name(named) else text_for(named)


def told(hint: Hint) -> tuple[str, str]:
    """A change for the user: what was changed, and why."""
    at, value = hint.mend.at, hint.mend.value
    what = f"{path_told(at.path)} of the {at.source}" if at.path else at.source
    if value is Content.ANY:
        return what, f"made up, because {hint.line} reads it"
    if value is Content.JSON:
        return what, f"a text in JSON, because {hint.line} reads it so"
    return what, f"{value!r}, because of {hint.line}"


def _holds(held: object) -> bool:
    return isinstance(held, dict | list) and bool(held)


def _is_json(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict | list)
    except ValueError:
        return False
