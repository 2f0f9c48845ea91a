"""Answers made up from the shapes of botocore's models: to reads of services that redrive does not have."""

from __future__ import annotations

import io
import re
from datetime import UTC, datetime
from typing import cast

from botocore.model import ListShape, MapShape, Shape, StringShape, StructureShape
from botocore.response import StreamingBody

DEPTH_MAX = 6
"""How deep structures are filled."""

_MORE = re.compile(r"(?i)^(next|.*token$|.*marker$|is_?truncated|has_?more|lastevaluated|cursor)")
"""Members that say that there are further pages."""
_ADDRESS = re.compile(r"(?i)(url|uri|endpoint)$")
_BODY = b"{}"
_AT = datetime(2025, 1, 1, tzinfo=UTC)
_PLAIN: dict[str, object] = {
    "integer": 1, "long": 1, "float": 1.0, "double": 1.0, "boolean": False, "timestamp": _AT, "blob": b"sample",
}  # fmt: skip


def answer_of(shape: Shape, asked: dict[str, object], name: str = "") -> object:
    """A value of a shape: each member once, lists with one member, and what was asked under the same names.

    A stream has the body `{}`. No answer says that there are more pages.
    """
    return _value(shape, asked, name, 0)


def _value(shape: Shape, asked: dict[str, object], name: str, depth: int) -> object:
    given = asked.get(name)
    if shape.type_name == "string" and isinstance(given, str):
        return given
    match shape:
        case StructureShape(members=members):
            is_filled = depth <= DEPTH_MAX
            return {
                key: _value(member, asked, key, depth + 1)
                for key, member in members.items()
                if is_filled and not _MORE.search(key)
            }
        case ListShape(member=member):
            return [_value(member, asked, name, depth + 1)] if depth <= DEPTH_MAX else []
        case MapShape():
            return {}
        case StringShape(enum=[first, *_]):
            return first
        case _ if shape.type_name == "string":
            return f"https://example.com/sample-{name}" if _ADDRESS.search(name) else f"sample-{name}".rstrip("-")
        case _ if shape.serialization.get("streaming") or shape.metadata.get("streaming"):
            return StreamingBody(io.BytesIO(_BODY), len(_BODY))
        case _:
            return _PLAIN.get(shape.type_name)


def read_answer(shape: StructureShape | None, asked: dict[str, object]) -> dict[str, object]:
    """The answer to a call that reads."""
    answer = {} if shape is None else cast("dict[str, object]", answer_of(shape, asked))
    if shape is not None:
        for name, member in shape.members.items():
            is_payload = name == shape.serialization.get("payload") and member.type_name == "blob"
            if member.serialization.get("streaming") or is_payload:
                answer[name] = StreamingBody(io.BytesIO(_BODY), len(_BODY))
    return {**answer, "ResponseMetadata": {"HTTPStatusCode": 200, "RetryAttempts": 0}}
