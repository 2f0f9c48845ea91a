"""The error for an invalid filter pattern."""

from __future__ import annotations


class MalformedFilter(ValueError):
    """The pattern is malformed; the text says why."""
