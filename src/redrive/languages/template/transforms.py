"""The transforms that a template requests, and their order. It must not know what they do.

Embedded transforms (`Fn::Transform`) come first, inner ones before outer ones; then those of the section `Transform`,
in their order there.
Source: https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/template-macros-author.html
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from redrive.languages.template.errors import TemplateError
from redrive.languages.template.source import Node

CALL = "Fn::Transform"
_NAME_NOT_TEXT = "Key Name of transform definition must be a string."

Path = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Transform:
    """A requested transform with its parameters. `path` leads to its fragment; empty: the whole template."""

    name: str
    parameters: Mapping[str, Node]
    path: Path = ()
    is_embedded: bool = False


def declared_transforms(root: Mapping[str, Node]) -> list[Transform]:
    """The transforms of the section `Transform`, in order. Errors: TemplateError."""
    section = root.get("Transform")
    return [_read(one) for one in (section if isinstance(section, list) else [section]) if one is not None]


def next_transform(root: dict[str, Node]) -> Transform | None:
    """The next transform to run; None if there is none left. Errors: TemplateError."""
    embedded = _innermost(root, ())
    if embedded is not None:
        return embedded
    declared = declared_transforms(root)
    return declared[0] if declared else None


def has_transforms(root: dict[str, Node]) -> bool:
    """Whether a template requests any transform. Errors: TemplateError."""
    return next_transform(root) is not None


def fragment_of(root: dict[str, Node], transform: Transform) -> Node:
    """The input of a transform: the whole template without the section `Transform`, or the siblings of its call."""
    fragment = _at(root, transform.path)
    left_out = CALL if transform.is_embedded else "Transform"
    return {key: value for key, value in fragment.items() if key != left_out} if isinstance(fragment, dict) else None


def replaced(root: dict[str, Node], transform: Transform, result: Node) -> Node:
    """The template after a transform, without the request for this transform."""
    if transform.is_embedded:
        return _put(root, transform.path, result)
    if not isinstance(result, dict):
        return result
    section = root.get("Transform")
    rest: list[Node] = section[1:] if isinstance(section, list) else []
    kept = {key: value for key, value in result.items() if key != "Transform"}
    return {**kept, "Transform": rest} if rest else kept


def _read(node: Node) -> Transform:
    if isinstance(node, str):
        return Transform(node, {})
    if not isinstance(node, dict) or not isinstance(node.get("Name"), str):
        raise TemplateError(_NAME_NOT_TEXT)
    parameters = node.get("Parameters")
    return Transform(str(node["Name"]), parameters if isinstance(parameters, dict) else {})


def _innermost(node: Node, path: Path) -> Transform | None:
    inner = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for key, value in inner:
        # The parameters of a transform may contain a call, too: that call runs before the transform.
        found = _innermost(value, (*path, key))
        if found is not None:
            return found
    if isinstance(node, dict) and CALL in node:
        read = _read(node[CALL])
        return Transform(read.name, read.parameters, path, is_embedded=True)
    return None


def _at(node: Node, path: Path) -> Node:
    for key in path:
        if isinstance(node, dict):
            node = node[str(key)]
        elif isinstance(node, list):
            node = node[int(key)]
    return node


def _put(node: Node, path: Path, value: Node) -> Node:
    if not path:
        return value
    key, *rest = path
    if isinstance(node, dict) and isinstance(key, str):
        return {name: _put(old, tuple(rest), value) if name == key else old for name, old in node.items()}
    if isinstance(node, list) and isinstance(key, int):
        return [_put(old, tuple(rest), value) if index == key else old for index, old in enumerate(node)]
    return node
