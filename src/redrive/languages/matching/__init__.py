"""Matches patterns from users in time linear in the length of the text.

    compile_regex(r"took \\d+ ms").search("it took 31 ms")  →  True
    Wildcard.of("a*b?").matches("a--bc")                   →  True

A pattern can make a backtracking matcher run for hours. These matchers never backtrack: they follow all paths through a
pattern at once, as the bits of one integer. They know no AWS service: each language defines the meaning of its
patterns.
"""

from __future__ import annotations

from redrive.languages.matching.captures import Capturing, Groups
from redrive.languages.matching.regex import Regex, compile_regex
from redrive.languages.matching.syntax import CAPTURES, GROUPS, NO_GROUPS, MalformedPattern, Syntax
from redrive.languages.matching.wildcards import ANY, ONE, Joker, Token, Wildcard

__all__ = [
    "ANY",
    "CAPTURES",
    "GROUPS",
    "NO_GROUPS",
    "ONE",
    "Capturing",
    "Groups",
    "Joker",
    "MalformedPattern",
    "Regex",
    "Syntax",
    "Token",
    "Wildcard",
    "compile_regex",
]
