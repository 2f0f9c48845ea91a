"""Reads wildcard patterns: `*` is any run of characters, `\\*` a star, `\\\\` a backslash."""

from __future__ import annotations

from redrive.languages.matching import ANY, Token, Wildcard


def read_wildcard(text: str) -> Wildcard | str:
    """The pattern of a text; the reason, if the text is none.

    Two stars in sequence are refused, and so is a backslash before another character. Positions count from the
    quotation mark before the text, which has position 0.
    """
    found: list[Token] = []
    at = 0
    while at < len(text):
        character = text[at]
        if character == "\\":
            at += 1
            character = text[at : at + 1]
            if character not in ("*", "\\"):
                return f"Invalid escape character at pos {at}"
            found.append(character)
        elif character == "*":
            if found and found[-1] is ANY:
                return f"Consecutive wildcard characters at pos {at}"
            found.append(ANY)
        else:
            found.append(character)
        at += 1
    return Wildcard.of_tokens(found)


def complexity_of(wildcard: Wildcard) -> int:
    """At how many places of a pattern a text can be in one moment.

    Each star is such a place, and after it every beginning of the piece that ends with another beginning: a text that
    has come through `*aaa` may be at each of its letters, one that has come through `*abc` at one only.
    """
    return sum(1 + _overlap(piece) for piece in wildcard.pieces[1:])


def _overlap(piece: str | tuple[str | None, ...]) -> int:
    """The most beginnings of a piece of which each is an end of the next: its longest chain of borders."""
    borders: list[int] = []
    chains: list[int] = []
    for at, character in enumerate(piece):
        border = borders[-1] if borders else 0
        while border and piece[border] != character:
            border = borders[border - 1]
        if at and piece[border] == character:
            border += 1
        borders.append(border)
        chains.append(1 + (chains[border - 1] if border else 0))
    return max(chains, default=0)
