"""The tokenizer of expressions. It finds the tokens, and does not know where each is allowed.

A character that begins no token becomes a token of its own, so that the grammar refuses it at its place and all syntax
errors have one form.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum


class TokenKind(Enum):
    """The kind of a token."""

    NAME = "name"
    NAME_PLACEHOLDER = "name placeholder"
    VALUE_PLACEHOLDER = "value placeholder"
    NUMBER = "number"
    SYMBOL = "symbol"
    UNKNOWN = "unknown"
    END = "end"


@dataclass(frozen=True, slots=True)
class Token:
    """A piece of the text, from `start` to `end` (exclusive)."""

    kind: TokenKind
    text: str
    start: int
    end: int


_GROUPS = (
    (TokenKind.NAME, "[A-Za-z][A-Za-z0-9_]*"),
    (TokenKind.NAME_PLACEHOLDER, "#[A-Za-z0-9_]+"),
    (TokenKind.VALUE_PLACEHOLDER, ":[A-Za-z0-9_]+"),
    (TokenKind.NUMBER, "[0-9]+"),
    (TokenKind.SYMBOL, r"<>|<=|>=|[=<>()\[\].,+-]"),
    (TokenKind.UNKNOWN, r"\S"),
)
_TOKEN = re.compile("|".join(f"({pattern})" for _, pattern in _GROUPS))


def tokens_of(text: str) -> list[Token]:
    """The tokens of an expression; the last token is the end."""
    found = [
        Token(_GROUPS[match.lastindex - 1][0], match.group(), match.start(), match.end())
        for match in _TOKEN.finditer(text)
        if match.lastindex is not None
    ]
    return [*found, Token(TokenKind.END, "<EOF>", len(text), len(text))]
