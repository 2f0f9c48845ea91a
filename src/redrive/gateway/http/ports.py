"""The interface between the HTTP server and the handler of its requests."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from redrive.wire.message import HttpRequest, HttpResponse


class Reply(Protocol):
    """Where the answer to one request goes."""

    @property
    def is_wanted(self) -> bool:
        """Whether the caller is still connected."""
        ...

    def send(self, response: HttpResponse) -> None:
        """Answer, once, on the event loop's thread. It is no error if the caller has gone."""
        ...


Handler = Callable[[HttpRequest, Reply], None]
"""Begins to answer a request; must not block."""
