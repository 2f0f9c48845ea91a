"""Translates the Java regular expressions of AWS's models to Python.

Differences that occur in the models: classes by Unicode property (`\\p{L}`), characters beyond the basic plane
written as surrogate pairs, a hyphen after a class escape, named groups, and that `\\w` and `\\d` mean ASCII.
Source: https://docs.oracle.com/en/java/javase/21/docs/api/java.base/java/util/regex/Pattern.html
"""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Callable, Sequence

from redrive.languages.matching import GROUPS, MalformedPattern, Regex, compile_regex

_POSIX_CLASSES = {
    "Alnum": "a-zA-Z0-9",
    "Alpha": "a-zA-Z",
    "ASCII": r"\x00-\x7F",
    "Blank": r" \t",
    "Cntrl": r"\x00-\x1F\x7F",
    "Digit": "0-9",
    "Graph": "!-~",
    "Lower": "a-z",
    "Print": " -~",
    "Punct": r"!-/:-@\[-`{-~",
    "Space": r" \t\n\x0B\f\r",
    "Upper": "A-Z",
    "XDigit": "0-9a-fA-F",
}
# The planes above this code point hold no letters, numbers or separators, only private use and tags.
_LAST_CODE_POINT = 0x3FFFF
_LAST_OF_ASCII = 0x7F

SHORT_LENGTH_MAX = 256
"""The longest text for Python's own matcher, if the pattern can cause backtracking."""

_ENDLESS = re.compile(r"(?<!\\)[*+]|,\}")
_SURROGATE_PAIR = re.compile(r"\\u(D[89AB][0-9A-F]{2})\\u(D[C-F][0-9A-F]{2})", re.IGNORECASE)
# A pattern with five digits is a mistake in a model: Java would read \\u1000 and a zero.
_LONG_ESCAPE = re.compile(r"\\u(10{4}|10FFFF)")
_PROPERTY = re.compile(r"\\p\{(?:Is)?(\w+)\}")
_NAMED_GROUP = re.compile(r"\(\?<(?=[A-Za-z])")
_RUN = re.compile(r"([A-Z][a-z])\1*")
_UNSUPPORTED = re.compile(r"&&|\\[QEGXRhHvVX]|\\P\{|\\x\{")


def compile_java(pattern: str, last: int = _LAST_CODE_POINT) -> re.Pattern[str] | None:
    """A Python pattern for use with `fullmatch`; None if Python has no equivalent of the Java pattern.

    None only for the intersection of classes, quoting and rarer escapes; no model of the table uses them. `last` is the
    last code point of the texts that it is for.
    """
    if _UNSUPPORTED.search(pattern):
        return None
    text = _SURROGATE_PAIR.sub(_beyond_basic_plane, pattern)
    text = _LONG_ESCAPE.sub(lambda match: rf"\U{int(match[1], 16):08X}", text)
    text = _NAMED_GROUP.sub("(?P<", text)
    try:
        return re.compile(_translate_classes(text, last), re.ASCII)
    except re.error:
        return None


def fitting(pattern: str) -> Callable[[str], bool] | None:
    """A function that tells whether a whole text matches a Java pattern; None if there is none (see `compile_java`).

    The pattern is compiled for the first text, since most of a model's patterns never meet one, and for ASCII alone if
    the text is: categories of Unicode have hundreds of ranges.

    If a pattern has more than one unbounded repetition, backtracking in Python's matcher can take hours on a text that
    a user chose. Long texts for such patterns are matched in linear time instead, which is slower for short texts.
    """
    if _UNSUPPORTED.search(pattern):
        return None
    has_category = _PROPERTY.search(pattern) is not None

    @functools.cache
    def compiled(is_ascii: bool) -> re.Pattern[str] | None:
        return compile_java(pattern, _LAST_OF_ASCII if is_ascii else _LAST_CODE_POINT)

    def fits(text: str) -> bool:
        matcher = compiled(not has_category or text.isascii())
        return matcher is None or matcher.fullmatch(text) is not None

    if len(_ENDLESS.findall(pattern)) <= 1:
        return fits

    @functools.cache
    def linearly() -> Regex | None:  # Compiled for the first long text: few patterns ever meet one.
        return linear(pattern)

    def fits_in_time(text: str) -> bool:
        regex = None if len(text) <= SHORT_LENGTH_MAX else linearly()
        return fits(text) if regex is None else regex.fullmatch(text)

    return fits_in_time


def linear(pattern: str) -> Regex | None:
    """A Java pattern, compiled for the matcher in linear time; None if that matcher does not support the pattern."""
    try:
        return None if _SURROGATE_PAIR.search(pattern) else compile_regex(pattern, GROUPS)
    except MalformedPattern:
        return None


def _beyond_basic_plane(match: re.Match[str]) -> str:
    high, low = int(match[1], 16), int(match[2], 16)
    return rf"\U{0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00):08X}"


def _translate_classes(text: str, last: int) -> str:
    """Replace properties by ranges, and escape hyphens and brackets in classes that Python would read differently."""
    out: list[str] = []
    at, inside, after_class_escape = 0, False, False
    while at < len(text):
        character = text[at]
        if character == "\\":
            property_match = _PROPERTY.match(text, at)
            token = property_match[0] if property_match else text[at : at + 2]
            ranges = _ranges(property_match[1], last) if property_match else token
            out.append(ranges if inside or not property_match else f"[{ranges}]")
            at += len(token)
            after_class_escape = token[:2] in {r"\w", r"\d", r"\s", r"\p"}
            continue
        if inside and character == "-" and after_class_escape and text[at + 1 : at + 2] != "]":
            out.append(r"\-")
        elif inside and character == "[":
            out.append(r"\[")
        else:
            out.append(character)
            inside = (inside or character == "[") and character != "]"
        at += 1
        after_class_escape = False
    return "".join(out)


def _ranges(name: str, last: int) -> str:
    return _POSIX_CLASSES.get(name) or _category_ranges(name, last)


@functools.cache
def _category_ranges(category: str, last: int) -> str:
    """The code points of a general category such as `L` or `Nd`, up to the last one, as ranges of a class."""
    ranges: list[tuple[int, int]] = []
    for start, stop, name in _runs_of_categories(last):
        if not name.startswith(category):
            continue
        if ranges and ranges[-1][1] == start:
            ranges[-1] = (ranges[-1][0], stop)
        else:
            ranges.append((start, stop))
    # A class needs a range. Where there is none, one beyond the last code point stands for it.
    return "".join(rf"\U{start:08X}-\U{stop - 1:08X}" for start, stop in ranges) or rf"\U{last + 1:08X}"


@functools.cache
def _runs_of_categories(last: int) -> Sequence[tuple[int, int, str]]:
    """The start and end (exclusive) of each run of code points with the same category.

    Reads the whole table of characters (some 30 ms), so it runs only when a pattern has a category, and once.
    """
    names = "".join(map(unicodedata.category, map(chr, range(last + 1))))  # Two letters each.
    return [(run.start() // 2, run.end() // 2, run[1]) for run in _RUN.finditer(names)]
