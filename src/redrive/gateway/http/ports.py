"""The interface between the HTTP server and the handler of its requests."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Protocol

from redrive.wire.message import HttpRequest, HttpResponse


class Body(Protocol):
    """The body of an answer that is sent in pieces, on the event loop's thread. Ends by `end` or `abort`."""

    @property
    def is_wanted(self) -> bool:
        """Whether the caller is still connected, and the body has not ended."""
        ...

    @property
    def is_ready(self) -> bool:
        """Whether the caller has read most of what was written. If not, wait before more is written."""
        ...

    @property
    def is_stopping(self) -> bool:
        """Whether the server wants to end."""
        ...

    def write(self, piece: bytes) -> None:
        """Send one more piece. It is no error if the caller has gone."""
        ...

    def end(self) -> None:
        """End the answer: it is complete."""
        ...

    def abort(self) -> None:
        """End the answer where it is, by closing the connection: the caller sees that it is not complete."""
        ...

    def changed(self) -> asyncio.Future[None]:
        """A future that is done when the next of the three questions above has another answer."""
        ...


class Reply(Protocol):
    """Where the answer to one request goes."""

    @property
    def is_wanted(self) -> bool:
        """Whether the caller is still connected."""
        ...

    def send(self, response: HttpResponse) -> None:
        """Answer, once, on the event loop's thread. It is no error if the caller has gone."""
        ...

    def begin(self, head: HttpResponse) -> Body:
        """Begin an answer whose body comes in pieces, in place of `send`; the first piece is the body of `head`."""
        ...


Handler = Callable[[HttpRequest, Reply], None]
"""Begins to answer a request; must not block."""
