"""Patterns with `*` and `?`, and the `${...}` variables inside them.

Matching takes at most length(pattern) x length(text) steps, whatever the pattern: a policy is written by a
stranger, and a backtracking matcher could be made to run for hours.
Source: https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_variables.html
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from enum import Enum
from functools import lru_cache


class Wild(Enum):
    """The two wildcards."""

    MANY = "*"
    ONE = "?"


Token = str | Wild
Pattern = tuple[Token, ...]
"""Single characters and wildcards, in order."""

PATTERNS_KEPT = 4_096
_ANYTHING: Pattern = (Wild.MANY,)

Lookup = Callable[[str], str | None]
"""The single value of a context key, or None if the request does not have exactly one."""

# ${name} or ${name, 'default'}; inside the default a quote is written twice.
_VARIABLE = re.compile(r"\$\{\s*([^,}']*?)\s*(?:,\s*'((?:[^']|'')*)'\s*)?\}")
_LITERAL_VARIABLES = frozenset("*?$")


@lru_cache(PATTERNS_KEPT)
def glob(text: str) -> Pattern:
    """Read a pattern without variables: `*` is any run of characters, `?` any single one."""
    return tuple(_token(character) for character in text)


def expand(text: str, lookup: Lookup | None) -> Pattern | None:
    """Read a pattern and put values in the place of its variables.

    None if a variable has no value and no default. A value is taken literally: a `*` in a user's name is no
    wildcard. `${*}`, `${?}` and `${$}` are the characters themselves. Without a lookup there are no
    variables, and `${` is plain text.
    """
    if lookup is None:
        return glob(text)
    tokens: list[Token] = []
    position = 0
    for variable in _VARIABLE.finditer(text):
        tokens.extend(glob(text[position : variable.start()]))
        value = _value(variable[1], variable[2], lookup)
        if value is None:
            return None
        tokens.extend(value)
        position = variable.end()
    tokens.extend(glob(text[position:]))
    return tuple(tokens)


def plain(pattern: Pattern) -> str:
    """The pattern as a text in which wildcards are plain characters."""
    return "".join(token.value if isinstance(token, Wild) else token for token in pattern)


def matches(pattern: Pattern, text: str) -> bool:
    """Does the pattern cover the whole text, letter case included?"""
    if pattern == _ANYTHING:
        return True
    literal = _literal(pattern)
    if literal is not None:
        return literal == text
    at_pattern = at_text = 0
    retry_pattern, retry_text = -1, 0
    while at_text < len(text):
        token = pattern[at_pattern] if at_pattern < len(pattern) else None
        if token is Wild.MANY:
            retry_pattern, retry_text = at_pattern, at_text
            at_pattern += 1
        elif token is Wild.ONE or token == text[at_text]:
            at_pattern += 1
            at_text += 1
        elif retry_pattern >= 0:
            # Let the latest `*` swallow one character more; earlier stars never need a second chance.
            retry_text += 1
            at_pattern, at_text = retry_pattern + 1, retry_text
        else:
            return False
    return all(token is Wild.MANY for token in pattern[at_pattern:])


def matches_arn(pattern: Pattern, text: str) -> bool:
    """Do all six colon-separated parts of the ARN match, each on its own?

    Source:
    https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_elements_condition_operators.html
    """
    wanted = _parts(pattern)
    actual = text.split(":", 5)
    return len(wanted) == len(actual) and all(map(matches, wanted, actual))


@lru_cache(PATTERNS_KEPT)
def _literal(pattern: Pattern) -> str | None:
    """The only text that a pattern without wildcards covers; None for one with wildcards."""
    return None if any(isinstance(token, Wild) for token in pattern) else plain(pattern)


def _token(character: str) -> Token:
    match character:
        case "*":
            return Wild.MANY
        case "?":
            return Wild.ONE
        case _:
            return character


def _value(name: str, default: str | None, lookup: Lookup) -> str | None:
    if name in _LITERAL_VARIABLES:
        return name
    value = lookup(name)
    if value is None and default is not None:
        return default.replace("''", "'")
    return value


def _parts(pattern: Pattern) -> Sequence[Pattern]:
    """The pattern cut at its first five colons."""
    parts: list[Pattern] = []
    start = 0
    for index, character in enumerate(pattern):
        if character == ":" and len(parts) < 5:
            parts.append(pattern[start:index])
            start = index + 1
    parts.append(pattern[start:])
    return parts
