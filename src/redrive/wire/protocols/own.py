"""The protocol of the server's own surface: REST with JSON, for people who use curl.

It differs from AWS's REST with JSON where that helps a person. An unknown member or parameter is refused by name, as is
a value of a wrong type. An absent value in an answer is null, not left out. JSON is indented. An error is
`{"error": what is wrong, "code": its name, "next": what to do}`. An SDK that has read the model understands all of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl

import orjson

from redrive.core.errors import Bug, ServiceError
from redrive.wire.message import HttpRequest, HttpResponse
from redrive.wire.model.shapes import OperationModel, ServiceModel, Shape
from redrive.wire.protocols import scalars
from redrive.wire.protocols.codec import REQUEST_ID_HEADER
from redrive.wire.protocols.errors import resolve
from redrive.wire.protocols.json_body import Convert, JsonReader, JsonWriter, serialization_error, wrong_type
from redrive.wire.protocols.rest import RestJsonCodec
from redrive.wire.services import PLAIN_WORDING

NEXT = "next"
"""The member of an error that says what to do."""

MESSAGE_MAX = 400
"""The most characters of an error's message, which may repeat the refused value."""

SHOWN_MAX = 100
"""How many characters of a refused value the message repeats."""

_SIGNATURE = "X-Amz-"
"""Parameters with this prefix belong to a signature in the URL."""

_KINDS: Mapping[str, str] = {
    "blob": "base64",
    "boolean": "true or false",
    "double": "a number",
    "float": "a number",
    "integer": "a whole number",
    "long": "a whole number",
    "string": "a text",
    "timestamp": "a time",
}
_COMPOUND = frozenset({"list", "map", "structure"})


class OwnCodec(RestJsonCodec):
    """The Codec of the server's own surface."""

    def __init__(self, service: ServiceModel) -> None:
        super().__init__(service)
        self._reader = _NamingReader(PLAIN_WORDING)
        self._writer = _NullWriter()

    def decode(self, operation: OperationModel, request: HttpRequest, path_params: Mapping[str, str]) -> dict[str, Any]:
        """See Codec. A parameter without a value counts as absent; of several with one name the last counts.

        Errors: SerializationException, also for a member or parameter unknown to the operation.
        """
        shape = operation.input
        if shape is None:
            return {}
        query = dict(parse_qsl(request.query, keep_blank_values=True))
        _refuse_unknown(shape, query)
        has_body = any(member.location is None for member in shape.members.values())
        params: dict[str, Any] = {}
        if shape.payload is not None:
            params |= {shape.payload: request.body} if request.body else {}
        elif has_body:
            params = self._reader.of_shape(shape)(_document(request.body))
        for member in shape.members.values():
            match member.location:
                case None:
                    continue
                case "uri":
                    text = path_params[member.location_name]
                case "querystring":
                    text = query.get(member.location_name, "")
                case unknown:
                    raise Bug(f"{shape.name}.{member.name} is bound to {unknown}, which this protocol does not read")
            if text or member.location == "uri":
                params[member.name] = _named(member.location_name, member.shape, scalars.reader(member), text)
        return params

    def encode_error(self, error: ServiceError, request_id: str) -> HttpResponse:
        """See Codec. The error's member `next` says what to do."""
        named = resolve(self._service, error)
        message = error.message if len(error.message) <= MESSAGE_MAX else f"{error.message[:MESSAGE_MAX]}…"
        document = {"error": message, "code": named.name, NEXT: error.members.get(NEXT, "")}
        headers = ((REQUEST_ID_HEADER, request_id), ("x-amzn-ErrorType", named.name))
        return HttpResponse(named.rest_status, (*headers, ("Content-Type", "application/json")), self._dump(document))

    def _dump(self, document: object) -> bytes:
        return orjson.dumps(document, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


def usage(operation: OperationModel) -> str:
    """The parameters of an operation of our own surface, in a sentence."""
    call = f"{operation.method} {operation.uri}"
    if operation.input is None:
        return f"{call} takes nothing."
    members = operation.input.members.values()
    names = [member.location_name for member in members if member.location != "uri"]
    required = [member.location_name for member in members if member.name in operation.input.required]
    needed = [name for name in names if name in required]
    optional = [name for name in names if name not in required]
    parts = [f"takes {', '.join(needed)}"] * bool(needed) + [f"may have {', '.join(optional)}"] * bool(optional)
    where = "its JSON body" if any(member.location is None for member in members) else "the query"
    return f"{call} {' and '.join(parts)} in {where}." if parts else f"{call} takes nothing else."


class _NamingReader(JsonReader):
    """Refuses members unknown to the model, and names the member whose value has a wrong type."""

    def _structure(self, shape: Shape) -> Convert:
        fields: dict[str, tuple[str, Shape, Convert]] = {}

        def read(value: Any) -> dict[str, Any]:
            if type(value) is not dict:
                wrong_type(shape, value, self._wording)
            result = {}
            for key, raw in value.items():
                if key not in fields:
                    raise serialization_error(f"There is no {_shown(key)} here.")
                name, inner, convert = fields[key]
                if raw is not None:
                    result[name] = _named(key, inner, convert, raw)
            return result

        self._compiled[shape.name] = read
        for member in shape.members.values():
            if member.location is None:
                fields[member.location_name] = (member.name, member.shape, self.of(member))
        return read


class _NullWriter(JsonWriter):
    """Writes absent values as null."""

    def _structure(self, shape: Shape) -> Convert:
        write = super()._structure(shape)

        def write_nulls(value: Any) -> dict[str, Any]:
            written = write(value)
            return {name: written.get(name) for name in value}

        self._compiled[shape.name] = write_nulls
        return write_nulls

    def _map(self, shape: Shape) -> Convert:
        write = super()._map(shape)

        def write_nulls(value: Any) -> dict[str, Any]:
            written = write(value)
            return {key: written.get(key) for key in value}

        self._compiled[shape.name] = write_nulls
        return write_nulls


def _named(name: str, shape: Shape, convert: Convert, raw: object) -> Any:
    """A converted value. Errors: SerializationException, which names the value of a wrong type."""
    if shape.type in _COMPOUND:
        return convert(raw)
    try:
        return convert(raw)
    except ServiceError as error:
        message = f"{name} is {_shown(raw)}; it must be {_KINDS[shape.type]}."
        raise serialization_error(message) from error


def _refuse_unknown(shape: Shape, query: Mapping[str, str]) -> None:
    """Refuse unknown parameters if the operation has any: otherwise a misspelt parameter would be ignored."""
    known = [member.location_name for member in shape.members.values() if member.location == "querystring"]
    unknown = sorted(name for name in query.keys() - set(known) if not name.startswith(_SIGNATURE))
    if known and unknown:
        raise serialization_error(f"There is no parameter {_shown(unknown[0])} here.")


def _document(body: bytes) -> Mapping[str, Any]:
    """The JSON object in a body; an empty body is allowed. Errors: SerializationException."""
    try:
        document = orjson.loads(body or b"{}")
    except orjson.JSONDecodeError as error:
        raise serialization_error(f"The body is not JSON: {error}.") from None
    if not isinstance(document, dict):
        raise serialization_error("The body is not a JSON object.")
    return document


def _shown(value: object) -> str:
    """A refused value for an error message: only its beginning if it is long."""
    text = repr(value)
    return text if len(text) <= SHOWN_MAX else f"{text[:SHOWN_MAX]}…"
