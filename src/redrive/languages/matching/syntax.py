"""Regular expressions as text, and as trees.

    alternatives  sequence { "|" sequence }
    sequence      { item }
    item          atom [ "?" | "*" | "+" | "{n}" | "{n,}" | "{n,m}" ] [ "?" ]
    atom          character | "." | class | escape | "^" | "$" | "(" alternatives ")" and its relatives

Syntax that cannot be matched in linear time (backreferences, possessive repetition, atomic groups) is refused. A
question mark after a repetition (a lazy quantifier) is ignored: it does not change whether there is a match.
"""

from __future__ import annotations

import enum
import re
from dataclasses import dataclass
from types import MappingProxyType

from redrive.languages.matching.chars import (
    ANY_BUT_NEWLINE,
    DIGIT,
    POSIX,
    SPACE,
    WORD,
    CharSet,
    char_range,
    chars,
)

GROUP_DEPTH_MAX = 50
REPEATS_MAX = 1_000
"""The largest number in braces; the resulting size of a pattern has a limit of its own."""


class MalformedPattern(ValueError):
    """The pattern is malformed; the text says why."""


@dataclass(frozen=True, slots=True)
class Syntax:
    """The features of a language's regular expressions: all have classes, repetition, alternatives and anchors."""

    has_groups: bool
    has_captures: bool = False


NO_GROUPS = Syntax(has_groups=False)
GROUPS = Syntax(has_groups=True)
"""With groups, lookahead and lookbehind, word boundaries and categories of Unicode, as in Java."""

CAPTURES = Syntax(has_groups=True, has_captures=True)
"""As GROUPS. Groups with a name capture, lazy repetition counts, and `(?i)` may stand anywhere, for what follows it."""


class Point(enum.Enum):
    """A condition on a place between two characters."""

    START = "^"
    END = "$"
    BOUNDARY = "\\b"
    NO_BOUNDARY = "\\B"


@dataclass(frozen=True, slots=True)
class Chars:
    """One character of a set."""

    set: CharSet


@dataclass(frozen=True, slots=True)
class Sequenced:
    """Trees in sequence; matches the empty text if there are none."""

    parts: tuple[Tree, ...]


@dataclass(frozen=True, slots=True)
class Either:
    """One of several."""

    branches: tuple[Tree, ...]


@dataclass(frozen=True, slots=True)
class Repeated:
    """Several times; without end if `most` is None."""

    part: Tree
    least: int
    most: int | None
    is_lazy: bool = False


@dataclass(frozen=True, slots=True)
class Captured:
    """A group with a name, of a syntax with captures."""

    part: Tree
    name: str


@dataclass(frozen=True, slots=True)
class Look:
    """A lookahead or lookbehind, positive or negative."""

    part: Tree
    is_ahead: bool
    is_wanted: bool


Tree = Chars | Sequenced | Either | Repeated | Captured | Point | Look


_CLASS_ESCAPES = MappingProxyType(
    {
        "d": DIGIT, "D": DIGIT.complement(), "w": WORD, "W": WORD.complement(),
        "s": SPACE, "S": SPACE.complement(),
    }
)  # fmt: skip
_CONTROLS = MappingProxyType({"t": "\t", "n": "\n", "r": "\r", "f": "\f", "a": "\a", "e": "\x1b", "v": "\v"})
_REPEAT = re.compile(r"([?*+])|\{([0-9]{1,9})(?:(,)([0-9]{1,9})?)?\}")
_HEX = re.compile(r"x([0-9A-Fa-f]{2})|u([0-9A-Fa-f]{4})")
_PROPERTY = re.compile(r"([pP])(?:\{(?:Is)?(\w+)\}|([A-Z]))")
_GROUP_NAME = re.compile(r"<[A-Za-z][A-Za-z0-9]*>")
_CAPTURE_NAME = re.compile(r"<[A-Za-z_@][A-Za-z0-9_.@]*>")
_ANCHORS = MappingProxyType({"^": Point.START, "$": Point.END})
_BOUNDARIES = MappingProxyType({"b": Point.BOUNDARY, "B": Point.NO_BOUNDARY, "A": Point.START, "Z": Point.END})
_CATEGORIES = frozenset("CLMNPSZ")


def parse_regex(text: str, syntax: Syntax) -> Tree:
    """The tree of a regular expression. Errors: MalformedPattern."""
    return _Reader(text, syntax).whole()


class _Reader:
    """Parses a text once, from left to right."""

    def __init__(self, text: str, syntax: Syntax) -> None:
        self._text = text
        self._syntax = syntax
        self._at = 0
        self._ignores_case = False

    def whole(self) -> Tree:
        """The tree of the whole text."""
        if self._syntax.has_groups and self._took("(?i)"):
            self._ignores_case = True
        tree = self._either(0)
        if self._at < len(self._text):
            raise MalformedPattern("a parenthesis is closed that was not opened")
        return tree

    def _either(self, depth: int) -> Tree:
        if depth > GROUP_DEPTH_MAX:
            raise MalformedPattern(f"groups are nested more than {GROUP_DEPTH_MAX} deep")
        branches = [self._sequence(depth)]
        while self._took("|"):
            branches.append(self._sequence(depth))
        return branches[0] if len(branches) == 1 else Either(tuple(branches))

    def _sequence(self, depth: int) -> Tree:
        parts: list[Tree] = []
        while self._at < len(self._text) and self._text[self._at] != "|":
            if self._text[self._at] == ")" and self._syntax.has_groups:
                break
            parts.append(self._repeated(self._atom(depth)))
        return parts[0] if len(parts) == 1 else Sequenced(tuple(parts))

    def _repeated(self, atom: Tree) -> Tree:
        found = _REPEAT.match(self._text, self._at)
        if found is None:
            return atom
        if isinstance(atom, Point | Look):
            raise MalformedPattern("nothing to repeat")
        self._at = found.end()
        least, most = _bounds(found)
        is_lazy = self._took("?") and self._syntax.has_captures
        if self._at < len(self._text) and self._text[self._at] in "?*+{":
            raise MalformedPattern("a repetition is repeated; possessive ones are not supported")
        return Repeated(atom, least, most, is_lazy)

    def _atom(self, depth: int) -> Tree:
        character = self._next()
        match character:
            case "^" | "$":
                return _ANCHORS[character]
            case ".":
                return Chars(ANY_BUT_NEWLINE)
            case "[":
                return Chars(self._class())
            case "\\":
                return self._escape()
            case "?" | "*" | "+" | "{":
                raise MalformedPattern(f"nothing to repeat before {character}")
            case "(" if self._syntax.has_groups:
                return self._group(depth + 1)
            case _:
                return Chars(self._cased(chars(character)))

    def _group(self, depth: int) -> Tree:
        if self._took("?"):
            for opening, is_ahead, is_wanted in (
                ("=", True, True), ("!", True, False), ("<=", False, True), ("<!", False, False),
            ):  # fmt: skip
                if self._took(opening):
                    return Look(self._closed(depth), is_ahead, is_wanted)
            if self._syntax.has_captures and self._took("i)"):
                self._ignores_case = True
                return Sequenced(())
            if self._syntax.has_captures:
                self._took("P")  # Both spellings of a name are taken: (?<name> and (?P<name>.
            name = (_CAPTURE_NAME if self._syntax.has_captures else _GROUP_NAME).match(self._text, self._at)
            if name is not None:
                self._at = name.end()
                tree = self._closed(depth)
                return Captured(tree, name[0][1:-1]) if self._syntax.has_captures else Sequenced((tree,))
            if not self._took(":"):
                raise MalformedPattern("this kind of group is not supported")
        return Sequenced((self._closed(depth),))

    def _closed(self, depth: int) -> Tree:
        tree = self._either(depth)
        if not self._took(")"):
            raise MalformedPattern("a parenthesis is not closed")
        return tree

    def _escape(self) -> Tree:
        if self._at < len(self._text) and self._text[self._at] in _BOUNDARIES and self._syntax.has_groups:
            return _BOUNDARIES[self._next()]
        if self._took("z") and self._syntax.has_groups:
            return Look(Chars(CharSet(()).complement()), is_ahead=True, is_wanted=False)
        return Chars(self._cased(self._escaped_set()))

    def _escaped_set(self) -> CharSet:
        """The set of characters of an escape for a class of characters."""
        hexadecimal = _HEX.match(self._text, self._at)
        if hexadecimal is not None:
            self._at = hexadecimal.end()
            return chars(chr(int(hexadecimal[1] or hexadecimal[2], 16)))
        found = _PROPERTY.match(self._text, self._at) if self._syntax.has_groups else None
        if found is not None:
            self._at = found.end()
            return _property(found[2] or found[3], is_wanted=found[1] == "p")
        character = self._next()
        if character in _CLASS_ESCAPES:
            return _CLASS_ESCAPES[character]
        if character in _CONTROLS:
            return chars(_CONTROLS[character])
        if character.isalnum() and character.isascii():
            raise MalformedPattern(f"unknown escape \\{character}")
        return chars(character)

    def _class(self) -> CharSet:
        """The set of a class; parses after its opening bracket."""
        is_negated = self._took("^")
        found = CharSet(())
        is_first = True
        while is_first or not self._took("]"):
            is_first = False
            one = self._member()
            if one.only is not None and self._text[self._at : self._at + 1] == "-" and self._range_follows():
                self._at += 1
                last = self._member().only
                if last is None or last < one.only:
                    raise MalformedPattern("a range in a class is not in order")
                one = char_range(one.only, last)
            found |= one
        found = self._cased(found)
        if is_negated and found.has_categories:
            raise MalformedPattern("a class cannot exclude categories of characters here")
        return found.complement() if is_negated else found

    def _range_follows(self) -> bool:
        after = self._text[self._at + 1 : self._at + 2]
        return after not in ("]", "") and not (
            after == "\\" and self._text[self._at + 2 : self._at + 3] in tuple(_CLASS_ESCAPES)
        )

    def _member(self) -> CharSet:
        character = self._next()
        if character == "\\":
            if self._took("b"):
                raise MalformedPattern("unknown escape \\b in a class")
            return self._escaped_set()
        if self._syntax.has_groups and (character == "[" or (character == "&" and self._took("&"))):
            raise MalformedPattern("classes inside classes are not supported")
        return chars(character)

    def _cased(self, found: CharSet) -> CharSet:
        return found.without_case() if self._ignores_case else found

    def _next(self) -> str:
        if self._at == len(self._text):
            raise MalformedPattern("the pattern ends too early")
        self._at += 1
        return self._text[self._at - 1]

    def _took(self, text: str) -> bool:
        if not self._text.startswith(text, self._at):
            return False
        self._at += len(text)
        return True


def _bounds(found: re.Match[str]) -> tuple[int, int | None]:
    match found[1]:
        case "?":
            return 0, 1
        case "*":
            return 0, None
        case "+":
            return 1, None
    least = int(found[2])
    most = least if not found[3] else None if found[4] is None else int(found[4])
    if max(least, most or 0) > REPEATS_MAX:
        raise MalformedPattern(f"more than {REPEATS_MAX} repetitions")
    if most is not None and most < least:
        raise MalformedPattern("the numbers of a repetition are not in order")
    return least, most


def _property(name: str, *, is_wanted: bool) -> CharSet:
    known = POSIX.get(name)
    if known is not None:
        return known if is_wanted else known.complement()
    if name[0] not in _CATEGORIES or len(name) > 2:
        raise MalformedPattern(f"unknown property {name}")
    return CharSet((), categories=(name,)) if is_wanted else CharSet((), excluded=(name,))
