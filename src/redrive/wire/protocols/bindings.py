"""Members in the head of a message: in the path, the query string, the headers and the status. Shared by REST's codecs.

How a scalar is read and written is the protocol's: the functions that compile take the functions that do so.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl

from redrive.core.errors import Bug
from redrive.wire.model.shapes import Member, Shape
from redrive.wire.protocols import scalars

ReadValues = Callable[[list[str]], Any]
ReaderOf = Callable[[Member], scalars.ReadText]
WriterOf = Callable[[Member], scalars.WriteText]


@dataclass(frozen=True, slots=True)
class HeadInputs:
    """The source of each member of an input in the head: (wire name, member name, function).

    `prefixed` are the maps, each with what the names of its headers begin with.
    """

    path: tuple[tuple[str, str, scalars.ReadText], ...]
    query: tuple[tuple[str, str, ReadValues], ...]
    headers: Mapping[str, tuple[str, scalars.ReadText]]
    prefixed: tuple[tuple[str, str, scalars.ReadText], ...] = ()

    def read(
        self, params: dict[str, Any], query: str, headers: Mapping[str, str], path_params: Mapping[str, str]
    ) -> None:
        """Add the members of the head to `params`."""
        for label, name, read in self.path:
            params[name] = read(path_params[label])
        bound = self.headers
        if bound:
            # The headers of a request are fewer than the members that may come as headers.
            for header, text in headers.items():
                if header in bound:
                    name, read = bound[header]
                    params[name] = read(text)
        for prefix, name, read in self.prefixed:
            found = {key[len(prefix) :]: read(text) for key, text in headers.items() if key.startswith(prefix)}
            if found:
                params[name] = found
        if self.query and query:
            values = by_name(query)
            for key, name, read_values in self.query:
                if key in values:
                    params[name] = read_values(values[key])


def head_inputs(shape: Shape, reader_of: ReaderOf, list_reader_of: ReaderOf | None = None) -> HeadInputs:
    """Compile the members of an input that are not in the body. `list_reader_of` makes lists of headers' texts."""
    path, query, headers, prefixed = [], [], {}, []
    for member in shape.members.values():
        match member.location:
            case None:
                pass
            case "uri":
                path.append((member.location_name, member.name, reader_of(member)))
            case "querystring":
                query.append((member.location_name, member.name, _values_reader(member, reader_of)))
            case "header":
                is_list = member.shape.type == "list" and list_reader_of is not None
                read = list_reader_of(member) if is_list and list_reader_of else reader_of(member)
                headers[member.location_name.lower()] = (member.name, read)
            case "headers":
                prefixed.append((member.location_name.lower(), member.name, reader_of(member.shape.value)))
            case unknown:
                raise Bug(f"{shape.name}.{member.name} is bound to {unknown}, which this protocol does not read")
    return HeadInputs(tuple(path), tuple(query), headers, tuple(prefixed))


@dataclass(frozen=True, slots=True)
class HeadOutputs:
    """The destination of each member of an output in the head: names and functions of headers, by members.

    `prefixed` are the maps; `status` is the member that holds the HTTP status.
    """

    headers: Mapping[str, tuple[str, scalars.WriteText]]
    prefixed: Mapping[str, tuple[str, scalars.WriteText]]
    status: str | None

    def take(
        self, members: Mapping[str, Any], headers: list[tuple[str, str]], status: int
    ) -> tuple[int, dict[str, Any]]:
        """Append the members' headers. Return the status, and the members that are the body's."""
        rest: dict[str, Any] = {}
        bound = self.headers
        for name, value in members.items():
            if name in bound:
                if value is not None:
                    header, write = bound[name]
                    headers.append((header, write(value)))
            elif name == self.status:
                status = value if value is not None else status
            elif name in self.prefixed:
                prefix, write = self.prefixed[name]
                headers.extend((prefix + key, write(text)) for key, text in (value or {}).items())
            else:
                rest[name] = value
        return status, rest


def head_outputs(shape: Shape, writer_of: WriterOf) -> HeadOutputs:
    """Compile the members of an output that are not in the body."""
    headers: dict[str, tuple[str, scalars.WriteText]] = {}
    prefixed: dict[str, tuple[str, scalars.WriteText]] = {}
    status = None
    for member in shape.members.values():
        match member.location:
            case None:
                pass
            case "header":
                headers[member.name] = (member.location_name, writer_of(member))
            case "headers":
                prefixed[member.name] = (member.location_name, writer_of(member.shape.value))
            case "statusCode":
                status = member.name
            case unknown:
                raise Bug(f"{shape.name}.{member.name} is bound to {unknown}, which this protocol does not write")
    return HeadOutputs(headers, prefixed, status)


def by_name(query: str) -> dict[str, list[str]]:
    """The values of a query string, decoded, by their names."""
    values: dict[str, list[str]] = {}
    for name, value in parse_qsl(query, keep_blank_values=True):
        values.setdefault(name, []).append(value)
    return values


def _values_reader(member: Member, reader_of: ReaderOf) -> ReadValues:
    if member.shape.type == "list":
        read_element = reader_of(member.shape.element)
        return lambda values: [read_element(value) for value in values]
    read = reader_of(member)
    return lambda values: read(values[0])
