"""Reads Assign: names of variables with computed values."""

from __future__ import annotations

import re

from redrive.languages.states.reading.fields import Fields
from redrive.languages.states.templates import Literal, Members, Template

NAME_CHARACTERS_MAX = 80
_NAME = re.compile(r"[^\W\d]\w*")


def read_assign(fields: Fields) -> tuple[tuple[str, Template], ...]:
    """The variables that are assigned, by name."""
    if not fields.has("Assign"):
        return ()
    if not isinstance(fields.take("Assign"), dict):
        fields.fault("Expected value of type Object", "Assign")
        return ()
    template = fields.template("Assign")
    if isinstance(template, Literal) and isinstance(template.content, dict):
        members: tuple[tuple[str, Template], ...] = tuple(
            (str(name), Literal(value)) for name, value in template.content.items()
        )
    elif isinstance(template, Members):
        members = template.members
    else:
        return ()
    for name, _ in members:
        if name == "states" or not _NAME.fullmatch(name) or len(name) > NAME_CHARACTERS_MAX:
            fields.fault(f"'{name}' is not a valid variable name", "Assign")
    return members
