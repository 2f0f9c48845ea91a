"""Sets of characters, such as those of a class `[a-z_]` or an escape `\\d`."""

from __future__ import annotations

import unicodedata
from bisect import bisect_right
from dataclasses import dataclass

Range = tuple[int, int]
"""The first and the last code point of a range, both included."""

_LAST = 0x10FFFF


@dataclass(frozen=True, slots=True)
class CharSet:
    """A set of characters: ranges of code points in order, and Unicode's general categories by their first letters."""

    ranges: tuple[Range, ...]
    categories: tuple[str, ...] = ()
    excluded: tuple[str, ...] = ()

    def __contains__(self, character: str) -> bool:
        code = ord(character)
        at = bisect_right(self.ranges, (code, _LAST)) - 1
        if at >= 0 and self.ranges[at][1] >= code:
            return True
        if not self.categories and not self.excluded:
            return False
        category = unicodedata.category(character)
        return category.startswith(self.categories) or any(not category.startswith(one) for one in self.excluded)

    def __or__(self, other: CharSet) -> CharSet:
        return CharSet(
            _merged((*self.ranges, *other.ranges)),
            (*self.categories, *other.categories),
            (*self.excluded, *other.excluded),
        )

    def meets(self, other: CharSet) -> bool:
        """Whether the sets may have a character in common. Sets with categories may always."""
        if self.has_categories or other.has_categories:
            return True
        return any(first <= end and start <= last for first, last in self.ranges for start, end in other.ranges)

    @property
    def has_categories(self) -> bool:
        """Whether the set has categories; then it has no complement."""
        return bool(self.categories or self.excluded)

    @property
    def only(self) -> str | None:
        """The only character of a set with one character; None for any other set."""
        if self.has_categories or len(self.ranges) != 1 or self.ranges[0][0] != self.ranges[0][1]:
            return None
        return chr(self.ranges[0][0])

    def complement(self) -> CharSet:
        """All other characters. The set must not have categories."""
        assert not self.has_categories
        runs: list[Range] = []
        start = 0
        for first, last in self.ranges:
            if first > start:
                runs.append((start, first - 1))
            start = last + 1
        return CharSet((*runs, (start, _LAST)) if start <= _LAST else tuple(runs))

    def without_case(self) -> CharSet:
        """The set with both cases of each of its letters a to z."""
        both = list(self.ranges)
        for first, last in self.ranges:
            for lower, upper in ((97, 65), (65, 97)):
                start, end = max(first, lower), min(last, lower + 25)
                if start <= end:
                    both.append((start - lower + upper, end - lower + upper))
        return CharSet(_merged(tuple(both)), self.categories, self.excluded)


def chars(text: str) -> CharSet:
    """The set of the characters in a text."""
    return CharSet(_merged(tuple((ord(one), ord(one)) for one in text)))


def char_range(first: str, last: str) -> CharSet:
    """The set of the characters in a range."""
    return CharSet(((ord(first), ord(last)),))


def _merged(runs: tuple[Range, ...]) -> tuple[Range, ...]:
    merged: list[Range] = []
    for first, last in sorted(runs):
        if merged and first <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(last, merged[-1][1]))
        else:
            merged.append((first, last))
    return tuple(merged)


DIGIT = char_range("0", "9")
WORD = DIGIT | char_range("a", "z") | char_range("A", "Z") | chars("_")
SPACE = chars(" \t\n\r\f\v")
ANY_BUT_NEWLINE = chars("\n").complement()

# https://docs.oracle.com/en/java/javase/21/docs/api/java.base/java/util/regex/Pattern.html
POSIX = {
    "Alnum": DIGIT | char_range("a", "z") | char_range("A", "Z"),
    "Alpha": char_range("a", "z") | char_range("A", "Z"),
    "ASCII": char_range("\0", "\x7f"),
    "Blank": chars(" \t"),
    "Cntrl": char_range("\0", "\x1f") | chars("\x7f"),
    "Digit": DIGIT,
    "Graph": char_range("!", "~"),
    "Lower": char_range("a", "z"),
    "Print": char_range(" ", "~"),
    "Punct": char_range("!", "/") | char_range(":", "@") | char_range("[", "`") | char_range("{", "~"),
    "Space": SPACE,
    "Upper": char_range("A", "Z"),
    "XDigit": DIGIT | char_range("a", "f") | char_range("A", "F"),
}
