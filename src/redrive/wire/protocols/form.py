"""Forms of the query protocol: flat names such as `Tags.member.1.Key`, parsed into a tree.

Source: https://smithy.io/2.0/aws/protocols/aws-query-protocol.html
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from redrive.wire.model.shapes import Member, Shape
from redrive.wire.protocols import scalars
from redrive.wire.protocols.json_body import NESTING_MAX, serialization_error


@dataclass(slots=True)
class Node:
    """A node of a form's tree: a text, child nodes by name, or both."""

    text: str | None = None
    children: dict[str, Node] = field(default_factory=dict)


_SHOWN_MAX = 20
"""How many names an error message shows, and how many characters of each."""

ReadNode = Callable[[Node], Any]


def tree(pairs: Iterable[tuple[str, str]]) -> Node:
    """Build the tree from the fields of a form. Errors: SerializationException."""
    root = Node()
    for name, value in pairs:
        node = root
        parts = name.split(".")
        if len(parts) > NESTING_MAX:
            raise serialization_error(f"The name of a field has more than {NESTING_MAX} parts.")
        for part in parts:
            child = node.children.get(part)
            if child is None:
                child = node.children[part] = Node()
            node = child
        node.text = value
    return root


class FormReader:
    """Compiles shapes to functions from nodes of a form to parameters. The functions raise SerializationException."""

    def __init__(self) -> None:
        self._structures: dict[str, ReadNode] = {}

    def structure(self, shape: Shape) -> ReadNode:
        """The function for a structure. A shape that contains itself is compiled once."""
        compiled = self._structures.get(shape.name)
        if compiled is not None:
            return compiled
        fields: list[tuple[str, Member, ReadNode]] = []

        def read(node: Node) -> dict[str, Any]:
            children = node.children
            result = {}
            for key, member, read_member in fields:
                if key in children:
                    result[member.name] = read_member(children[key])
                elif (empty := member.query_name) in children and children[empty].text == "":
                    # A flattened list has the name of its elements; the list's own name appears only if the list is
                    # empty.
                    result[member.name] = []
            return result

        self._structures[shape.name] = read
        fields.extend((_key(member), member, self._of(member)) for member in shape.members.values())
        return read

    def _of(self, member: Member) -> ReadNode:
        match member.shape.type:
            case "structure":
                return self.structure(member.shape)
            case "list":
                return self._list(member)
            case "map":
                return self._map(member)
            case _:
                read = scalars.reader(member)
                return lambda node: read(_text(member, node))

    def _list(self, member: Member) -> ReadNode:
        read = self._element_of(member.shape.element)
        container = None if _is_flattened(member) else member.shape.element.query_name or "member"

        def read_list(node: Node) -> list[Any]:
            if node.text is not None:
                # `AttributeName=All` is the list with this one element.
                return [] if node.text == "" else [read()(node)]
            if container is not None:
                node = node.children.get(container, Node())
            return [read()(child) for child in _numbered(node)]

        return read_list

    def _element_of(self, element: Member) -> Callable[[], ReadNode]:
        """The reader of an element, looked up at its first use: an element may contain a list of its own shape."""
        compiled: list[ReadNode] = []

        def read() -> ReadNode:
            if not compiled:
                compiled.append(self._of(element))
            return compiled[0]

        return read

    def _map(self, member: Member) -> ReadNode:
        read_key = self._element_of(member.shape.key)
        read_value = self._element_of(member.shape.value)
        key_name = member.shape.key.query_name or "key"
        value_name = member.shape.value.query_name or "value"
        container = None if _is_flattened(member) else "entry"

        def read_map(node: Node) -> dict[str, Any]:
            if container is not None:
                node = node.children.get(container, Node())
            # A map of one entry may come without its number: `Attribute.Name=…&Attribute.Value=…`.
            entries = [node] if key_name in node.children else _numbered(node)
            result = {}
            for entry in entries:
                if key_name not in entry.children or value_name not in entry.children:
                    raise serialization_error(f"An entry of {member.name} needs both {key_name} and {value_name}.")
                result[read_key()(entry.children[key_name])] = read_value()(entry.children[value_name])
            return result

        return read_map


def _is_flattened(member: Member) -> bool:
    return member.is_flattened or member.shape.is_flattened


def _key(member: Member) -> str:
    if member.shape.type == "list" and _is_flattened(member):
        return member.shape.element.query_name or member.query_name
    return member.query_name


def _numbered(node: Node) -> list[Node]:
    """Child nodes in the order of their numbers, which may have gaps."""
    try:
        return [child for _, child in sorted((int(number), child) for number, child in node.children.items())]
    except ValueError:
        names = ", ".join(name[:_SHOWN_MAX] for name in sorted(node.children)[:_SHOWN_MAX])
        raise serialization_error(f"A list has numbered elements; found {names}.") from None


def _text(member: Member, node: Node) -> str:
    if node.text is None:
        raise serialization_error(f"{member.name} is a {member.shape.type}, not a structure.")
    return node.text
