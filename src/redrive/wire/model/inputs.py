"""Parameters in a JSON document instead of a request: the Input of a schedule's universal target.

The document holds all members side by side, wherever a request has them, under the names that AWS's SDKs use.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from redrive.wire.model.shapes import OperationModel, Shape
from redrive.wire.protocols.json_body import Convert, JsonReader, serialization_error, wrong_type


class InputReader(JsonReader):
    """Compiles shapes to functions from such documents to parameters. The functions raise SerializationException.

    Blobs are base64, but plain text if they are the body of the request. Members unknown to the model are refused.
    """

    def read(self, operation: OperationModel, document: Mapping[str, Any]) -> dict[str, Any]:
        """The parameters of an operation."""
        return {} if operation.input is None else self.of_shape(operation.input)(document)

    def _structure(self, shape: Shape) -> Convert:
        fields: dict[str, tuple[str, Convert]] = {}
        wording = self._wording

        def read(value: Any) -> dict[str, Any]:
            if type(value) is not dict:
                wrong_type(shape, value, wording)
            result = {}
            for key, raw in value.items():
                if key not in fields:
                    raise serialization_error(f"{shape.name} has no member {key}.")
                name, convert = fields[key]
                if raw is not None:
                    result[name] = convert(raw)
            return result

        self._compiled[shape.name] = read
        for member in shape.members.values():
            is_body = member.name == shape.payload and member.shape.type == "blob"
            fields[_sdk_name(member.name)] = (member.name, self._text(member.shape) if is_body else self.of(member))
        return read

    def _text(self, shape: Shape) -> Convert:
        wording = self._wording

        def read(value: Any) -> bytes:
            if type(value) is not str:
                wrong_type(shape, value, wording)
            return value.encode()

        return read


def missing_members(operation: OperationModel, document: Mapping[str, Any]) -> list[str]:
    """The required members that the document lacks, in the order of the model."""
    shape = operation.input
    if shape is None:
        return []
    required = [_sdk_name(name) for name in shape.members if name in shape.required]
    return [name for name in required if document.get(name) is None]


def _sdk_name(member: str) -> str:
    return member[:1].upper() + member[1:]
