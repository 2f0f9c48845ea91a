"""XML bodies of requests, parsed without DTD and entities, and read by closures that are compiled once per shape.

A client may write namespaces or leave them out, with any prefix: only the local names of elements count. Elements
unknown to the model are left out, as members are in every protocol.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NoReturn
from xml.parsers import expat

from redrive.core.errors import Bug
from redrive.wire.model.shapes import Member, Shape
from redrive.wire.protocols import scalars

DEPTH_MAX = 32
"""More than any document of S3 has: the deepest has about ten levels."""

ELEMENTS_MAX = 200_000
"""More than the largest documents have: 10,000 parts of an upload with some ten elements each."""

_SEPARATOR = " "
"""What the parser puts between the URI of a namespace and a local name; no name and no URI contains it."""


class MalformedDocument(ValueError):
    """A body is not XML, has a DTD, is too deep or too large, or has not the form of its shape."""


@dataclass(slots=True)
class Element:
    """An element: the local names of the element and of its attributes, its text and its children."""

    name: str
    attributes: dict[str, str]
    text: str = ""
    children: list[Element] = field(default_factory=list)


ReadElements = Callable[[list[Element]], Any]
ReadElement = Callable[[Element], Any]


class _Builder:
    """Builds the tree from the parser's calls."""

    def __init__(self) -> None:
        self.root: Element | None = None
        self._open: list[Element] = []
        self._texts: list[list[str]] = []
        self._count = 0

    def start(self, name: str, attributes: dict[str, str]) -> None:
        self._count += 1
        if self._count > ELEMENTS_MAX or len(self._open) >= DEPTH_MAX:
            raise MalformedDocument(f"more than {ELEMENTS_MAX} elements, or more than {DEPTH_MAX} levels")
        if attributes:
            attributes = {_local(key): value for key, value in attributes.items()}
        element = Element(_local(name), attributes)
        if self._open:
            self._open[-1].children.append(element)
        else:
            self.root = element
        self._open.append(element)
        self._texts.append([])

    def text(self, piece: str) -> None:
        self._texts[-1].append(piece)

    def end(self, _: str) -> None:
        self._open.pop().text = "".join(self._texts.pop())


def parse(body: bytes) -> Element:
    """The root element of a document. Errors: MalformedDocument."""
    builder = _Builder()
    parser = expat.ParserCreate(namespace_separator=_SEPARATOR)
    parser.buffer_text = True
    parser.StartElementHandler = builder.start
    parser.EndElementHandler = builder.end
    parser.CharacterDataHandler = builder.text
    # Without a DTD there are no entities but XML's own five, so nothing can expand and nothing is fetched.
    parser.StartDoctypeDeclHandler = _refuse_dtd
    try:
        parser.Parse(body, True)
    except (expat.ExpatError, LookupError, UnicodeError) as error:
        raise MalformedDocument(str(error)) from None
    if builder.root is None:
        raise MalformedDocument("no element")
    return builder.root


def _refuse_dtd(*_: object) -> NoReturn:
    raise MalformedDocument("a document type declaration")


def _local(name: str) -> str:
    return name.rpartition(_SEPARATOR)[2]


class XmlReader:
    """Compiles shapes to functions from elements to parameters. The functions raise MalformedDocument.

    `reader_of` makes the functions for the texts of scalars; they raise any of ValueError.
    """

    def __init__(self, reader_of: Callable[[Member], scalars.ReadText]) -> None:
        self._reader_of = reader_of
        self._structures: dict[str, ReadElement] = {}

    def structure(self, shape: Shape) -> ReadElement:
        """The function for a structure. A shape that contains itself is compiled once."""
        compiled = self._structures.get(shape.name)
        if compiled is not None:
            return compiled
        fields: dict[str, tuple[str, ReadElements]] = {}
        attributes: list[tuple[str, str, scalars.ReadText]] = []
        required = {name for name in shape.required if shape.members[name].location is None}

        def read(element: Element) -> dict[str, Any]:
            result = {}
            for attribute, name, read_text in attributes:
                if attribute in element.attributes:
                    result[name] = read_text(element.attributes[attribute])
            found: dict[str, list[Element]] = {}
            for child in element.children:
                found.setdefault(child.name, []).append(child)
            for key, elements in found.items():
                if key in fields:
                    name, read_member = fields[key]
                    result[name] = read_member(elements)
            if not required <= result.keys():
                raise MalformedDocument(f"{shape.name} lacks {sorted(required - result.keys())}")
            return result

        self._structures[shape.name] = read
        for member in shape.members.values():
            if member.is_attribute:
                local = member.location_name.rpartition(":")[2]
                attributes.append((local, member.name, self._reader_of(member)))
            elif member.location is None:
                fields[_element_name(member)] = (member.name, self._of(member))
        return read

    def _of(self, member: Member) -> ReadElements:
        """The function for a member, from all elements of the member's name."""
        if member.shape.type == "list":
            return self._list(member)
        read = self._one(member)

        def read_only(elements: list[Element]) -> Any:
            if len(elements) > 1:
                raise MalformedDocument(f"{member.name} occurs {len(elements)} times")
            return read(elements[0])

        return read_only

    def _one(self, member: Member) -> ReadElement:
        match member.shape.type:
            case "structure":
                return self.structure(member.shape)
            case "list" | "map":
                raise Bug(f"{member.shape.name} in a list, which this protocol does not read")
            case _:
                read_text = self._reader_of(member)
                return lambda element: read_text(_text(element))

    def _list(self, member: Member) -> ReadElements:
        part = member.shape.element
        compiled: list[ReadElement] = []
        container = None if _is_flattened(member) else part.location_name or "member"

        def read(elements: list[Element]) -> list[Any]:
            if not compiled:
                # Looked up at the first use: an element may contain a list of its own shape.
                compiled.append(self._one(part))
            if container is not None:
                if len(elements) > 1:
                    raise MalformedDocument(f"{member.name} occurs {len(elements)} times")
                elements = [child for child in elements[0].children if child.name == container]
            return [compiled[0](element) for element in elements]

        return read


def _text(element: Element) -> str:
    if element.children:
        raise MalformedDocument(f"{element.name} has elements, and holds a text")
    return element.text


def _is_flattened(member: Member) -> bool:
    return member.is_flattened or member.shape.is_flattened


def _element_name(member: Member) -> str:
    if member.shape.type == "list" and _is_flattened(member):
        return member.shape.element.location_name or member.location_name
    return member.location_name
