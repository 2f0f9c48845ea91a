"""The stages of a request, from bytes to bytes:

    route      which service, operation and protocol             wire.route
    identify   the caller, and whether the signature is genuine  identity
    decode     parameters                                        wire codec
    validate   the constraints that AWS checks                   wire.validate
    run        the operation, in a transaction                   engine
               (an unsupported operation: only an authorized caller is told so)
    encode     the answer, or the error                          wire codec

No sockets and no event loop here: `app` serves this over HTTP, and `redrive.testing` calls it in process.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from dataclasses import dataclass

from redrive.core.documents import Document
from redrive.core.entropy import Entropy, new_row_id
from redrive.core.errors import Bug, Conflict, Doubtful, ServiceError, Unavailable, UserError
from redrive.core.log import Log
from redrive.core.scope import ANONYMOUS, LOCAL_IP, Caller, Scope
from redrive.delivery.bodies import Received
from redrive.delivery.operation import Answer, EventStream, StreamedOutside
from redrive.delivery.web import StreamedWeb
from redrive.engine.engine import Engine
from redrive.engine.registry import Entry, Unserved
from redrive.gateway.certificates import certificate_exchange, is_for_certificate
from redrive.gateway.downloads import read_content
from redrive.gateway.function_urls import (
    UrlExchange,
    UrlTarget,
    is_signed,
    may_be_url,
    url_exchange,
    url_target,
)
from redrive.gateway.identity import Identity, Signer
from redrive.gateway.object_bodies import brings_bytes, brings_form, form_plan, plan_of
from redrive.gateway.uploads import Plan
from redrive.store.api import Transaction
from redrive.store.bodies import Bodies, RowBodies
from redrive.wire.message import HttpRequest, HttpResponse
from redrive.wire.model.files import Models
from redrive.wire.protocols.codec import OpenedStream, StreamingCodec
from redrive.wire.protocols.compression import accepts_gzip, compressed
from redrive.wire.protocols.query import QueryCodec
from redrive.wire.protocols.rest_xml import RestXmlCodec
from redrive.wire.protocols.s3_errors import without_body
from redrive.wire.route import Route, Router, Unroutable, route_of_stranger
from redrive.wire.s3_body import unchunked
from redrive.wire.s3_form import FormCodec, as_put, is_form, read_form

TRACE_HEADER = "x-amzn-trace-id"
"""The header that passes X-Ray's trace from service to service."""


NOBODY = Scope(ANONYMOUS, "us-east-1")
"""The account of a request to a function URL that nobody signed."""


_ONLY_BUCKET = frozenset({"Bucket"})


@dataclass(frozen=True, slots=True)
class Exchange:
    """A decoded request: run `step` in a transaction, then have the gateway `answer`.

    With a `user_key` the caller is known only in the step: the user who owns this access key at that moment.
    """

    route: Route
    entry: Entry | Unserved
    caller: Caller
    params: Mapping[str, object]
    engine: Engine
    headers: Mapping[str, str]
    user_key: str = ""
    accepts_gzip: bool = False

    def step(self, tx: Transaction) -> Answer | ServiceError:
        """The operation, as a step of the store."""
        caller = self.caller
        if self.user_key:
            caller = tx.services.user_of(tx, caller, self.user_key, self.route.service.spec.signing_name)
        if isinstance(self.entry, Unserved):
            self.entry.refuse(tx, caller, self.params)
        return self.engine.registry.run_client(self.entry, tx, caller, self.params, self.headers)


class Gateway:
    """Decodes requests and writes answers."""

    def __init__(
        self, engine: Engine, models: Models, *, identity: Identity, entropy: Entropy, log: Log,
        bodies: Bodies | None = None,
    ) -> None:  # fmt: skip
        """`bodies` are those of the store, for the answers of `respond`; without them, those in its rows."""
        self._engine = engine
        self._bodies = bodies or RowBodies(engine.run)
        self._router = Router(models)
        self._identity = identity
        self._entropy = entropy
        self._log = log

    def open(self, request: HttpRequest) -> Exchange | UrlExchange | HttpResponse:
        """Decode a request. If the request is refused, return the answer that says why."""
        request_id = new_row_id(self._entropy, self._identity.now)
        target = url_target(request) if may_be_url(request) else None
        if target is not None:
            return self._open_url(request, target, request_id)
        if is_for_certificate(request):
            return certificate_exchange(request, self._engine, Caller(NOBODY, request_id))
        try:
            route = self._router.route(request)
        except Unroutable as error:
            return self._unroutable(error, request, request_id)
        try:
            spec = route.service.spec
            is_xml = isinstance(route.codec, RestXmlCodec)
            if is_xml and is_form(request) and route.path_params.keys() == _ONLY_BUCKET:
                route, request, signer = self._open_form(route, request, request_id)
            elif is_xml:
                signer = self._identity.identify_for_s3(request, request_id)
            else:
                is_wordy = isinstance(route.codec, QueryCodec)
                signer = self._identity.identify(request, request_id, spec.signing_name, wordy=is_wordy)
            caller = signer.caller
            if TRACE_HEADER in request.headers:
                caller = dataclasses.replace(caller, trace_header=request.headers[TRACE_HEADER])
            if request.source_ip != LOCAL_IP:
                caller = dataclasses.replace(caller, source_ip=request.source_ip)
            if is_xml:
                request = unchunked(request, signer.chunks)
            params = route.decode(request)
            entry = self._entry(route, params)
            gzip = spec.compresses and accepts_gzip(request)
            return Exchange(route, entry, caller, params, self._engine, request.headers, signer.user_key, gzip)
        except ServiceError as error:
            return _encoded_error(route, error, request_id)

    def is_for(self, request: HttpRequest, service: str) -> bool:
        """Whether a request is for an operation of a service."""
        try:
            return self._router.route(request).service.spec.name == service
        except Unroutable:
            return False

    def plan_upload(self, head: HttpRequest) -> Plan | HttpResponse | None:
        """How to receive a large body: that of an object. None for any other body.

        What is not signed as it should be is refused before anything is written.
        """
        is_post = head.method == "POST"
        if (head.method != "PUT" and not is_post) or (may_be_url(head) and url_target(head) is not None):
            return None
        if is_post and not brings_form(head):
            return None
        try:
            route = self._router.route(head)
        except Unroutable:
            return None
        if not isinstance(route.codec, RestXmlCodec) or not brings_bytes(route.operation):
            return None
        request_id = new_row_id(self._entropy, self._identity.now)
        if is_post:
            is_to_bucket = route.path_params.keys() == _ONLY_BUCKET
            return form_plan(head, route.path_params["Bucket"], self._identity, request_id) if is_to_bucket else None
        try:
            announced = dataclasses.replace(head, received=Received(0, b""))
            signer = self._identity.identify_for_s3(announced, request_id)
        except ServiceError as error:
            return _encoded_error(route, error, request_id)
        if self._identity.requires_signatures and signer.caller.scope.account == ANONYMOUS:
            return None  # Strangers do not fill the disk: they may bring what fits into memory.
        return plan_of(head, signer.chunks)

    def _open_form(self, route: Route, request: HttpRequest, request_id: str) -> tuple[Route, HttpRequest, Signer]:
        """Read a form that brings an object to S3: the route and the request of the same PutObject, and the signer."""
        form = read_form(request, route.path_params["Bucket"])
        signer = self._identity.identify_form(form, request, request_id)
        codec = FormCodec(route.codec, form, f"http://{signer.caller.host}")
        route = dataclasses.replace(route, codec=codec, path_params={"Bucket": form.bucket, "Key": form.key})
        return route, as_put(form, request), signer

    def _open_url(self, request: HttpRequest, target: UrlTarget, request_id: str) -> UrlExchange | HttpResponse:
        """Identify who calls a function URL. What the URL itself decides is known in the step."""
        if not is_signed(request):
            return url_exchange(request, target, self._engine, Caller(NOBODY, request_id))
        try:
            signer = self._identity.identify(request, request_id, "lambda")
        except ServiceError as error:
            return json_response(403, {"Message": error.message})
        return url_exchange(request, target, self._engine, signer.caller, user_key=signer.user_key)

    def _unroutable(self, error: Unroutable, request: HttpRequest, request_id: str) -> Exchange | HttpResponse:
        """The answer to a request for no operation; a role or user is first asked whether they might call it."""
        asked = error.asked
        if asked is None:
            answer = error.codec.encode_error(error, request_id)
            return without_body(answer) if request.method == "HEAD" else answer
        try:
            signer = self._identity.identify(request, request_id, asked.service)
        except ServiceError as refused:
            return error.codec.encode_error(refused, request_id)
        if signer.caller.is_account and not signer.user_key:
            return error.codec.encode_error(error, request_id)
        unserved = Unserved(asked.service, asked.operation, error)
        route = route_of_stranger(asked, error.codec)
        return Exchange(route, unserved, signer.caller, asked.params, self._engine, request.headers, signer.user_key)

    def _entry(self, route: Route, params: Mapping[str, object]) -> Entry | Unserved:
        """The operation, once its parameters are valid. Errors: ServiceError, in AWS's words, if they are not."""
        registry = self._engine.registry
        try:
            entry = registry.entry(route.service.name, route.operation.name)
        except Unserved as unserved:
            return unserved
        registry.check(entry, params)
        return entry

    def answer(self, exchange: Exchange | UrlExchange, result: Document | BaseException) -> HttpResponse:
        """The answer to an exchange, from its result or from the exception that the step raised."""
        if isinstance(exchange, UrlExchange):
            return self._answer_url(exchange, result)
        route, request_id = exchange.route, exchange.caller.request_id
        if not isinstance(result, BaseException):
            try:
                answer = route.codec.encode(route.operation, result, request_id)
                return compressed(answer) if exchange.accepts_gzip else answer
            except Exception as error:  # noqa: BLE001 - a result that cannot be encoded is our defect.
                result = error
        return _encoded_error(route, self._service_error(route, result, request_id), request_id)

    def _answer_url(self, exchange: UrlExchange, result: Document | BaseException) -> HttpResponse:
        if not isinstance(result, BaseException):
            return exchange.response(result)
        if isinstance(result, ServiceError):
            return json_response(403 if result.fault == "client" else 500, {"Message": result.message})
        self._log.error("request failed", request_id=exchange.caller.request_id, operation="url", error=repr(result))
        return json_response(503 if isinstance(result, Conflict | Unavailable) else 500, {"Message": "Internal Error"})

    def respond(self, request: HttpRequest) -> HttpResponse:
        """The whole chain at once, in the caller's thread. A long poll returns what is there now, without waiting."""
        exchange = self.open(request)
        if isinstance(exchange, HttpResponse):
            return exchange
        try:
            answer = self._whole(exchange)
            if answer.content is not None:
                body = read_content(self._bodies, answer.content)
                return dataclasses.replace(answer, body=body, content=None)
            return answer
        except (ServiceError, Conflict, UserError) as error:
            return self.answer(exchange, error)

    def _whole(self, exchange: Exchange | UrlExchange) -> HttpResponse:
        """Run an exchange to the end of its answer, also of one that could go on."""
        if isinstance(exchange, UrlExchange):
            served = self._engine.run(exchange.step)
            whole = self._engine.served(served) if isinstance(served, StreamedWeb) else self._engine.conclude(served)
            return self.answer(exchange, whole)
        answer = self._engine.awaited(exchange.step)
        if isinstance(answer, StreamedOutside):
            answer = self._engine.streamed(answer)
        if not isinstance(answer, EventStream):
            return self.answer(exchange, self._engine.conclude(answer))
        stream = self._engine.finished(answer)
        opened = self.open_stream(exchange, stream.members)
        body = b"".join((opened.head.body, *map(opened.events.event, stream.events)))
        return HttpResponse(opened.head.status, opened.head.headers, body)

    def open_stream(self, exchange: Exchange, members: Document) -> OpenedStream:
        """Begin an answer that is a stream of events. Errors: Bug (its protocol has no such answers)."""
        codec = exchange.route.codec
        if not isinstance(codec, StreamingCodec):
            raise Bug(f"{exchange.route.operation.name} answers with events, which {type(codec).__name__} cannot write")
        return codec.open_stream(exchange.route.operation, members, exchange.caller.request_id)

    def error_of(self, exchange: Exchange, error: object) -> ServiceError:
        """The error that ends a stream which has begun."""
        if not isinstance(error, BaseException):
            error = Bug(f"a step of a stream answered {type(error).__name__}")
        return self._service_error(exchange.route, error, exchange.caller.request_id)

    def _service_error(self, route: Route, error: BaseException, request_id: str) -> ServiceError:
        """The ServiceError for a failure that the caller did not cause."""
        match error:
            case ServiceError():
                return error
            case Conflict():
                return ServiceError(
                    "ServiceUnavailable", "The store is busy; try again.", http_status=503, fault="server"
                )
            case Unavailable():
                return ServiceError("ServiceUnavailable", str(error), http_status=503, fault="server")
            case Doubtful():
                self._log.warning("request in doubt", request_id=request_id, operation=route.operation.name)
                return ServiceError("InternalFailure", str(error), http_status=500, fault="server")
            case UserError():
                self._log.error(
                    "request failed", request_id=request_id, operation=route.operation.name, error=error.what
                )
                return ServiceError("InternalFailure", str(error), http_status=500, fault="server")
            case _:
                self._log.error(
                    "request failed", request_id=request_id, operation=route.operation.name, error=repr(error)
                )
                message = f"redrive failed to run {route.operation.name}: {error!r}. This is a defect of redrive."
                return ServiceError("InternalFailure", message, http_status=500, fault="server")


def _encoded_error(route: Route, error: ServiceError, request_id: str) -> HttpResponse:
    """The answer that says an error. HEAD has no body, so that its callers know no more than the status."""
    answer = route.codec.encode_error(error, request_id)
    return without_body(answer) if route.operation.method == "HEAD" else answer


def json_response(status: int, document: object) -> HttpResponse:
    """An answer of our own surfaces."""
    body = json.dumps(document, indent=2).encode() + b"\n"
    return HttpResponse(status, (("content-type", "application/json"),), body)
