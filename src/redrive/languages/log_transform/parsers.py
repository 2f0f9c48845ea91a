"""Processors that parse a text: parseJSON, csv, parseKeyValue, grok."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator

from redrive.core.documents import Document, load_json
from redrive.languages.log_transform.documents import (
    MalformedTransformer,
    NotFitting,
    Transformed,
    read_destination,
    read_path,
    read_source,
)
from redrive.languages.log_transform.grok import compile_grok

Processor = Callable[[Transformed], None]

_ESCAPED = {"\\t": "\t"}


def parse_json(settings: Document) -> Processor:
    """Put the members of an object under the destination, in place of those that are there."""
    source, destination = read_source(settings, "parseJSON"), read_destination(settings, "parseJSON")

    def run(event: Transformed) -> None:
        try:
            found = load_json(event.source(source))
        except (ValueError, RecursionError):
            raise NotFitting from None
        if not isinstance(found, dict):
            raise NotFitting
        event.put_all(destination, found, overwrite=True)

    return run


def parse_csv(settings: Document) -> Processor:
    """Put each value of a line under the name of its column, or `column_1`, `column_2` …"""
    source, destination = read_source(settings, "csv"), read_destination(settings, "csv")
    names = [str(name) for name in settings.get("columns") or ()]
    delimiter = str(settings.get("delimiter", ","))
    delimiter = _ESCAPED.get(delimiter, delimiter)
    quote = str(settings.get("quoteCharacter", '"'))
    if len(delimiter) != 1:
        raise MalformedTransformer("csv.delimiter is one character, or \\t")
    if delimiter == quote:
        raise MalformedTransformer("csv.delimiter and csv.quoteCharacter are the same character")

    def run(event: Transformed) -> None:
        line = event.source(source)
        try:
            values = next(csv.reader([line], delimiter=delimiter, quotechar=quote, skipinitialspace=True), [])
        except csv.Error:
            raise NotFitting from None
        found = {
            names[number] if number < len(names) else f"column_{number + 1}": value
            for number, value in enumerate(values)
        }
        event.put_all(destination, found, overwrite=True)

    return run


def parse_key_value(settings: Document) -> Processor:
    """Put the value of each pair under its key. A pair without a value has `nonMatchValue`, or is left out."""
    source, destination = read_source(settings, "parseKeyValue"), read_destination(settings, "parseKeyValue")
    between, within = str(settings.get("fieldDelimiter", "&")), str(settings.get("keyValueDelimiter", "="))
    prefix, otherwise = str(settings.get("keyPrefix", "")), settings.get("nonMatchValue")
    overwrite = bool(settings.get("overwriteIfExists", False))

    def pairs(text: str) -> Iterator[tuple[str, str]]:
        for part in text.split(between):
            key, found, value = part.partition(within)
            if key.strip() and (found or otherwise is not None):
                yield prefix + key.strip(), value.strip() if found else str(otherwise)

    def run(event: Transformed) -> None:
        event.put_all(destination, dict(pairs(event.source(source))), overwrite=overwrite)

    return run


def grok(settings: Document) -> Processor:
    """Put what the named patterns match under their names, which may be paths."""
    source = read_source(settings, "grok")
    pattern = compile_grok(str(settings["match"]))
    paths = [read_path(name, "grok.match") for name in pattern.fields]

    def run(event: Transformed) -> None:
        found = pattern.values(event.source(source))
        if found is None:
            raise NotFitting
        for path, value in zip(paths, found, strict=True):
            if value is not None:
                event.put(path, value, overwrite=True)

    return run


PARSERS: dict[str, Callable[[Document], Processor]] = {
    "parseJSON": parse_json, "csv": parse_csv, "parseKeyValue": parse_key_value, "grok": grok
}  # fmt: skip
