"""The text of a query, read from left to right, token by token.

What a slash means depends on the place (a division, or a regular expression), so the reader of a command asks for what
it wants: a word, a sign, a string, a regular expression.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from redrive.languages.insights.errors import MalformedQuery

_SPACE = re.compile(r"(?:\s+|#[^\n]*)*")
_SQL_COMMENT = re.compile(r"(?m)^[ \t]*--[^\n]*")
_WORD = re.compile(r"[@A-Za-z_][\w@]*")
_NUMBER = re.compile(r"(?:\d+\.\d+|\d+|\.\d+)(?:[eE][+-]?\d+)?")
_UNIT = re.compile(r"[A-Za-z]+")
_STRING = re.compile(r'"((?:[^"\\]|\\.)*)"|\'((?:[^\'\\]|\\.)*)\'', re.DOTALL)
_REGEX = re.compile(r"/((?:[^/\\]|\\.)*)/", re.DOTALL)
_QUOTED_NAME = re.compile(r"`([^`]*)`")
_SIGNS = ("!=", "<=", ">=", "=~", "(", ")", "[", "]", ",", "|", "=", "<", ">", "+", "-", "*", "/", "^", "%", ".")
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r"}


@dataclass(frozen=True, slots=True)
class Place:
    """A part of the query's text."""

    start: int
    end: int


class QueryText:
    """A query and the place up to which it was read. Lines of `--` are left out; `sql_comments` has their numbers."""

    def __init__(self, text: str) -> None:
        self.sql_comments = tuple(text.count("\n", 0, found.start()) + 1 for found in _SQL_COMMENT.finditer(text))
        # Each character stays where it is, so that places in the query stay true.
        self.text = _SQL_COMMENT.sub(lambda found: " " * len(found[0]), text)
        self.at = 0
        self._skip()

    def is_at_end(self) -> bool:
        """Whether nothing is left."""
        return self.at == len(self.text)

    @property
    def read_until(self) -> int:
        """Where the last token ended."""
        return self._ended_at

    _ended_at = 0

    def word(self) -> str | None:
        """The next word, taken; None if there is something else."""
        return self._take(_WORD)

    def peek_word(self) -> str | None:
        """The next word, not taken."""
        found = _WORD.match(self.text, self.at)
        return None if found is None else found[0]

    def took_word(self, *words: str) -> bool:
        """Take the next words if they are these; case does not matter."""
        at, ended_at = self.at, self._ended_at
        for word in words:
            found = self.word()
            if found is None or found.lower() != word:
                self.at, self._ended_at = at, ended_at
                return False
        return True

    def sign(self, *wanted: str) -> str | None:
        """The next sign if it is one of these, taken."""
        for sign in _SIGNS:
            if self.text.startswith(sign, self.at):
                if sign in wanted:
                    self._moved(self.at + len(sign))
                    return sign
                return None
        return None

    def colon(self) -> bool:
        """Take a colon if it is next."""
        is_next = self.text.startswith(":", self.at)
        if is_next:
            self._moved(self.at + 1)
        return is_next

    def number(self) -> tuple[float | int, str] | None:
        """The next number and the letters that follow it at once, such as (5, "m"), taken."""
        found = _NUMBER.match(self.text, self.at)
        if found is None:
            return None
        unit = _UNIT.match(self.text, found.end())
        self._moved(found.end() if unit is None else unit.end())
        number = float(found[0])
        return (int(number) if number.is_integer() and abs(number) < 2**63 else number), "" if unit is None else unit[0]

    def string(self) -> str | None:
        """The next text in quotation marks, taken; a backslash makes the next character literal."""
        found = _STRING.match(self.text, self.at)
        if found is None:
            if self.text[self.at : self.at + 1] in ("'", '"'):
                raise self.error("The quotation mark is not closed", len(self.text))
            return None
        self._moved(found.end())
        return _unescaped(found[1] if found[1] is not None else found[2])

    def regex(self) -> str | None:
        """The next regular expression between slashes, taken."""
        found = _REGEX.match(self.text, self.at)
        if found is None:
            if self.text.startswith("/", self.at):
                raise self.error("The regular expression is not closed by a slash", len(self.text))
            return None
        self._moved(found.end())
        return found[1]

    def quoted_name(self) -> str | None:
        """The next name in backticks, taken."""
        return self._take(_QUOTED_NAME, group=1)

    def part_after_dot(self) -> str | None:
        """What follows a dot at once, in a name with dots: `.name`, `.0` or a name in backticks. Taken with the dot."""
        if self._ended_at != self.at or not self.text.startswith(".", self.at):
            return None
        found = re.compile(r"\.([\w@-]*[\w@]|`[^`]*`)").match(self.text, self.at)
        if found is None:
            return None
        self._moved(found.end())
        return found[1].strip("`")

    def error(self, message: str, end: int | None = None) -> MalformedQuery:
        """An error at the next token."""
        found = re.compile(r"[\w@]+|.|$", re.DOTALL).match(self.text, self.at)
        assert found is not None
        return MalformedQuery(message, self.at, found.end() if end is None else end)

    def unexpected(self, wanted: str) -> MalformedQuery:
        """An error that says what was wanted here."""
        found = re.compile(r"[\w@]+|.|$", re.DOTALL).match(self.text, self.at)
        assert found is not None
        what = f"unexpected symbol found {found[0]}" if found[0] else "unexpected end of the query"
        return self.error(f"{what}: expected {wanted}")

    def between(self, start: int) -> str:
        """The text from a place up to the end of the last token."""
        return self.text[start : self._ended_at]

    def _take(self, pattern: re.Pattern[str], group: int = 0) -> str | None:
        found = pattern.match(self.text, self.at)
        if found is None:
            return None
        self._moved(found.end())
        return found[group]

    def _moved(self, end: int) -> None:
        self.at = self._ended_at = end
        self._skip()

    def _skip(self) -> None:
        found = _SPACE.match(self.text, self.at)
        assert found is not None
        self.at = found.end()


def _unescaped(text: str) -> str:
    return re.sub(r"\\(.)", lambda found: _ESCAPES.get(found[1], found[1]), text, flags=re.DOTALL)
