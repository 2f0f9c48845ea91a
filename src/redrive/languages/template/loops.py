"""`Fn::ForEach` of AWS::LanguageExtensions: part of a template repeated for each value of a collection.

Source: https://docs.aws.amazon.com/AWSCloudFormation/latest/TemplateReference/intrinsic-function-reference-foreach.html
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from redrive.languages.template.errors import TemplateError
from redrive.languages.template.source import Node
from redrive.languages.template.text import text_of

PREFIX = "Fn::ForEach::"

LOOPS_NESTED_MAX = 5
"""AWS's limit of nested loops."""

MADE_MAX = 100_000
"""The most values from all loops together. Our own limit: a template after its transforms can hardly contain more."""

_OTHER = re.compile(r"[^A-Za-z0-9]")

Evaluate = Callable[[Node], Node]
"""Resolves a collection: functions of parameters, mappings and conditions. Errors: TemplateError."""


class Loops:
    """Expands the loops of one template; all of them together have a limit."""

    def __init__(self, evaluate: Evaluate) -> None:
        self._evaluate = evaluate
        self._left = MADE_MAX

    def expand(self, node: Node, depth: int = 0) -> Node:
        """A value without loops. Errors: TemplateError."""
        self._left -= 1
        if self._left < 0:
            raise TemplateError(f"Fn::ForEach makes more than {MADE_MAX} values")
        if isinstance(node, list):
            return [self.expand(item, depth) for item in node]
        if not isinstance(node, dict):
            return node
        made: dict[str, Node] = {}
        for key, value in node.items():
            if key.startswith(PREFIX):
                self._run(key, value, made, depth + 1)
            else:
                _add(made, key, self.expand(value, depth))
        return made

    def _run(self, name: str, node: Node, made: dict[str, Node], depth: int) -> None:
        """Put the results of a loop beside the loop."""
        if depth > LOOPS_NESTED_MAX:
            raise TemplateError(f"{name}: no more than {LOOPS_NESTED_MAX} loops can be nested")
        match node:
            case [str() as identifier, list() | dict() as collection, dict() as fragment] if identifier and fragment:
                pass
            case _:
                raise TemplateError(f"{name} layout is incorrect")
        for value in self._values(name, collection):
            for key, part in fragment.items():
                written = _in_text(key, identifier, value)
                filled = _filled(part, identifier, value)
                if written.startswith(PREFIX):
                    self._run(written, _in_loop(part, identifier, value), made, depth + 1)
                else:
                    _add(made, written, self.expand(filled, depth))

    def _values(self, name: str, collection: Node) -> list[str]:
        found = self._evaluate(collection)
        if not isinstance(found, list):
            raise TemplateError(f"{name} layout is incorrect: its collection is no list")
        values: list[str] = []
        for item in found:
            values += [text_of(one) for one in item] if isinstance(item, list) else [text_of(item)]
        return values


def _add(made: dict[str, Node], key: str, value: Node) -> None:
    if key in made:
        raise TemplateError(f"Fn::ForEach makes the key {key} twice")
    made[key] = value


def _in_text(text: str, identifier: str, value: str) -> str:
    """A text with a value for `${identifier}`, and with only the value's letters and digits for `&{identifier}`."""
    return text.replace(f"${{{identifier}}}", value).replace(f"&{{{identifier}}}", _OTHER.sub("", value))


def _filled(node: Node, identifier: str, value: str) -> Node:
    """A fragment with a value in place of its identifier."""
    if isinstance(node, list):
        return [_filled(item, identifier, value) for item in node]
    if not isinstance(node, dict):
        return node
    match list(node.items()):
        case [("Ref", str() as name)]:
            return value if name == identifier else {"Ref": _in_text(name, identifier, value)}
        case [("Fn::Sub", argument)]:
            return {"Fn::Sub": _in_sub(argument, identifier, value)}
        case [("Fn::GetAtt", str() | list() as argument)]:
            return {"Fn::GetAtt": _in_names(argument, identifier, value)}
        case _:
            return _in_object(node, identifier, value)


def _in_object(node: Mapping[str, Node], identifier: str, value: str) -> Node:
    made: dict[str, Node] = {}
    for key, inner in node.items():
        if key == "DependsOn":
            made[key] = _in_names(inner, identifier, value)
        elif key.startswith(PREFIX):
            made[_in_text(key, identifier, value)] = _in_loop(inner, identifier, value)
        else:
            made[key] = _filled(inner, identifier, value)
    return made


def _in_loop(node: Node, identifier: str, value: str) -> Node:
    """A nested loop: its result's keys may contain the outer identifier, too."""
    match node:
        case [inner, collection, dict() as fragment]:
            keyed: Node = {_in_text(key, identifier, value): part for key, part in fragment.items()}
            return [inner, _filled(collection, identifier, value), _filled(keyed, identifier, value)]
        case _:
            return _filled(node, identifier, value)


def _in_sub(argument: Node, identifier: str, value: str) -> Node:
    match argument:
        case str():
            return _in_text(argument, identifier, value)
        case [str() as text, *rest]:
            return [_in_text(text, identifier, value), *(_filled(one, identifier, value) for one in rest)]
        case _:
            return _filled(argument, identifier, value)


def _in_names(node: Node, identifier: str, value: str) -> Node:
    """Names of resources: plain names may contain the identifier, too."""
    if isinstance(node, list):
        return [_in_names(item, identifier, value) for item in node]
    return _in_text(node, identifier, value) if isinstance(node, str) else _filled(node, identifier, value)
