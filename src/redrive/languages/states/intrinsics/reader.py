"""Reads the text of a call: its function's name, and its arguments."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, NoReturn

from redrive.languages.states.paths import MalformedPath, Path, parse_path_at

NESTING_MAX = 10
CALL_CHARACTERS_MAX = 20_000

_NAME = re.compile(r"States\.([A-Za-z0-9]+)\(")
_NUMBER = re.compile(r"-?\d+(\.\d+)?([eE][+-]?\d+)?")
_WORDS: Final[dict[str, object]] = {"true": True, "false": False, "null": None}
_WORD = re.compile(r"true|false|null")
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)


class MalformedCall(ValueError):
    """The text is no call of an intrinsic function."""


@dataclass(frozen=True, slots=True)
class Quoted:
    """A text in single quotes, with its backslashes, which States.Format reads itself."""

    raw: str

    @property
    def text(self) -> str:
        return _ESCAPE.sub(r"\1", self.raw)


@dataclass(frozen=True, slots=True)
class Parsed:
    """A call as it is written."""

    name: str
    arguments: tuple[Argument, ...]


Argument = Quoted | Path | Parsed | int | float | bool | None


def read_call(text: str) -> Parsed:
    """Read a call. Errors: MalformedCall."""
    if len(text) > CALL_CHARACTERS_MAX:
        raise MalformedCall(f"it has more than {CALL_CHARACTERS_MAX} characters")
    reader = _Reader(text)
    call = reader.call(1)
    reader.blanks()
    if reader.at < len(text):
        raise MalformedCall(f"it cannot be read from character {reader.at + 1} on")
    return call


class _Reader:
    def __init__(self, text: str) -> None:
        self._text = text
        self.at = 0

    def call(self, depth: int) -> Parsed:
        if depth > NESTING_MAX:
            self._refuse(f"calls nest deeper than {NESTING_MAX} levels")
        found = _NAME.match(self._text, self.at) or self._refuse("it must begin with States. and a function's name")
        self.at = found.end()
        arguments: list[Argument] = []
        self.blanks()
        while not self._next(")"):
            arguments.append(self._argument(depth))
            self.blanks()
            if self._next(","):
                self.blanks()
                if self._text.startswith(")", self.at):
                    self._refuse(f"an argument must follow at character {self.at + 1}")
            elif not self._text.startswith(")", self.at):
                self._refuse(f"a comma or a parenthesis must follow at character {self.at + 1}")
        return Parsed(found[1], tuple(arguments))

    def blanks(self) -> None:
        while self._text[self.at : self.at + 1].isspace():
            self.at += 1

    def _argument(self, depth: int) -> Argument:
        if self._text.startswith("'", self.at):
            return self._quoted()
        if self._text.startswith("$", self.at):
            return self._path()
        if self._text.startswith("States.", self.at):
            return self.call(depth + 1)
        number = _NUMBER.match(self._text, self.at)
        if number is not None:
            self.at = number.end()
            return float(number[0]) if any(mark in number[0] for mark in ".eE") else int(number[0])
        word = _WORD.match(self._text, self.at)
        if word is not None:
            self.at = word.end()
            value = _WORDS[word[0]]
            return bool(value) if value is not None else None
        raise MalformedCall(f"an argument must stand at character {self.at + 1}")

    def _path(self) -> Path:
        try:
            path, self.at = parse_path_at(self._text, self.at)
        except MalformedPath as error:
            self._refuse(str(error))
        return path

    def _quoted(self) -> Quoted:
        start = self.at + 1
        at = start
        while at < len(self._text):
            if self._text[at] == "\\":
                at += 2
                continue
            if self._text[at] == "'":
                self.at = at + 1
                return Quoted(self._text[start:at])
            at += 1
        raise MalformedCall("a quote is not closed")

    def _next(self, text: str) -> bool:
        if not self._text.startswith(text, self.at):
            return False
        self.at += len(text)
        return True

    def _refuse(self, why: str) -> NoReturn:
        raise MalformedCall(why)
