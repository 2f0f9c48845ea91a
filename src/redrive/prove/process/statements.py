"""What a statement of SQL, or of PartiQL, is by its first word."""

from __future__ import annotations

import re

_COMMENT = re.compile(r"\s*(?:--[^\n]*(?:\n|$)|/\*.*?\*/)", re.DOTALL)
_WORD = re.compile(r"[\s(]*([A-Za-z]+)")
_CHANGES_WITHIN = re.compile(r"(?i)\b(insert|update|delete|merge)\b")
_READS = frozenset({"", "DESC", "DESCRIBE", "EXPLAIN", "PRAGMA", "SELECT", "SET", "SHOW", "TABLE", "USE", "VALUES"})


def first_word(text: str) -> str:
    """The first word of a statement in capitals, after comments; empty if it has none."""
    while found := _COMMENT.match(text):
        text = text[found.end() :]
    word = _WORD.match(text)
    return word[1].upper() if word else ""


def deed_of(text: str) -> str:
    """What a statement does, in a word: of a WITH that changes rows, the word of the change."""
    word = first_word(text)
    found = _CHANGES_WITHIN.search(text) if word == "WITH" else None
    return word if found is None else found[1].upper()


def is_read_statement(text: str) -> bool:
    """Whether a statement changes no row. A WITH may contain one that does."""
    word = first_word(text)
    return word in _READS or (word == "WITH" and _CHANGES_WITHIN.search(text) is None)
