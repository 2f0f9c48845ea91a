"""The bodies of objects: those that requests bring, and those that are stored."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from redrive.core.entropy import new_row_id
from redrive.delivery.bodies import SMALL_BYTES, Content, Received, Segment
from redrive.delivery.checksums import whole_digest
from redrive.delivery.digesting import digests_of_pieces, pieces_in
from redrive.delivery.operation import Digesting
from redrive.store.api import Transaction
from redrive.store.tables.bodies import PIECE_BYTES

Body = Received | bytes | None
"""The parameter Body: from a request, or from another service; None if the request has none."""


@dataclass(frozen=True, slots=True)
class Stored:
    """A body that can become that of an object or of a part: its bytes if they are few, or its segments."""

    size: int
    content: bytes | None
    segments: tuple[Segment, ...] = ()


def received(body: Body) -> Received:
    """The body of a request."""
    if isinstance(body, Received):
        return body
    content = body or b""
    return Received(len(content), content)


def digest(tx: Transaction, body: Received, algorithm: str) -> bytes:
    """The digest of a request's body. That of a stored body is computed only if the request has not named it."""
    known = body.digests.get(algorithm)
    if known is not None:
        return known
    if body.content is not None:
        return whole_digest(algorithm, body.content)
    segments = () if body.stored is None else (body.stored,)
    return digests_of_pieces(pieces(tx, body.content, segments), (algorithm,))[algorithm]


def taken(tx: Transaction, body: Received) -> Stored:
    """Take a request's body. The transaction has the first reference to a large one."""
    if body.stored is not None:
        tx.bodies.adopt(body.stored.body_id, body.stored.size, now=tx.now)
        return Stored(body.size, None, (body.stored,))
    content = body.content or b""
    if len(content) <= SMALL_BYTES:
        return Stored(body.size, content)
    return Stored(body.size, None, (put(tx, content),))


def put(tx: Transaction, content: bytes) -> Segment:
    """Store a body that another service has brought, or a small part of a large object."""
    body_id = new_row_id(tx.entropy, tx.now)
    tx.bodies.put(body_id, content, now=tx.now)
    return Segment(body_id, len(content))


def share(tx: Transaction, segments: Iterable[Segment]) -> None:
    """Take one more reference to each body."""
    for segment in segments:
        tx.bodies.share(segment.body_id, now=tx.now)


def release(tx: Transaction, segments: Iterable[Segment]) -> None:
    """Give the references of an object or of a part back."""
    for segment in segments:
        tx.bodies.release(segment.body_id, now=tx.now)


def cut(segments: Sequence[Segment], first: int, size: int) -> tuple[Segment, ...]:
    """The segments that have `size` bytes from byte `first` on."""
    found: list[Segment] = []
    for segment in segments:
        skipped = min(first, segment.size)
        taken_bytes = min(segment.size - skipped, size)
        if taken_bytes:
            found.append(Segment(segment.body_id, taken_bytes, segment.first + skipped))
        first -= skipped
        size -= taken_bytes
    return tuple(found)


def answered(content: bytes | None, segments: tuple[Segment, ...], first: int, size: int) -> bytes | Content:
    """The body of an answer."""
    if content is not None:
        return content[first : first + size]
    return Content(segments, first, size) if segments else b""


def digests(tx: Transaction, stored: Stored, algorithms: tuple[str, ...]) -> Mapping[str, bytes] | Digesting:
    """The digests of a stored body. A body of more than one piece is not read in a step: it is to be digested first."""
    known = tx.digests.get(stored.segments)
    if known is not None and all(algorithm in known for algorithm in algorithms):
        return known
    if stored.size > PIECE_BYTES:
        return Digesting(stored.segments, algorithms)
    return digests_of_pieces(pieces(tx, stored.content, stored.segments), algorithms)


def pieces(tx: Transaction, content: bytes | None, segments: Iterable[Segment]) -> Iterator[bytes]:
    """The bytes of a body, read from the store piece by piece."""
    return iter((content,)) if content is not None else pieces_in(tx, segments)
