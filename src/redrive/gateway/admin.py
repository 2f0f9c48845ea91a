"""Our own surface of a server, under `/_redrive/`: the chain of `chain`, with these differences.

    route      by method and path, HEAD as GET
    identify   GET of health needs no signature; GET of a blob and PUT of an answer need a signed URL, which
               GetFunction or a stack gives and which expires; all others are signed as on AWS's port, for `redrive`
    decode     wire.own, whose errors name the refused parameter
    run        an operation of the service `redrive`, which checks the permission
               `redrive:OPERATION` itself; work that needs the node runs after the transaction

Documented in docs/reference/admin.md, which is generated from the service's model.
"""

from __future__ import annotations

import hmac
from urllib.parse import parse_qsl

from redrive.core.clock import Clock
from redrive.core.documents import Document
from redrive.core.entropy import Entropy, new_uuid
from redrive.core.errors import Bug, Conflict, ServiceError, UserError
from redrive.core.scope import Caller, Scope
from redrive.delivery.node import Node
from redrive.delivery.operation import (
    Answer,
    Beforehand,
    ByNode,
    Digesting,
    EventStream,
    IsWanted,
    Outside,
    StreamedOutside,
    Wait,
)
from redrive.engine.engine import Runner
from redrive.engine.registry import Entry, Registry
from redrive.gateway.guard import HEALTH_PATH
from redrive.gateway.identity import DEFAULT_REGION, Identity, Signer
from redrive.store.api import Transaction
from redrive.wire.message import HttpRequest, HttpResponse
from redrive.wire.model.files import Models
from redrive.wire.model.shapes import OperationModel
from redrive.wire.protocols.own import NEXT, OwnCodec, usage
from redrive.wire.protocols.paths import PathTable
from redrive.wire.services import OWN_SERVICE

BLOBS_PATH = "/_redrive/blobs/"
ANSWERS_PATH = "/_redrive/answers/"
ASSETS_PATH = "/_redrive/assets/"

_READS = ("GET", "HEAD")
_KEY = (
    "Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY to a key that the server was given by --key or REDRIVE_KEYS; "
    "redrive env prints them."
)


class Admin:
    """Answers requests to `/_redrive/…`. Every request but health blocks: call it in a thread of its own."""

    def __init__(
        self, registry: Registry, models: Models, node: Node, identity: Identity, *, run: Runner, account: str,
        clock: Clock, entropy: Entropy,
    ) -> None:  # fmt: skip
        """`run` runs a step and awaits its commit; `account` is the server's own; `clock` is the engine's."""
        service = models.service(OWN_SERVICE.name)
        self._registry = registry
        self._operations = service.operations
        self._known = "There is: " + ", ".join(f"{one.method} {one.uri}" for one in self._operations.values()) + "."
        self._paths = PathTable(service.operations.values())
        self._codec = OwnCodec(service)
        self._node = node
        self._identity = identity
        self._run = run
        self._account = account
        self._clock = clock
        self._entropy = entropy

    def respond(self, request: HttpRequest, *, is_wanted: IsWanted = lambda: True) -> HttpResponse:
        """Answer one request. A long operation stops early if `is_wanted` says that the caller has gone."""
        request_id = new_uuid(self._entropy)
        if is_health(request):
            return self._health(request_id)
        try:
            signer = self._signer(request, request_id)
        except ServiceError as error:
            return self._refused(error, request_id, _KEY)
        # The server omits the body of an answer to HEAD.
        method = "GET" if request.method == "HEAD" else request.method
        found = self._paths.match(method, request.path, request.query) if _is_plain(request.path) else None
        if found is None:
            return self._refused(_unknown(request), request_id, self._known)
        operation, labels = found
        try:
            params = self._codec.decode(operation, request, labels)
            entry = self._registry.entry(OWN_SERVICE.name, operation.name)
            self._registry.check(entry, params)
            answer = self._run(lambda tx: self._step(tx, entry, signer, params))
            return self._codec.encode(operation, self._concluded(answer, is_wanted), request_id)
        except ServiceError as error:
            return self._refused(error, request_id, _next_step(error, operation))
        except Conflict:
            busy = ServiceError("ServiceUnavailable", "The store is busy.", http_status=503, fault="server")
            return self._refused(busy, request_id, "Try again.")
        except UserError as error:
            refused = ServiceError("ValidationException", error.what)
            return self._refused(refused, request_id, error.next_step)

    def _health(self, request_id: str) -> HttpResponse:
        """The answer of GetHealth, made without a transaction: a busy store does not delay it."""
        return self._codec.encode(self._operations["GetHealth"], self._node.health() | self._node.clock(), request_id)

    def _signer(self, request: HttpRequest, request_id: str) -> Signer:
        """The caller. Errors: ServiceError: the signature, or the signed URL, is not genuine."""
        given_by = _given_by(request)
        if given_by is not None:
            if not self._is_signed_url(request):
                giver, next_step = given_by
                message = f"This URL is not one that {giver} gave, or it has expired."
                raise ServiceError("AccessDeniedException", message, members={NEXT: next_step})
            return Signer(Caller(Scope(self._account, DEFAULT_REGION), request_id))
        return self._identity.identify(request, request_id, OWN_SERVICE.signing_name)

    def _is_signed_url(self, request: HttpRequest) -> bool:
        """Whether the server signed this URL, and the URL has not expired."""
        given = dict(parse_qsl(request.query))
        expires = given.get("Expires", "")
        if not (expires.isascii() and expires.isdecimal() and len(expires) < 16) or int(expires) <= self._clock.now():
            return False
        expected = self._identity.issuer.sign_path(request.path, int(expires))
        return hmac.compare_digest(expected.encode(), given.get("Signature", "").encode())

    def _step(self, tx: Transaction, entry: Entry, signer: Signer, params: Document) -> Answer:
        """The operation, as a step of the store."""
        caller = signer.caller
        if signer.user_key:
            caller = tx.services.user_of(tx, caller, signer.user_key, OWN_SERVICE.signing_name)
        # Without required signatures, a key of twelve digits makes its caller the root of that account.
        is_anybody = caller.is_account and not self._identity.requires_signatures
        if caller.account != self._account and not is_anybody:
            message = f"{caller.principal_arn} is not of the account {self._account}, to which this server belongs."
            raise ServiceError("AccessDeniedException", message, members={NEXT: _KEY})
        return self._registry.run(entry, tx, caller, params)

    def _concluded(self, answer: Answer, is_wanted: IsWanted) -> Document:
        match answer:
            case ByNode(perform):
                return perform(self._node, is_wanted)
            case Wait() | Outside() | Beforehand() | Digesting() | EventStream() | StreamedOutside():
                raise Bug("an operation of our own surface neither waits nor runs functions, nor answers with events")
            case ServiceError():
                raise answer
            case _:
                return answer

    def _refused(self, error: ServiceError, request_id: str, next_step: str) -> HttpResponse:
        said = {NEXT: next_step} | dict(error.members)
        told = ServiceError(error.code, error.message, http_status=error.http_status, fault=error.fault, members=said)
        return self._codec.encode_error(told, request_id)


def _given_by(request: HttpRequest) -> tuple[str, str] | None:
    """Who gives out signed URLs of this kind, and how to get a new URL; None for URLs that need no signature."""
    if request.method in _READS and request.path.startswith(BLOBS_PATH):
        return "GetFunction", "Ask GetFunction for its Location; it is good for 10 minutes."
    if request.method == "PUT" and request.path.startswith(ANSWERS_PATH):
        return "a stack", "Answer to the ResponseURL of the latest request."
    return None


def is_health(request: HttpRequest) -> bool:
    """Whether a request asks for health: everybody may ask, and the answer comes at once."""
    return request.path == HEALTH_PATH and request.method in _READS


def _unknown(request: HttpRequest) -> ServiceError:
    message = f"There is no {request.method} {request.path[:200]}."
    return ServiceError("UnknownOperationException", message, http_status=404)


def _is_plain(path: str) -> bool:
    """Whether no segment of a path is empty: a path with a trailing slash does not mean the collection."""
    return "//" not in path and not path.endswith("/")


def _next_step(error: ServiceError, operation: OperationModel) -> str:
    """The advice for an error that carries none of its own."""
    match error.code:
        case "AccessDeniedException":
            return f"Allow redrive:{operation.name} in a policy of theirs, or sign with a key of the account."
        case "UnrecognizedClientException":
            return _KEY
        case _:
            return usage(operation)
