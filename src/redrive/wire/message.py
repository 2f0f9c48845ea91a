"""HTTP messages as values: the request that a server passes to the wire, and the answer that it sends.

No sockets, no server framework: any HTTP server can make a request and send an answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from redrive.core.scope import LOCAL_IP
from redrive.delivery.bodies import Content, Received


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """One request. `path` and `query` are percent-encoded, as received; names of `headers` are in lower case.

    A large body of an object is not in `body`: it is `received` already. `source_ip` is the client's address.
    """

    method: str
    path: str
    query: str
    headers: Mapping[str, str]
    body: bytes
    received: Received | None = None
    source_ip: str = LOCAL_IP


@dataclass(frozen=True, slots=True)
class HttpResponse:
    """One answer. The server adds its own headers, such as Content-Length and Date.

    With `content`, the body is read from the store and sent piece by piece; `body` is empty then.
    """

    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes
    content: Content | None = None
