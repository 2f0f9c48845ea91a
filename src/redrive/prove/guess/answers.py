"""Answers made up from the shapes of botocore's models: of services that redrive does not have."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import cast

from botocore.model import ListShape, MapShape, Shape, StringShape, StructureShape
from botocore.response import StreamingBody

from redrive.prove.guess.plausible import FAILED, MORE, plausible_plain, plausible_text

DEPTH_MAX = 6
"""How deep structures are filled."""

_BLOCKS = "BlockType"
"""The member of Textract's blocks that tells a page, its lines and their words apart."""
_BODY = b"{}"
_NONE_FAILED: Mapping[str, Callable[[], object]] = {"integer": int, "list": list, "long": int, "map": dict}
"""What members say about failures where there are none; those of other types are left out."""


@dataclass(frozen=True, slots=True)
class Made:
    """How an answer is made: what was asked comes back under its names.

    `mark` makes the ids of one call differ from those of others. `length` is that of lists at the top: that of the
    list in the request of a batch. `body` is what streams have.
    """

    service: str = ""
    asked: Mapping[str, object] = field(default_factory=dict)
    mark: str = ""
    length: int = 1
    body: bytes = _BODY


def answer_of(shape: Shape, asked: Mapping[str, object], name: str = "") -> object:
    """A value of a shape: each member once, lists with one member, and what was asked under the same names.

    A stream has the body `{}`. No answer says that there are more pages, or that something has failed.
    """
    return _value(shape, Made(asked=asked), name, 0)


def read_answer(shape: StructureShape | None, asked: Mapping[str, object]) -> dict[str, object]:
    """The answer to a call that reads."""
    return whole_answer(shape, Made(asked=asked))


def whole_answer(shape: StructureShape | None, made: Made) -> dict[str, object]:
    """The answer to a call."""
    answer = {} if shape is None else cast("dict[str, object]", _value(shape, made, "", 0))
    if shape is not None:
        for name, member in shape.members.items():
            is_payload = name == shape.serialization.get("payload") and member.type_name == "blob"
            if member.serialization.get("eventstream"):
                answer[name] = _events(cast("StructureShape", member), made)
            elif member.serialization.get("streaming") or is_payload:
                answer[name] = StreamingBody(io.BytesIO(made.body), len(made.body))
    return {**answer, "ResponseMetadata": {"HTTPStatusCode": 200, "RetryAttempts": 0}}


def _value(shape: Shape, made: Made, name: str, depth: int) -> object:
    given = made.asked.get(name)
    if shape.type_name == "string" and isinstance(given, str):
        return given
    match shape:
        case StructureShape():
            return _structure(shape, made, depth)
        case ListShape(member=StructureShape(members=members) as member) if _BLOCKS in members:
            blocks = [_structure(member, made, depth + 1) for _ in range(3)]
            kinds = ("PAGE", "LINE", "WORD")
            return [{**block, _BLOCKS: kind, "Id": kind.lower()} for kind, block in zip(kinds, blocks, strict=True)]
        case ListShape(member=member) if (made.service, name) == ("athena", "Rows"):
            return [_value(member, made, name, depth + 1) for _ in range(2)]  # The first one has the columns' names.
        case ListShape(member=member) if depth <= DEPTH_MAX:
            return [_counted(_value(member, made, name, depth + 1), n) for n in range(made.length if depth == 1 else 1)]
        case ListShape():
            return []
        case MapShape():
            return {}
        case StringShape(enum=words):
            return plausible_text(made.service, name, words, made.mark)
        case _ if shape.type_name == "string":
            return plausible_text(made.service, name, (), made.mark)
        case _ if shape.serialization.get("streaming") or shape.metadata.get("streaming"):
            return StreamingBody(io.BytesIO(made.body), len(made.body))
        case _:
            return plausible_plain(made.service, name, shape)


def _structure(shape: StructureShape, made: Made, depth: int) -> dict[str, object]:
    if depth > DEPTH_MAX:
        return {}
    members = {key: member for key, member in shape.members.items() if not MORE.search(key)}
    if getattr(shape, "is_tagged_union", False):
        members = dict(list(members.items())[:1])
    made_members: dict[str, object] = {}
    for key, member in members.items():
        if not FAILED.search(key):
            made_members[key] = _value(member, made, key, depth + 1)
        elif member.type_name in _NONE_FAILED:
            made_members[key] = _NONE_FAILED[member.type_name]()
    return made_members


def _counted(value: object, number: int) -> object:
    """A member of a list, which says its place if it has one: the answers of batches do."""
    return {**value, "Index": number} if isinstance(value, dict) and "Index" in value else value


def _events(shape: StructureShape, made: Made) -> list[object]:
    """The events of a stream: each kind once, but for errors."""
    return [
        {name: {"bytes": made.body} if name == "chunk" else _value(member, made, name, 1)}
        for name, member in shape.members.items()
        if not name.endswith("Exception")
    ]
