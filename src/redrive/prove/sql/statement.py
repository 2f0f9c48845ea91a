"""Statements and tables as values, and what needs no parser."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

_PLACE = re.compile(r"('(?:[^'\\]|''|\\.)*'|\"[^\"]*\")|(%%)|%\((\w+)\)[sbt]|%[sbt]")


@dataclass(frozen=True, slots=True)
class Table:
    """A table as statements show it."""

    name: str
    columns: Mapping[str, str] = field(default_factory=dict)
    """Names and types."""
    keys: tuple[tuple[str, ...], ...] = ()
    """The columns of its primary key, if it has one, then those of other unique keys."""
    defaults: Mapping[str, str] = field(default_factory=dict)
    required: frozenset[str] = frozenset()
    is_declared: bool = False
    """Whether a CREATE TABLE says it, and not only statements that use it."""


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement, for SQLite. `written` is the table that it writes to."""

    word: str
    text: str
    written: str = ""
    locks: bool = False
    tables: tuple[Table, ...] = ()
    """What it says about the tables in it."""
    asked: tuple[tuple[str, str], ...] = ()
    """Columns of its one table that must equal a value: the column, and the value's placeholder or text."""
    trouble: str = ""
    """Why it cannot be translated."""


def named_placeholders(text: str) -> tuple[str, tuple[str, ...]]:
    """A statement with `:p0` for `%s`, and `:name` for `%(name)s`; and the names in their order."""
    names: list[str] = []

    def name(found: re.Match[str]) -> str:
        literal, percent, given = found.groups()
        if literal:
            return literal.replace("%%", "%")
        if percent:
            return "%"
        names.append(given or f"p{len(names)}")
        return f":{names[-1]}"

    return _PLACE.sub(name, text), tuple(names)


def declaration(table: Table) -> str:
    """The CREATE TABLE of a table."""
    primary = table.keys[0] if table.keys else ()
    columns = [_column(table, name, kind, primary) for name, kind in table.columns.items()]
    keys = [f"UNIQUE ({', '.join(map(quoted, key))})" for key in table.keys if not (key == primary and len(key) == 1)]
    return f"CREATE TABLE IF NOT EXISTS {quoted(table.name)} ({', '.join([*columns, *keys])})"


def quoted(name: str) -> str:
    """A name in a statement."""
    return '"' + name.replace('"', '""') + '"'


def merged(one: Table | None, other: Table) -> Table:
    """What two statements say about a table. What declares it says its types, keys and defaults."""
    if one is None:
        return other
    first, second = (other, one) if other.is_declared and not one.is_declared else (one, other)
    keys = first.keys if first.is_declared else tuple(dict.fromkeys((*first.keys, *second.keys)))
    columns = {**second.columns, **first.columns} if not first.is_declared else dict(first.columns)
    return Table(first.name, columns, keys, first.defaults, first.required, first.is_declared)


def _column(table: Table, name: str, kind: str, primary: tuple[str, ...]) -> str:
    words = [quoted(name), kind]
    if primary == (name,):
        words.append("PRIMARY KEY")
    if name in table.required and primary != (name,):
        words.append("NOT NULL")
    if name in table.defaults:
        words.append(f"DEFAULT {table.defaults[name]}")
    return " ".join(word for word in words if word)
