"""Who may use our own surface, `/_redrive/`: in front of `admin`, as `identity` is in front of AWS's operations.

GET /_redrive/health            everybody
GET /_redrive/blobs/DIGEST      whoever has a URL that GetFunction gave, until it expires
PUT /_redrive/answers/TOKEN     whoever has a URL that a stack gave, until it expires
all others                      where signatures are required: whoever signs for the service `redrive` with a key of
                                the server's own account, and may do `redrive:Administer` there
"""

from __future__ import annotations

import hmac
from collections.abc import Callable
from urllib.parse import parse_qsl

from redrive.core.clock import Clock
from redrive.core.entropy import Entropy, new_uuid
from redrive.core.errors import ServiceError
from redrive.engine.engine import Runner
from redrive.gateway.admin import BLOBS_PATH, Admin
from redrive.gateway.admin_stacks import ANSWERS_PATH
from redrive.gateway.chain import json_response
from redrive.gateway.guard import HEALTH_PATH
from redrive.gateway.identity import Identity, Signer
from redrive.store.api import Transaction
from redrive.wire.message import HttpRequest, HttpResponse

SIGNING_NAME = "redrive"
ACTION = "redrive:Administer"
_READS = ("GET", "HEAD")

_NEXT = (
    "Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY to a key that the server was given by --key or REDRIVE_KEYS; "
    "redrive env prints them."
)


class IdentifiedAdmin:
    """Answers requests to `/_redrive/…` of those who may make them. Blocking: call it in a thread of its own."""

    def __init__(
        self, admin: Admin, identity: Identity, *, run: Runner, account: str, clock: Clock, entropy: Entropy
    ) -> None:
        """`account` is the server's own; `clock` is the engine's."""
        self._admin = admin
        self._identity = identity
        self._run = run
        self._account = account
        self._clock = clock
        self._entropy = entropy

    def respond(self, request: HttpRequest, *, is_wanted: Callable[[], bool] = lambda: True) -> HttpResponse:
        """Answer one request; see `Admin.respond`."""
        if request.method in _READS and request.path.startswith(BLOBS_PATH):
            return self._admin.respond(request) if self._is_signed_url(request) else _refused_url()
        if request.method == "PUT" and request.path.startswith(ANSWERS_PATH):
            return self._admin.respond(request) if self._is_signed_url(request) else _refused_answer()
        is_health = request.method in _READS and request.path == HEALTH_PATH
        if self._identity.requires_signatures and not is_health:
            try:
                self._authorize(request)
            except ServiceError as error:
                return json_response(403, {"error": error.message, "code": error.code, "next": _NEXT})
        return self._admin.respond(request, is_wanted=is_wanted)

    def _authorize(self, request: HttpRequest) -> None:
        """Errors: ServiceError: the signature is not genuine, or its signer may not administer this server."""
        signer = self._identity.identify(request, new_uuid(self._entropy), SIGNING_NAME)
        self._run(lambda tx: self._check(tx, signer))

    def _check(self, tx: Transaction, signer: Signer) -> None:
        caller = signer.caller
        if signer.user_key:
            caller = tx.services.user_of(tx, caller, signer.user_key, SIGNING_NAME)
        if caller.account != self._account:
            message = f"{caller.principal_arn} is not of the account {self._account}, to which this server belongs."
            raise ServiceError("AccessDeniedException", message)
        tx.services.authorize(tx, caller, ACTION, "*")

    def _is_signed_url(self, request: HttpRequest) -> bool:
        """Whether this is a URL that GetFunction gave, and still good."""
        given = dict(parse_qsl(request.query))
        expires = given.get("Expires", "")
        if not (expires.isascii() and expires.isdecimal() and len(expires) < 16) or int(expires) <= self._clock.now():
            return False
        expected = self._identity.issuer.sign_path(request.path, int(expires))
        return hmac.compare_digest(expected.encode(), given.get("Signature", "").encode())


def _refused_answer() -> HttpResponse:
    message = "This URL is not one that a stack gave, or it has expired."
    return json_response(403, {"error": message, "next": "Answer to the ResponseURL of the latest request."})


def _refused_url() -> HttpResponse:
    message = "This URL is not one that GetFunction gave, or it has expired."
    return json_response(
        403, {"error": message, "next": "Ask GetFunction for its Location; it is good for 10 minutes."}
    )
