"""Patterns over plain text: words, "phrases", ?alternatives, -exclusions and %regular expressions%. Case matters.

    all plain terms and no excluded term must match; or, if there are only alternatives, one of them

Source: https://docs.aws.amazon.com/AmazonCloudWatch/latest/logs/matching-terms-unstructured-log-events.html
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from redrive.languages.log_filter.filter import Filter, Matches
from redrive.languages.log_filter.malformed import MalformedFilter
from redrive.languages.matching import NO_GROUPS, MalformedPattern, Regex
from redrive.languages.matching import compile_regex as compile_any_regex

REGEX_PER_PATTERN_MAX = 2
REGEX_WEIGHT = 8
"""The most that a search for a regular expression may cost, in units of one search for plain text."""

REGEX_CHARACTERS = re.compile(r"[A-Za-z0-9_#=@/;,:\-^$?\[\]{}|\\*+. ]+")

_TERM = re.compile(
    r'\s*(?P<sign>[?-]?)(?:"(?P<phrase>(?:[^"\\]|\\.)*)"|%(?P<regex>[^%]*)%|(?P<word>[^\s"%?-][^\s"%]*))(?=\s|$)'
)
_WORD = re.compile(r"\w+")


def parse_terms(text: str) -> Filter:
    """The test for a pattern over plain text. Errors: MalformedFilter."""
    wanted: dict[str, list[Matches]] = {"": [], "?": [], "-": []}
    at = regexes = 0
    while at < len(text):
        found = _TERM.match(text, at)
        if found is None:
            raise MalformedFilter(f"cannot read the pattern from here on: {text[at:].strip()}")
        at = found.end()
        regexes += found["regex"] is not None
        wanted[found["sign"]].append(_test(found))
    if regexes > REGEX_PER_PATTERN_MAX:
        raise MalformedFilter(f"a pattern has at most {REGEX_PER_PATTERN_MAX} regular expressions")
    weight = sum(map(len, wanted.values())) + regexes * REGEX_WEIGHT
    return Filter(_combined(wanted[""], wanted["?"], wanted["-"]), weight)


def _combined(required: Sequence[Matches], alternatives: Sequence[Matches], excluded: Sequence[Matches]) -> Matches:
    if alternatives and not required and not excluded:
        return lambda message: any(test(message) for test in alternatives)
    # Beside other terms the question mark has no effect: AWS ignores such terms.
    if len(required) == 1 and not excluded:
        return required[0]
    return lambda message: all(test(message) for test in required) and not any(test(message) for test in excluded)


def compile_regex(text: str) -> Regex:
    """A regular expression between percent signs. Errors: MalformedFilter for syntax that CloudWatch Logs refuses."""
    if not REGEX_CHARACTERS.fullmatch(text):
        raise MalformedFilter(f"unsupported character in the regular expression: {text}")
    try:
        return compile_any_regex(text, NO_GROUPS)
    except MalformedPattern as error:
        raise MalformedFilter(f"not a regular expression: {text} ({error})") from error


def unescaped(quoted: str) -> str:
    """The text of a quoted string: a backslash makes the next character literal."""
    return re.sub(r"\\(.)", r"\1", quoted, flags=re.DOTALL)


def _test(found: re.Match[str]) -> Matches:
    if found["regex"] is not None:
        expression = compile_regex(found["regex"])
        return expression.search
    if found["phrase"] is not None:
        phrase = unescaped(found["phrase"])
        return lambda message: phrase in message
    word = found["word"]
    if not _WORD.fullmatch(word):
        raise MalformedFilter(f"Invalid character(s) in term '{word}'")
    return lambda message: word in message
