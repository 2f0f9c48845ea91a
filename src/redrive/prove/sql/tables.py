"""What the user's code, and the files of SQL beside it, say about tables, before any statement is made."""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from redrive.prove.guess.reading import own_files, parsed
from redrive.prove.process.statements import deed_of, first_word
from redrive.prove.sql.statement import Table, merged, named_placeholders
from redrive.prove.sql.translating import statements_of, translated

_WORDS = frozenset({"CREATE", "DELETE", "INSERT", "REPLACE", "SELECT", "UPDATE", "WITH"})
_SKIPPED = frozenset({".aws-sam", ".git", ".venv", "cdk.out", "node_modules", "site-packages", "venv"})
FILES_MAX, FILE_BYTES_MAX = 40, 200_000
_STATEMENT = re.compile(
    r"(?is)^\s*(create\s+(unlogged\s+|temp\w*\s+)?(table|unique)|insert|replace|update|delete|select|with)\b"
)


@dataclass(frozen=True, slots=True)
class Schema:
    """Tables by their names. `filled` are those into which the code inserts rows."""

    tables: Mapping[str, Table] = field(default_factory=dict)
    filled: frozenset[str] = frozenset()
    places: Mapping[str, str] = field(default_factory=dict)
    """The file in which a table is declared."""


@functools.cache
def schema_of(file: Path, dialect: str) -> Schema:
    """What a handler's file, its own imports and the files of SQL around it say."""
    tables: dict[str, Table] = {}
    filled: set[str] = set()
    places: dict[str, str] = {}
    for place, text in _texts(file, dialect):
        said = translated(dialect, named_placeholders(text)[0] if dialect != "sqlite" else text)
        for table in said.tables:
            tables[table.name] = merged(tables.get(table.name), table)
            if table.is_declared:
                places.setdefault(table.name, place)
        if deed_of(text) in {"INSERT", "REPLACE"}:
            filled.add(said.written)
    return Schema(tables, frozenset(filled), places)


def _texts(file: Path, dialect: str) -> Iterator[tuple[str, str]]:
    """Statements, each with the name of its file."""
    for found in _files_of_sql(file):
        yield from ((found.name, text) for text in _split(found.read_text("utf-8", "replace"), dialect))
    for own in own_files(file):
        tree = parsed(own)
        for node in ast.walk(tree) if tree is not None else ():
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and _STATEMENT.match(node.value):
                yield from ((own.name, text) for text in _split(node.value, dialect))


def _split(text: str, dialect: str) -> list[str]:
    """The statements of a text."""
    if ";" not in text.strip().rstrip(";"):
        return [text] if first_word(text) in _WORDS else []
    found = statements_of(dialect, named_placeholders(text)[0] if dialect != "sqlite" else text)
    return found or [part for part in text.split(";") if first_word(part) in _WORDS]


def _files_of_sql(file: Path) -> list[Path]:
    """Files of SQL beside the handler's file, and in the folder above it."""
    folders = [file.parent, *(file.parent.parents[:1] if (file.parent / "..").resolve() != Path.home() else ())]
    found: dict[Path, None] = {}
    for folder in folders:
        for pattern in ("*.sql", "*/*.sql", "*/*/*.sql"):
            for one in sorted(folder.glob(pattern)):
                if not _SKIPPED & set(one.parts) and one.stat().st_size <= FILE_BYTES_MAX:
                    found.setdefault(one.resolve())
                if len(found) >= FILES_MAX:
                    return list(found)
    return list(found)
