"""Translated statements, remembered. The parser takes a while to import, so it is imported with the first of them."""

from __future__ import annotations

import functools

from redrive.prove.sql.statement import Statement


@functools.lru_cache(4_096)
def translated(dialect: str, text: str) -> Statement:
    """A statement for SQLite. SQLite's own stay as they are, but for the time."""
    from redrive.prove.sql.translation import translate  # noqa: PLC0415 - sqlglot takes 0.15 s, and few handlers need it.

    return translate(dialect, text)


def statements_of(dialect: str, text: str) -> list[str]:
    """The statements of a text; none of what cannot be parsed."""
    from redrive.prove.sql.translation import split  # noqa: PLC0415 - as above.

    return split(dialect, text)
