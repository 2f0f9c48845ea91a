"""Reads the bodies of answers at once, for callers in this process. A server sends them piece by piece."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

from redrive.delivery.bodies import Content, Segment
from redrive.engine.engine import Engine
from redrive.store.api import Transaction
from redrive.wire.message import HttpResponse

ReadContent = Callable[[Content], bytes]
"""The port by which bodies in the store are read; the place of their bytes is the store's matter."""


def rows_reader(engine: Engine) -> ReadContent:
    """The reader of bodies whose bytes are rows, as in a store in memory."""
    return lambda content: engine.run(partial(_read, content))


def ranges_of(content: Content) -> Iterator[tuple[Segment, int, int]]:
    """The parts of the segments that a content has: each with its first byte and its size."""
    skipped, left = content.first, content.size
    for segment in content.segments:
        first = min(skipped, segment.size)
        size = min(segment.size - first, left)
        skipped, left = skipped - first, left - size
        if size:
            yield segment, first, size


def with_whole_body(response: HttpResponse, read: ReadContent) -> HttpResponse:
    """An answer whose body is bytes."""
    if response.content is None:
        return response
    return replace(response, body=read(response.content), content=None)


def _read(content: Content, tx: Transaction) -> bytes:
    return b"".join([tx.bodies.read(segment.body_id, first, size) for segment, first, size in ranges_of(content)])
