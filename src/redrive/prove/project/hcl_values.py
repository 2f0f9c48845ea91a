"""Values of Terraform's language: those that files say, and those that only a deployment knows."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from redrive.languages.template import Node


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of a text: written, or what a reference comes to."""

    text: str = ""
    reference: str = ""


@dataclass(frozen=True, slots=True)
class Unknown:
    """A value that only a deployment knows: the references in it, and the text around them where there is one."""

    references: tuple[str, ...] = ()
    parts: tuple[Part, ...] = ()

    def __getitem__(self, key: object) -> Unknown:
        """A member of it: of a single reference the longer reference."""
        if len(self.references) != 1 or self.parts:
            return Unknown(self.references)
        longer = f"{self.references[0]}[{json.dumps(key)}]" if isinstance(key, int) else f"{self.references[0]}.{key}"
        return Unknown((longer,))


Value: TypeAlias = "str | int | float | bool | Unknown | list[Value] | dict[str, Value] | None"


def references_in(value: Value) -> tuple[str, ...]:
    """All references in a value."""
    return tuple(dict.fromkeys(reference for one in unknowns(value) for reference in one.references))


def unknowns(value: Value) -> Iterator[Unknown]:
    """What is unknown in a value, in order."""
    match value:
        case Unknown():
            yield value
        case list():
            for member in value:
                yield from unknowns(member)
        case dict():
            for member in value.values():
                yield from unknowns(member)
        case _:
            pass


def known(value: Value) -> Node:
    """The value as a plan has it: without what is unknown. A list of which a member is unknown is left out."""
    match value:
        case Unknown():
            return None
        case list():
            return None if any(isinstance(one, Unknown) for one in value) else [known(one) for one in value]
        case dict():
            return {name: known(one) for name, one in value.items() if not isinstance(one, Unknown)}
        case _:
            return value


def text_of(value: Value) -> str:
    """A value as a text."""
    match value:
        case bool():
            return "true" if value else "false"
        case None:
            return ""
        case str() | int() | float():
            return str(value)
        case Unknown():
            return ".".join(value.references)
        case _:
            return json.dumps(known(value))


def joined(values: Sequence[Value]) -> Value:
    """A text of several pieces; a single piece stays what it is."""
    if len(values) == 1:
        return values[0]
    if not any(isinstance(one, Unknown) for one in values):
        return "".join(map(text_of, values))
    parts: list[Part] = []
    for one in values:
        if isinstance(one, Unknown):
            parts += one.parts or [Part(reference=name) for name in one.references[:1]]
        elif text_of(one):
            parts.append(Part(text_of(one)))
    return Unknown(tuple(dict.fromkeys(part.reference for part in parts if part.reference)), tuple(parts))


def encoded(value: Value) -> Value:
    """A value in JSON, with the references that are in it."""
    marked = {f"\0{number}\0": one for number, one in enumerate(unknowns(value))}
    numbers = iter(marked)

    def mark(node: Value) -> Value:
        match node:
            case Unknown():
                return next(numbers)
            case list():
                return [mark(one) for one in node]
            case dict():
                return {name: mark(one) for name, one in node.items()}
            case _:
                return node

    text = json.dumps(mark(value), ensure_ascii=False)
    pieces = text.split("\\u0000")
    return joined([marked.get(f"\0{piece}\0", piece) for piece in pieces])
