"""Requests from the Web: to the URLs of functions, and of pages to buckets; what the gateway passes on and sends.

The gateway knows no services, and services know no HTTP server: this module is the border between them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from redrive.core.documents import Document
from redrive.core.errors import ServiceError
from redrive.core.scope import Caller
from redrive.delivery.operation import Outside
from redrive.delivery.outside.invocation import Invocation, InvocationResult
from redrive.store.api import Transaction


@dataclass(frozen=True, slots=True)
class WebCall:
    """A request to the URL with the id `url_id`. `path` and `query` are percent-encoded; header names in lower case.

    `caller` has the request's id; `is_signed`: the caller signed the request, and may be trusted to be the caller.
    `page` is the origin of the web page that made a browser send the request: empty if none did, `null` if the browser
    does not say which page.
    """

    url_id: str
    method: str
    path: str
    query: str
    headers: Mapping[str, str]
    body: bytes
    caller: Caller
    is_signed: bool = False
    page: str = ""


WebAnswer = Document
"""`Status`, `Headers` (a list of pairs) and `Body` (bytes)."""


class WebPieces(Protocol):
    """Makes of the pieces of a function's answer the head of the response, and the pieces of its body."""

    def begin(self, content_type: str) -> None:
        """The function begins to answer with this type."""
        ...

    def feed(self, piece: bytes) -> tuple[WebAnswer | None, bytes]:
        """The head, if this piece completes the head, and what is of the body."""
        ...

    def end(self) -> tuple[WebAnswer | None, bytes]:
        """The same, after the last piece."""
        ...


@dataclass(frozen=True, slots=True)
class StreamedWeb:
    """Run the invocation, and send on what it gives. `resume` answers if the function has not begun an answer."""

    invocation: Invocation
    pieces: WebPieces
    resume: Callable[[Transaction, InvocationResult], WebAnswer]


ServeUrl = Callable[[Transaction, WebCall], "WebAnswer | Outside | StreamedWeb | ServiceError"]
"""Answers a request to a function's URL, as a step. Errors are answers, not exceptions."""


def web_answer(status: int, headers: list[tuple[str, str]], body: bytes) -> WebAnswer:
    """Build an answer."""
    return {"Status": status, "Headers": headers, "Body": body}


def no_urls(
    tx: Transaction,  # noqa: ARG001 - the signature of every ServeUrl.
    call: WebCall,
) -> WebAnswer:
    """The ServeUrl of an engine without functions."""
    return web_answer(404, [("content-type", "text/plain")], f"There is no function URL {call.url_id}.".encode())


CERTIFICATE = "signing.certificate"
"""The fact of a store that holds the certificate of its signatures. With a path behind it: what the gateway serves."""


@dataclass(frozen=True, slots=True)
class BucketPage:
    """What a web page asks of a bucket. `named` has the buckets that may be meant, and whether an object in it is.

    For a preflight, `method` and `headers` are those of the request that the page wants to send.
    """

    named: tuple[tuple[str, bool], ...]
    origin: str
    method: str
    headers: tuple[str, ...] = ()
    is_preflight: bool = False


PageHeaders = tuple[tuple[str, str], ...]
"""The headers of an answer that a page may read."""

JudgePage = Callable[[Transaction, BucketPage], "PageHeaders | ServiceError | None"]
"""Says whether a page may use a bucket: by headers. An error refuses a preflight; None leaves the page refused."""


def no_pages(
    tx: Transaction,  # noqa: ARG001 - the signature of every JudgePage.
    page: BucketPage,  # noqa: ARG001
) -> PageHeaders | ServiceError | None:
    """The JudgePage of an engine without buckets."""
    return None
