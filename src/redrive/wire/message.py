"""HTTP messages as values: the request that a server passes to the wire, and the answer that it sends.

No sockets, no server framework: any HTTP server can make a request and send an answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """One request. `path` and `query` are percent-encoded, as received; names of `headers` are in lower case."""

    method: str
    path: str
    query: str
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True, slots=True)
class HttpResponse:
    """One answer. The server adds its own headers, such as Content-Length and Date."""

    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes
