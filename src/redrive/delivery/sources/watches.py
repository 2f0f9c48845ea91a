"""Watches: a reader is told when something arrives at an ARN. Until then the reader does not poll.

A reader has a timer, and a watch on the ARN that it reads. Code that stores something there, or makes something visible
again, calls `arrived`, which sets the readers' timers to that instant unless they are earlier. An unwatched ARN costs
nothing. Timers and watches are rows, so a crash loses none.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from redrive.core.clock import Instant
from redrive.core.scope import Scope
from redrive.store.api import Transaction

_EVERYWHERE = Scope("delivery", "all")
"""Watches belong to no scope: an ARN names its own account and region, and readers may belong to others."""


@dataclass(frozen=True, slots=True)
class Reader:
    """A reader's timer: its kind, and its name within the kind."""

    kind: str
    timer: str


@dataclass(frozen=True, slots=True)
class Watch:
    """The readers of an ARN."""

    KIND: ClassVar[str] = "delivery.watch"

    arn: str
    readers: tuple[Reader, ...] = ()

    @property
    def name(self) -> str:
        """The ARN."""
        return self.arn


def watch(tx: Transaction, arn: str, reader: Reader) -> None:
    """Tell a reader of arrivals at an ARN from now on. Writes nothing if the watch exists."""
    known = _of(tx, arn) or Watch(arn)
    if reader not in known.readers:
        tx.resources.put(_EVERYWHERE, replace(known, readers=(*known.readers, reader)))


def unwatch(tx: Transaction, arn: str, reader: Reader) -> None:
    """Remove a reader's watch."""
    known = _of(tx, arn)
    if known is None:
        return
    left = tuple(one for one in known.readers if one != reader)
    if left:
        tx.resources.put(_EVERYWHERE, replace(known, readers=left))
    else:
        tx.resources.delete(Watch, _EVERYWHERE, arn)


def arrived(tx: Transaction, arn: str, at: Instant) -> None:
    """Tell the readers of an ARN that something can be read from the instant `at` on, which may lie in the future."""
    known = _of(tx, arn)
    if known is None:
        return
    for reader in known.readers:
        if tx.timers.hasten(reader.kind, reader.timer, at):
            tx.notify("due")


def readers_of(tx: Transaction, arn: str) -> tuple[Reader, ...]:
    """The readers of an ARN, for code that computes when each of them is to be told."""
    known = _of(tx, arn)
    return () if known is None else known.readers


def _of(tx: Transaction, arn: str) -> Watch | None:
    return tx.resources.get(Watch, _EVERYWHERE, arn)
