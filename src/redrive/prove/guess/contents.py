"""What a file is like that a handler reads: CSV, JSON or text with the names that its source asks for, or an image, a
PDF or an archive that its libraries open.

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

from redrive.prove.guess.binaries import KINDS, PACKED
from redrive.prove.guess.reading import nodes_of, own_files, tree_of
from redrive.prove.guess.samples import is_numbers_name, text_for

_CSV = re.compile(r"\bcsv\.(DictReader|reader)\b|\bread_csv\b")
_JSON = re.compile(r"\bjson\.loads?\([^)\n]*(?i:body|content|obj|data|file|read|text|response)")
_SUFFIX = re.compile(r"""['"]\.?(csv|json|jsonl|txt|xml|html|md|pdf|png|jpe?g|gif|mp3|mp4|gz|zip|parquet)['"]""")
_COLUMNS = ("id", "name")
_OPENED = (
    (re.compile(r"\bImage\.open\(|\bcv2\.im(read|decode)\b|\bimageio\b"), "png", ("png", "jpg", "jpeg", "gif")),
    (re.compile(r"\bPdf(File)?Reader\b|\bpdfplumber\b|\bfitz\.open\b|\bPDFMiner|\bPyPDFLoader\b"), "pdf", ("pdf",)),
)
"""What opens files of a binary kind, the kind, and the suffixes that such files may have."""
_UNPACKED = (
    (re.compile(r"\bgzip\.(decompress|open|GzipFile)\b|\bzlib\.decompress\("), "gz"),
    (re.compile(r"\bZipFile\((?!.*['\"]w['\"])|\bis_zipfile\("), "zip"),
)


@dataclass(frozen=True, slots=True)
class FileContent:
    """A sample file: how its name ends, its bytes, and what it is in words."""

    suffix: str
    body: bytes
    told: str


PLAIN_FILE = FileContent("txt", b"sample text\n", "a text")


def content_for(file: Path) -> FileContent:
    """A file that fits what the source of a handler does with what it reads: its own, then that of files beside it."""
    made = PLAIN_FILE
    for own in own_files(file):
        try:
            source = own.read_text("utf-8")
            tree = tree_of(source)
        except (OSError, ValueError, SyntaxError):
            continue
        found = _content_in(source, tree)
        if found.body != PLAIN_FILE.body:
            return found
        made = found if made == PLAIN_FILE else made
    return made


def _content_in(source: str, tree: ast.Module) -> FileContent:
    """A file that fits one source; a text if nothing in it says more."""
    suffixes = [found[1] for found in _SUFFIX.finditer(source)]
    for pattern, kind, possible in _OPENED:
        if pattern.search(source):
            make, told = KINDS[kind]
            return FileContent(next((one for one in suffixes if one in possible), kind), make(), told)
    inner = _text_in(source, tree, suffixes[0] if suffixes else "")
    for pattern, kind in _UNPACKED:
        if pattern.search(source):
            pack, told = PACKED[kind]
            return FileContent(kind, pack(inner.body), f"{inner.told}, {told}")
    return inner


def _text_in(source: str, tree: ast.Module, suffix: str) -> FileContent:
    names = list(dict.fromkeys(_names(tree)))
    if _CSV.search(source):
        return _table(suffix or "csv", names or list(_COLUMNS))
    if _JSON.search(source) and suffix in ("", "json", "gz"):
        is_list = any(isinstance(node, ast.For) for node in nodes_of(tree)) and ".items()" not in source
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
    for node in nodes_of(tree):
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
    for node in nodes_of(tree):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call() as made) if _reads(made):
                known.add(name)
            case _:
                pass
    yield from known
    for node in nodes_of(tree):
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
