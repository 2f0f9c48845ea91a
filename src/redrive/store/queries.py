"""Named SQL: `sql/<table>.sql` has blocks that begin with `-- name: verb`. The text below is one statement.

The statements run on SQLite, and on PostgreSQL after `dialect.numbered`. Where that is not enough, a block with the
same name in `sql/postgresql/<table>.sql` has PostgreSQL's text. Its first line is a comment that says why.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable

_HEADING = re.compile(r"^-- name: (\w+)[^\n]*\n", re.MULTILINE)


def load_queries(table: str) -> Mapping[str, str]:
    """The statements of one table, by name. A missing name raises KeyError when it is used."""
    return _statements(_folder().joinpath(f"{table}.sql"))


def postgresql_queries(table: str) -> Mapping[str, str]:
    """The statements of one table of which PostgreSQL has a text of its own, by name."""
    file = _folder().joinpath("postgresql", f"{table}.sql")
    return _statements(file) if file.is_file() else {}


def postgresql_text(sql: str) -> str:
    """What PostgreSQL runs for a statement of `load_queries`, with the same parameters. Mostly the statement itself."""
    return _overrides().get(sql, sql)


@cache
def _overrides() -> Mapping[str, str]:
    tables = [entry.name.removesuffix(".sql") for entry in _folder().iterdir() if entry.name.endswith(".sql")]
    return {load_queries(table)[name]: text for table in tables for name, text in postgresql_queries(table).items()}


def _folder() -> Traversable:
    return resources.files("redrive.store").joinpath("sql")


def _statements(file: Traversable) -> Mapping[str, str]:
    pieces = _HEADING.split(file.read_text("utf-8"))
    return {name: body.strip().rstrip(";") for name, body in zip(pieces[1::2], pieces[2::2], strict=True)}
