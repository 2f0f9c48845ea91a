"""Digests of bodies that lie in the store, for operations that need them before they answer (`Digesting`).

    first call ──► Digesting ──► the body is read, piece by piece, in no transaction ──► second call, with `tx.digests`

A body never changes, so its digests are right whenever the second call runs. If the operation needs another body by
then, because somebody has replaced the object, the operation asks again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager

from redrive.delivery.bodies import Segment
from redrive.delivery.checksums import digest_of
from redrive.delivery.operation import Answer, Digesting
from redrive.store.api import Step, Transaction
from redrive.store.bodies import Bodies
from redrive.store.tables.bodies import PIECE_BYTES

HELD_BYTES = 1024**3
"""After so many bytes, the bodies that are still to be read are kept from being deleted for another while."""


def digests_of_pieces(pieces: Iterable[bytes], algorithms: Iterable[str]) -> Mapping[str, bytes]:
    """The digests of a body that is read once."""
    made = {algorithm: digest_of(algorithm) for algorithm in algorithms}
    for piece in pieces:
        for one in made.values():
            one.update(piece)
    return {algorithm: one.digest() for algorithm, one in made.items()}


def pieces_in(tx: Transaction, segments: Iterable[Segment]) -> Iterator[bytes]:
    """The bytes of segments, read inside of a step."""
    for segment in segments:
        for first, size in _ranges(segment):
            yield tx.bodies.read(segment.body_id, first, size)


def digested(bodies: Bodies, asked: Digesting) -> Mapping[str, bytes]:
    """The digests that an operation asks for. It may wait for the disk for a long time.

    Errors: BodyGone, and those of the disk or the database.
    """
    return digests_of_pieces(_pieces(bodies, asked.segments), asked.algorithms)


def again(step: Step[Answer], asked: Digesting, digests: Mapping[str, bytes]) -> Step[Answer]:
    """The step of the same operation, which finds the digests that it has asked for."""

    def run(tx: Transaction) -> Answer:
        with knowing(tx, asked, digests):
            return step(tx)

    return run


@contextmanager
def knowing(tx: Transaction, asked: Digesting, digests: Mapping[str, bytes]) -> Iterator[None]:
    """Let what runs meanwhile find digests in `tx.digests`."""
    before, tx.digests = tx.digests, {asked.segments: digests}
    try:
        yield
    finally:
        tx.digests = before


def _pieces(bodies: Bodies, segments: tuple[Segment, ...]) -> Iterator[bytes]:
    unheld = HELD_BYTES
    for place, segment in enumerate(segments):
        reader = bodies.open(segment.body_id)
        try:
            for first, size in _ranges(segment):
                if unheld <= 0:
                    bodies.hold([one.body_id for one in segments[place:]])
                    unheld = HELD_BYTES
                yield reader.read(first, size)
                unheld -= size
        finally:
            reader.close()


def _ranges(segment: Segment) -> Iterator[tuple[int, int]]:
    """What to read at once: the first byte, and how many."""
    end = segment.first + segment.size
    for first in range(segment.first, end, PIECE_BYTES):
        yield first, min(PIECE_BYTES, end - first)
