"""Patterns that users write, matched in time that grows with the length of the text and nothing else.

    compile_regex(r"took \\d+ ms").search("it took 31 ms")  →  True
    Wildcard.of("a*b?").matches("a--bc")                   →  True

A backtracking matcher can be made to run for hours by whoever writes the pattern. These never go back: they follow all
ways through a pattern at once, as the bits of one integer. They know no AWS service: what a language means by its
patterns is said in that language.
"""

from __future__ import annotations

from redrive.languages.matching.regex import Regex, compile_regex
from redrive.languages.matching.syntax import GROUPS, NO_GROUPS, MalformedPattern, Syntax
from redrive.languages.matching.wildcards import ANY, ONE, Joker, Token, Wildcard

__all__ = [
    "ANY",
    "GROUPS",
    "NO_GROUPS",
    "ONE",
    "Joker",
    "MalformedPattern",
    "Regex",
    "Syntax",
    "Token",
    "Wildcard",
    "compile_regex",
]
