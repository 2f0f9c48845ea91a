"""Answers as JSON documents in the spelling of AWS's SDKs: what a state machine sees of a call.

Names of members begin with a capital letter, keys of maps stay as they are. A blob is text where it is UTF-8, else
base64; a timestamp is a text of ISO 8601.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from redrive.wire.model.shapes import OperationModel, Shape


def shown_answer(operation: OperationModel, answer: Mapping[str, Any]) -> dict[str, Any]:
    """An answer without members that are None."""
    if operation.output is None:
        return {}
    shown: dict[str, Any] = _structure(operation.output, answer)
    return shown


def _shown(shape: Shape, value: Any) -> Any:
    match shape.type:
        case "structure" if isinstance(value, Mapping) and not shape.is_document:
            return _structure(shape, value)
        case "list" if isinstance(value, list | tuple):
            return [_shown(shape.element.shape, one) for one in value]
        case "map" if isinstance(value, Mapping):
            return {key: _shown(shape.value.shape, one) for key, one in value.items()}
        case "timestamp" if isinstance(value, int | float):
            return f"{datetime.fromtimestamp(value / 1000, UTC).isoformat(timespec='milliseconds')[:-6]}Z"
        case _:
            return _text(value) if isinstance(value, bytes | bytearray) else value


def _structure(shape: Shape, value: Mapping[str, Any]) -> dict[str, Any]:
    members = shape.members
    return {
        name[:1].upper() + name[1:]: _shown(members[name].shape, one) if name in members else one
        for name, one in value.items()
        if one is not None
    }


def _text(value: bytes | bytearray) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return base64.b64encode(value).decode()
