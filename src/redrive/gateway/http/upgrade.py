"""Requests that ask for another protocol. The server ignores that, as HTTP allows, and reads the whole request.

A parser that has seen an upgrade treats all further bytes as the other protocol, and would treat the body as a new
request. So another parser reads on, from a head without the wish for an upgrade.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import httptools

from redrive.gateway.http.text import method_name


class Receiver(Protocol):
    """The callbacks of a parser of httptools."""

    def on_message_begin(self) -> None:
        """A request begins."""
        ...

    def on_url(self, url: bytes) -> None:
        """A part of its target."""
        ...

    def on_header(self, name: bytes, value: bytes) -> None:
        """A header, or a trailer."""
        ...

    def on_headers_complete(self) -> None:
        """The end of its head."""
        ...

    def on_body(self, piece: bytes) -> None:
        """A part of its body."""
        ...

    def on_message_complete(self) -> None:
        """Its end."""
        ...


def head_without_upgrade(parser: httptools.HttpRequestParser, headers: Mapping[str, str]) -> bytes:
    """The head with which another parser reads the body of this request; empty if the request has no body."""
    method = method_name(parser.get_method())
    if "transfer-encoding" in headers:
        framing = "Transfer-Encoding: chunked"
    elif int(headers.get("content-length", 0)):
        framing = f"Content-Length: {headers['content-length']}"
    else:
        return b""
    version = parser.get_http_version()
    keeping = "close" if "close" in headers.get("connection", "").lower() else "keep-alive"
    return f"{method} / HTTP/{version}\r\nConnection: {keeping}\r\n{framing}\r\n\r\n".encode("latin-1")


class Resumed:
    """Passes the rest of a request from a parser to its connection, but not the head: the connection has it."""

    def __init__(self, receiver: Receiver) -> None:
        self._receiver = receiver
        self._is_past_head = False

    def on_message_begin(self) -> None:
        """Skip the first message, whose head is known already."""
        if self._is_past_head:
            self._receiver.on_message_begin()

    def on_url(self, url: bytes) -> None:
        """See on_message_begin."""
        if self._is_past_head:
            self._receiver.on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        """See on_message_begin."""
        if self._is_past_head:
            self._receiver.on_header(name, value)

    def on_headers_complete(self) -> None:
        """See on_message_begin."""
        if self._is_past_head:
            self._receiver.on_headers_complete()
        self._is_past_head = True

    def on_body(self, piece: bytes) -> None:
        """All bodies are the connection's."""
        self._receiver.on_body(piece)

    def on_message_complete(self) -> None:
        """See on_body."""
        self._receiver.on_message_complete()
