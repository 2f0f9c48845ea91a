"""Scalars as CloudFormation writes them into texts."""

from __future__ import annotations

from redrive.languages.template.errors import TemplateError
from redrive.languages.template.source import Node

_DIGITS_MAX = 18


def whole_number(text: str) -> int | None:
    """The number in decimal digits; None for any other text, and for more than 18 digits."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= _DIGITS_MAX else None


def text_of(node: Node) -> str:
    """A scalar as text: `true`, `7`, `1.5`. Errors: TemplateError for a list, an object or null."""
    match node:
        case bool():
            return "true" if node else "false"
        case str():
            return node
        case int() | float():
            return str(node)
        case _:
            raise TemplateError("Template error: every value of a string function must be a string")
