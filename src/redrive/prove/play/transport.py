"""Answers the calls of the handler's boto3 clients, whatever their endpoint: by the engine, in this process.

    handler ─► BaseClient._make_api_call ─► Boundary.ask ─► Short.send    for the search
                                                         └► Wire.send     for what is shown to a person

`Short` skips what costs most of a call's time and does not change the result: the client's checks of its parameters,
the endpoint, the signature, the retry loop. It serialises, routes, decodes, validates, runs and parses as always, with
botocore's own code on the client's side, whose results for equal requests and answers are kept. `Wire` skips only
the socket: botocore prepares, signs and retries, and bytes go through the gateway.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import Protocol, cast

from botocore.awsrequest import AWSPreparedRequest, AWSResponse
from botocore.client import BaseClient
from botocore.credentials import Credentials
from botocore.endpoint import Endpoint
from botocore.exceptions import ClientError, ConnectionClosedError

from redrive.core.errors import Bug, ServiceError
from redrive.gateway.botocore_http import request_of, response_to
from redrive.prove.calls.absent import guessed_answer, served_params
from redrive.prove.calls.batches import with_last_refused, without_last
from redrive.prove.calls.calls import Call, Params
from redrive.prove.calls.outside import made_up_answer
from redrive.prove.play.asked import ENDPOINT_URL, Asked, Way
from redrive.prove.play.reading import Reading, Readings, read
from redrive.prove.play.reply import Reply, client_error
from redrive.prove.play.written import prepared
from redrive.prove.process.aio_clients import PlainClient
from redrive.prove.process.surroundings import replaced
from redrive.prove.stage.stage import SCOPE, Stage
from redrive.wire.message import HttpRequest, HttpResponse

_THROTTLES = {
    "dynamodb": ("ThrottlingException", "Rate of requests exceeds the allowed throughput."),
    "lambda": ("TooManyRequestsException", "Rate Exceeded."),
    "sqs": ("RequestThrottled", "Rate of requests exceeds the allowed throughput."),
}
_THROTTLE_ELSEWHERE = ("ThrottlingException", "Rate exceeded")

Noted = Callable[[Params], None]
"""Receives the answer to a call each time that the call has taken effect."""


class Transport(Protocol):
    """Answers calls."""

    def entered(self) -> AbstractContextManager[None]:
        """While entered, calls can be sent."""
        ...

    def send(self, asked: Asked, way: Way, noted: Noted) -> Reply:
        """What the run is told."""
        ...


class Short:
    """Answers calls without endpoint, signature and retry loop."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._readings = Readings()

    def entered(self) -> AbstractContextManager[None]:
        """Needs no preparation."""
        return nullcontext()

    def send(self, asked: Asked, way: Way, noted: Noted) -> Reply:
        """The answer; a retried call is made twice."""
        if asked.is_outside:
            return Reply.of(lambda: _outside_answer(asked, way, noted))
        if way is Way.REFUSED:
            refused = self._stage.refuse(asked.refused, lambda: prepared(asked), throttle_of(asked.call))
            return self._readings.of(asked, refused).reply(asked)
        if way is Way.RETRIED:
            self._respond(asked, way, noted)
        reading = self._respond(asked, way, noted)
        if way is Way.LOST:
            return Reply.failed(ConnectionClosedError(endpoint_url=ENDPOINT_URL))
        return reading.reply(asked)

    def _respond(self, asked: Asked, way: Way, noted: Noted) -> Reading:
        response = _responded(self._stage, asked, way, lambda: prepared(asked))
        reading = self._readings.of(asked, response)
        if reading.is_done:
            noted(reading.document)
        return reading


class Wire:
    """Answers calls as a server would: botocore does everything but the connection."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._original = BaseClient._make_api_call  # noqa: SLF001 - botocore has no other place that all calls pass.
        self._sent: tuple[Asked, Way, Noted] | None = None
        self._sends = 0

    def entered(self) -> AbstractContextManager[None]:
        """Replace botocore's connections."""
        return replaced(Endpoint, "_send", lambda _, request: self._answer(request))

    def send(self, asked: Asked, way: Way, noted: Noted) -> Reply:
        """The answer, after all retries that the client's settings allow."""
        if asked.is_outside:
            return Reply.of(lambda: _outside_answer(asked, way, noted))
        if isinstance(asked.client, PlainClient):  # aiobotocore's own way needs an event loop.
            return Short(self._stage).send(asked, way, noted)
        return Reply.of(lambda: self._sent_by_client(asked, way, noted))

    def _sent_by_client(self, asked: Asked, way: Way, noted: Noted) -> object:
        self._sent, self._sends = (asked, way, noted), 0
        signer = vars(asked.client)["_request_signer"]
        own = vars(signer)["_credentials"] or Credentials(SCOPE.account, SCOPE.account)  # Made before the proof began.
        try:
            with replaced(signer, "_credentials", own):
                params = served_params(replace(asked.call, params=asked.params))
                answer: dict[str, object] = self._original(asked.client, asked.call.operation, params)
            return _guessed(asked, answer) or answer
        except ClientError as error:
            guessed = _guessed(asked, cast("Params", error.response))
            if guessed is None:
                raise
            return guessed
        finally:
            self._sent = None

    def _answer(self, request: AWSPreparedRequest) -> AWSResponse:
        if self._sent is None:
            raise Bug("a request that nobody asked for")
        asked, way, noted = self._sent
        self._sends += 1
        is_first = self._sends == 1
        brought = _brought_home(request_of(request), asked.client.meta.region_name)
        if way is Way.REFUSED:
            refused = self._stage.refuse(asked.refused, lambda: brought, throttle_of(asked.call))
            return response_to(request, refused)
        if way is Way.LOST and not is_first:
            raise ConnectionClosedError(endpoint_url=ENDPOINT_URL)
        response = _responded(self._stage, asked, way, lambda: brought)
        _note(asked, response, noted)
        if way is Way.LOST or (way is Way.RETRIED and is_first):
            raise ConnectionClosedError(endpoint_url=ENDPOINT_URL)
        return response_to(request, response)


def throttle_of(call: Call) -> ServiceError:
    """The throttling error of a call's service."""
    return ServiceError(*_THROTTLES.get(call.service, _THROTTLE_ELSEWHERE), http_status=400)


def _responded(stage: Stage, asked: Asked, way: Way, request: Callable[[], HttpRequest]) -> HttpResponse:
    """The engine's answer; for a partly refused batch, the answer to its accepted entries."""
    if way is not Way.PARTLY:
        return stage.respond(asked.question, request)
    response = HttpResponse(200, (("content-type", "application/json"),), b"{}")
    rest = without_last(asked.call)
    if rest is not None:
        shorter = replace(asked, call=rest)
        response = stage.respond(shorter.question, lambda: prepared(shorter))
    if response.status >= 300:
        return response
    document = with_last_refused(asked.call, json.loads(response.body))
    headers = tuple((name, value) for name, value in response.headers if name.lower() != "x-amz-crc32")
    return HttpResponse(response.status, headers, json.dumps(document, default=_as_base64).encode())


def _as_base64(value: bytes) -> str:
    return base64.b64encode(value).decode()


def _brought_home(request: HttpRequest, region: str) -> HttpRequest:
    """The request, addressed to the stage's region: there is only one world, whatever region a client names."""
    headers = dict(request.headers)
    headers["authorization"] = headers.get("authorization", "").replace(f"/{region}/", f"/{SCOPE.region}/", 1)
    return replace(request, headers=headers)


def _note(asked: Asked, response: HttpResponse, noted: Noted) -> None:
    parsed = read(asked.operation, response)
    guessed = _guessed(asked, parsed)
    if guessed is not None or response.status < 300:
        noted(guessed or parsed)


def _guessed(asked: Asked, answer: Params) -> dict[str, object] | None:
    """A made-up answer in place of the engine's, which the user is told of; None if the engine's stands."""
    guessed = guessed_answer(asked.call, answer, asked.operation.output_shape)
    if guessed is None:
        return None
    asked.guessed()
    return dict(guessed)


def _outside_answer(asked: Asked, way: Way, noted: Noted) -> object:
    if way is Way.REFUSED:
        error = throttle_of(asked.call)
        raise client_error(asked, {"Error": {"Code": error.code, "Message": error.message}})
    answer: Params = {}
    for serial in range(2 if way is Way.RETRIED else 1):
        given = asked.given.reply(asked.call.service, asked.call.operation)
        answer = made_up_answer(asked.call, asked.operation.output_shape, serial, asked.read(), given)
        if way is Way.PARTLY:
            answer = with_last_refused(asked.call, answer)
        noted(answer)
    if way is Way.LOST:
        raise ConnectionClosedError(endpoint_url=ENDPOINT_URL)
    return answer
