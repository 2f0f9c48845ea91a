"""What holds for each call of an operation, whatever it says: the gateway's promises, as one function that fails."""

from __future__ import annotations

import functools
import io
from collections.abc import Sequence
from typing import Any

import botocore.loaders
import botocore.model
import botocore.parsers
from botocore.awsrequest import HeadersDict

from redrive.testing.world import World
from redrive.wire.message import HttpRequest, HttpResponse
from redrive.wire.model.shapes import OperationModel
from redrive.wire.protocols import cbor_body
from tests.fuzz.furniture import furnished
from tests.fuzz.work import ending

STATEMENTS_MAX = 600
"""More SQL than any call needs: a batch of 500 records inserts each of them."""

PROTOCOLS = {
    "json": "json",
    "query": "query",
    "rest-json": "rest-json",
    "rest-xml": "rest-xml",
    "smithy-rpc-v2-cbor": "smithy-rpc-v2-cbor",
}

SETTLING_S = 600
"""How much time passes after the calls of a case. A day of schedules that fail each minute is work."""

COUNTERS = frozenset({"metrics"})
"""Tables that a refused call may write: it is counted there."""

OUTSIDE = frozenset({("lambda", "Invoke")})
"""Operations whose refusal follows a run, and runs are remembered."""


class BrokenPromiseError(AssertionError):
    """A call was not answered as every call is."""


class Watched:
    """A world whose calls are watched."""

    def __init__(self, world: World | None = None) -> None:
        self.world = furnished() if world is None else world
        self._statements = 0
        connection = self.world.store.connection
        found = connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
        self._tables: Sequence[str] = sorted({name for (name,) in found} - COUNTERS)
        connection.set_trace_callback(self._count)
        self._stood_at = -1
        self._rows: list[list[Any]] = []

    def call(self, request: HttpRequest, *, operation: OperationModel | None = None, protocol: str = "json") -> Any:
        """Make a call and hold its answer against what is promised; answers it as botocore reads it.

        `operation` is what the request was meant for. Errors: BrokenPromiseError, or whatever the chain let pass.
        """
        self._look()
        self._statements = 0
        with ending():
            response = self.world.gateway.respond(request)
        statements = self._statements
        if response.status >= 500 and not (response.status == 501 and _is_named_unserved(response)):
            raise BrokenPromiseError(f"a call was answered {response.status}: {response.body[:500]!r}")
        if statements > STATEMENTS_MAX:
            raise BrokenPromiseError(f"a call ran {statements} statements")
        answer = parsed(response, operation, protocol) if operation is not None else {}
        is_outside = operation is not None and (operation.service, operation.name) in OUTSIDE
        if response.status >= 400 and not is_outside:
            self._check_unchanged(response)
        return answer

    def pass_time(self, *, seconds: float) -> None:
        """Let time pass. Whatever was accepted has to bear it."""
        with ending():
            self.world.advance(seconds=seconds)

    def _look(self) -> None:
        """Read all rows, unless nothing was written since they were read."""
        written = self.world.store.connection.total_changes
        if written != self._stood_at:
            self._rows = self.world.store.rows(self._tables)
            self._stood_at = written

    def _check_unchanged(self, response: HttpResponse) -> None:
        if self.world.store.connection.total_changes == self._stood_at:
            return
        before = self._rows
        self._look()
        for table, then, now in zip(self._tables, before, self._rows, strict=True):
            if then != now:
                raise BrokenPromiseError(f"a refused call has changed {table}: {response.body[:300]!r}")

    def _count(self, _: str) -> None:
        self._statements += 1


def play(requests: Sequence[HttpRequest]) -> None:
    """Make these calls in a fresh world, as the test of a found case does. Errors: as Watched.call."""
    watched = Watched()
    for request in requests:
        watched.call(request)
    watched.pass_time(seconds=SETTLING_S)
    watched.world.close()


def parsed(response: HttpResponse, operation: OperationModel, protocol: str) -> dict[str, Any]:
    """What botocore makes of an answer, which is a result or an error with a code.

    Botocore does not speak the CBOR of the SDK for Java, which is read here.
    """
    model = _botocore_model(operation.service).operation_model(operation.name)
    shape, is_stream = model.output_shape, model.has_streaming_output or model.has_event_stream_output
    body = io.BytesIO(response.body) if is_stream and response.status < 300 else response.body
    answer = {"status_code": response.status, "headers": HeadersDict(response.headers), "body": body}
    answer["context"] = {"operation_name": operation.name}  # As botocore's endpoint adds it.
    document: dict[str, Any] = (
        _read_cbor(response) if protocol == "aws-cbor" else _parser(protocol).parse(answer, shape)
    )
    code = str(document.get("Error", {}).get("Code", ""))
    # Where there is no code, botocore puts the status.
    # Answers to HEAD have no body, and 304 neither.
    is_told = operation.method != "HEAD" and response.status != 304
    if is_told and response.status >= 300 and (not code or code.isdigit() or code == "Unknown"):
        raise BrokenPromiseError(f"an error has no code: {response}")
    return document


def _read_cbor(response: HttpResponse) -> dict[str, Any]:
    document: dict[str, Any] = cbor_body.parse(response.body) if response.body else {}
    return {"Error": {"Code": document.get("__type", "")}} if response.status >= 300 else document


def _is_named_unserved(response: HttpResponse) -> bool:
    """Whether the answer says that this is not served here."""
    return b"does not implement" in response.body or b"NotImplemented" in response.body


@functools.cache
def _botocore_model(service: str) -> Any:
    return botocore.model.ServiceModel(botocore.loaders.Loader().load_service_model(service, "service-2"), service)


@functools.cache
def _parser(protocol: str) -> Any:
    return botocore.parsers.create_parser(PROTOCOLS[protocol])
