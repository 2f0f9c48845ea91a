"""HTTP messages as values: what a server hands to the wire, and what it sends back.

No sockets, no server framework: any HTTP server can build the one and send the other.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """One request. `path` and `query` are as they came, percent-encoded; names of `headers` are in lower case."""

    method: str
    path: str
    query: str
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True, slots=True)
class HttpResponse:
    """One answer. The server adds Content-Length, Date and what else is its own affair."""

    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes
