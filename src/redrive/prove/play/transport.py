"""Answers the calls of the handler's boto3 clients, whatever their endpoint: by the engine, in this process.

    handler ─► BaseClient._make_api_call ─► Performance.ask ─► Short.send    for the search
                                                            └► Wire.send     for what is shown to a person

`Short` skips what costs most of a call's time and does not change the result: the client's checks of its parameters,
the endpoint, the signature, the retry loop. It serialises, routes, decodes, validates, runs and parses as always, with
botocore's own code on the client's side, whose results for equal requests and answers are cached. `Wire` skips only
the socket: botocore prepares, signs and retries, and bytes go through the gateway.
"""

from __future__ import annotations

import base64
import enum
import functools
import hashlib
import io
import json
import marshal
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from typing import Protocol, cast
from urllib.parse import urlencode

import botocore.parsers
import botocore.serialize
from botocore.awsrequest import AWSPreparedRequest, AWSResponse, HeadersDict
from botocore.client import BaseClient
from botocore.credentials import Credentials
from botocore.endpoint import Endpoint
from botocore.exceptions import ClientError, ConnectionClosedError
from botocore.httpchecksum import Crc32Checksum, Sha1Checksum, Sha256Checksum
from botocore.response import StreamingBody

from redrive.core.errors import Bug, ServiceError
from redrive.gateway.botocore_http import body_of, request_of, response_to
from redrive.prove.calls.absent import guessed_answer, served_params
from redrive.prove.calls.batches import with_last_refused, without_last
from redrive.prove.calls.calls import Call, Params
from redrive.prove.calls.given import NOTHING_GIVEN, Given
from redrive.prove.calls.outside import made_up_answer
from redrive.prove.process.aio_clients import PlainClient
from redrive.prove.process.surroundings import replaced
from redrive.prove.stage.stage import SCOPE, Stage, is_of_engine
from redrive.wire.message import HttpRequest, HttpResponse

ENDPOINT_URL = "http://in-process.redrive.internal"
"""The endpoint of the handler's clients: a host that does not exist."""

_HOST = ENDPOINT_URL.removeprefix("http://")

TOTAL_ATTEMPTS_DEFAULT = 5  # https://docs.aws.amazon.com/boto3/latest/guide/retries.html (legacy mode)

_THROTTLES = {
    "dynamodb": ("ThrottlingException", "Rate of requests exceeds the allowed throughput."),
    "lambda": ("TooManyRequestsException", "Rate Exceeded."),
    "sqs": ("RequestThrottled", "Rate of requests exceeds the allowed throughput."),
}
_THROTTLE_ELSEWHERE = ("ThrottlingException", "Rate exceeded")

_CHECKSUMS = {"crc32": Crc32Checksum, "sha1": Sha1Checksum, "sha256": Sha256Checksum}
_MARSHAL_VERSION = 2  # Later ones write equal values differently, depending on the number of references.
_KEPT_MAX = 4_096
"""Sizes of the caches of requests and of answers: most histories repeat requests of others."""


TELLING_SERVICES = frozenset({"kinesis", "sns"})
"""Services whose calls tell others, whom no proof knows. Their topics and streams need not exist."""


class Way(enum.Enum):
    """How a call proceeds."""

    NORMAL = enum.auto()
    REFUSED = enum.auto()
    LOST = enum.auto()
    RETRIED = enum.auto()
    PARTLY = enum.auto()
    UNREACHED = enum.auto()
    BAD_GATEWAY = enum.auto()


@dataclass(frozen=True, slots=True)
class Asked:
    """A call of a client. `params` are as the user gave them, those of `call` as they are sent.

    `noted` receives the answer each time that the call has taken effect. `guessed` is called when an answer of the
    engine was replaced by a made-up one.
    """

    client: BaseClient
    call: Call
    params: Params
    way: Way
    noted: Callable[[Params], None]
    guessed: Callable[[], None] = lambda: None
    read: Callable[[], Mapping[str, object]] = dict
    """What the handler reads of JSON in answers: made-up bodies have it."""
    given: Given = NOTHING_GIVEN
    """What somebody has said of made-up answers."""
    goes_on: bool = False
    """Whether what it sends reaches another function under the same proof: then the engine passes it on."""

    @property
    def is_outside(self) -> bool:
        """Whether the call is an effect by itself, and not what it leaves in the engine."""
        is_told = self.call.service in TELLING_SERVICES and not self.goes_on
        return not is_of_engine(self.call.service) or is_told

    @property
    def question(self) -> tuple[object, ...]:
        """The question that the call asks the engine."""
        return self.call.service, self.call.operation, self.call.params


class Transport(Protocol):
    """Answers calls."""

    def entered(self) -> AbstractContextManager[None]:
        """While entered, calls can be sent."""
        ...

    def send(self, asked: Asked) -> object:
        """The answer, as botocore returns it. Errors: ClientError; ConnectionClosedError if the answer is lost."""
        ...


def can_retry(client: BaseClient) -> bool:
    """Whether a client retries by itself when an answer is lost."""
    retries = client.meta.config.retries or {}
    return int(retries.get("total_max_attempts", TOTAL_ATTEMPTS_DEFAULT)) > 1


class Short:
    """Answers calls without endpoint, signature and retry loop."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage

    def entered(self) -> AbstractContextManager[None]:
        """Needs no preparation."""
        return nullcontext()

    def send(self, asked: Asked) -> object:
        """The answer; a retried call is made twice."""
        if asked.is_outside:
            return _outside_answer(asked)
        if asked.way is Way.REFUSED:
            response = self._stage.refuse(asked.question, lambda: _prepared(asked), throttle_of(asked.call))
            return _concluded(asked, response, _parsed(_operation(asked), response))
        if asked.way is Way.RETRIED:
            self._respond(asked)
        response, parsed = self._respond(asked)
        if asked.way is Way.LOST:
            raise ConnectionClosedError(endpoint_url=ENDPOINT_URL)
        return _concluded(asked, response, parsed)

    def _respond(self, asked: Asked) -> tuple[HttpResponse, dict[str, object]]:
        response = _responded(self._stage, asked, lambda: _prepared(asked))
        parsed = _parsed(_operation(asked), response)
        guessed = _guessed(asked, parsed)
        if guessed is not None:
            response, parsed = replace(response, status=200), guessed
        if response.status < 300:
            asked.noted(parsed)
        return response, parsed


class Wire:
    """Answers calls as a server would: botocore does everything but the connection."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._original = BaseClient._make_api_call  # noqa: SLF001 - botocore has no other place that all calls pass.
        self._asked: Asked | None = None
        self._sends = 0

    def entered(self) -> AbstractContextManager[None]:
        """Replace botocore's connections."""
        return replaced(Endpoint, "_send", lambda _, request: self._answer(request))

    def send(self, asked: Asked) -> object:
        """The answer, after all retries that the client's settings allow."""
        if asked.is_outside:
            return _outside_answer(asked)
        if isinstance(asked.client, PlainClient):  # aiobotocore's own way needs an event loop.
            return Short(self._stage).send(asked)
        self._asked, self._sends = asked, 0
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
            self._asked = None

    def _answer(self, prepared: AWSPreparedRequest) -> AWSResponse:
        asked = self._asked
        if asked is None:
            raise Bug("a request that nobody asked for")
        self._sends += 1
        is_first = self._sends == 1
        request = _brought_home(request_of(prepared), asked.client.meta.region_name)
        if asked.way is Way.REFUSED:
            refused = self._stage.refuse(asked.question, lambda: request, throttle_of(asked.call))
            return response_to(prepared, refused)
        if asked.way is Way.LOST and not is_first:
            raise ConnectionClosedError(endpoint_url=ENDPOINT_URL)
        response = _responded(self._stage, asked, lambda: request)
        _note(asked, response)
        if asked.way is Way.LOST or (asked.way is Way.RETRIED and is_first):
            raise ConnectionClosedError(endpoint_url=ENDPOINT_URL)
        return response_to(prepared, response)


def throttle_of(call: Call) -> ServiceError:
    """The throttling error of a call's service."""
    return ServiceError(*_THROTTLES.get(call.service, _THROTTLE_ELSEWHERE), http_status=400)


def _responded(stage: Stage, asked: Asked, request: Callable[[], HttpRequest]) -> HttpResponse:
    """The engine's answer; for a partly refused batch, the answer to its accepted entries."""
    if asked.way is not Way.PARTLY:
        return stage.respond(asked.question, request)
    response = HttpResponse(200, (("content-type", "application/json"),), b"{}")
    rest = without_last(asked.call)
    if rest is not None:
        shorter = replace(asked, call=rest)
        response = stage.respond(shorter.question, lambda: _prepared(shorter))
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


def _note(asked: Asked, response: HttpResponse) -> None:
    parsed = _parsed(_operation(asked), response)
    guessed = _guessed(asked, parsed)
    if guessed is not None or response.status < 300:
        asked.noted(guessed or parsed)


def _prepared(asked: Asked) -> HttpRequest:
    """The request as botocore would send it, but unsigned: only the signer's name is read."""
    params = served_params(asked.call)
    text = _plain_text(params)
    return _written(_operation(asked), params) if text is None else _known_request(_operation(asked), text)


@functools.lru_cache(_KEPT_MAX)
def _known_request(model: botocore.model.OperationModel, params: bytes) -> HttpRequest:
    return _written(model, marshal.loads(params))  # noqa: S302 - this process has written it.


def _protocol_of(service: botocore.model.ServiceModel) -> str:
    """The protocol that botocore uses for a service. Before 1.35.30 a model named just one."""
    return str(getattr(service, "resolved_protocol", None) or service.metadata["protocol"])


def _written(model: botocore.model.OperationModel, params: Params) -> HttpRequest:
    service = model.service_model
    made = _serializer(_protocol_of(service)).serialize_to_request(params, model)
    credential = f"{SCOPE.account}/20250101/{SCOPE.region}/{service.signing_name}/aws4_request"
    headers = {name.lower(): str(value) for name, value in made["headers"].items()}
    headers |= {
        "authorization": f"AWS4-HMAC-SHA256 Credential={credential}, SignedHeaders=host, Signature=in-process",
        "host": _HOST, "x-amz-date": "20250101T000000Z",
    }  # fmt: skip
    body = made["body"]
    if isinstance(body, dict):
        body = urlencode(body, doseq=True)
        headers.setdefault("content-type", "application/x-www-form-urlencoded; charset=utf-8")
    path, _, fixed = made["url_path"].partition("?")  # The fixed query of an operation: `?uploads`.
    query = "&".join(filter(None, (fixed, urlencode(made["query_string"] or {}, doseq=True))))
    if "authPath" in model.http:
        # Clients of S3 take the bucket out of the paths of their model, to write it into the host.
        path = f"/{params['Bucket']}{'' if path == '/' else path}"
    content = body_of(body)
    if model.http_checksum_required or (getattr(model, "http_checksum", None) or {}).get("requestChecksumRequired"):
        digest = hashlib.md5(content, usedforsecurity=False).digest()
        headers["content-md5"] = base64.b64encode(digest).decode()
    headers |= _checksum(model, params, content, headers)
    return HttpRequest(made["method"], path, query, headers, content)


def _checksum(
    model: botocore.model.OperationModel, params: Params, content: bytes, headers: Mapping[str, str]
) -> dict[str, str]:  # fmt: skip
    """The checksum that botocore adds to a body for the algorithm that is asked for, unless it is given."""
    named = (getattr(model, "http_checksum", None) or {}).get("requestAlgorithmMember")
    algorithm = str(params.get(named, "")).lower() if named else ""
    kind = _CHECKSUMS.get(algorithm)
    header = f"x-amz-checksum-{algorithm}"
    return {} if kind is None or header in headers else {header: kind().handle(content)}


def _concluded(asked: Asked, response: HttpResponse, parsed: dict[str, object]) -> object:
    """The steps of botocore after it has parsed an answer."""
    service = asked.client.meta.service_model.service_id.hyphenize()
    asked.client.meta.events.emit(
        f"after-call.{service}.{asked.call.operation}",
        http_response=_known_response(response),
        parsed=parsed, model=_operation(asked), context={},
    )  # fmt: skip
    if response.status >= 300:
        raise _client_error(asked, parsed)
    return parsed


@functools.lru_cache(_KEPT_MAX)
def _known_response(response: HttpResponse) -> AWSResponse:
    made = AWSResponse(ENDPOINT_URL, response.status, dict(response.headers), io.BytesIO(response.body))
    vars(made)["_content"] = response.body  # Otherwise it is read by what urllib3 has, and BytesIO has not.
    return made


def _parsed(model: botocore.model.OperationModel, response: HttpResponse) -> dict[str, object]:
    """The answer as botocore parses it; the caller may modify the result."""
    text = _known_answer(model, response)
    if text is None:
        return _read(model, response)
    return cast("dict[str, object]", marshal.loads(text))  # noqa: S302 - this process has written it.


@functools.lru_cache(_KEPT_MAX)
def _known_answer(model: botocore.model.OperationModel, response: HttpResponse) -> bytes | None:
    return _plain_text(_read(model, response))


def _read(model: botocore.model.OperationModel, response: HttpResponse) -> dict[str, object]:
    parser = _parser(_protocol_of(model.service_model))
    document: dict[str, object] = {
        "headers": HeadersDict(dict(response.headers)), "status_code": response.status, "body": response.body,
        "context": {"operation_name": model.name},
    }  # fmt: skip
    is_error = response.status >= 300
    if model.has_streaming_output and not is_error:
        document["body"] = StreamingBody(io.BytesIO(response.body), len(response.body))
    parsed: dict[str, object] = parser.parse(document, model.output_shape)
    code = parsed.get("Error", {}).get("Code") if is_error else None  # type: ignore[attr-defined]
    shape = model.service_model.shape_for_error_code(code) if code else None
    if shape is not None:
        parsed.update(parser.parse(document, shape))
    return parsed


def _guessed(asked: Asked, answer: Params) -> dict[str, object] | None:
    """A made-up answer in place of the engine's, which the user is told of; None if the engine's stands."""
    guessed = guessed_answer(asked.call, answer, _operation(asked).output_shape)
    if guessed is None:
        return None
    asked.guessed()
    return dict(guessed)


def _plain_text(document: object) -> bytes | None:
    """The whole content of a document of plain values as text; None for a document with dates, files or similar."""
    try:
        return marshal.dumps(document, _MARSHAL_VERSION)  # type: ignore[arg-type] # It raises for any other type.
    except ValueError:
        return None


def _outside_answer(asked: Asked) -> object:
    if asked.way is Way.REFUSED:
        error = throttle_of(asked.call)
        raise _client_error(asked, {"Error": {"Code": error.code, "Message": error.message}})
    shape = _operation(asked).output_shape
    answer: Params = {}
    for serial in range(2 if asked.way is Way.RETRIED else 1):
        given = asked.given.reply(asked.call.service, asked.call.operation)
        answer = made_up_answer(asked.call, shape, serial, asked.read(), given)
        if asked.way is Way.PARTLY:
            answer = with_last_refused(asked.call, answer)
        asked.noted(answer)
    if asked.way is Way.LOST:
        raise ConnectionClosedError(endpoint_url=ENDPOINT_URL)
    return answer


def _client_error(asked: Asked, parsed: Mapping[str, object]) -> ClientError:
    error = parsed.get("Error")
    code = error.get("Code") if isinstance(error, dict) else None
    made: ClientError = asked.client.exceptions.from_code(code)(parsed, asked.call.operation)
    return made


def _operation(asked: Asked) -> botocore.model.OperationModel:
    return asked.client.meta.service_model.operation_model(asked.call.operation)


@functools.cache
def _serializer(protocol: str) -> botocore.serialize.Serializer:
    return botocore.serialize.create_serializer(protocol, include_validation=False)


@functools.cache
def _parser(protocol: str) -> botocore.parsers.ResponseParser:
    return botocore.parsers.create_parser(protocol)
