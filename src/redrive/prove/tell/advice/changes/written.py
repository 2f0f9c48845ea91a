"""The text of a template and edits of it: what nobody has asked to change stays as it was written."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

import yaml

from redrive.languages.template import Node, read_root
from redrive.languages.template.source import compose
from redrive.prove.tell.advice.changes.source import Edit, edited

_STEP = 2
_LONG_FORMS = {"Ref", "Fn::GetAtt"}


class WrittenTemplate:
    """A template's text, as values and as nodes with their places. Errors: TemplateError, yaml.YAMLError."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.root = read_root(text)
        self._node = compose(text)
        self._is_json = text.lstrip().startswith("{")

    def value(self, *path: str) -> Node:
        """The value at a path of keys; None if there is none."""
        found: Node = self.root
        for key in path:
            found = found.get(key) if isinstance(found, dict) else None
        return found

    def with_member(self, path: tuple[str, ...], name: str, value: Node) -> Edit | None:
        """An edit that gives an object a member, or that member another value; None if there is no such object."""
        mapping = self._at(path)
        if not isinstance(mapping, yaml.MappingNode):
            return None
        known = next((held for key, held in mapping.value if key.value == name), None)
        if known is not None:
            return None if _is_block(known) else Edit(*_range(known), self._flow(value))
        if mapping.flow_style:
            return self._into_flow(mapping, name, value)
        if not mapping.value:
            return None
        column = mapping.value[0][0].start_mark.column
        end = self._end_of_line(_last_leaf(mapping))
        lines = "".join(f"\n{' ' * column}{line}" for line in _block(name, value))
        return Edit(end, end, lines)

    def edited(self, edits: list[Edit]) -> str:
        """The text after edits."""
        return edited(self.text, edits)

    def _at(self, path: tuple[str, ...]) -> yaml.Node | None:
        found = self._node
        for name in path:
            members = found.value if isinstance(found, yaml.MappingNode) else []
            found = next((held for key, held in members if key.value == name), None)
        return found

    def _into_flow(self, mapping: yaml.MappingNode, name: str, value: Node) -> Edit:
        member = f"{json.dumps(name) if self._is_json else name}: {self._flow(value)}"
        if not mapping.value:
            return Edit(*_range(mapping), f"{{{member}}}")
        first, last = mapping.value[0][0], mapping.value[-1][1]
        is_wide = first.start_mark.line > mapping.start_mark.line
        separator = f",\n{' ' * first.start_mark.column}" if is_wide else ", "
        end = last.end_mark.index
        return Edit(end, end, f"{separator}{member}")

    def _flow(self, value: Node) -> str:
        return json.dumps(value) if self._is_json else _flow(value)

    def _end_of_line(self, leaf: yaml.Node) -> int:
        """The end of the line in which a node ends, behind its comment."""
        end = len(self.text[: leaf.end_mark.index].rstrip())
        found = self.text.find("\n", end)
        return len(self.text) if found < 0 else found


def _range(node: yaml.Node) -> tuple[int, int]:
    return node.start_mark.index, node.end_mark.index


def _is_block(node: yaml.Node) -> bool:
    if isinstance(node, yaml.CollectionNode):
        return not node.flow_style
    return isinstance(node, yaml.ScalarNode) and node.style in {"|", ">"}


def _last_leaf(node: yaml.Node) -> yaml.Node:
    while isinstance(node, yaml.MappingNode | yaml.SequenceNode) and not node.flow_style and node.value:
        last = node.value[-1]
        node = last[1] if isinstance(last, tuple) else last
    return node


def _flow(value: Node) -> str:
    """A value in one line of YAML, with functions in their short forms."""
    match value:
        case {"Ref": str(name)}:
            return f"!Ref {name}"
        case {"Fn::GetAtt": [str(name), str(attribute)]}:
            return f"!GetAtt {name}.{attribute}"
        case dict():
            return f"{{{', '.join(f'{key}: {_flow(held)}' for key, held in value.items())}}}"
        case list():
            return f"[{', '.join(map(_flow, value))}]"
        case str():
            return value
        case _:
            return json.dumps(value)


def _block(name: str, value: Node) -> Iterator[str]:
    """The lines of a member in YAML's block style."""
    if isinstance(value, Mapping) and value and not (value.keys() & _LONG_FORMS):
        yield f"{name}:"
        for key, held in value.items():
            yield from (" " * _STEP + line for line in _block(key, held))
    elif isinstance(value, list):
        yield f"{name}:"
        yield from (f"{' ' * _STEP}- {_flow(held)}" for held in value)
    else:
        yield f"{name}: {_flow(value)}"
