"""Converts between botocore's HTTP messages and ours, for clients whose requests are answered in their own process.

This module makes no client: code that sits between a client and its connection converts with these functions.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from urllib.parse import urlsplit

from botocore.awsrequest import AWSPreparedRequest, AWSResponse

from redrive.wire.message import HttpRequest, HttpResponse
from redrive.wire.s3_route import s3_host


def request_of(request: AWSPreparedRequest, *, reached_by: str = "") -> HttpRequest:
    """The request that botocore is about to send, as a server would receive it; with the URL `reached_by`, if given.

    Answers contain addresses, such as a queue's URL, with the host of the request.
    """
    url = urlsplit(str(request.url))
    headers = {name.lower(): _text(value) for name, value in request.headers.items()}
    headers.setdefault("host", url.netloc)
    path = url.path or "/"
    if reached_by:
        # The other host would hide which bucket a client without an endpoint of its own has written into the name.
        s3 = s3_host(headers["host"])
        path = f"/{s3.bucket}{path}" if s3.bucket and s3.is_sure else path
        headers["host"] = urlsplit(reached_by).netloc
    return HttpRequest(str(request.method), path, url.query, headers, body_of(request.body))


def body_of(body: object) -> bytes:
    """The bytes of a body in any form that botocore takes: bytes, text or file; s3transfer's parts only read."""
    read = getattr(body, "read", None)
    if read is not None:
        body = read()
    if isinstance(body, str):
        return body.encode()
    return bytes(body) if isinstance(body, bytes | bytearray) else b""


def response_to(request: AWSPreparedRequest, response: HttpResponse) -> AWSResponse:
    """An answer as botocore receives it."""
    return AWSResponse(str(request.url), response.status, dict(response.headers), _Raw(response.body))


def _text(value: object) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)


class _Raw(io.BytesIO):
    """The part of urllib3's response that botocore needs: a stream of the body."""

    def stream(self, amount: int = 65_536, **_: object) -> Iterator[bytes]:
        """The body, in pieces."""
        while piece := self.read(amount):
            yield piece
