"""Why a text is not an event pattern, in AWS's sentence."""

from __future__ import annotations

SOURCE_SHOWN_MAX = 500
"""How many characters of a pattern its error shows."""


class PatternError(ValueError):
    """The text is not an event pattern. The message is AWS's, as InvalidEventPatternException carries it.

    `reason` is the part after "Reason:", `at` the characters before the place of the error; None where AWS names none.
    """

    def __init__(self, reason: str, *, text: str = "", at: int | None = None) -> None:
        where = "" if at is None else f"\n {place(text, at)}"
        super().__init__(f"Event pattern is not valid. Reason: {reason}{where}")
        self.reason = reason
        self.at = at


def place(text: str, at: int) -> str:
    """Where in a text an error is: `at [Source: (String)"{}"; line: 1, column: 3]`. Columns begin at 1."""
    return f"at {location(text, at)}"


def location(text: str, at: int) -> str:
    """A location in the form of AWS's JSON parser: the text, cut after 500 characters, the line and the column."""
    shown = text[:SOURCE_SHOWN_MAX]
    cut = f"[truncated {len(text) - SOURCE_SHOWN_MAX} chars]" if len(text) > SOURCE_SHOWN_MAX else ""
    before = text[:at].replace("\r\n", "\n").replace("\r", "\n")
    line = before.count("\n") + 1
    column = len(before) - (before.rfind("\n") + 1) + 1
    return f'[Source: (String)"{shown}"{cut}; line: {line}, column: {column}]'
