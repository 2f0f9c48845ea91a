"""PostgreSQL's form of a statement that is written for SQLite: numbered parameters, and SQLite's own words replaced.

What is different beyond words has a text of its own in `sql/postgresql` (see `queries.postgresql_text`).
"""

from __future__ import annotations

import re

_TOKEN = re.compile(
    r"""
    (?P<kept>--[^\n]*|/\*.*?\*/|'(?:[^']|'')*'|"(?:[^"]|"")*"|::)
    |:(?P<name>[A-Za-z_]\w*)
    |(?P<position>\?)
    |(?P<hint>\s+INDEXED\s+BY\s+\w+)
    |(?P<rowid>\browid\b)
    """,
    re.VERBOSE | re.DOTALL,
)


def numbered(sql: str) -> tuple[str, tuple[str | int, ...]]:
    """The statement with `$1`, `$2` … for `:name` and `?`, and the name or the position (from 0) of each parameter.

    A name that occurs twice is one parameter. Comments, literals, quoted names and `::type` stay as they are.
    Two words of SQLite are replaced: `rowid` is the column `seq` in PostgreSQL, and `INDEXED BY` is left out. A unary
    plus before an integer column stays: it keeps PostgreSQL's planner from an index as well. PostgreSQL refuses a unary
    plus before a text, so such a statement needs a text of its own.
    """
    numbers: dict[str | int, int] = {}
    questions = 0

    def replaced(token: re.Match[str]) -> str:
        nonlocal questions
        if token["hint"] is not None:
            return ""
        if token["rowid"] is not None:
            return "seq"
        if token["name"] is not None:
            key: str | int = token["name"]
        elif token["position"] is not None:
            key, questions = questions, questions + 1
        else:
            return token[0]
        return f"${numbers.setdefault(key, len(numbers) + 1)}"

    text = _TOKEN.sub(replaced, sql)
    return text, tuple(numbers)
