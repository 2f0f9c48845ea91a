"""XML bodies, written by closures that are compiled once per shape. Used by the query protocol, and REST with XML."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from redrive.wire.model.shapes import Member, Shape
from redrive.wire.protocols import scalars, timestamps

Write = Callable[[list[str], Any], None]

# An XML parser turns a carriage return into a line feed unless it is a character reference. Characters that XML
# cannot express, not even as references, become U+FFFD: an error may quote any text that was sent.
_UNKNOWN = (*range(0x9), 0xB, 0xC, *range(0xE, 0x20), *range(0xD800, 0xE000), 0xFFFE, 0xFFFF)
_ESCAPES = dict.fromkeys(_UNKNOWN, "\ufffd") | str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", "\r": "&#xD;"})
_QUOTED = _ESCAPES | str.maketrans({'"': "&quot;", "\n": "&#xA;", "\t": "&#x9;"})


def escape(text: str) -> str:
    """Text as the content of an element."""
    # Nearly all texts are as they are: these tests take a tenth of the time of `translate`.
    if text.isascii() and text.isprintable() and "&" not in text and "<" not in text and ">" not in text:
        return text
    return text.translate(_ESCAPES)


def element(name: str, text: str) -> str:
    """One element that holds text."""
    return f"<{name}>{escape(text)}</{name}>"


class XmlWriter:
    """Compiles shapes to functions that append a value's markup to a list of pieces. The functions raise Bug."""

    def __init__(self, timestamp_format: str = timestamps.ISO_8601) -> None:
        self._structures: dict[str, Write] = {}
        self._timestamp_format = timestamp_format

    def structure(self, shape: Shape) -> Write:
        """The function that writes the members of a structure, without an element around them."""
        compiled = self._structures.get(shape.name)
        if compiled is not None:
            return compiled
        fields: dict[str, Write] = {}

        def write(out: list[str], value: Any) -> None:
            for name, item in value.items():
                if item is None:
                    continue
                write_member = fields.get(name)
                if write_member is None:
                    shape.refuse_member(name)
                    continue
                write_member(out, item)

        self._structures[shape.name] = write
        for member in shape.members.values():
            if not member.is_attribute:
                fields[member.name] = self._member(member, member.query_name)
        return write

    def _attributed(self, shape: Shape, name: str) -> Write:
        """The function that writes a structure with its element, some of whose members are attributes."""
        inner = self.structure(shape)
        texts = {
            member.name: (member.query_name, scalars.writer(member, self._timestamp_format))
            for member in shape.members.values() if member.is_attribute
        }  # fmt: skip
        prefix, uri = shape.namespace or ("", "")
        head = f'<{name} xmlns:{prefix}="{uri}"' if prefix else f"<{name}"

        def write(out: list[str], value: Any) -> None:
            out.append(head)
            for member, (attribute, text_of) in texts.items():
                if value.get(member) is not None:
                    out.append(f' {attribute}="{text_of(value[member]).translate(_QUOTED)}"')
            out.append(">")
            inner(out, {member: item for member, item in value.items() if member not in texts})
            out.append(f"</{name}>")

        return write

    def _member(self, member: Member, name: str) -> Write:
        """The function that writes a value with its element; a flattened value has several elements."""
        flat = member.is_flattened or member.shape.is_flattened
        match member.shape.type:
            case "structure" if any(part.is_attribute for part in member.shape.members.values()):
                return self._attributed(member.shape, name)
            case "structure":
                return _wrapped(name, self.structure(member.shape))
            case "list" if flat:
                return self._list(member, member.shape.element.query_name or name)
            case "list":
                return _wrapped(name, self._list(member, member.shape.element.query_name or "member"))
            case "map" if flat:
                return self._map(member, name)
            case "map":
                return _wrapped(name, self._map(member, "entry"))
            case _:
                return _scalar(member, name, self._timestamp_format)

    def _list(self, member: Member, name: str) -> Write:
        compiled: list[Write] = []

        def write(out: list[str], value: Any) -> None:
            if not compiled:
                compiled.append(self._member(member.shape.element, name))
            write_element = compiled[0]
            for item in value:
                write_element(out, item)

        return write

    def _map(self, member: Member, name: str) -> Write:
        write_key = _scalar(member.shape.key, member.shape.key.query_name or "key", self._timestamp_format)
        compiled: list[Write] = []

        def write(out: list[str], value: Any) -> None:
            if not compiled:
                compiled.append(self._member(member.shape.value, member.shape.value.query_name or "value"))
            for key, item in value.items():
                if item is not None:
                    out.append(f"<{name}>")
                    write_key(out, key)
                    compiled[0](out, item)
                    out.append(f"</{name}>")

        return write


def _wrapped(name: str, inner: Write) -> Write:
    head, end = f"<{name}>", f"</{name}>"

    def write(out: list[str], value: Any) -> None:
        out.append(head)
        inner(out, value)
        out.append(end)

    return write


def _scalar(member: Member, name: str, timestamp_format: str) -> Write:
    text_of = scalars.writer(member, timestamp_format)
    head, end = f"<{name}>", f"</{name}>"

    def write(out: list[str], value: Any) -> None:
        out.append(f"{head}{escape(text_of(value))}{end}")

    def write_plain(out: list[str], value: Any) -> None:
        out.append(f"{head}{text_of(value)}{end}")

    return write if member.shape.type == "string" else write_plain
