"""The certificate of a store's signatures, which whoever gets a signed message fetches without signing the request."""

from __future__ import annotations

from dataclasses import dataclass

from redrive.core.scope import Caller
from redrive.delivery.web import CERTIFICATE, WebAnswer, WebCall, web_answer
from redrive.engine.engine import Engine
from redrive.gateway.function_urls import UrlExchange
from redrive.store.api import Transaction
from redrive.wire.message import HttpRequest

CERTIFICATE_PATH = "/SimpleNotificationService-"
_PEM = [("content-type", "application/x-pem-file")]


@dataclass(frozen=True, slots=True)
class CertificateExchange(UrlExchange):
    """A request for a certificate: run `step` in a transaction, then send `response` of its answer."""

    def step(self, tx: Transaction) -> WebAnswer:
        """The certificate of this path, as a step of the store."""
        found = tx.facts.get(f"{CERTIFICATE}{self.call.path}")
        return web_answer(404, [("content-type", "text/plain")], b"") if found is None else web_answer(200, _PEM, found)


def is_for_certificate(request: HttpRequest) -> bool:
    """Whether a request asks for a certificate. This is cheap: every request is asked."""
    return request.path.startswith(CERTIFICATE_PATH) and request.method in ("GET", "HEAD")


def certificate_exchange(request: HttpRequest, engine: Engine, caller: Caller) -> CertificateExchange:
    """Build the exchange of a request for a certificate."""
    call = WebCall(
        url_id="", method=request.method, path=request.path, query="", headers={}, body=b"", caller=caller,
        is_signed=False, page="",
    )  # fmt: skip
    return CertificateExchange(call, engine)
