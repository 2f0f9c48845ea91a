"""Patterns with `*` and `?`, and with `${...}` variables.

Policies are untrusted input: parsing and matching a pattern take linear time, whatever the pattern.
Source: https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_variables.html
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache

from redrive.languages.matching import ANY, ONE, Joker, Token, Wildcard

Pattern = tuple[Token, ...]
"""Single characters and wildcards, in order."""

PATTERNS_KEPT = 4_096
_ANYTHING: Pattern = (ANY,)

Lookup = Callable[[str], str | None]
"""The value of a context key, or None if the request does not have exactly one."""

# ${name} or ${name, 'default'}; in the default a quote is doubled.
# A name ends at the next `$`, except in `${$}`: so an unclosed `${` is scanned only once.
_VARIABLE = re.compile(r"\$\{(\s*\$\s*|[^,}'${]*)(?:,\s*'((?:[^']|'')*)'\s*)?\}")
_LITERAL_VARIABLES = frozenset("*?$")


@lru_cache(PATTERNS_KEPT)
def glob(text: str) -> Pattern:
    """Parse a pattern without variables: `*` is any run of characters, `?` any single character."""
    return tuple(_token(character) for character in text)


def expand(text: str, lookup: Lookup | None) -> Pattern | None:
    """Parse a pattern and replace its variables by values.

    None if a variable has no value and no default. A value is literal: a `*` in a user's name is no wildcard. `${*}`,
    `${?}` and `${$}` are the characters themselves. Without a lookup there are no variables, and `${` is plain text.
    """
    if lookup is None:
        return glob(text)
    tokens: list[Token] = []
    position = 0
    for variable in _VARIABLE.finditer(text):
        tokens.extend(glob(text[position : variable.start()]))
        value = _value(variable[1].strip(), variable[2], lookup)
        if value is None:
            return None
        tokens.extend(value)
        position = variable.end()
    tokens.extend(glob(text[position:]))
    return tuple(tokens)


def plain(pattern: Pattern) -> str:
    """The pattern as a text, with wildcards as plain characters."""
    return "".join(token.value if isinstance(token, Joker) else token for token in pattern)


def matches(pattern: Pattern, text: str) -> bool:
    """Whether the pattern covers the whole text; case-sensitive."""
    if pattern == _ANYTHING:
        return True
    return _compiled(pattern).matches(text)


def matches_arn(pattern: Pattern, text: str) -> bool:
    """Whether all six colon-separated parts of the ARN match, each on its own.

    Source:
    https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_elements_condition_operators.html
    """
    wanted = _parts(pattern)
    actual = text.split(":", 5)
    return len(wanted) == len(actual) and all(map(matches, wanted, actual))


@lru_cache(PATTERNS_KEPT)
def _compiled(pattern: Pattern) -> Wildcard:
    return Wildcard.of_tokens(pattern)


def _token(character: str) -> Token:
    match character:
        case "*":
            return ANY
        case "?":
            return ONE
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
    """The pattern, split at its first five colons."""
    parts: list[Pattern] = []
    start = 0
    for index, character in enumerate(pattern):
        if character == ":" and len(parts) < 5:
            parts.append(pattern[start:index])
            start = index + 1
    parts.append(pattern[start:])
    return parts
