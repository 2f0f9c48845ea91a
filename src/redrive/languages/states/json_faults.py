"""What is wrong with a text that is no JSON, in the words of the parser that AWS uses (Jackson)."""

from __future__ import annotations

import json
import re

from redrive.core.documents import load_json

_WORD = re.compile(r"[\w$]+")
_EXPECTED = "(JSON String, Number, Array, Object or token 'null', 'true' or 'false')"


class JsonFault(ValueError):
    """The text is no JSON. `source` is the text, line and column are counted from 1."""

    def __init__(self, why: str, source: str, line: int, column: int) -> None:
        super().__init__(why)
        self.source = source
        self.line = line
        self.column = column

    def with_source(self) -> str:
        """The sentence with the place, as refusals of definitions have it."""
        return f'{self} at [Source: (String)"{self.source}"; line: {self.line}, column: {self.column}]'


def read_json(text: str) -> object:
    """A JSON document. Errors: JsonFault."""
    try:
        value: object = load_json(text)
    except json.JSONDecodeError as error:
        at, why = _read(text, error)
        line = text.count("\n", 0, at) + 1
        raise JsonFault(why, text, line, at - (text.rfind("\n", 0, at) + 1) + 1) from None
    except ValueError as error:
        raise JsonFault(str(error), text, 1, 1) from None
    return value


def _read(text: str, error: json.JSONDecodeError) -> tuple[int, str]:
    at = error.pos
    if at >= len(text):
        return at, "Unexpected end-of-input"
    character = text[at]
    if "property name" in error.msg:
        return at + 1, f"Unexpected character ({_shown(character)}): was expecting double-quote to start field name"
    word = _WORD.match(text, at)
    if error.msg == "Expecting value" and word is not None:
        return word.end(), f"Unrecognized token '{word[0]}': was expecting {_EXPECTED}"
    if error.msg == "Expecting value":
        return at + 1, f"Unexpected character ({_shown(character)}): expected a valid value {_EXPECTED}"
    if error.msg == "Extra data" and word is not None:
        return word.end(), f"Unrecognized token '{word[0]}': was expecting {_EXPECTED}"
    if "':' delimiter" in error.msg:
        return (
            at + 1,
            f"Unexpected character ({_shown(character)}): was expecting a colon to separate field name and value",
        )
    if "',' delimiter" in error.msg:
        return at + 1, f"Unexpected character ({_shown(character)}): was expecting comma to separate entries"
    return at + 1, f"Unexpected character ({_shown(character)})"


def _shown(character: str) -> str:
    return f"'{character}' (code {ord(character)})"
