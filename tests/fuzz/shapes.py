"""Parameters of operations, drawn from AWS's models: fitting ones, and ones that fit in no, one or many places.

What an operation looks up (names, ARNs, tokens, expressions) is drawn from what a world holds and has answered, so that
calls reach further than the first check.
"""

from __future__ import annotations

import functools
from collections import defaultdict
from collections.abc import Mapping

from redrive.wire.model.java_pattern import compile_java
from redrive.wire.model.shapes import Member, Shape
from tests.fuzz.values import Draw, Moment

DEPTH_MAX = 6
KNOWN_VALUES_MAX = 40
TYPES: Mapping[str, type | tuple[type, ...]] = {
    "structure": dict, "map": dict, "list": list, "string": str, "blob": bytes, "boolean": bool,
    "integer": int, "long": int, "float": (int, float), "double": (int, float), "timestamp": (int, float),
}  # fmt: skip
GUESSES = (
    "orders", "a", "abc-1", "000000000000", "us-east-1", "arn:aws:iam::000000000000:role/worker", "default", "1",
    "/a/b",
    "arn:aws:lambda:us-east-1:000000000000:function:worker", "arn:aws:sqs:us-east-1:000000000000:orders", "$LATEST",
    "arn:aws:scheduler:us-east-1:000000000000:schedule/default/nightly", "12345678-1234-1234-1234-123456789012",
    "python3.12", "index.handler", "a" * 64, "AKIAIOSFODNN7EXAMPLE", "a=b", "2025-01-01T00:00:00Z", "Abc", "123456",
)  # fmt: skip


class Pool:
    """Texts, numbers and documents that were seen under a member's name, for calls that come later."""

    def __init__(self, known: Mapping[str, tuple[object, ...]]) -> None:
        self._values: dict[str, list[object]] = defaultdict(list, {name.lower(): [*v] for name, v in known.items()})

    def learn(self, document: object, name: str = "") -> None:
        """Keep the texts of an answer, under their names."""
        match document:
            case dict():
                for key, value in document.items():
                    self.learn(value, str(key))
            case list():
                for item in document[:5]:
                    self.learn(item, name)
            case str() if name and len(document) < 3_000:
                values = self._values[name.lower()]
                if document not in values:
                    if len(values) >= KNOWN_VALUES_MAX:
                        del values[KNOWN_VALUES_MAX // 2]
                    values.append(document)

    def of(self, name: str) -> list[object]:
        """What is known under a name."""
        return self._values.get(name.lower(), [])


class Parameters:
    """Draws parameters from a draw and a pool. `oddity` is the share of places that get what does not fit."""

    def __init__(self, draw: Draw, pool: Pool, oddity: float) -> None:
        self._draw = draw
        self._pool = pool
        self._oddity = oddity

    def of(self, shape: Shape | None) -> dict[str, object]:
        """The parameters of an operation with this input."""
        return {} if shape is None else self._structure(shape, 0)

    def _structure(self, shape: Shape, depth: int) -> dict[str, object]:
        draw, optional_share = self._draw, 0.35 / (1 + depth)
        chosen = [
            member
            for name, member in shape.members.items()
            if draw.chance(1 - self._oddity / 4 if name in shape.required else optional_share)
        ]
        made = {member.name: self._member(member, depth) for member in chosen if depth < DEPTH_MAX}
        if draw.chance(self._oddity / 2):
            made[draw.text()] = draw.anything()
        return made

    def _member(self, member: Member, depth: int) -> object:
        if self._draw.chance(self._oddity):
            return self._odd(member.shape)
        wanted = TYPES.get(member.shape.type, object)
        known = [value for value in self._pool.of(member.name) if isinstance(value, wanted)]
        if known and self._draw.chance(0.8):
            return self._draw.choice(known)
        return self._value(member.shape, depth)

    def _value(self, shape: Shape, depth: int) -> object:
        draw = self._draw
        match shape.type:
            case "structure":
                return self._structure(shape, depth + 1)
            case "list":
                count = draw.one_of(0, 1, 1, 2, int(shape.constraints.min or 1), 11, 101 if depth == 0 else 3)
                return [self._member(shape.element, depth + 1) for _ in range(count if depth < 3 else 1)]
            case "map":
                keys = [self._key(shape, depth) for _ in range(draw.one_of(0, 1, 1, 2, 11 if depth == 0 else 1))]
                return {key: self._member(shape.value, depth + 1) for key in keys}
            case "boolean":
                return draw.chance(0.5)
            case "integer" | "long" | "float" | "double":
                low, high = int(shape.constraints.min or 0), int(min(shape.constraints.max or 100, 10**6))
                return draw.one_of(low, high, low + 1, low - 1, high + 1, draw.randint(low, max(low, high)))
            case "timestamp":
                return Moment(1_735_689_600 + draw.randrange(-86_400, 86_400))
            case "blob":
                return draw.one_of(b"", b"{}", b'{"a":1}', draw.randbytes(9), draw.text().encode("utf-8", "replace"))
            case _:
                return self._text(shape)

    def _key(self, shape: Shape, depth: int) -> str:
        known = self._pool.of(f"{shape.name}:key")
        key = self._draw.choice(known) if known else self._member(shape.key, depth + 1)
        return key if isinstance(key, str) else str(key)

    def _text(self, shape: Shape) -> str:
        if shape.constraints.enum:
            return self._draw.choice(shape.constraints.enum)
        if self._draw.chance(0.15):
            return self._sized(shape)
        return self._draw.choice(_fitting(shape.constraints.pattern))

    def _sized(self, shape: Shape) -> str:
        """A text at one of the limits of its length, or one past it."""
        low, high = int(shape.constraints.min or 0), int(min(shape.constraints.max or 64, 300_000))
        return "a" * max(0, self._draw.one_of(low, low - 1, high, high + 1))

    def _odd(self, shape: Shape) -> object:
        match self._draw.randrange(5):
            case 0 if shape.type == "string":
                return self._sized(shape)
            case 0 | 1 if shape.type == "string":
                return self._draw.text()
            case 0 | 1 if shape.type in {"integer", "long", "float", "double", "timestamp"}:
                return self._draw.number()
            case _:
                return self._draw.anything()


@functools.cache
def _fitting(pattern: str | None) -> tuple[str, ...]:
    """The guesses that a pattern of the model lets through; all of them if it lets none."""
    compiled = compile_java(pattern) if pattern else None
    if compiled is None:
        return GUESSES
    return tuple(guess for guess in GUESSES if compiled.fullmatch(guess)) or GUESSES
