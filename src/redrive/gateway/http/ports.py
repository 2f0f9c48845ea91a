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
    def is_bare(self) -> bool:
        """Whether the answer has no body, whatever is written: the answer to HEAD."""
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


class Upload(Protocol):
    """The body of a request that is not collected in memory. Used on the event loop's thread."""

    @property
    def is_full(self) -> bool:
        """Whether no more should be read from the connection, until `changed` is called."""
        ...

    @property
    def outcome(self) -> HttpRequest | HttpResponse | None:
        """After `end`: the request to handle, or the answer to one that is refused. None before that is known."""
        ...

    def feed(self, piece: bytes) -> None:
        """Take the next piece of the body."""
        ...

    def end(self) -> None:
        """Say that the body is complete."""
        ...

    def lose(self) -> None:
        """Say that the rest will not come, or that the request will not be handled."""
        ...

    def timed_out(self) -> HttpResponse:
        """Lose the upload, and return the answer to a client that was waited for too long."""
        ...

    def answered(self, status: int) -> None:
        """Say that the request was handled, and how it was answered."""
        ...


OpenUpload = Callable[[HttpRequest, Callable[[], None]], "Upload | HttpResponse | None"]
"""Judges the head of a request with a large body, or one of unknown length: an upload, a refusal, or None: as usual.

The function is called when the upload is not full any more, and when it has an outcome.
"""


def no_uploads(head: HttpRequest, changed: Callable[[], None]) -> None:
    """Every body is collected in memory."""


class Reply(Protocol):
    """Where the answer to one request goes."""

    @property
    def is_wanted(self) -> bool:
        """Whether the caller is still connected."""
        ...

    def send(self, response: HttpResponse) -> None:
        """Answer, once, on the event loop's thread. It is no error if the caller has gone."""
        ...

    def begin(self, head: HttpResponse, *, length: int | None = None) -> Body:
        """Begin an answer whose body comes in pieces, in place of `send`; the first piece is the body of `head`.

        With `length`, the body has so many bytes: a client sees it in the head. Without, the body comes in chunks.
        """
        ...


Handler = Callable[[HttpRequest, Reply], None]
"""Begins to answer a request; must not block."""
