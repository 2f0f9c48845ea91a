"""Reads the JSON of a pattern token by token, and knows at each token how far AWS's parser has read.

AWS's errors name a line and a column: the place after the last character that its parser has read when it gives up.
That parser reads the first character of a field's value together with the field's name, and a string only when its text
is asked for. The places here follow these two habits; the standard library's parser has no places for values that are
valid JSON and no valid pattern.
"""

from __future__ import annotations

import enum
import json
import re
from dataclasses import dataclass
from typing import NoReturn

from redrive.languages.event_pattern.errors import PatternError, location

DEPTH_MAX = 100
"""How many objects and arrays of a pattern may stand in one another."""

_SPACE = re.compile(r"[ \t\n\r]*")
_STRING = re.compile(r'(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"')
_STRING_PART = re.compile(r'(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*')
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_WORD = re.compile(r"\w+")
_HALF = re.compile("[\ud800-\udfff]")
_VALUES = "(JSON String, Number, Array, Object or token 'null', 'true' or 'false')"


class Kind(enum.Enum):
    """What a token is. The values are the words for them in errors."""

    OBJECT = "{"
    OBJECT_END = "}"
    ARRAY = "["
    ARRAY_END = "]"
    NAME = "name"
    STRING = "string"
    NUMBER = "number"
    TRUE = "true"
    FALSE = "false"
    NULL = "null"
    END = "end"


_MARKS = {"{": Kind.OBJECT, "[": Kind.ARRAY, '"': Kind.STRING}
_LITERALS = {"t": ("true", Kind.TRUE), "f": ("false", Kind.FALSE), "n": ("null", Kind.NULL)}


@dataclass(slots=True)
class _Level:
    """An object or array that is open: where it began, and whether something stands in it."""

    is_object: bool
    start: int
    is_empty: bool = True


class Tokens:
    """The tokens of a text. `next` reads one; `name`, `number` and `text()` tell what it holds; `at` is where it ends.

    Errors: PatternError where the text is not JSON.
    """

    def __init__(self, text: str, at: int = 0) -> None:
        self.source = text
        self.at = at
        self.kind = Kind.END
        self.name = ""
        self.number: int | float = 0
        self._levels: list[_Level] = []
        self._value: Kind | None = None
        self._in_string = False

    def copy(self) -> Tokens:
        """A reader at the same place, to look ahead with."""
        copied = Tokens(self.source, self.at)
        copied.kind, copied.name, copied.number = self.kind, self.name, self.number
        copied._levels = [_Level(level.is_object, level.start, level.is_empty) for level in self._levels]
        copied._value, copied._in_string = self._value, self._in_string
        return copied

    def fail(self, reason: str) -> NoReturn:
        """Errors: PatternError, with this reason and the place."""
        raise PatternError(reason, text=self.source, at=self.at)

    def next(self) -> Kind:
        """Read the next token."""
        if self._value is not None:
            self.kind, self._value = self._value, None
            return self.kind
        if self._in_string:
            self.text()
        self.kind = self._read_in_level() if self._levels else self._read_value(self._skip_space())
        return self.kind

    def skip(self) -> None:
        """Read to the end of the value whose first token was just read."""
        depth = 0
        while True:
            if self.kind in {Kind.OBJECT, Kind.ARRAY}:
                depth += 1
            elif self.kind in {Kind.OBJECT_END, Kind.ARRAY_END}:
                depth -= 1
            if depth == 0:
                return
            self.next()

    def text(self) -> str:
        """The text of the string whose first quotation mark was just read; it is read by this call."""
        start = self.at
        self._in_string = False
        found = _STRING.match(self.source, start)
        if found is None:
            self._fail_in_string(start)
        self.at = found.end()
        text = self.source[start : self.at - 1]
        if "\\" in text:
            text = str(json.loads(f'"{text}"'))
        if _HALF.search(text):
            self.fail("A string holds half of a surrogate pair")
        return text

    def _read_in_level(self) -> Kind:
        level = self._levels[-1]
        character = self._skip_space()
        if character in ("}", "]") and character == ("}" if level.is_object else "]"):
            self.at += 1
            self._levels.pop()
            return Kind.OBJECT_END if level.is_object else Kind.ARRAY_END
        if not level.is_empty:
            character = self._read_comma(level, character)
        level.is_empty = False
        return self._read_name(level, character) if level.is_object else self._read_value(character)

    def _read_comma(self, level: _Level, character: str) -> str:
        if not character:
            self._fail_at_end(level)
        if character in ("}", "]"):
            self._fail_at_wrong_end(level, character)
        self.at += 1
        if character != ",":
            what = "Object" if level.is_object else "Array"
            self._fail_at(character, f"was expecting comma to separate {what} entries")
        return self._skip_space()

    def _read_name(self, level: _Level, character: str) -> Kind:
        if not character:
            self._fail_at_end(level)
        if character == "]":
            self._fail_at_wrong_end(level, character)
        self.at += 1
        if character != '"':
            self._fail_at(character, "was expecting double-quote to start field name")
        self.name = self.text()
        character = self._skip_space()
        if not character:
            self._fail_at_end(level)
        self.at += 1
        if character != ":":
            self._fail_at(character, "was expecting a colon to separate field name and value")
        self._value = self._read_value(self._skip_space())
        return Kind.NAME

    def _read_value(self, character: str) -> Kind:
        if not character:
            if self._levels:
                self._fail_at_end(self._levels[-1])
            return Kind.END
        if character in _LITERALS:
            return self._read_literal(*_LITERALS[character])
        if character == "-" or "0" <= character <= "9":
            return self._read_number()
        self.at += 1
        if character not in _MARKS:
            if character.isalpha():
                self._fail_at_word(self.at - 1)
            self._fail_at(character, f"expected a valid value {_VALUES}")
        kind = _MARKS[character]
        if kind is Kind.STRING:
            self._in_string = True
            return kind
        if len(self._levels) >= DEPTH_MAX:
            self.fail(f"Document nesting depth ({DEPTH_MAX + 1}) exceeds the maximum allowed ({DEPTH_MAX})")
        self._levels.append(_Level(kind is Kind.OBJECT, self.at - 1))
        return kind

    def _read_literal(self, word: str, kind: Kind) -> Kind:
        start = self.at
        found = _WORD.match(self.source, start)
        if found is None or found.group() != word:
            self._fail_at_word(start)
        self.at += len(word)
        return kind

    def _read_number(self) -> Kind:
        found = _NUMBER.match(self.source, self.at)
        if found is None:
            self.at += 2
            following = self.source[self.at - 1 : self.at]
            self._fail_at(following, "expected digit (0-9) to follow minus sign, for valid numeric value")
        following = self.source[found.end() : found.end() + 1]
        if following.isalnum() or following in ("_", "."):
            self.at = found.end() + 1
            if found.group().lstrip("-") == "0" and following.isdecimal():
                self.fail("Invalid numeric value: Leading zeroes not allowed")
            self._fail_at(following, "Expected space separating root-level values")
        self.at = found.end()
        self.number = _number(found.group(), is_whole=found.group(1) is None and found.group(2) is None)
        return Kind.NUMBER

    def _skip_space(self) -> str:
        """The next character that is no space; "" at the end."""
        found = _SPACE.match(self.source, self.at)
        assert found is not None
        self.at = found.end()
        return self.source[self.at : self.at + 1]

    def _fail_at(self, character: str, expected: str) -> NoReturn:
        if not character:
            self.at = len(self.source)
            self.fail(f"Unexpected end-of-input: {expected}")
        self.fail(f"Unexpected character ({_shown(character)}): {expected}")

    def _fail_at_end(self, level: _Level) -> NoReturn:
        what = "Object" if level.is_object else "Array"
        start = location(self.source, level.start)
        self.fail(f"Unexpected end-of-input: expected close marker for {what} (start marker at {start})")

    def _fail_at_wrong_end(self, level: _Level, character: str) -> NoReturn:
        self.at += 1
        what, mark = ("Object", "}") if level.is_object else ("Array", "]")
        start = location(self.source, level.start)
        self.fail(f"Unexpected close marker '{character}': expected '{mark}' (for {what} starting at {start})")

    def _fail_at_word(self, start: int) -> NoReturn:
        found = _WORD.match(self.source, start)
        assert found is not None
        self.at = found.end()
        self.fail(f"Unrecognized token '{found.group()}': was expecting {_VALUES}")

    def _fail_in_string(self, start: int) -> NoReturn:
        found = _STRING_PART.match(self.source, start)
        assert found is not None
        self.at = found.end()
        character = self.source[self.at : self.at + 1]
        if not character:
            self.fail("Unexpected end-of-input: was expecting closing quote for a string value")
        self.at += 1
        if character == "\\":
            following = self.source[self.at : self.at + 1]
            self.at += len(following)
            self.fail(f"Unrecognized character escape {_shown(following)}")
        self.fail(
            f"Illegal unquoted character ((CTRL-CHAR, code {ord(character)})): "
            "has to be escaped using backslash to be included in string value"
        )


def _number(text: str, *, is_whole: bool) -> int | float:
    """Whole numbers of up to 64 bits are exact, as in the events; all others are doubles."""
    if is_whole and len(text) <= 20:
        number = int(text)
        if -(1 << 63) <= number < 1 << 64:
            return number
    return float(text)


def _shown(character: str) -> str:
    return f"'{character}' (code {ord(character)})" if character else "end-of-input"
