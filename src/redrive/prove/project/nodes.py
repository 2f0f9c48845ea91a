"""Looks into parsed templates: what a value mentions, and what it comes to without a deployment."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping

from redrive.languages.template import Node

STUB = "Redrive::Prove::Stub"
"""The type of a resource that stands in for another one and does nothing: to the engine a third party's type."""

_SUBSTITUTED = re.compile(r"\$\{(?P<name>[^!}.]+)(?:\.[^}]*)?\}")


def properties_of(resource: Node) -> dict[str, Node]:
    """The properties of a resource; an empty object if it has none."""
    properties = resource.get("Properties") if isinstance(resource, dict) else None
    return properties if isinstance(properties, dict) else {}


def resources_of(root: Mapping[str, Node], *types: str) -> Iterator[tuple[str, dict[str, Node]]]:
    """The resources of these types, or all, with their logical ids."""
    found = root.get("Resources")
    for name, resource in found.items() if isinstance(found, dict) else ():
        if isinstance(resource, dict) and (not types or resource.get("Type") in types):
            yield name, resource


def items_of(node: Node) -> list[Node]:
    """The members of a list; a single value is a list of one."""
    if node is None:
        return []
    return node if isinstance(node, list) else [node]


def mentioned(node: Node) -> list[str]:
    """The names that a value refers to, by Ref, Fn::GetAtt and Fn::Sub, in order."""
    found: list[str] = []
    _collect(node, found)
    return found


def _collect(node: Node, found: list[str]) -> None:
    if isinstance(node, list):
        for member in node:
            _collect(member, found)
    if not isinstance(node, dict):
        return
    for key, value in node.items():
        match key, value:
            case "Ref", str(name):
                found.append(name)
            case "Fn::GetAtt", [str(name), *_]:
                found.append(name)
            case "Fn::GetAtt", str(path):
                found.append(path.partition(".")[0])
            case "Fn::Sub", str(text):
                found.extend(match["name"] for match in _SUBSTITUTED.finditer(text))
            case "Fn::Sub", [str(text), dict(given)]:
                names = [match["name"] for match in _SUBSTITUTED.finditer(text)]
                found.extend(name for name in names if name not in given)
                _collect(given, found)
            case _:
                _collect(value, found)


def text_of(node: Node, parameters: Mapping[str, str]) -> str:
    """A text, or the value of the parameter that it refers to; empty if only a deployment knows it."""
    match node:
        case str():
            return node
        case {"Ref": str(name)}:
            return parameters.get(name, "")
        case {"Fn::Sub": str(text)} if all(match["name"] in parameters for match in _SUBSTITUTED.finditer(text)):
            return _SUBSTITUTED.sub(lambda match: parameters[match["name"]], text)
        case {"Fn::If": [_, first, *_]}:
            return text_of(first, parameters)
        case _:
            return ""


def replaced(node: Node, change: Callable[[Node], Node]) -> Node:
    """The value with `change` applied to each of its parts, from the inside."""
    match node:
        case dict():
            return change({key: replaced(value, change) for key, value in node.items()})
        case list():
            return change([replaced(member, change) for member in node])
        case _:
            return change(node)


def stubbed(resource: dict[str, Node]) -> dict[str, Node]:
    """A stub for a resource, under the same condition."""
    kept = {key: resource[key] for key in ("Condition",) if key in resource}
    return {"Type": STUB, **kept}
