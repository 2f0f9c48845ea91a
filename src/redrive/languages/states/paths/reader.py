"""Reads the text of a path."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final, NoReturn

from redrive.languages.states.paths.filters import (
    All,
    AnyOf,
    Compared,
    Exists,
    Negated,
    Operand,
    as_predicate,
    compile_pattern,
)
from redrive.languages.states.paths.functions import FUNCTIONS
from redrive.languages.states.paths.path import (
    Applied,
    Children,
    Descent,
    Elements,
    Every,
    Filter,
    Path,
    Segment,
    Slice,
)

PATHS_KEPT = 4_096
PATH_CHARACTERS_MAX = 10_000
FILTER_DEPTH_MAX = 20

_ROOT = re.compile(r"\$\$|\$[^\W\d]\w*|\$")
_NAME = re.compile(r"[^\s.\[\]()'\"$@?*,:!=<>&|+~]+")
_INTEGER = re.compile(r"-?\d{1,9}")
_SLICE = re.compile(r"(-?\d{1,9})?\s*:\s*(-?\d{1,9})?\s*\]")
_FUNCTION = re.compile(r"([a-zA-Z]+)\(")
_NUMBER = re.compile(r"-?\d+(\.\d+)?([eE][+-]?\d+)?")
_PATTERN = re.compile(r"/((?:[^/\\]|\\.)*)/([a-zA-Z]*)", re.DOTALL)
_WORD = re.compile(r"[^\W\d][\w-]*")
"""true, false and null; any other word in a filter is a text without quotes."""
_COMPARISON = re.compile(r"==|!=|<=|>=|=~|<|>|(?:in|nin|subsetof|anyof|noneof|size|empty|contains)\b")
_WORDS: Final[dict[str, object]] = {"true": True, "false": False, "null": None}


class MalformedPath(ValueError):
    """The text is no path."""


@lru_cache(PATHS_KEPT)
def parse_path(text: str) -> Path:
    """Read a path. Errors: MalformedPath."""
    if len(text) > PATH_CHARACTERS_MAX:
        raise MalformedPath(f"it has more than {PATH_CHARACTERS_MAX} characters")
    return _Reader(text).whole()


def parse_path_at(text: str, at: int) -> tuple[Path, int]:
    """Read the path that begins at a character, and say where it ends. Errors: MalformedPath."""
    reader = _Reader(text, at)
    return reader.beginning()


class _Reader:
    """Reads a text from left to right."""

    def __init__(self, text: str, at: int = 0) -> None:
        self._text = text
        self._at = at
        self._depth = 0

    def whole(self) -> Path:
        root = self._take(_ROOT) or self._refuse("it must begin with $")
        path = self._path(root, 0)
        if self._at < len(self._text):
            self._refuse(f"it cannot be read from character {self._at + 1} on")
        return path

    def beginning(self) -> tuple[Path, int]:
        start = self._at
        root = self._take(_ROOT) or self._refuse("it must begin with $")
        return self._path(root, start), self._at

    def _path(self, root: str, start: int) -> Path:
        segments: list[Segment] = []
        while (segment := self._segment()) is not None:
            segments.append(segment)
            if isinstance(segment, Descent):
                segments.append(self._below())
        return Path(self._text[start : self._at], root, tuple(segments), _is_definite(segments))

    def _segment(self) -> Segment | None:
        if self._next(".."):
            return Descent()
        if self._next("["):
            return self._bracketed()
        if self._next("."):
            return self._bracketed() if self._next("[") else self._named()
        return None

    def _below(self) -> Segment:
        return self._bracketed() if self._next("[") else self._named()

    def _named(self) -> Segment:
        if self._next("*"):
            return Every()
        if (function := self._take(_FUNCTION)) is not None:
            return self._applied(function[:-1])
        return Children((self._take(_NAME) or self._refuse(f"a name must follow at character {self._at + 1}"),))

    def _applied(self, name: str) -> Applied:
        function = FUNCTIONS.get(name) or self._refuse(f"there is no function {name}()")
        arguments: list[object] = []
        self._blanks()
        while not self._next(")"):
            arguments.append(self._literal())
            self._blanks()
            if not self._next(",") and not self._text.startswith(")", self._at):
                self._refuse(f"a comma or a parenthesis must follow at character {self._at + 1}")
            self._blanks()
        return Applied(name, function, tuple(arguments))

    def _bracketed(self) -> Segment:
        self._blanks()
        if self._next("*"):
            return self._closed(Every())
        if self._next("?"):
            return self._filter()
        sliced = _SLICE.match(self._text, self._at)
        if sliced is not None:
            self._at = sliced.end()
            return Slice(*(None if end is None else int(end) for end in sliced.groups()))
        if self._text[self._at : self._at + 1] in {"'", '"'}:
            return self._closed(Children(tuple(str(name) for name in self._several(quoted=True))))
        return self._closed(Elements(tuple(int(str(at)) for at in self._several(quoted=False))))

    def _several(self, *, quoted: bool) -> list[object]:
        found: list[object] = []
        while True:
            self._blanks()
            if quoted:
                found.append(self._quoted())
            else:
                found.append(self._take(_INTEGER) or self._refuse(f"an index must stand at character {self._at + 1}"))
            self._blanks()
            if not self._next(","):
                return found

    def _closed(self, segment: Segment) -> Segment:
        self._blanks()
        if not self._next("]"):
            self._refuse(f"a bracket must close at character {self._at + 1}")
        return segment

    def _filter(self) -> Segment:
        start = self._at
        if not self._next("("):
            self._refuse("a parenthesis must follow [?")
        predicate = self._either()
        self._blanks()
        if not self._next(")"):
            self._refuse(f"a parenthesis must close at character {self._at + 1}")
        return self._closed(Filter(as_predicate(predicate), self._text[start : self._at]))

    def _either(self) -> Exists | Compared | Negated | All | AnyOf:
        self._depth += 1
        if self._depth > FILTER_DEPTH_MAX:
            self._refuse(f"its filters nest deeper than {FILTER_DEPTH_MAX} levels")
        parts = [self._both()]
        while self._blanks() and self._next("||"):
            parts.append(self._both())
        self._depth -= 1
        return parts[0] if len(parts) == 1 else AnyOf(tuple(parts))

    def _both(self) -> Exists | Compared | Negated | All | AnyOf:
        parts = [self._single()]
        while self._blanks() and self._next("&&"):
            parts.append(self._single())
        return parts[0] if len(parts) == 1 else All(tuple(parts))

    def _single(self) -> Exists | Compared | Negated | All | AnyOf:
        self._blanks()
        if self._next("!"):
            self._depth += 1
            if self._depth > FILTER_DEPTH_MAX:
                self._refuse(f"its filters nest deeper than {FILTER_DEPTH_MAX} levels")
            negated = Negated(self._single())
            self._depth -= 1
            return negated
        if self._next("("):
            inner = self._either()
            self._blanks()
            if not self._next(")"):
                self._refuse(f"a parenthesis must close at character {self._at + 1}")
            return inner
        return self._comparison()

    def _comparison(self) -> Exists | Compared:
        left = self._operand()
        self._blanks()
        operator = self._take(_COMPARISON)
        if operator is None:
            if left.path is None:
                self._refuse(f"an operator must follow at character {self._at + 1}")
            return Exists(left)
        self._blanks()
        if operator == "=~":
            found = _PATTERN.match(self._text, self._at) or self._refuse("a pattern in slashes must follow =~")
            self._at = found.end()
            try:
                return Compared(left, operator, Operand(None, compile_pattern(found[1], found[2])))
            except ValueError as error:
                self._refuse(str(error))
        return Compared(left, operator, self._operand())

    def _operand(self) -> Operand:
        start = self._at
        if self._next("@"):
            return Operand(self._path("@", start), None)
        if self._text.startswith("$", self._at):
            return Operand(self._path(self._take(_ROOT) or "$", start), None)
        return Operand(None, self._literal())

    def _literal(self) -> object:
        self._blanks()
        if self._text[self._at : self._at + 1] in {"'", '"'}:
            return self._quoted()
        if self._next("["):
            return self._list()
        number = self._take(_NUMBER)
        if number is not None:
            return float(number) if any(mark in number for mark in ".eE") else int(number)
        word = self._take(_WORD)
        if word is not None:
            return _WORDS.get(word, word)
        raise MalformedPath(f"a value must stand at character {self._at + 1}")

    def _list(self) -> list[object]:
        self._depth += 1
        if self._depth > FILTER_DEPTH_MAX:
            self._refuse(f"its filters nest deeper than {FILTER_DEPTH_MAX} levels")
        values: list[object] = []
        self._blanks()
        while not self._next("]"):
            values.append(self._literal())
            self._blanks()
            if not self._next(",") and not self._text.startswith("]", self._at):
                self._refuse(f"a comma or a bracket must follow at character {self._at + 1}")
            self._blanks()
        self._depth -= 1
        return values

    def _quoted(self) -> str:
        quote = self._text[self._at : self._at + 1]
        if quote not in {"'", '"'}:
            self._refuse(f"a name in quotes must stand at character {self._at + 1}")
        self._at += 1
        characters: list[str] = []
        while self._at < len(self._text):
            character = self._text[self._at]
            self._at += 1
            if character == quote:
                return "".join(characters)
            if character == "\\" and self._at < len(self._text):
                character = self._text[self._at]
                self._at += 1
            characters.append(character)
        raise MalformedPath("a quote is not closed")

    def _blanks(self) -> bool:
        while self._text[self._at : self._at + 1].isspace():
            self._at += 1
        return True

    def _next(self, text: str) -> bool:
        if not self._text.startswith(text, self._at):
            return False
        self._at += len(text)
        return True

    def _take(self, pattern: re.Pattern[str]) -> str | None:
        found = pattern.match(self._text, self._at)
        if found is None:
            return None
        self._at = found.end()
        return found[0]

    def _refuse(self, why: str) -> NoReturn:
        raise MalformedPath(why)


def _is_definite(segments: list[Segment]) -> bool:
    for index, segment in enumerate(segments):
        match segment:
            case Children(names) if len(names) > 1 and index + 1 < len(segments):
                return False
            case Elements(indices) if len(indices) > 1:
                return False
            case Slice() | Every() | Filter() | Descent():
                return False
            case _:
                pass
    return True
