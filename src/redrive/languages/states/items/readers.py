"""Reads items from the bytes of a file: CSV, JSON and JSON lines.

Source: https://docs.aws.amazon.com/step-functions/latest/dg/input-output-itemreader.html
"""

from __future__ import annotations

import csv
import gzip
import io
import itertools
import zlib
from collections.abc import Iterator, Sequence
from typing import Final

from redrive.core.documents import Document, load_json
from redrive.languages.states.definition import ItemReader
from redrive.languages.states.errors import ITEM_READER_FAILED, StatesError

DELIMITERS: Final = {"COMMA": ",", "PIPE": "|", "SEMICOLON": ";", "SPACE": " ", "TAB": "\t"}
ITEMS_MAX = 100_000_000
"""What MaxItems cannot raise."""
FILE_BYTES_MAX = 10 * 1024**3


def read_items(body: bytes, reader: ItemReader, items_max: int = 0) -> Iterator[object]:
    """The items of a file, in their order. `items_max` is MaxItems; 0 means all. Errors: StatesError, while reading."""
    if items_max < 0:
        raise failed("field MaxItems must be positive")
    match reader.input_type:
        case "CSV":
            items = _csv(_text(body), reader)
        case "JSON":
            items = _json(_text(body), reader.items_pointer)
        case "JSONL":
            items = _json_lines(_text(body))
        case other:
            raise failed(f"Files of the InputType {other} cannot be read.")
    return itertools.islice(items, min(items_max or ITEMS_MAX, ITEMS_MAX))


def listed_item(key: str, etag: str, size: int, modified_s: float, storage_class: str) -> Document:
    """The item that an object in a list of s3:listObjectsV2 is. `modified_s` is in seconds since the epoch."""
    return {
        "Etag": f'"{etag.strip(chr(34))}"',
        "Key": key,
        "LastModified": modified_s,
        "Size": size,
        "StorageClass": storage_class,
    }


def manifest_files(body: bytes) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
    """What the manifest.json of an S3 inventory names: its bucket, the keys of its files, the names of its columns.

    Errors: StatesError.
    """
    manifest = _loaded(_text(body))
    if not isinstance(manifest, dict) or str(manifest.get("fileFormat", "CSV")).upper() != "CSV":
        raise failed("The manifest must be that of an inventory in CSV.")
    files = manifest.get("files")
    if not isinstance(files, list) or not all(isinstance(one, dict) and "key" in one for one in files):
        raise failed("The manifest names no files.")
    columns = [column.strip() for column in str(manifest.get("fileSchema", "")).split(",") if column.strip()]
    bucket = str(manifest.get("destinationBucket", "")).rsplit(":", 1)[-1]
    return bucket, tuple(str(one["key"]) for one in files), tuple(columns)


def inventory_items(body: bytes, columns: Sequence[str]) -> Iterator[object]:
    """The items of one file of an inventory, gzipped or not: an object for each row. Errors: StatesError."""
    try:
        plain = gzip.decompress(body) if body[:2] == b"\x1f\x8b" else body
    except (OSError, EOFError, zlib.error):
        raise failed("A file of the inventory is not in the gzip format.") from None
    return _rows(_text(plain), ",", list(columns))


def failed(cause: str) -> StatesError:
    """The error of an ItemReader."""
    return StatesError(ITEM_READER_FAILED, cause)


def _text(body: bytes) -> str:
    try:
        return body.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise failed("The file is not in UTF-8.") from None


def _csv(text: str, reader: ItemReader) -> Iterator[object]:
    delimiter = DELIMITERS[reader.delimiter]
    return _rows(text, delimiter, list(reader.headers) if reader.header_location == "GIVEN" else None)


def _rows(text: str, delimiter: str, headers: list[str] | None) -> Iterator[object]:
    """An object for each row: missing cells are empty, those without a name are dropped."""
    try:
        for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter):
            if not row:
                continue
            if headers is None:
                headers = row
                if len(set(headers)) < len(headers):
                    raise failed("CSV headers cannot contain duplicates.")
                continue
            cells = itertools.chain(row, itertools.repeat(""))
            yield dict(zip(headers, cells, strict=False))
    except csv.Error as error:
        raise failed(f"The file is not in the CSV format: {error}") from None


def _json(text: str, pointer: str | None) -> Iterator[object]:
    value = _loaded(text)
    for step in (pointer or "").split("/")[1:]:
        name = step.replace("~1", "/").replace("~0", "~")
        if isinstance(value, dict) and name in value:
            value = value[name]
        elif isinstance(value, list) and name.isascii() and name.isdigit() and int(name) < len(value):
            value = value[int(name)]
        else:
            raise failed(f"The ItemsPointer {pointer} leads nowhere.")
    if not isinstance(value, list):
        raise failed("Attempting to map over non-iterable node.")
    return iter(value)


def _json_lines(text: str) -> Iterator[object]:
    for line in text.split("\n"):
        if line.strip():
            yield _loaded(line)


def _loaded(text: str) -> object:
    try:
        value: object = load_json(text)
    except ValueError as error:
        raise failed(f"The file is not in the JSON format: {error}") from None
    return value
