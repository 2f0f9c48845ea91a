"""Values that are computed from a state's data: payload templates with `.$` fields, paths, literals."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from redrive.core.documents import dump_json
from redrive.languages.states.bindings import Bindings
from redrive.languages.states.errors import runtime_error
from redrive.languages.states.intrinsics import MalformedCall, parse_call
from redrive.languages.states.lookup import look_up, root_of
from redrive.languages.states.paths import MalformedPath, NothingFound, Path, parse_path


class Template(Protocol):
    """Something that has a value for each state's data.

    `root` is what `$` names. For JSONata it is the object `$states` without its context: {"input": …, "result": …}.
    """

    def value(self, root: object, bindings: Bindings) -> object:
        """The value. Errors: StatesError."""
        ...


@dataclass(frozen=True, slots=True)
class Literal:
    """A value that depends on nothing."""

    content: object

    def value(self, root: object, bindings: Bindings) -> object:
        return self.content


@dataclass(frozen=True, slots=True)
class Located:
    """A field of a payload template whose value a path names. `field` is its key, with the ending `.$`."""

    path: Path
    field: str

    def value(self, root: object, bindings: Bindings) -> object:
        try:
            return look_up(self.path, root, bindings)
        except NothingFound as error:
            raise _not_found(self.path, self.field, root, bindings, str(error)) from None


@dataclass(frozen=True, slots=True)
class Reached:
    """A field that is a path as a whole: InputPath, OutputPath, SecondsPath."""

    path: Path

    def value(self, root: object, bindings: Bindings) -> object:
        try:
            return look_up(self.path, root, bindings)
        except NothingFound as error:
            raise runtime_error(f"Invalid path '{self.path.text}' : {error}") from None


@dataclass(frozen=True, slots=True)
class Members:
    """An object with computed values."""

    members: tuple[tuple[str, Template], ...]

    def value(self, root: object, bindings: Bindings) -> object:
        return {name: template.value(root, bindings) for name, template in self.members}


@dataclass(frozen=True, slots=True)
class Elements:
    """An array with computed values."""

    elements: tuple[Template, ...]

    def value(self, root: object, bindings: Bindings) -> object:
        return [template.value(root, bindings) for template in self.elements]


class MalformedTemplate(ValueError):
    """Fields of a template cannot be read: `faults` has a place below the template and a sentence for each."""

    def __init__(self, faults: list[tuple[str, str]]) -> None:
        super().__init__("; ".join(sentence for _, sentence in faults))
        self.faults = faults


def parse_template(document: object) -> Template:
    """A payload template: a key that ends in `.$` has a path or a call as value. Errors: MalformedTemplate."""
    faults: list[tuple[str, str]] = []
    template = _parse(document, "", faults)
    if faults:
        raise MalformedTemplate(faults)
    return template


def parse_field(field: str, text: object) -> Template:
    """The value of one field whose key ends in `.$` or in Path. Errors: MalformedPath, MalformedCall."""
    if not isinstance(text, str):
        raise MalformedPath("it must be a text")
    if text.startswith("$"):
        return Located(parse_path(text), field)
    return parse_call(text)


def _parse(document: object, place: str, faults: list[tuple[str, str]]) -> Template:
    if isinstance(document, dict):
        return _joined_members([(name, value) for name, value in document.items()], place, faults)
    if isinstance(document, list):
        parts = tuple(_parse(value, f"{place}[{index}]", faults) for index, value in enumerate(document))
        return Literal(document) if all(isinstance(part, Literal) for part in parts) else Elements(parts)
    return Literal(document)


def _joined_members(fields: list[tuple[str, object]], place: str, faults: list[tuple[str, str]]) -> Template:
    members: list[tuple[str, Template]] = []
    for name, value in fields:
        if not name.endswith(".$"):
            members.append((name, _parse(value, f"{place}/{name}", faults)))
            continue
        try:
            members.append((name.removesuffix(".$"), parse_field(name, value)))
        except (MalformedPath, MalformedCall):
            faults.append(
                (
                    place,
                    f"The value for the field '{name}' must be a valid JSONPath or a valid intrinsic function call",
                )
            )
    if all(isinstance(part, Literal) for _, part in members):
        return Literal({name: part.content for name, part in members if isinstance(part, Literal)})
    return Members(tuple(members))


def _not_found(path: Path, field: str, root: object, bindings: Bindings, why: str) -> Exception:
    try:
        place = root_of(path, root, bindings)
    except NothingFound:
        return runtime_error(f"{why}, which the JSONPath '{path.text}' of the field '{field}' names.")
    return runtime_error(
        f"The JSONPath '{path.text}' specified for the field '{field}' could not be found in the input "
        f"'{dump_json(place)}'"
    )


def walk(template: Template | None) -> Iterator[Template]:
    """A template and what is inside of it."""
    if template is None:
        return
    yield template
    if isinstance(template, Members):
        for _, part in template.members:
            yield from walk(part)
    elif isinstance(template, Elements):
        for part in template.elements:
            yield from walk(part)
