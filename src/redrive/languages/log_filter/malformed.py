"""What is wrong with a filter pattern."""

from __future__ import annotations


class MalformedFilter(ValueError):
    """The pattern cannot be read; the text says why."""
