"""Requests to function URLs: which URL is meant, who calls, and the bytes of the answer. Knows no services.

Host: <id>.lambda-url.<region>.<this server, or on.aws>      the form of AWS
/_redrive/function-url/<id>/…                                where such names are not resolved
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from redrive.core.errors import ServiceError
from redrive.core.scope import Caller
from redrive.delivery.operation import Outside
from redrive.delivery.web import StreamedWeb, WebAnswer, WebCall
from redrive.engine.engine import Engine
from redrive.store.api import Transaction
from redrive.wire.message import HttpRequest, HttpResponse

URL_PATH = "/_redrive/function-url/"
_MARK = ".lambda-url."
_HOST = re.compile(r"([0-9a-z]{32})\.lambda-url\.[a-z0-9-]+\.(.+)")
_NEUTRAL = {"sec-fetch-mode": "cors", "sec-fetch-dest": "empty"}
_TRACE_HEADER = "x-amzn-trace-id"
AWS_DOMAIN = "on.aws"


@dataclass(frozen=True, slots=True)
class UrlTarget:
    """The id of a function URL, and the path below it. `host` is the server's part of the Host."""

    url_id: str
    path: str
    host: str


@dataclass(frozen=True, slots=True)
class UrlExchange:
    """A request to a function URL: run `step` in a transaction, then send `response` of its answer."""

    call: WebCall
    engine: Engine
    user_key: str = ""

    @property
    def caller(self) -> Caller:
        """The caller, for the request's id."""
        return self.call.caller

    def step(self, tx: Transaction) -> WebAnswer | Outside | StreamedWeb | ServiceError:
        """The request, as a step of the store."""
        call = self.call
        if self.user_key:
            call = replace(call, caller=tx.services.user_of(tx, call.caller, self.user_key, "lambda"))
        return self.engine.serve_url(tx, call)

    def response(self, answer: Mapping[str, object]) -> HttpResponse:
        """The answer as the server sends it."""
        headers = [(str(name), str(value)) for name, value in answer["Headers"]]  # type: ignore[attr-defined]
        headers.append(("x-amzn-requestid", self.caller.request_id))
        body = answer["Body"]
        assert isinstance(body, bytes), "services answer in bytes"
        return HttpResponse(int(str(answer["Status"])), tuple(headers), body)


def may_be_url(request: HttpRequest) -> bool:
    """Whether a request may be one to a function URL. This is cheap: every request is asked."""
    path, host = request.path, request.headers.get("host")
    return (path != "/" and path.startswith(URL_PATH)) or (host is not None and _MARK in host)


def url_target(request: HttpRequest) -> UrlTarget | None:
    """The function URL that a request is for; None for another request."""
    if request.path.startswith(URL_PATH):
        url_id, _, path = request.path.removeprefix(URL_PATH).partition("/")
        return UrlTarget(url_id, f"/{path}", request.headers.get("host", ""))
    match = _HOST.fullmatch(request.headers.get("host", "").lower())
    return None if match is None else UrlTarget(match[1], request.path or "/", match[2])


def page_of(headers: Mapping[str, str]) -> str:
    """The origin of the web page that made a browser send a request; empty if none did, `null` if it is unknown.

    A URL that a person typed comes from no page.
    """
    if "origin" in headers:
        return headers["origin"]
    if "sec-fetch-site" in headers:
        return "" if headers["sec-fetch-site"] == "none" else "null"
    # Browsers from before 2023 send no Sec-Fetch-Site; only User-Agent tells of them.
    if "referer" in headers or headers.get("user-agent", "").startswith("Mozilla/"):
        return "null"
    return "" if all(headers.get(name, neutral) == neutral for name, neutral in _NEUTRAL.items()) else "null"


def is_signed(request: HttpRequest) -> bool:
    """Whether a request has AWS's signature. Other authorization is the function's own matter."""
    return request.headers.get("authorization", "").startswith("AWS4-") or "X-Amz-Signature=" in request.query


def url_exchange(
    request: HttpRequest, target: UrlTarget, engine: Engine, caller: Caller, *, user_key: str = ""
) -> UrlExchange:
    """Build the exchange of a request whose caller is known."""
    if _TRACE_HEADER in request.headers:
        caller = replace(caller, trace_header=request.headers[_TRACE_HEADER])
    call = WebCall(
        url_id=target.url_id, method=request.method, path=target.path, query=request.query, headers=request.headers,
        body=request.body, caller=caller, is_signed=is_signed(request), page=page_of(request.headers),
    )  # fmt: skip
    return UrlExchange(call, engine, user_key)
