"""Patterns in which `*` is any run of characters, and `?` any one character.

The stars separate pieces, and each piece can be matched at its first occurrence: an earlier star never needs a second
try. So a text is searched once, from left to right. Python's own search, which is linear, finds pieces of plain
characters; pieces with `?` are found with the bits of an integer, one operation for each character.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Sequence
from dataclasses import dataclass


class Joker(enum.Enum):
    """A wildcard."""

    ANY = "*"
    ONE = "?"


ANY = Joker.ANY
ONE = Joker.ONE

Token = str | Joker
"""A literal text, or a wildcard."""

Piece = tuple[str | None, ...]
"""A sequence of characters; None is any single character."""


@dataclass(frozen=True, slots=True)
class Wildcard:
    """A pattern: its pieces between stars. There is one piece more than stars."""

    pieces: tuple[str | Piece, ...]

    @staticmethod
    def of(text: str, *, one: bool = True) -> Wildcard:
        """The pattern of a text in which `*`, and `?` if `one` is true, are wildcards."""
        if not one or "?" not in text:
            return Wildcard(tuple(text.split("*")))
        jokers = {"*": ANY, "?": ONE}
        return Wildcard.of_tokens(jokers.get(character, character) for character in text)

    @staticmethod
    def of_tokens(tokens: Iterable[Token]) -> Wildcard:
        """The pattern of texts and wildcards in sequence."""
        pieces: list[list[str | None]] = [[]]
        for token in tokens:
            if token is ANY:
                pieces.append([])
            elif isinstance(token, str):
                pieces[-1].extend(token)
            else:
                pieces[-1].append(None)
        return Wildcard(tuple(map(_piece, pieces)))

    def matches(self, text: str) -> bool:
        """Whether the pattern covers the whole text."""
        pieces = self.pieces
        first = pieces[0]
        if len(pieces) == 1:
            return first == text if isinstance(first, str) else len(first) == len(text) and _stands_at(first, text, 0)
        *middle, last = pieces[1:]
        end = len(text) - len(last)
        at = len(first)
        if at > end or not _stands_at(first, text, 0) or not _stands_at(last, text, end):
            return False
        for piece in middle:
            found = _find(piece, text, at, end)
            if found < 0:
                return False
            at = found + len(piece)
        return True


def _piece(characters: Sequence[str | None]) -> str | Piece:
    named = [character for character in characters if character is not None]
    return "".join(named) if len(named) == len(characters) else tuple(characters)


def _stands_at(piece: str | Piece, text: str, at: int) -> bool:
    if isinstance(piece, str):
        return text.startswith(piece, at)
    return all(wanted is None or wanted == text[at + index] for index, wanted in enumerate(piece))


def _find(piece: str | Piece, text: str, start: int, end: int) -> int:
    """The first position of a piece in text[start:end]; -1 if there is none."""
    if isinstance(piece, str):
        return text.find(piece, start, end)
    taking: dict[str, int] = {}
    always = 0
    for index, wanted in enumerate(piece):
        if wanted is None:
            always |= 1 << index
        else:
            taking[wanted] = taking.get(wanted, 0) | 1 << index
    whole = 1 << len(piece)
    places = 0
    for at in range(start, end):
        # Bit i: the piece may continue at its character i. It may begin anywhere.
        places = ((places | 1) & (taking.get(text[at], 0) | always)) << 1
        if places & whole:
            return at + 1 - len(piece)
    return -1
