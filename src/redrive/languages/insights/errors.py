"""What is wrong with a query, and where."""

from __future__ import annotations


class MalformedQuery(ValueError):
    """The query cannot be understood. `start` and `end` are offsets of characters in the query; the text says why."""

    def __init__(self, message: str, start: int, end: int) -> None:
        super().__init__(message)
        self.message = message
        self.start = start
        self.end = end


class QueryTooLarge(Exception):
    """The query would have to hold more than it may while it runs; the text says what."""
