"""Searches for a regular expression, with what its named groups capture, in time linear in the text, or nearly so.

    Capturing.of(r"took (?<ms>\\d+) ms").groups("it took 31 ms")  →  ("31",)

There are two ways to the same answer. Python's own matcher goes back and forth; it is fast as long as it has little
choice. So before each search the steps that it can need at most are estimated from the pattern and the text
(`estimate.py`); if they are too many, all paths are followed at once (`threads.py`), which is slower and never stalls.
Both take the leftmost match, and the choices in the pattern's order, as Perl does.
"""

from __future__ import annotations

import re
from functools import cached_property

from redrive.languages.matching.estimate import Estimate, estimate
from redrive.languages.matching.python_source import python_source
from redrive.languages.matching.regex import PLACES_MAX, Regex
from redrive.languages.matching.syntax import CAPTURES, MalformedPattern, Tree, parse_regex
from redrive.languages.matching.threads import Threads
from redrive.languages.matching.trees import captured_names, is_plain_text, required_text, uncaptured

STEPS_MAX = 1_000_000
"""The most steps that one search by Python's matcher may need: some milliseconds."""

Groups = tuple[str | None, ...]
"""What the named groups captured, in their order; None for a group that took no part."""


class Capturing:
    """A compiled regular expression with named groups."""

    def __init__(self, tree: Tree, places_max: int = PLACES_MAX) -> None:
        """Errors: MalformedPattern (too large; a name twice)."""
        self.names = captured_names(tree)
        if len(set(self.names)) < len(self.names):
            raise MalformedPattern("two groups have the same name")
        self._tree = tree
        plain = uncaptured(tree)
        self._regex = Regex(plain, places_max)
        self.required: str = required_text(plain)[0]
        """A text that is in every match; often empty."""
        self.is_plain_text = is_plain_text(plain)
        self._estimate: Estimate | None = estimate(tree)
        source = python_source(tree) if self._estimate is not None else None
        self._python = None if source is None else re.compile(source, re.ASCII)

    @staticmethod
    def of(text: str) -> Capturing:
        """The expression of a text. Errors: MalformedPattern."""
        return Capturing(parse_regex(text, CAPTURES))

    def search(self, text: str) -> bool:
        """Whether a part of the text matches."""
        if self.is_plain_text:
            return self.required in text
        if self._python is not None and self._is_short(text):
            return self._python.search(text) is not None
        return self._regex.search(text)

    def groups(self, text: str) -> Groups | None:
        """What the named groups capture in the leftmost match; None without a match."""
        if self.required not in text:
            return None
        if self._python is not None and self._is_short(text):
            found = self._python.search(text)
            return None if found is None else found.groups()
        return self._threads.groups(text) if self._regex.search(text) else None

    @cached_property
    def _threads(self) -> Threads:
        return Threads(self._tree)

    def _is_short(self, text: str) -> bool:
        return self._estimate is not None and self._estimate.steps(text) <= STEPS_MAX
