"""What expressions of Terraform's language come to, as far as the files alone say it.

What only a deployment knows stays unknown, with what it refers to: so it is in a plan.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from redrive.prove.project.hcl_functions import called, operated
from redrive.prove.project.hcl_syntax import (
    Call,
    Choice,
    Expression,
    Listed,
    Literal,
    Loop,
    Mapped,
    Member,
    Name,
    Operated,
    Splat,
    Template,
)
from redrive.prove.project.hcl_values import Unknown, Value, encoded, joined, known, references_in, text_of, unknowns


class Names(Protocol):
    """What the first words of references stand for."""

    def __call__(self, words: tuple[str, ...]) -> Value | None:
        """The value of a reference such as `var.name`; None where the words name none, but a part of them may."""
        ...


@dataclass(frozen=True, slots=True)
class Evaluation:
    """Evaluates expressions of one module: `folder` is where its files lie."""

    names: Names
    folder: Path

    def value(self, expression: Expression) -> Value:
        """What an expression comes to."""
        match expression:
            case Literal(value):
                return value
            case Template(parts):
                return joined([self.value(part) for part in parts])
            case Listed(items):
                return [self.value(item) for item in items]
            case Mapped(pairs):
                return {text_of(self.value(key)): self.value(value) for key, value in pairs}
            case Name() | Member():
                return self._reference(expression)
            case Splat(of, path):
                return self._splat(self.value(of), path)
            case Call(name, arguments):
                return self._call(name, arguments)
            case Choice(condition, yes, no):
                decided = self.value(condition)
                if isinstance(decided, Unknown):
                    return _either(self.value(yes), self.value(no))
                return self.value(yes if decided is True or decided == "true" else no)
            case Operated(sign, operands):
                return operated(sign, [self.value(one) for one in operands])
            case Loop():
                return self._loop(expression)

    def _reference(self, expression: Name | Member) -> Value:
        words: list[str] = []
        keys: list[Expression] = []
        node: Expression = expression
        while isinstance(node, Member):
            keys.insert(0, node.key)
            node = node.of
        if not isinstance(node, Name):
            return self._inside(self.value(node), keys)
        words.append(node.name)
        plain = 0
        for key in keys:
            if not isinstance(key, Literal) or not isinstance(key.value, str):
                break
            words.append(key.value)
            plain += 1
        for length in range(len(words), 0, -1):
            found = self.names(tuple(words[:length]))
            if found is not None:
                return self._inside(found, keys[length - 1 :])
        return None if words[0] in ("var", "local", "each", "count") else self._unnamed(words, keys[plain:])

    def _unnamed(self, words: Sequence[str], keys: Sequence[Expression]) -> Value:
        found = Unknown((".".join(words),))
        for key in keys:
            value = self.value(key)
            if isinstance(key, Literal) and isinstance(value, str):
                found = found[value]
            else:
                found = Unknown((f"{found.references[0]}[{json.dumps(known(value))}]",))
        return found

    def _inside(self, value: Value, keys: Sequence[Expression]) -> Value:
        for key in keys:
            at = self.value(key)
            match value, at:
                case Unknown(), str() | int():
                    value = value[at]
                case dict(), str() | int():
                    value = value.get(str(at))
                case list(), int():
                    value = value[at] if -len(value) <= at < len(value) else None
                case _:
                    return None
        return value

    def _splat(self, value: Value, path: tuple[Expression, ...]) -> Value:
        match value:
            case Unknown():
                found: Value = value
                for key in path:
                    found = self._inside(found, [key])
                return [found]
            case list():
                return [self._inside(one, path) for one in value]
            case None:
                return []
            case _:
                return [self._inside(value, path)]

    def _loop(self, loop: Loop) -> Value:
        over = self.value(loop.over)
        if isinstance(over, Unknown):
            return over
        pairs: list[tuple[Value, Value]] = (
            [*over.items()] if isinstance(over, dict) else [*enumerate(over)] if isinstance(over, list) else []
        )
        listed: list[Value] = []
        mapped: dict[str, Value] = {}
        for key, value in pairs:
            bound = dict(zip(loop.names, (key, value) if len(loop.names) > 1 else (value,), strict=False))
            inner = Evaluation(_with(self.names, bound), self.folder)
            if loop.condition is not None and inner.value(loop.condition) in (False, "false", None):
                continue
            if loop.key is None:
                listed.append(inner.value(loop.value))
            else:
                mapped[text_of(inner.value(loop.key))] = inner.value(loop.value)
        return listed if loop.key is None else mapped

    def _call(self, name: str, expressions: Sequence[Expression]) -> Value:
        given = [self.value(one) for one in expressions]
        match name:
            case "jsonencode" if given:
                return encoded(given[0])
            case "file" | "templatefile" if given:
                return self._file(given[0], given[1] if len(given) > 1 else {})
            case "try" | "coalesce" | "one" | "coalescelist" | "nonsensitive" | "sensitive":
                flat = given[0] if name == "one" and isinstance(given[0], list) else given
                return next((one for one in flat if one not in (None, "")), None)
            case "merge":
                return {name: one for value in given if isinstance(value, dict) for name, one in value.items()}
            case "concat" | "setunion":
                return [one for value in given for one in (value if isinstance(value, list) else [value])]
        return called(name, given)

    def _file(self, place: Value, values: Value) -> Value:
        """The content of a file, with the values in place of the names of a template."""
        if not isinstance(place, str):
            return Unknown()
        try:
            text = (self.folder / place).read_text("utf-8")
        except (OSError, UnicodeDecodeError, ValueError):
            return Unknown()
        for name, value in values.items() if isinstance(values, dict) else ():
            text = text.replace(f"${{{name}}}", _mark(value))
        return joined(_unmarked(text, values))


def _mark(value: Value) -> str:
    return f"\0{json.dumps(references_in(value))}\0" if isinstance(value, Unknown) else text_of(value)


def _unmarked(text: str, values: Value) -> list[Value]:
    by_references = {json.dumps(one.references): one for one in unknowns(values)}
    return [by_references.get(piece, piece) for piece in text.split("\0")]


def _with(names: Names, bound: Mapping[str, Value]) -> Names:
    def find(words: tuple[str, ...]) -> Value | None:
        return bound[words[0]] if len(words) == 1 and words[0] in bound else names(words)

    return find


def _either(yes: Value, no: Value) -> Value:
    """One of two values, nobody knows which: that which refers to something."""
    return yes if references_in(yes) or yes not in (None, "", [], {}) else no
