"""JSON bodies, read and written by closures that are compiled once per shape.

A structure of strings costs one pass over its members, with one type check each. Used by the JSON and REST protocols.
"""

from __future__ import annotations

import base64
import binascii
import math
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, NoReturn

import orjson

from redrive.core.documents import EncodedDocument
from redrive.core.errors import Bug, ServiceError
from redrive.wire.model.shapes import Member, Shape
from redrive.wire.protocols import timestamps
from redrive.wire.services import Wording

Convert = Callable[[Any], Any]

# More than any service accepts (DynamoDB's 32 levels of values are some 70 levels here), less than Python can recurse.
NESTING_MAX = 200
INTEGER_LIMITS = {"integer": (-(2**31), 2**31 - 1), "long": (-(2**63), 2**63 - 1)}
SPECIAL_FLOATS = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}

# A value of exactly this type needs no conversion. None never comes here, so NoneType means "always convert".
_AS_IS: Mapping[str, type] = {"string": str, "boolean": bool}
_ALWAYS = type(None)


def serialization_error(message: str) -> ServiceError:
    """The error for a body that cannot be parsed."""
    return ServiceError("SerializationException", message)


def wrong_type(shape: Shape, value: Any, wording: Wording) -> NoReturn:
    """Refuse a JSON value of another type than the shape's, as AWS's JSON parser does."""
    if shape.type in wording.targets:
        target = wording.targets[shape.type]
        if isinstance(value, dict):
            raise serialization_error(wording.structure)
        if isinstance(value, list):
            raise serialization_error(f"Unrecognized collection type class java.lang.{target.split()[-1]}")
        raise serialization_error(wording.conversion.format(token=_token(value), target=target))
    if isinstance(value, dict):
        raise serialization_error(wording.structure)
    if isinstance(value, list):
        raise serialization_error(f"Unrecognized collection type class {wording.namespace}{shape.name}")
    if shape.type == "list":
        raise serialization_error("Unexpected field type")
    raise serialization_error("Unexpected value type in payload")


def _token(value: Any) -> str:
    match value:
        case bool():
            return "TRUE_VALUE" if value else "FALSE_VALUE"
        case int():
            return "NUMBER_VALUE"
        case float():
            return "DECIMAL_VALUE"
        case str():
            return "STRING_VALUE"
        case _:
            return "EMBEDDED_VALUE"  # Bytes and tagged values, which JSON does not have.


def load(body: bytes, wording: Wording) -> dict[str, Any]:
    """Parse a body that must hold one JSON object; an empty body is an empty object. Errors: SerializationException."""
    if not body:
        return {}
    try:
        document = orjson.loads(body)
    except orjson.JSONDecodeError:
        raise serialization_error("Unable to parse the request body as JSON.") from None
    if type(document) is not dict:
        message = wording.structure if isinstance(document, list) else "Unexpected value type in payload"
        raise serialization_error(message)
    return document


def _nests_freely(shape: Shape, above: frozenset[Shape] = frozenset()) -> bool:
    """Whether the client decides how deep a value is: the shape has documents, or contains itself."""
    if shape.is_document or shape in above:
        return True
    members = (*shape.members.values(), *shape.parts.values())
    return any(_nests_freely(member.shape, above | {shape}) for member in members)


def _is_too_deep(document: Any) -> bool:
    level = [document]
    for _ in range(NESTING_MAX):
        level = [
            child
            for item in level
            for child in (item.values() if type(item) is dict else item)
            if type(child) is dict or type(child) is list
        ]
        if not level:
            return False
    return True


def _is_unchanged(value: dict[str, Any], unchanged: Mapping[str, type]) -> bool:
    """Whether the structures in a map have one member each, which needs no conversion: items of DynamoDB."""
    for raw in value.values():
        if type(raw) is not dict or len(raw) != 1:
            return False
        ((name, member),) = raw.items()
        if unchanged.get(name) is not type(member):
            return False
    return True


class JsonReader:
    """Compiles shapes to functions from parsed JSON to parameters. The functions raise SerializationException."""

    def __init__(self, wording: Wording) -> None:
        self._wording = wording
        self._compiled: dict[str, Convert] = {}
        self._unchanged: dict[str, dict[str, type]] = {}

    def of_body(self, shape: Shape) -> Callable[[bytes], dict[str, Any]]:
        """The function for a body that must hold one JSON object; an empty body is an empty object.

        Values deeper than the shape are skipped or refused while reading, so only recursive shapes need a check of
        depth.
        """
        read, wording = self.of_shape(shape), self._wording
        if not _nests_freely(shape):
            return lambda body: read(load(body, wording))

        def read_nested(body: bytes) -> Any:
            document = load(body, wording)
            # Counting brackets is cheap, and shows at once that most documents cannot be too deep.
            if body.count(b"{") + body.count(b"[") > NESTING_MAX and _is_too_deep(document):
                raise serialization_error(f"The request body nests deeper than {NESTING_MAX} levels.")
            return read(document)

        return read_nested

    def of(self, member: Member) -> Convert:
        """The function for the value of a member."""
        shape = member.shape
        match shape.type:
            case "structure" | "list" | "map":
                return self.of_shape(shape)
            case "timestamp":
                return self._timestamp(shape)
            case "blob":
                return self._blob(shape)
            case "integer" | "long":
                return self._integer(shape)
            case "float" | "double":
                return self._float(shape)
            case "string" | "boolean":
                return self._as_is(shape)
            case _:
                raise Bug(f"JSON has no reading of the type {shape.type} ({shape.name})")

    def of_shape(self, shape: Shape) -> Convert:
        """The function for a structure, list or map. Each shape is compiled once, even if it contains itself."""
        compiled = self._compiled.get(shape.name)
        if compiled is not None:
            return compiled
        if shape.is_document:
            return self._compiled.setdefault(shape.name, lambda value: value)
        match shape.type:
            case "structure":
                return self._structure(shape)
            case "list":
                return self._list(shape)
            case _:
                return self._map(shape)

    def _structure(self, shape: Shape) -> Convert:
        fields: dict[str, tuple[str, type, Convert]] = {}
        unchanged: dict[str, type] = {}
        wording = self._wording

        def read(value: Any) -> dict[str, Any]:
            if type(value) is not dict:
                wrong_type(shape, value, wording)
            if len(value) == 1:
                # DynamoDB's values. If nothing is to be converted, the parsed object is the result.
                ((key, raw),) = value.items()
                if unchanged.get(key) is type(raw):
                    return value
            result = {}
            for key, raw in value.items():
                if raw is not None and key in fields:
                    name, as_is, convert = fields[key]
                    result[name] = raw if type(raw) is as_is else convert(raw)
            return result

        self._compiled[shape.name] = read
        self._unchanged[shape.name] = unchanged
        for member in shape.members.values():
            as_is = _AS_IS.get(member.shape.type, _ALWAYS)
            if member.location is None and as_is is not _ALWAYS and member.location_name == member.name:
                unchanged[member.name] = as_is
        for member in shape.members.values():
            if member.location is None:
                as_is = _AS_IS.get(member.shape.type, _ALWAYS)
                fields[member.location_name] = (member.name, as_is, self.of(member))
        return read

    def _list(self, shape: Shape) -> Convert:
        wording = self._wording
        element: list[Convert] = []

        def read(value: Any) -> list[Any]:
            if type(value) is not list:
                wrong_type(shape, value, wording)
            if None in value:
                raise serialization_error("A list must not contain null values.")
            convert = element[0]
            return [convert(raw) for raw in value]

        self._compiled[shape.name] = read
        element.append(self.of(shape.element))
        return read

    def _map(self, shape: Shape) -> Convert:
        wording = self._wording
        values: list[Convert] = []
        unchanged: dict[str, type] = {}

        def read(value: Any) -> dict[str, Any]:
            if type(value) is not dict:
                wrong_type(shape, value, wording)
            if unchanged and _is_unchanged(value, unchanged):
                return value
            if None in value.values():
                raise serialization_error("A map must not contain null values.")
            convert = values[0]
            return {key: convert(raw) for key, raw in value.items()}

        self._compiled[shape.name] = read
        values.append(self.of(shape.value))
        unchanged |= self._unchanged.get(shape.value.shape.name, {})
        return read

    def _as_is(self, shape: Shape) -> Convert:
        wanted = _AS_IS[shape.type]
        wording = self._wording

        def read(value: Any) -> Any:
            if type(value) is not wanted:
                if wanted is bool and type(value) is str:
                    raise serialization_error("Unexpected token received from parser")
                wrong_type(shape, value, wording)
            return value

        return read

    def _integer(self, shape: Shape) -> Convert:
        low, high = INTEGER_LIMITS[shape.type]
        wording = self._wording

        def read(value: Any) -> int:
            if type(value) is float and value.is_integer():
                value = int(value)
            if type(value) is not int or not low <= value <= high:
                wrong_type(shape, value, wording)
            return value

        return read

    def _float(self, shape: Shape) -> Convert:
        wording = self._wording

        def read(value: Any) -> float:
            if type(value) is str and value in SPECIAL_FLOATS:
                return SPECIAL_FLOATS[value]
            if type(value) is not float and type(value) is not int:
                wrong_type(shape, value, wording)
            return float(value)

        return read

    def _blob(self, shape: Shape) -> Convert:
        wording = self._wording

        def read(value: Any) -> bytes:
            if type(value) is not str:
                wrong_type(shape, value, wording)
            try:
                return base64.b64decode(value, validate=True)
            except (binascii.Error, ValueError):
                raise serialization_error("Invalid length for a base64 encoded array or invalid characters.") from None

        return read

    def _timestamp(self, shape: Shape) -> Convert:
        wording = self._wording

        def read(value: Any) -> int:
            try:
                if type(value) is str:
                    return timestamps.read_text(value)
                if type(value) is int or type(value) is float:
                    return timestamps.read_number(value)
            except (ValueError, OverflowError):
                pass
            wrong_type(shape, value, wording)

        return read


class JsonWriter:
    """Compiles shapes to functions from results to values that JSON can encode. The functions raise Bug."""

    IS_TEXT: ClassVar[bool] = True
    """Whether what is written becomes JSON: then a document that is JSON already stays as it is."""

    def __init__(self) -> None:
        self._compiled: dict[str, Convert] = {}

    def of(self, member: Member) -> Convert:
        """The function for the value of a member."""
        shape = member.shape
        match shape.type:
            case "structure" | "list" | "map":
                return self.of_shape(shape)
            case "timestamp":
                return _write_timestamp(member)
            case "blob":
                return _write_blob
            case "float" | "double":
                return _write_float
            case "integer" | "long":
                return _check(shape, int)
            case "string":
                return _check(shape, str)
            case "boolean":
                return _check(shape, bool)
            case _:
                raise Bug(f"JSON has no spelling of the type {shape.type} ({shape.name})")

    def of_shape(self, shape: Shape) -> Convert:
        """The function for a structure, list or map."""
        compiled = self._compiled.get(shape.name)
        if compiled is not None:
            return compiled
        if shape.is_document:
            return self._compiled.setdefault(shape.name, lambda value: value)
        if shape.is_event_stream:
            return self._compiled.setdefault(shape.name, _event_stream(shape))
        match shape.type:
            case "structure":
                return self._structure(shape)
            case "list":
                return self._list(shape)
            case _:
                return self._map(shape)

    def _structure(self, shape: Shape) -> Convert:
        fields: dict[str, tuple[str, type, Convert]] = {}

        def write(value: Any) -> dict[str, Any]:
            result = {}
            for name, item in value.items():
                if item is None:
                    continue
                if name not in fields:
                    shape.refuse_member(name)
                    continue
                key, as_is, convert = fields[name]
                result[key] = item if type(item) is as_is else convert(item)
            return result

        self._compiled[shape.name] = write
        for member in shape.members.values():
            if member.location is None:
                as_is = _AS_IS.get(member.shape.type, _ALWAYS)
                fields[member.name] = (member.location_name, as_is, self.of(member))
        return write

    def _list(self, shape: Shape) -> Convert:
        element: list[Convert] = []

        def write(value: Any) -> list[Any]:
            convert = element[0]
            return [convert(item) for item in value]

        self._compiled[shape.name] = write
        element.append(self.of(shape.element))
        return write

    def _map(self, shape: Shape) -> Convert:
        values: list[Convert] = []
        as_text = EncodedDocument if self.IS_TEXT else None

        def write(value: Any) -> Any:
            if type(value) is as_text:
                return orjson.Fragment(value.text)
            convert = values[0]
            return {key: convert(item) for key, item in value.items() if item is not None}

        self._compiled[shape.name] = write
        values.append(self.of(shape.value))
        return write


def _event_stream(shape: Shape) -> Convert:
    def write(_: Any) -> NoReturn:
        raise Bug(f"{shape.name} is an event stream, which is not encoded at once: open_stream begins it")

    return write


def _check(shape: Shape, wanted: type) -> Convert:
    def write(value: Any) -> Any:
        if not isinstance(value, wanted) or (wanted is int and isinstance(value, bool)):
            raise Bug(f"{shape.name} is a {shape.type}, not {value!r}")
        return value

    return write


def _write_timestamp(member: Member) -> Convert:
    spelling = member.timestamp_format or member.shape.timestamp_format or timestamps.UNIX
    if spelling == timestamps.UNIX:
        return timestamps.write_number
    return lambda value: timestamps.write_text(value, spelling)


def _write_blob(value: Any) -> str:
    return base64.b64encode(value).decode("ascii")


def _write_float(value: Any) -> Any:
    if isinstance(value, int) or math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
