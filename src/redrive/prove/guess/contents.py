"""What a file is like that a handler reads: CSV, JSON or text, with the names that its source asks for.

The source is parsed, and never run.
"""

from __future__ import annotations

import ast
import csv
import io
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from redrive.prove.guess.samples import is_numbers_name, text_for

_CSV = re.compile(r"\bcsv\.(DictReader|reader)\b|\bread_csv\b")
_JSON = re.compile(r"\bjson\.loads?\([^)\n]*(?i:body|content|obj|data|file|read|text|response)")
_SUFFIX = re.compile(r"""['"]\.?(csv|json|jsonl|txt|xml|html|md|pdf|png|jpe?g|gif|mp3|mp4|gz|zip|parquet)['"]""")
_COLUMNS = ("id", "name")


@dataclass(frozen=True, slots=True)
class FileContent:
    """A sample file: how its name ends, its bytes, and what it is in words."""

    suffix: str
    body: bytes
    told: str


PLAIN_FILE = FileContent("txt", b"sample text\n", "a text")


def content_for(file: Path) -> FileContent:
    """A file that fits what the source of a handler does with what it reads."""
    try:
        source = file.read_text("utf-8")
        tree = ast.parse(source)
    except (OSError, ValueError, SyntaxError):
        return PLAIN_FILE
    found = _SUFFIX.search(source)
    suffix = found[1] if found else ""
    names = list(dict.fromkeys(_names(tree)))
    if _CSV.search(source):
        return _table(suffix or "csv", names or list(_COLUMNS))
    if _JSON.search(source) and suffix in ("", "json"):
        is_list = any(isinstance(node, ast.For) for node in ast.walk(tree)) and ".items()" not in source
        return _document(suffix or "json", names, is_list=is_list and not names)
    return FileContent(suffix or PLAIN_FILE.suffix, PLAIN_FILE.body, PLAIN_FILE.told)


def _table(suffix: str, names: list[str]) -> FileContent:
    """Two rows of CSV."""
    written = io.StringIO()
    writer = csv.writer(written, lineterminator="\n")
    writer.writerow(names)
    for number in (1, 2):
        writer.writerow([number if is_numbers_name(name) else f"{text_for(name)}-{number}" for name in names])
    return FileContent(suffix, written.getvalue().encode(), f"CSV with the columns {', '.join(names)}")


def _document(suffix: str, names: list[str], *, is_list: bool) -> FileContent:
    one = {name: 1 if is_numbers_name(name) else text_for(name) for name in names} or {"id": "sample-1"}
    return FileContent(suffix, json.dumps([one] if is_list else one).encode(), f"JSON with {', '.join(one)}")


def _names(tree: ast.Module) -> Iterator[str]:
    """The texts by which what was read is subscripted: `row["Year"]`, where a loop or `json.loads` binds `row`."""
    bound = set(_bound(tree))
    for node in ast.walk(tree):
        match node:
            case ast.Subscript(value=ast.Name(id=name), slice=ast.Constant(value=str(key)), ctx=ast.Load()):
                if name in bound:
                    yield key
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="get"), args=[ast.Constant(value=str(key))]):
                if name in bound:
                    yield key
            case _:
                pass


def _bound(tree: ast.Module) -> Iterator[str]:
    """The names of rows of a reader, of what was read as JSON, and of the members of that."""
    known: set[str] = set()
    for node in ast.walk(tree):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call() as made) if _reads(made):
                known.add(name)
            case _:
                pass
    yield from known
    for node in ast.walk(tree):
        match node:
            case ast.For(target=ast.Name(id=name), iter=ast.Name(id=read)) if read in known:
                yield name
            case ast.For(target=ast.Name(id=name), iter=ast.Call() as made) if _reads(made):
                yield name
            case _:
                pass


def _reads(made: ast.Call) -> bool:
    """Whether a call reads rows or a document from something else than the event."""
    written = ast.unparse(made)
    is_event = "event" in written or "record" in written.lower() or "'body'" in written
    return written.startswith(("csv.DictReader(", "json.loads(", "json.load(")) and not is_event
