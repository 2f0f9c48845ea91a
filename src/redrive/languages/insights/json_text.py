"""JSON in log events: a million of them are read in a query, so a fast reader stands here."""

from __future__ import annotations

import json

import orjson

_DECODER = json.JSONDecoder()


def read_json(text: str) -> object:
    """The value of a whole text. Errors: ValueError."""
    return orjson.loads(text)


def read_json_at(text: str, start: int) -> object:
    """The value that begins at a place of a text, whatever follows it. Errors: ValueError."""
    try:
        return _DECODER.raw_decode(text, start)[0]
    except RecursionError as error:
        raise ValueError("nested too deep") from error


def written_json(value: object) -> str:
    """A value as compact JSON. What JSON does not have, such as a number beyond 64 bits, is written by its text."""
    return orjson.dumps(value, default=str).decode()
