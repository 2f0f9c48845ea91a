"""The interface of every protocol. The protocols are modules beside this one: `json`, `rest`, `query`, `cbor`.

A codec belongs to one service. A further protocol (REST with XML) is one more implementation.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from redrive.core.errors import Bug, ServiceError
from redrive.wire.message import HttpRequest, HttpResponse
from redrive.wire.model.shapes import OperationModel
from redrive.wire.protocols.event_stream import EventWriter

REQUEST_ID_HEADER = "x-amzn-RequestId"


class ErrorWriter(Protocol):
    """Encodes errors in a protocol."""

    def encode_error(self, error: ServiceError, request_id: str) -> HttpResponse:
        """The answer for an error, in this protocol's shape and spelling."""
        ...


@dataclass(frozen=True, slots=True)
class OpenedStream:
    """The head of an answer that is an event stream, with the first bytes of its body, and what encodes its events."""

    head: HttpResponse
    events: EventWriter


@runtime_checkable
class StreamingCodec(Protocol):
    """A protocol in which an answer may be an event stream."""

    def open_stream(self, operation: OperationModel, result: Mapping[str, Any], request_id: str) -> OpenedStream:
        """Begin an answer whose result has all members but the stream. Errors: Bug (the operation answers none)."""
        ...


class Codec(ErrorWriter, Protocol):
    """Translates between HTTP messages and the parameters and results of one service's operations.

    Parameters and results are documents with the members' names as AWS spells them: blobs are bytes, timestamps are
    instants in milliseconds, absent members have no key.
    """

    def decode(self, operation: OperationModel, request: HttpRequest, path_params: Mapping[str, str]) -> dict[str, Any]:
        """The parameters of a request. Members unknown to the model, and nulls, are left out.

        Errors: SerializationException.
        """
        ...

    def encode(self, operation: OperationModel, result: Mapping[str, Any], request_id: str) -> HttpResponse:
        """The answer for a result; members that are None are left out.

        Errors: Bug (the result has a member that the model does not know, or a value of the wrong type).
        """
        ...


def refuse_members(operation: OperationModel, result: Mapping[str, Any]) -> None:
    """Assert that the result of an operation without an output is empty. Errors: Bug."""
    if result:
        raise Bug(f"{operation.name} answers nothing, yet its result has {sorted(result)}")
